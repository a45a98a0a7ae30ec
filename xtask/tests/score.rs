//! The scores on the labelled captures, three regression sets, do not get worse.
//!
//! Each floor is a little below the score when it was set. Raise one when it is beaten for good; lower one only with a
//! reason in the commit. `cargo xtask score` prints everything.

use serde_json::Value;
use std::process::Command;

/// The sets: rules were written on the first. Of the others, figures were seen before rules changed, so that all three
/// are regression sets now.
const SETS: [&str; 3] = ["shipped", "heldout", "fresh"];

/// Share of the time with the right limit, mean over all captures of the group, for each set.
const BY_LIMIT: &[(&str, [f64; 3])] = &[
    ("application", [0.98, 0.98, 0.98]),
    ("send-buffer", [0.98, 0.98, 0.98]),
    ("sending-host", [0.96, 0.93, 0.97]),
    ("receive-window", [0.98, 0.98, 0.98]),
    ("slow-reader", [0.97, 0.98, 0.98]),
    ("loss", [0.94, 0.96, 0.95]),
    ("tail-loss", [0.69, 0.61, 0.59]),
    ("reordering", [0.97, 0.97, 0.97]),
    ("policer", [0.97, 0.97, 0.97]),
    ("slow-start", [0.97, 0.88, 0.96]),
    ("early-exit", [0.97, 0.97, 0.97]),
    ("full-path", [0.95, 0.94, 0.93]),
    ("short-queue", [0.97, 0.97, 0.97]),
    ("ack-path", [0.86, 0.86, 0.86]),
    ("late-receiver", [0.68, 0.67, 0.68]),
    ("window-lag", [0.97, 0.97, 0.97]),
    ("window-scale", [0.97, 0.97, 0.97]),
    ("reneging", [0.97, 0.97, 0.97]),
    ("unseen", [0.97, 0.97, 0.97]),
];

/// Share of the time with the right limit in the worst capture of each group: a mean hides a capture that is wrong all
/// the time. Where it is 0, for `delay-spike` and `syn-lost`, the label holds for too short a time to have a share.
const BY_LIMIT_LEAST: &[(&str, [f64; 3])] = &[
    ("application", [0.91, 0.97, 0.97]),
    ("send-buffer", [0.99, 0.97, 0.97]),
    ("sending-host", [0.94, 0.91, 0.96]),
    ("receive-window", [0.99, 0.98, 0.99]),
    ("slow-reader", [0.90, 0.97, 0.97]),
    ("loss", [0.60, 0.77, 0.79]),
    ("tail-loss", [0.55, 0.47, 0.53]),
    ("reordering", [0.91, 0.91, 0.98]),
    ("delay-spike", [0.00, 0.83, 0.00]),
    ("policer", [0.99, 0.98, 0.98]),
    ("slow-start", [0.89, 0.74, 0.86]),
    ("early-exit", [0.98, 0.99, 0.94]),
    ("full-path", [0.87, 0.84, 0.83]),
    ("short-queue", [0.98, 0.98, 0.98]),
    ("ack-path", [0.69, 0.80, 0.80]),
    ("syn-lost", [0.00, 0.00, 0.00]),
    ("late-receiver", [0.58, 0.61, 0.67]),
    ("window-lag", [0.99, 0.90, 0.99]),
    ("window-scale", [0.99, 0.95, 0.99]),
    ("reneging", [0.99, 0.99, 0.99]),
    ("unseen", [0.95, 0.84, 0.95]),
];

/// Share of the time with the limit that held at that time, mean over the runs of the group, for each set: at the
/// sender, and at the receiver.
const BY_TIME: &[(&str, [f64; 3], [f64; 3])] = &[
    ("application", [0.98, 0.97, 0.97], [0.97, 0.97, 0.97]),
    ("send-buffer", [0.96, 0.96, 0.97], [0.97, 0.97, 0.97]),
    ("receive-window", [0.97, 0.97, 0.97], [0.97, 0.97, 0.97]),
    ("slow-reader", [0.96, 0.94, 0.97], [0.93, 0.91, 0.96]),
    ("loss", [0.97, 0.97, 0.95], [0.97, 0.96, 0.96]),
    ("tail-loss", [0.92, 0.91, 0.89], [0.97, 0.96, 0.95]),
    ("reordering", [0.97, 0.97, 0.97], [0.97, 0.97, 0.97]),
    ("delay-spike", [0.92, 0.91, 0.93], [0.64, 0.88, 0.50]),
    ("policer", [0.97, 0.97, 0.97], [0.97, 0.97, 0.97]),
    ("slow-start", [0.97, 0.97, 0.97], [0.97, 0.96, 0.97]),
    ("early-exit", [0.97, 0.97, 0.97], [0.97, 0.97, 0.97]),
    ("full-path", [0.94, 0.92, 0.92], [0.93, 0.91, 0.90]),
    ("short-queue", [0.87, 0.96, 0.61], [0.87, 0.96, 0.61]),
    // Next to the receiver of one of them, an RTT that grows twentyfold in a second makes stretches of a second.
    ("ack-path", [0.94, 0.92, 0.97], [0.83, 0.94, 0.97]),
    ("syn-lost", [0.97, 0.97, 0.97], [0.97, 0.97, 0.97]),
    ("late-receiver", [0.84, 0.82, 0.87], [0.90, 0.91, 0.90]),
    ("window-lag", [0.97, 0.97, 0.94], [0.97, 0.97, 0.97]),
    ("window-scale", [0.97, 0.96, 0.97], [0.97, 0.97, 0.97]),
    ("reneging", [0.97, 0.97, 0.97], [0.97, 0.97, 0.97]),
    // Most of these do not show at the receiver.
    ("middlebox", [0.97, 0.95, 0.96], [0.85, 0.83, 0.85]),
    ("unseen", [0.97, 0.97, 0.97], [0.97, 0.94, 0.97]),
];

