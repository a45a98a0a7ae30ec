//! Handshakes that took a second or more: a SYN-ACK that came late, one that was lost, and a path that is always that long.

use crate::both_taps::{CLOCKS, files};
use crate::expect_none;
use crate::transfer::Taps;
use crate::wire::{Passed, collected, report, script};
use slowpath_analyses::pairing::{pair, verdict};
use slowpath_analyses::{Cause, Evidence};
use slowpath_model::End;

/// What the path does to the first SYN-ACK, and how long it takes each way.
#[derive(Clone, Copy)]
enum Path {
    /// It holds everything back to the client for a second.
    Late,
    /// It loses it. The server's timer expires when the second SYN arrives.
    Lost,
    /// It always takes 0.6 s each way.
    Long,
}

/// A request of 300 bytes and its answer, at the client (A) and at the server. All stamps tick each millisecond.
fn opened(path: Path, stamps: bool) -> Taps {
    let way = if matches!(path, Path::Long) { 0.6 } else { 0.015 };
    let ms = |at: f64| (at * 1e3).round() as u32;
    let option =
        |val: u32, ecr: u32| if stamps { format!("TS val {val} ecr {ecr}") } else { "nop".to_owned() };
    let [mut a, mut b]: [Vec<(f64, String)>; 2] = Default::default();
    let mut id = 100;
    let mut from_a = |at: f64, what: &str, ecr: u32| {
        id += 1;
        let (val, syn) = (7_000 + ms(at), what.starts_with('S'));
        let options = if syn {
            format!("<mss 1460,sackOK,{},wscale 7>", option(val, ecr))
        } else {
            format!("<{}>", option(val, ecr))
        };
        a.push((at, format!("> {what} {options} // frame 0 id {id} ttl 64")));
        b.push((at + way, format!("> {what} {options} // frame 0 id {id} ttl 63")));
        val
    };
    let first = from_a(0.0, "S 0:0(0) win 64240", 0);
    from_a(1.0, "S 0:0(0) win 64240", 0);
    // When each SYN-ACK leaves, and when it arrives.
    let answers = match path {
        Path::Late => vec![(way, Some(1.031)), (1.0 + way, Some(1.03104))],
        Path::Lost => {
            vec![(way, None), (1.0 + way, Some(1.0 + 2.0 * way)), (1.003 + way, Some(1.003 + 2.0 * way))]
        }
        Path::Long => vec![(way, Some(2.0 * way)), (1.0 + way, Some(1.0 + 2.0 * way))],
    };
    let stamp = |at: f64| 50_000 + ms(at);
    let arrives = answers.iter().find_map(|(left, arrives)| Some((*left, (*arrives)?))).expect("one arrives");
    let opened = arrives.1 + 0.00003;
    let echo = stamp(arrives.0);
    from_a(opened, ". 1:1(0) ack 1 win 502", echo);
    let asked = from_a(opened + 0.001, "P. 1:301(300) ack 1 win 502", echo);
    let mut sent = Vec::new();
    for (left, arrives) in answers {
        let options = format!("<mss 1460,sackOK,{},wscale 7>", option(stamp(left), first));
        sent.push((left, arrives, format!("S. 0:0(0) ack 1 win 65160 {options}"), 0));
    }
    let answered = opened + 0.001 + way + 0.00002;
    for n in 0..20 {
        let at = answered + 0.002 * f64::from(n);
        let (start, end) = (1 + 1000 * n, 1001 + 1000 * n);
        let text = format!("P. {start}:{end}(1000) ack 301 win 509 <{}>", option(stamp(at), asked));
        sent.push((at, Some(at + way), text, 700 + n));
    }
    let last = answered + 0.04 + way;
    from_a(last, ". 301:301(0) ack 20001 win 502", stamp(answered + 0.038));
    for (left, arrives, text, id) in sent {
        b.push((left + 0.00001, format!("< {text} // frame 0 id {id} ttl 64")));
        if let Some(at) = arrives {
            a.push((at, format!("< {text} // frame 0 id {id} ttl 63")));
        }
    }
    let [a, b] = [a, b].map(|mut lines| {
        lines.sort_by(|one, other| one.0.total_cmp(&other.0));
        let lines: String = lines.iter().map(|(at, text)| format!("{at:.6} {}\n", text)).collect();
        script(&lines)
    });
    Taps { a, b }
}

/// The cause of the opening at one tap.
#[track_caller]
fn expect_opening(passed: &[Passed], cause: Cause) {
    let report = report(passed);
    let first = report.main().spells.first().expect("a spell");
    assert_eq!(first.cause, cause, "{:#?}", report.main().findings);
    let other = if cause == Cause::SynLost { Cause::DelaySpike } else { Cause::SynLost };
    expect_none(&report, other);
}

#[test]
fn syn_ack_that_came_late_is_not_lost() {
    let taps = opened(Path::Late, true);
    for tap in [&taps.a, &taps.b] {
        expect_opening(tap, Cause::DelaySpike);
        let report = report(tap);
        let finding = report.main().findings.iter().find(|finding| finding.cause == Cause::DelaySpike);
        let evidence = &finding.expect("it is the main one").evidence;
        let is_it = |evidence: &Evidence| matches!(evidence, Evidence::HandshakeLate { after } if after.as_millis() == 1031);
        assert!(evidence.iter().any(is_it), "{evidence:?}");
    }
}

#[test]
fn syn_ack_that_never_came_is_lost_though_two_come_close_together() {
    let taps = opened(Path::Lost, true);
    for tap in [&taps.a, &taps.b] {
        expect_opening(tap, Cause::SynLost);
    }
}

/// Two SYN-ACKs 3 ms apart, by a clock of microseconds: three thousand ticks.
#[test]
fn timestamps_of_another_tick_do_not_show_that_a_syn_ack_was_late() {
    let mut taps = opened(Path::Lost, true);
    for (at, segment) in &mut taps.a {
        if let Some(stamps) = segment.timestamps.as_mut().filter(|_| segment.from == End::B) {
            stamps.val = (at.nanos() / 1_000) as u32;
        }
    }
    let report = report(&taps.a);
    expect_none(&report, Cause::DelaySpike);
}

#[test]
fn handshake_over_a_path_longer_than_the_first_timeout_is_no_spike() {
    expect_opening(&opened(Path::Long, true).b, Cause::Handshake);
}

/// With both captures, it shows without timestamps too.
#[test]
fn both_captures_tell_late_from_lost_without_timestamps() {
    for clock in CLOCKS {
        for (path, cause, evidence) in [
            (Path::Late, Cause::DelaySpike, "handshake-late"),
            (Path::Lost, Cause::SynLost, "syn-lost-between"),
        ] {
            let taps = opened(path, false);
            let [(one, at_a), (other, at_b)] = files(&[(&taps, 0)], clock).map(collected);
            let pairing = pair(&one, &other).expect("a flow in common");
            let (_, flows) = verdict::merge_all(&pairing, [at_a, at_b]);
            let finding = &flows[0].main().findings[0];
            assert_eq!(finding.cause, cause, "{:#?}", flows[0].main().findings);
            assert!(finding.evidence.iter().any(|found| found.slug() == evidence), "{finding:#?}");
        }
    }
}
