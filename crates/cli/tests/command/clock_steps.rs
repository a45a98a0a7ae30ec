//! Captures during which the clock was set.

use super::captures::{self, Captures};
use super::{flat, json, outcome, run, slowpath};
use std::fs::File;

/// The JSON document of a command, whose standard error must be `says`.
fn document(folder: &Captures, args: &[&str], says: &str) -> serde_json::Value {
    let (code, out, err) = outcome(&run(folder, args));
    assert!(code == 0 && err.contains(says) && err.is_empty() == says.is_empty(), "{args:?}: {err}");
    json(&out)
}

fn folder() -> Captures {
    let folder = Captures::new();
    folder.write("right.pcap", &captures::transfer_clock_set_back(200, 0));
    folder.write("set.pcap", &captures::transfer_clock_set_back(200, 400_000));
    folder
}

#[test]
fn clock_step_is_corrected_and_reported_once() {
    let folder = folder();
    let right = document(&folder, &["diagnose", "right.pcap", "--json"], "");
    assert_eq!(right["recordings"][0]["clock_steps"], serde_json::json!([]));
    let found = document(&folder, &["diagnose", "set.pcap", "--json"], "");
    let step = &found["recordings"][0]["clock_steps"][0];
    let by = step["by_ns"].as_i64().expect("a number");
    assert!((-400_000_000..-370_000_000).contains(&by) && step["corrected"] == true, "{step}");
    let [found_flow, right_flow] = [&found, &right].map(|document| &document["flows"][0]);
    assert_eq!(found_flow["main_cause"], right_flow["main_cause"]);
    assert_eq!(found_flow["vantage"]["place"], right_flow["vantage"]["place"]);
    let page = document(&folder, &["diagnose", "set.pcap", "--json", "--html", "set.html"], "");
    assert_eq!(page, found);
    let set = "the capture's clock was set back by";
    let listed = document(&folder, &["flows", "set.pcap", "--json"], set);
    assert_eq!(listed["flows"][0]["main_cause"], found["flows"][0]["main_cause"]);
    assert_eq!(listed["recordings"][0]["clock_steps"], found["recordings"][0]["clock_steps"]);
    let (_, out, _) = outcome(&run(&folder, &["diagnose", "set.pcap"]));
    let flat = flat(&out);
    assert_eq!(flat.matches("clock was set back").count(), 1, "{out}");
    assert!(flat.contains("later times are corrected") && !flat.contains("stamped earlier"), "{out}");
}

#[test]
fn packets_are_shown_with_the_recorded_times() {
    let folder = folder();
    let (code, out, err) = outcome(&run(&folder, &["show", "set.pcap", "--flow", "1"]));
    assert!(code == 0 && err.contains("times are as recorded"), "{err}");
    let times: Vec<f64> =
        out.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
    assert!(times.windows(2).any(|pair| pair[1] < pair[0] - 0.37), "{out}");
}

#[test]
fn clock_step_in_a_stream_is_reported_and_not_corrected() {
    let folder = folder();
    let stream = File::open(folder.path("set.pcap")).expect("it was written");
    let output = slowpath(&folder).args(["diagnose", "-"]).stdin(stream).output().expect("the binary runs");
    let (code, out, _) = outcome(&output);
    let flat = flat(&out);
    assert!(code == 0 && flat.contains("! The capture's clock was set back"), "{out}");
    assert!(flat.contains("times are as recorded"), "{out}");
}

#[test]
fn two_captures_agree_despite_a_clock_step() {
    let folder = folder();
    folder.write("receiver.pcap", &captures::transfer_at_receiver(200));
    let right = document(&folder, &["diagnose", "right.pcap", "receiver.pcap", "--json"], "");
    let found = document(&folder, &["diagnose", "set.pcap", "receiver.pcap", "--json"], "");
    assert_eq!(found["flows"][0]["main_cause"], right["flows"][0]["main_cause"]);
    let lost =
        |document: &serde_json::Value| document["flows"][0]["pair"]["directions"][0]["missed_by_far"].clone();
    assert_eq!(lost(&found), lost(&right));
}
