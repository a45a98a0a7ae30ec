//! Two recordings of one transfer: findings on every flow use both, whether it is shown in full or in a group.

use crate::captures::Captures;
use crate::{flat, json, outcome, run, shipped};

/// The output for both recordings of a shipped capture, with whitespace collapsed.
fn both(capture: &str, more: &[&str]) -> String {
    let [sender, receiver] = ["sender", "receiver"].map(|end| shipped(capture, end));
    let mut args = vec!["diagnose", &sender, &receiver];
    args.extend(more);
    let (code, out, err) = outcome(&run(&Captures::new(), &args));
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    flat(&out)
}

const REORDERED: &str = "reordering-20mbit-40ms-20000ppm-by-60ms-nots";

#[test]
fn groups_use_both_recordings() {
    for top in ["0", "1"] {
        let text = both(REORDERED, &["--top", top]);
        assert!(!text.contains("fast recovery"), "nothing was lost, so nothing was repaired: {text}");
    }
}

#[test]
fn selected_flow_uses_both_recordings() {
    for flow in ["1", "2"] {
        let text = both("parallel-10mbit-30ms-4streams", &["--flow", flow]);
        assert!(text.contains("Recorded in") && text.contains("as well, as flow"), "{text}");
        assert!(text.contains("The receiver acknowledged data after"), "{text}");
    }
}

#[test]
fn order_of_recordings_does_not_matter() {
    for capture in ["parallel-10mbit-30ms-4streams", REORDERED] {
        let [sender, receiver] = ["sender", "receiver"].map(|end| shipped(capture, end));
        for form in [&[][..], &["--json"]] {
            let [one, other] = [[&sender, &receiver], [&receiver, &sender]].map(|[first, second]| {
                let args = [&["diagnose", first.as_str(), second], form].concat();
                outcome(&run(&Captures::new(), &args)).1
            });
            assert!(!one.is_empty() && one == other, "{capture}: {one}\n{other}");
        }
    }
}

#[test]
fn flow_with_most_losses_by_both_recordings_comes_first() {
    let text = both("parallel-10mbit-30ms-4streams", &["--json"]);
    let document = json(&text);
    let lost = |flow: &serde_json::Value| {
        let ways = flow["directions"].as_array().expect("directions");
        let main = ways.iter().find(|way| way["from"] == flow["sender"]).expect("the sender's");
        let findings = main["findings"].as_array().expect("findings").iter();
        let back = findings.filter(|finding| {
            let cause = finding["cause"].as_str().expect("a cause");
            !["application/", "unknown/", "path/bottleneck"].iter().any(|part| cause.starts_with(part))
        });
        back.map(|finding| finding["lasted_ns"].as_u64().expect("a time")).sum::<u64>()
    };
    let all: Vec<_> = document["flows"].as_array().expect("flows").iter().map(lost).collect();
    assert!(all.len() >= 4 && all.is_sorted_by(|one, next| one >= next), "{all:?}");
}

#[test]
fn vantage_is_ignored_for_two_recordings_with_a_note() {
    let folder = Captures::new();
    folder.write("sender.pcapng", &crate::captures::transfer(60));
    folder.write("receiver.pcapng", &crate::captures::transfer_at_receiver(60));
    let args = ["diagnose", "sender.pcapng", "receiver.pcapng", "--vantage", "between"];
    let (code, out, err) = outcome(&run(&folder, &args));
    assert!(code == 0 && out.contains("Recorded at the sender"), "{out}");
    assert!(err.contains("--vantage is ignored"), "{err}");
}

/// A capture in which nothing passed: its header alone.
#[test]
fn recording_without_tcp_leaves_the_verdict_of_the_other() {
    let folder = Captures::new();
    let transfer = std::fs::read(folder.transfer()).expect("a capture");
    folder.write("silent.pcap", &transfer[..24]);
    for files in [["transfer.pcap", "silent.pcap"], ["silent.pcap", "transfer.pcap"]] {
        let (code, out, err) = outcome(&run(&folder, &["diagnose", files[0], files[1]]));
        assert_eq!(code, 0, "{err}");
        assert!(err.contains("silent.pcap: has no TCP in it"), "{err}");
        assert!(out.contains("receive window"), "{out}");
    }
    folder.write("silent-too.pcap", &transfer[..24]);
    let (code, out, err) = outcome(&run(&folder, &["diagnose", "silent.pcap", "silent-too.pcap"]));
    assert!(code == 2 && out.is_empty() && err.contains("has no TCP in it"), "{code} {out} {err}");
}
