//! `slowpath what-if`: predicted, refused, and the files that it writes.

use crate::captures::Captures;
use crate::{json, outcome, run, shipped};
use serde_json::Value;

const SMALL_WINDOW: &str = "no-autotuning-20mbit-80ms";

fn rate(value: &Value) -> f64 {
    value.as_f64().expect("a rate")
}

#[test]
fn a_small_window_is_predicted_to_fill_the_path() {
    let folder = Captures::new();
    let (code, out, err) = outcome(&run(&folder, &["what-if", &shipped(SMALL_WINDOW, "sender"), "--json"]));
    assert_eq!((code, err.as_str()), (0, ""));
    let document = json(&out);
    assert_eq!(document["schema"], "slowpath/what-if/1");
    assert_eq!(document["refused"], Value::Null);
    let best = &document["tried"][0];
    assert_eq!(best["remedies"][0], "receive-buffer=6 MiB");
    let [low, middle, high] = ["low", "middle", "high"].map(|name| rate(&best[format!("{name}_bit_per_s")]));
    assert!(low < middle && middle < high && middle < 20e6, "{low} {middle} {high}");
    assert!(middle > 2.0 * rate(&document["captured"]["rate"]), "{middle}");
    assert_eq!(best["next"]["limit"], "path", "what binds next is named");
    let unchanged = &document["unchanged"];
    let captured = rate(&document["captured"]["rate"]);
    assert!(rate(&unchanged["low_bit_per_s"]) < captured && captured < rate(&unchanged["high_bit_per_s"]));
}

#[test]
fn the_same_capture_gives_the_same_prediction() {
    let (folder, file) = (Captures::new(), shipped(SMALL_WINDOW, "sender"));
    let once = || outcome(&run(&folder, &["what-if", &file, "--try", "congestion-control=bbr", "--json"]));
    assert_eq!(once(), once());
}

#[test]
fn asked_remedies_are_tried_alone_and_in_pairs() {
    let (folder, file) = (Captures::new(), shipped(SMALL_WINDOW, "sender"));
    let asked = ["what-if", &file, "--try", "receive-buffer=6MiB", "--try", "rtt=20ms", "--json"];
    let document = json(&outcome(&run(&folder, &asked)).1);
    let tried: Vec<usize> = document["tried"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["remedies"].as_array().expect("a list").len())
        .collect();
    assert_eq!((tried.len(), tried.iter().sum::<usize>()), (3, 4));
}

#[test]
fn another_kernel_is_tried_change_by_change() {
    let (folder, file) = (Captures::new(), shipped(SMALL_WINDOW, "sender"));
    let asked = ["upgrade-check", &file, "--from", "6.18", "--to", "6.8"];
    let document = json(&outcome(&run(&folder, &[&asked[..], &["--json"]].concat())).1);
    assert_eq!(document["kernel"], "linux-6.18");
    let tried = document["tried"].as_array().expect("a list");
    let kernel = tried.iter().find(|one| one["remedies"][0] == "kernel=linux-6.8").expect("the kernel");
    assert!(rate(&kernel["middle_bit_per_s"]) > 1e6);
    let changed: Vec<&Value> = tried.iter().filter(|one| one["changes"].is_array()).collect();
    assert_eq!(changed.len(), tried.len() - 1, "all else are its changes, with what made them");
    let (code, out, _) = outcome(&run(&folder, &asked));
    assert_eq!(code, 0);
    assert!(out.contains("linux-6.8 ") && out.contains("alone less than 3 %"), "{out}");
    let (code, _, err) = outcome(&run(&folder, &["upgrade-check", &file, "--to", "7.99"]));
    assert!(code == 2 && err.contains("unknown kernel"), "{err}");
}

#[test]
fn what_cannot_be_predicted_has_no_number() {
    let folder = Captures::new();
    for (capture, end, why) in [
        (SMALL_WINDOW, "receiver", "not-at-sender"),
        ("ecn-marks-50mbit-40ms-3000ppm", "sender", "ecn-marks"),
        ("messages-10mbit-20ms-4096b-every-100ms", "sender", "not-modelled"),
        ("parallel-10mbit-30ms-4streams", "sender", "shared"),
    ] {
        let file = shipped(capture, end);
        let (code, out, _) = outcome(&run(&folder, &["what-if", &file, "--json"]));
        let document = json(&out);
        assert_eq!((code, &document["refused"]["reason"]), (1, &why.into()), "{capture}");
        assert_eq!(document["tried"].as_array().map(Vec::len), Some(0), "{capture}");
        let (code, out, _) = outcome(&run(&folder, &["what-if", &file]));
        assert!(code == 1 && out.contains("Cannot be predicted from this capture, because"), "{out}");
    }
}

#[test]
fn fitted_scenario_is_one_that_run_takes() {
    let folder = Captures::new();
    let (file, scenario) =
        (shipped(SMALL_WINDOW, "sender"), folder.path("fitted.toml").display().to_string());
    let written = outcome(&run(&folder, &["what-if", &file, "--scenario", &scenario]));
    assert_eq!(written.0, 0, "{written:?}");
    let text = std::fs::read_to_string(&scenario).expect("it was written");
    for expected in ["# bottleneck: ", "[path.forward]", "rate = \"", "# congestion control: "] {
        assert!(text.contains(expected), "{expected} is missing:\n{text}");
    }
    let (code, _, err) = outcome(&run(&folder, &["scenario", "check", &scenario]));
    assert_eq!((code, err.as_str()), (0, ""));
    let again = outcome(&run(&folder, &["what-if", &file, "--scenario", &scenario]));
    assert_eq!(again.0, 2, "nothing is replaced unasked: {again:?}");
}

#[test]
fn wrong_arguments_are_refused_with_what_is_right() {
    let (folder, file) = (Captures::new(), shipped(SMALL_WINDOW, "sender"));
    for (remedy, why) in [("speed=2", "no such remedy"), ("receive-buffer=6", "unit"), ("loss=2", "0.1 %")] {
        let (code, _, err) = outcome(&run(&folder, &["what-if", &file, "--try", remedy]));
        assert!(code == 2 && err.contains(why), "{err}");
    }
    let (code, _, err) = outcome(&run(&folder, &["what-if", &file, "--flow", "7"]));
    assert!(code == 2 && err.contains('7'), "{err}");
}

#[test]
fn what_if_help() {
    insta::assert_snapshot!(outcome(&run(&Captures::new(), &["what-if", "--help"])).1);
}
