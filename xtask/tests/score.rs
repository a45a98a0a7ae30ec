//! What slowpath says of the labelled captures does not get worse.
//!
//! Each floor lies a little below what was reached when it was set. Raise one when it is beaten for good; lower one
//! only with a reason in the commit. `cargo xtask score` prints the whole picture.

use serde_json::Value;
use std::process::Command;

/// Share of the time with the right limit, mean over all captures of the group: on the shipped captures, on which
/// rules are written, and on the held-out ones, on which they are not.
const BY_LIMIT: &[(&str, f64, f64)] = &[
    ("application", 0.97, 0.97),
    ("send-buffer", 0.97, 0.97),
    ("receive-window", 0.98, 0.98),
    ("slow-reader", 0.97, 0.97),
    ("loss", 0.93, 0.93),
    ("tail-loss", 0.60, 0.52),
    ("reordering", 0.94, 0.94),
    ("policer", 0.95, 0.95),
    ("slow-start", 0.92, 0.85),
    ("early-exit", 0.97, 0.97),
    ("full-path", 0.92, 0.91),
];

/// Share of the segments at the receiver with the right label.
const LABELS_IN_ORDER: f64 = 0.999;
/// The same on paths that reorder, with and without loss.
const LABELS_REORDERED: f64 = 0.995;
/// Share of the retransmissions that arrived, in order, that are counted as such.
const COUNTED_AT_RECEIVER: f64 = 0.97;

/// `xtask score SET --json`.
fn score(set: &str) -> Value {
    let captures = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures");
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["score", set, "--json", "--captures", captures])
        .output()
        .expect("xtask starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn array<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    value.pointer(path).and_then(Value::as_array).unwrap_or_else(|| panic!("{path} is a list"))
}

fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or_else(|| panic!("{name} is a number"))
}

#[test]
fn shipped_captures_are_told_as_well_as_they_were() {
    hold("shipped", |(_, shipped, _)| *shipped);
}

#[test]
fn held_out_captures_are_told_as_well_as_they_were() {
    hold("heldout", |(_, _, heldout)| *heldout);
}

fn hold(set: &str, floor: fn(&(&str, f64, f64)) -> f64) {
    let score = score(set);
    let mut below = Vec::new();

    let groups = array(&score, "/limits/groups");
    for row in BY_LIMIT {
        let (group, floor) = (row.0, floor(row));
        match groups.iter().find(|row| row["group"] == group) {
            None => below.push(format!("{group}: no capture")),
            Some(row) if number(row, "by_limit") < floor => {
                below.push(format!(
                    "{group}: {:.4} of the time right, {floor} asked",
                    number(row, "by_limit")
                ));
            }
            Some(_) => {}
        }
    }

    let runs = array(&score, "/labels/runs");
    let sum = |reordered: bool, name: &str| -> f64 {
        runs.iter().filter(|run| run["reordered"] == reordered).map(|run| number(run, name)).sum()
    };
    for (name, reordered, floor) in
        [("in order", false, LABELS_IN_ORDER), ("reordered", true, LABELS_REORDERED)]
    {
        let right = sum(reordered, "right") / sum(reordered, "segments");
        if right.is_nan() || right < floor {
            below.push(format!("labels {name}: {right:.5} right, {floor} asked"));
        }
    }
    let (counted, arrived) = (sum(false, "counted"), sum(false, "arrived_again"));
    if counted.min(arrived) / counted.max(arrived) < COUNTED_AT_RECEIVER {
        below.push(format!("retransmissions at the receiver: {counted} counted of {arrived}"));
    }

    for run in array(&score, "/counts/runs") {
        if run["ours"] != run["wire"] {
            below.push(format!(
                "{}: {} retransmissions counted, {} on the wire",
                run["run"], run["ours"], run["wire"]
            ));
        }
    }
    assert!(below.is_empty(), "`cargo xtask score {set}` shows more:\n  {}\n", below.join("\n  "));
}