/// Share of the stalls at the sender with the right one of TAPO's causes, for each set. In `fresh`, 13 stalls of
/// `sack-shifted-25mbit-35ms-6000ppm` are undetermined: with SACK blocks that cannot be used, TAPO's rules have nothing to go by.
const STALLS: [f64; 3] = [0.95, 0.95, 0.90];

/// The part of the time with high confidence that has a wrong limit: at the sender, and at the receiver.
const SURE_AND_WRONG: [f64; 2] = [0.012, 0.012];

/// Share of all time with the right limit, if neither host had timestamps, for each set: at the sender, and at the
/// receiver. There, nothing shows what a small send buffer or a delay on the path holds back.
const WITHOUT_TIMESTAMPS: [[f64; 2]; 3] = [[0.97, 0.88], [0.96, 0.87], [0.96, 0.87]];

/// Share of the segments at the receiver with the right label.
const LABELS_IN_ORDER: f64 = 0.999;
/// Least share of right labels on paths that reorder, with and without loss.
const LABELS_REORDERED: f64 = 0.995;
/// The counted share of the retransmissions that arrived, in order.
const COUNTED_AT_RECEIVER: f64 = 0.97;

/// `xtask score SET --json`, with more options.
fn score(set: &str, options: &[&str]) -> Value {
    let captures = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures");
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["score", set, "--json", "--captures", captures])
        .args(options)
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
fn shipped_scores_reach_their_floors() {
    hold(0);
}

#[test]
fn heldout_scores_reach_their_floors() {
    hold(1);
}

#[test]
fn fresh_scores_reach_their_floors() {
    hold(2);
}

#[test]
fn scores_without_timestamps_reach_their_floors() {
    for (set, floors) in SETS.into_iter().zip(WITHOUT_TIMESTAMPS) {
        let score = score(set, &["--without-timestamps"]);
        for (place, floor) in ["sender", "receiver"].into_iter().zip(floors) {
            // Without timestamps, no recording alone shows on which way a queue stands; whether a link with a short queue is
            // full at an instant is a matter of degree.
            let groups = ["ack-path", "short-queue"];
            let is_known =
                |run: &&Value| run["place"] == place && groups.iter().all(|group| run["group"] != *group);
            let runs = array(&score, "/by_time/runs").iter().filter(is_known);
            let sum = |name| runs.clone().map(|run| number(run, name)).sum::<f64>();
            let right = sum("right_s") / sum("known_s");
            assert!(right >= floor, "{set}, {place}: {right:.4} of the time right, {floor} asked");
        }
        let sure = &score["by_time"]["sure"];
        let wrong = number(&sure["receiver"], "wrong");
        assert!(wrong <= SURE_AND_WRONG[1], "{set}: {wrong:.4} of the time with high confidence wrong");
    }
}

/// Reports every row of a table that is below its floor.
fn compare<'a>(
    below: &mut Vec<String>,
    rows: &[Value],
    floors: impl Iterator<Item = (&'a str, f64)>,
    measured: impl Fn(&Value) -> f64,
) {
    for (group, floor) in floors {
        match rows.iter().find(|row| row["group"] == group).map(&measured) {
            None => below.push(format!("{group}: no capture")),
            Some(share) if share < floor => {
                below.push(format!("{group}: {share:.4} of the time right, {floor} asked"));
            }
            Some(_) => {}
        }
    }
}

fn hold(nth: usize) {
    let set = SETS[nth];
    let score = score(set, &[]);
    let mut below = Vec::new();

    let by_limit = BY_LIMIT.iter().map(|(group, floors)| (*group, floors[nth]));
    compare(&mut below, array(&score, "/limits/groups"), by_limit, |row| number(row, "by_limit"));
    let least = BY_LIMIT_LEAST.iter().map(|(group, floors)| (*group, floors[nth]));
    compare(&mut below, array(&score, "/limits/groups"), least, |row| number(row, "by_limit_least"));
    let times = array(&score, "/by_time/groups");
    let at_sender = BY_TIME.iter().map(|(group, floors, _)| (*group, floors[nth]));
    compare(&mut below, times, at_sender, |row| number(&row["right_at"], "sender"));
    let at_receiver = BY_TIME.iter().map(|(group, _, floors)| (*group, floors[nth]));
    compare(&mut below, times, at_receiver, |row| number(&row["right_at"], "receiver"));
    for (place, most) in [("sender", SURE_AND_WRONG[0]), ("receiver", SURE_AND_WRONG[1])] {
        let wrong = number(&score["by_time"]["sure"][place], "wrong");
        if wrong.is_nan() || wrong > most {
            below.push(format!("high confidence, {place}: {wrong:.4} of the time wrong, {most} allowed"));
        }
    }
    // The merged report of both recordings is no worse than the sender's alone, except for ACKs that were held back,
    // which need certainty.
    for row in array(&score, "/limits/groups").iter().filter(|row| row["group"] != "late-receiver") {
        let at = |place| number(&row["by_limit_at"], place);
        if at("both") < at("sender") - 0.01 {
            below.push(format!(
                "{}: {:.4} right of both, {:.4} at the sender",
                row["group"],
                at("both"),
                at("sender")
            ));
        }
    }
    let stalls = &score["stalls"];
    let named = number(stalls, "right") / number(stalls, "known");
    let asked = STALLS[nth];
    if named < asked {
        below.push(format!("stalls: {named:.4} named right, {asked} asked"));
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
