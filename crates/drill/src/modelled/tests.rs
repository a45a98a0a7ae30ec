//! Scripts on the model.

use super::Modelled;
use crate::{Config, Outcome, Script, Source, run};
use slowpath_kernels::registry;

fn outcome(text: &str) -> Outcome {
    let script = Script::parse(&Source::new("t.pkt", text), &Config::default()).unwrap();
    let profile = registry::named("linux-6.18").expect("today's kernel");
    run(&script, &mut Modelled::new(profile, &script.config), &|_| None).outcome
}

const HANDSHAKE: &str = "
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 10>
+.1 < . 1:1(0) ack 1 win 257
+0 accept(3, ..., ...) = 4
";

#[test]
fn handshake_and_write_pass() {
    let text = format!("{HANDSHAKE}+0 write(4, ..., 3000) = 3000\n+0 > P. 1:3001(3000) ack 1\n");
    assert_eq!(outcome(&text), Outcome::Passed);
}

#[test]
fn failure_reports_expected_actual_and_tolerance() {
    let text = format!("{HANDSHAKE}+.1 < P. 1:11(10) ack 1 win 257\n+.5 > . 1:1(0) ack 11\n");
    let Outcome::Failed(failure) = outcome(&text) else { panic!("it passed") };
    assert_eq!((failure.line, failure.file.as_str()), (10, "t.pkt"));
    let shown = failure.to_string();
    for part in
        ["not sent in time", "+.5 > . 1:1(0) ack 11", "at 0.700004 s", "at 0.200004 s", "tolerance 0.0625"]
    {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn unexpected_packet_is_a_note() {
    let text = format!("{HANDSHAKE}+0 write(4, ..., 10) = 10\n");
    let script = Script::parse(&Source::new("t.pkt", &text), &Config::default()).unwrap();
    let profile = registry::named("linux-6.18").expect("today's kernel");
    let report = run(&script, &mut Modelled::new(profile, &script.config), &|_| None);
    assert!(report.passed());
    assert!(report.notes[0].text.contains("one packet was sent"), "{:?}", report.notes);
}

#[test]
fn settings_before_the_first_event_take_no_time_of_the_run() {
    let text = format!("`sleep 0.7`\n{HANDSHAKE}+.1 write(4, ..., 10) = 10\n.2 > P. 1:11(10) ack 1\n");
    assert_eq!(outcome(&text), Outcome::Passed);
}

#[test]
fn stated_time_after_a_relative_one_may_be_over_within_the_tolerance() {
    let late = |time: &str| format!("{HANDSHAKE}+0 write(4, ..., 10) = 10\n{time} write(4, ..., 10) = 10\n");
    assert_eq!(outcome(&late(".097")), Outcome::Passed);
    let Outcome::Failed(failure) = outcome(&late(".05")) else { panic!("it passed") };
    assert!(failure.to_string().contains("could not happen in time"), "{failure}");
    // Two stated times in the wrong order are a mistake in the script.
    let Outcome::Failed(failure) =
        outcome("0 socket(..., SOCK_STREAM, 0) = 3\n.2 close(3) = 0\n.1 close(3) = 0\n")
    else {
        panic!("it passed")
    };
    assert!(failure.to_string().contains("before the one above"), "{failure}");
}

#[test]
fn calls_take_a_little_time() {
    let calls = "+0 setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0\n".repeat(10);
    let text = format!(
        "{HANDSHAKE}+0 write(4, ..., 10) = 10\n+0 > P. 1:11(10) ack 1\n{calls}+.01 < . 1:1(0) ack 11 win 257\n+0 %{{ assert 10010 <= tcpi_min_rtt < 10020, tcpi_min_rtt }}%\n"
    );
    assert_eq!(outcome(&text), Outcome::Passed);
}
