//! `--vantage` changes the analysis, not only the description in the report.

use crate::captures::Captures;
use crate::{json, outcome, run, shipped};
use serde_json::Value;

/// Captures with all kinds of causes that depend on the vantage point.
const CAPTURES: [&str; 4] = [
    "random-loss-20mbit-40ms-10000ppm-cubic",
    "slow-reader-20mbit-40ms-64k-every-200ms",
    "slow-start-100mbit-150ms-300000b",
    "small-rcvbuf-10mbit-100ms-24k",
];

/// The findings on the first flow of a shipped capture: causes and their shares, the largest first.
fn findings(capture: &str, end: &str, place: Option<&str>) -> Vec<(String, f64)> {
    let file = shipped(capture, end);
    let mut args = vec!["diagnose", &file, "--flow", "1", "--json"];
    args.extend(place.iter().flat_map(|place| ["--vantage", place]));
    let (code, out, err) = outcome(&run(&Captures::new(), &args));
    assert_eq!((code, err.as_str()), (0, ""), "{capture}");
    let document = json(&out);
    let flow = &document["flows"][0];
    let directions = flow["directions"].as_array().expect("directions");
    let main = directions.iter().find(|way| way["from"] == flow["sender"]).expect("the sender's");
    let cause_and_share = |finding: &Value| {
        let cause = finding["cause"].as_str().expect("a cause").to_owned();
        (cause, finding["share"].as_f64().expect("a share"))
    };
    main["findings"].as_array().expect("findings").iter().map(cause_and_share).collect()
}

/// A receiver with late ACKs.
const BUSY: &str = "acks-held-back-20mbit-20ms-120ms-of-160ms";

fn share_of(findings: &[(String, f64)], limit: &str) -> f64 {
    findings.iter().filter(|(cause, _)| cause.starts_with(limit)).map(|(_, share)| share).sum()
}

#[test]
fn correct_vantage_gives_the_inferred_verdict() {
    for capture in CAPTURES {
        for end in ["sender", "receiver"] {
            assert_eq!(findings(capture, end, Some(end)), findings(capture, end, None), "{capture}, {end}");
        }
    }
}

#[test]
fn vantage_between_attributes_nothing_to_the_receiver() {
    for capture in CAPTURES {
        for end in ["sender", "receiver"] {
            let (between, inferred) = (findings(capture, end, Some("between")), findings(capture, end, None));
            assert_eq!(between[0].0, inferred[0].0, "{capture}, {end}");
            assert_eq!(share_of(&between, "receiver-processing"), 0.0, "{capture}: no ACK was seen leaving");
        }
    }
    let beside = findings(BUSY, "receiver", None);
    assert!(share_of(&beside, "receiver-processing") > 0.0, "next to the receiver it shows: {beside:?}");
}

#[test]
fn wrong_sender_vantage_hides_what_the_window_did() {
    // Data that arrives late was in flight, unless the tap saw it being sent. All segments are full, so no program paused either.
    let [loss, ..] = CAPTURES;
    let (there, here) = (findings(loss, "receiver", None), findings(loss, "receiver", Some("sender")));
    let share = |findings: &[(String, f64)]| share_of(findings, "congestion-window");
    assert!(share(&there) > 0.5 && share(&here) < 0.05, "{there:?} {here:?}");
    assert!(share_of(&here, "unknown") > 0.5 && share_of(&here, "application") < 0.05, "{here:?}");
}

#[test]
fn wrong_receiver_vantage_blames_receiver_processing() {
    // All of the path behind the tap then counts as the receiver.
    let (there, here) = (findings(BUSY, "sender", None), findings(BUSY, "sender", Some("receiver")));
    assert_eq!(share_of(&there, "receiver-processing"), 0.0);
    assert!(share_of(&here, "receiver-processing") > 0.0, "{here:?}");
}
