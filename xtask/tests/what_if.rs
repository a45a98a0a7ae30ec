//! Fits and predictions on some labelled captures do not get worse. `cargo xtask what-if` has all of them.

use serde_json::Value;
use std::process::Command;

/// A capture of each kind that is fitted, from all three sets, the small ones.
const FITTED: &[&str] = &[
    "shipped/small-rcvbuf-10mbit-100ms-24k",
    "heldout/no-autotuning-12mbit-160ms",
    "fresh/no-window-scaling-25mbit-110ms-both",
    "fresh/ipv6-small-rcvbuf-35mbit-70ms-36k",
    "shipped/small-sndbuf-50mbit-80ms-16k",
    "shipped/full-link-5mbit-80ms-cubic",
    "heldout/full-link-7mbit-60ms-reno",
    "fresh/full-link-9mbit-45ms-bbr",
    "heldout/slow-start-60mbit-180ms-400000b-tso",
    "fresh/slow-start-70mbit-140ms-250000b",
    "shipped/pcapng-random-loss-20mbit-35ms-15000ppm",
];

/// Captures that show something a fit does not have: each is refused.
const REFUSED: &[(&str, &str)] = &[
    ("shipped/ecn-marks-50mbit-40ms-3000ppm", "ecn-marks"),
    ("shipped/burst-loss-10mbit-60ms-8-every-300", "bursty-loss"),
    ("shipped/reordering-harmless-8mbit-40ms-20000ppm-by-10ms", "differs"),
    ("shipped/random-loss-20mbit-40ms-10000ppm-cubic-nosack", "no-sack"),
    ("shipped/parallel-10mbit-30ms-4streams", "shared"),
    ("shipped/acks-held-back-10mbit-40ms-180ms-of-300ms", "not-modelled"),
];

/// The largest error of the middle of a prediction, of the label's own path and hosts with the remedy.
const WORST: f64 = 0.10;

fn measured(only: &[&str], options: &[&str]) -> Vec<Value> {
    let captures = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures");
    let only = only.iter().flat_map(|name| ["--only", name]);
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["what-if", "--json", "--captures", captures])
        .args(only)
        .args(options)
        .output()
        .expect("xtask starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// A prediction is of what was measured: it is in the range, and near the middle.
fn assert_predicted(row: &Value, prediction: &Value, measured: f64) {
    let range: Vec<f64> =
        prediction["predicted"].as_array().expect("a range").iter().filter_map(Value::as_f64).collect();
    let what = format!("{} {}: {range:?}, {measured} measured", row["name"], prediction["remedy"]);
    assert!(range[0] <= measured && measured <= range[2], "{what}");
    assert!((range[1] / measured - 1.0).abs() <= WORST, "{what}");
}

#[test]
fn fits_have_the_truth_and_predict_it() {
    let rows = measured(FITTED, &[]);
    assert_eq!(rows.len(), FITTED.len());
    let mut predictions = 0;
    for row in &rows {
        assert_eq!(row["refused"], Value::Null, "{row:#}");
        assert_eq!(row["wrong"].as_array().map(Vec::len), Some(0), "{row:#}");
        for prediction in row["predictions"].as_array().expect("predictions") {
            predictions += 1;
            assert_predicted(row, prediction, prediction["simulated"].as_f64().expect("a rate"));
        }
    }
    assert!(predictions >= 10, "{predictions}");
}

#[test]
fn what_a_fit_does_not_have_is_refused() {
    let names: Vec<&str> = REFUSED.iter().map(|(name, _)| *name).collect();
    let rows = measured(&names, &[]);
    for (name, why) in REFUSED {
        let row = rows.iter().find(|row| row["name"] == *name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(row["refused"][0], *why, "{row:#}");
        assert_eq!(row["predictions"].as_array().map(Vec::len), Some(0), "{name}");
    }
}

#[test]
#[ignore = "needs root"]
fn kernel_gives_what_is_predicted() {
    let rows = measured(&["fresh/small-rcvbuf-25mbit-70ms-28k"], &["--kernel"]);
    let prediction = &rows[0]["predictions"][0];
    assert_predicted(&rows[0], prediction, prediction["kernel"].as_f64().expect("a rate"));
}
