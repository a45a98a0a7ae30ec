//! An overdue answer, and what it is not mistaken for.

use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, AnalysisOptions, Cause};
use slowpath_model::{Endpoint, FlowEnd, FlowId, FlowKey, Sink};
use std::time::Duration;

fn analyse(lines: &[String]) -> FlowReport {
    let end = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
    let mut analysis = Analysis::new(AnalysisOptions::default());
    analysis.open(FlowId(1), &FlowKey { a: end(1, 40_000), b: end(2, 80), occurrence: 0 });
    for line in lines {
        analysis.accept(FlowId(1), &line.parse().unwrap_or_else(|error| panic!("{line}: {error}")));
    }
    analysis.close(FlowId(1), FlowEnd::EndOfRecording);
    let mut report = analysis.finish().flows.remove(0);
    report.explain();
    report
}

/// Rounds of a window of 20,000 bytes, seen at the sender; each is answered after 1 ms, but the one at `late` after
/// `by` seconds.
fn rounds(count: u32, late: u32, by: f64) -> Vec<String> {
    let mut lines = vec![
        "0.0 > S 0:0(0) win 65535 <mss 1000,nop,wscale 0>".to_owned(),
        "0.001 < S. 0:0(0) ack 1 win 20000 <mss 1000,nop,wscale 0>".to_owned(),
        "0.00101 > . 1:1(0) ack 1 win 65535".to_owned(),
    ];
    let mut now = 0.0011;
    for round in 0..count {
        let first = 1 + round * 20_000;
        for segment in 0..20 {
            let seq = first + segment * 1000;
            lines.push(format!("{now:.6} > . {seq}:{}(1000) ack 1 win 65535", seq + 1000));
            now += 0.000_001;
        }
        now += if round == late { by } else { 0.001 };
        lines.push(format!("{now:.6} < . 1:1(0) ack {} win 20000", first + 20_000));
        now += 0.000_010;
    }
    lines
}

fn time(report: &FlowReport, cause: Cause) -> f64 {
    let found = report.main().findings.iter().find(|finding| finding.cause == cause);
    found.map_or(Duration::ZERO, |finding| finding.lasted).as_secs_f64()
}

/// Data that fills the window is acknowledged within an RTT, even if no application reads it. An answer that comes
/// 300 ms later was late, and no larger buffer would have saved that time.
#[test]
fn overdue_answer_is_not_the_full_windows() {
    let report = analyse(&rounds(400, 250, 0.3));
    let (window, late) = (time(&report, Cause::ReceiveBufferTooSmall), time(&report, Cause::DelaySpike));
    assert!((0.25..0.3).contains(&late), "{late} s late");
    assert!((0.35..0.45).contains(&window), "{window} s of a full window");
    let report = analyse(&rounds(400, 400, 0.0));
    assert!(time(&report, Cause::DelaySpike) == 0.0);
}

/// A receiver whose reader is kept from its CPU acknowledges a whole flight at once, when its delayed-ACK timer runs out
/// (`__tcp_ack_snd_check`, 6.18: the window does not advance). That one answer leaves nothing outstanding, and the sender
/// goes on as it comes: until then it waited for the answer, and not for its application.
#[test]
fn single_ack_of_a_whole_flight_is_not_application_limited() {
    let mut lines = vec![
        "0.0 > S 0:0(0) win 65535 <mss 1000,nop,wscale 0>".to_owned(),
        "0.001 < S. 0:0(0) ack 1 win 60000 <mss 1000,nop,wscale 0>".to_owned(),
        "0.00101 > . 1:1(0) ack 1 win 65535".to_owned(),
    ];
    let mut now = 0.0011;
    for round in 0..100 {
        let first = 1 + round * 20_000;
        for segment in 0..20 {
            let seq = first + segment * 1000;
            lines.push(format!("{now:.6} > . {seq}:{}(1000) ack 1 win 65535", seq + 1000));
            now += 0.000_001;
        }
        now += 0.040;
        lines.push(format!("{now:.6} < . 1:1(0) ack {} win 60000", first + 20_000));
        now += 0.000_005;
    }
    let report = analyse(&lines);
    assert!(time(&report, Cause::SenderIdle) < 0.01, "{:?}", report.main().findings);
    // A program that writes a flight every 40 ms is different: the answers come at once.
    let late = |line: &String| {
        let (at, rest) = line.split_once(' ')?;
        let at: f64 = at.parse().ok()?;
        Some(if rest.starts_with("< .") { format!("{:.6} {rest}", at - 0.038) } else { line.clone() })
    };
    let lines: Vec<String> = lines.iter().filter_map(late).collect();
    let report = analyse(&lines);
    assert!(time(&report, Cause::SenderIdle) > 3.5, "{:?}", report.main().findings);
}
