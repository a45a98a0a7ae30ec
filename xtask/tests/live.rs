//! What the probe tells live of transfers to which something was done is what was done to them.
//!
//! The floors lie a little below what was measured (docs/src/live.md).

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// A case of each kind, its group, where it is told, and the least share of its time that is right there, at each time.
const CASES: [(&str, &str, &str, f64); 15] = [
    ("small-rcvbuf-20mbit-40ms-16k", "receive-window", "sender", 0.95),
    ("slow-reader-20mbit-20ms-4k-every-10ms", "slow-reader", "sender", 0.95),
    ("scale-too-small-30mbit-80ms-for-64k", "window-scale", "sender", 0.95),
    ("small-sndbuf", "send-buffer", "sender", 0.95),
    ("request-response", "application", "sender", 0.95),
    ("random-loss-30mbit-60ms-1000ppm-cubic", "loss", "sender", 0.85),
    ("tail-loss", "tail-loss", "sender", 0.85),
    ("reordering-and-loss", "reordering", "sender", 0.9),
    ("full-link", "full-path", "sender", 0.85),
    ("slow-start", "slow-start", "sender", 0.9),
    ("cwnd-clamped", "early-exit", "sender", 0.95),
    ("policer", "policer", "sender", 0.9),
    ("sack-reneging", "reneging", "sender", 0.9),
    ("delay-spike", "delay-spike", "sender", 0.85),
    ("acks-held-back", "late-receiver", "receiver", 0.9),
];
/// Of all of them together.
const MEAN: f64 = 0.95;
/// So many of them are judged at least. A busy machine delays the path of some on each attempt, and never of most.
const JUDGED: usize = 8;

fn xtask(arguments: &[&str], out: &Path) -> Output {
    let flag = if arguments[0] == "captures" { "--out" } else { "--captures" };
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(arguments)
        .arg(flag)
        .arg(out)
        .env("RUST_BACKTRACE", "0")
        .output()
        .expect("xtask starts")
}

#[test]
#[ignore = "needs root"]
fn the_probe_says_what_was_done() {
    let out = std::env::temp_dir().join(format!("slowpath-live-{}", std::process::id()));
    let listed = xtask(&["captures", "--set", "shipped", "--list"], &out);
    let listed = String::from_utf8_lossy(&listed.stdout);
    let first = |name: &str| {
        let mut ids = listed.lines().filter_map(|line| line.split_whitespace().next());
        ids.find(|id| id.starts_with(name)).unwrap_or_else(|| panic!("{name}: there is no such case"))
    };
    let only: Vec<&str> = CASES.iter().flat_map(|(name, ..)| ["--only", first(name)]).collect();
    let recorded = xtask(&[&["captures", "--set", "shipped", "--attempts", "4"][..], &only].concat(), &out);
    print!("{}", String::from_utf8_lossy(&recorded.stdout));
    let score = xtask(&["score", "shipped", "--json"], &out);
    let _ = std::fs::remove_dir_all(&out);
    assert!(score.status.success(), "{}", String::from_utf8_lossy(&score.stderr));
    let score: Value = serde_json::from_slice(&score.stdout).expect("JSON");
    let groups = score.pointer("/live/by_time/groups").and_then(Value::as_array).expect("a list of groups");
    let (mut below, mut shares) = (Vec::new(), Vec::new());
    for (name, group, place, floor) in CASES {
        let row = groups.iter().find(|row| row["group"] == group);
        let Some(share) = row.and_then(|row| row["right_at"][place].as_f64()) else {
            println!("not judged: the probe on {name}: the path was late each time");
            continue;
        };
        println!("{group:16} {:5.1} % right", share * 100.0);
        shares.push(share);
        if share < floor {
            below.push(format!("{group}: {share:.3} of the time right, {floor} asked"));
        }
    }
    assert!(shares.len() >= JUDGED, "only {} of {} cases were judged", shares.len(), CASES.len());
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!(below.is_empty() && mean >= MEAN, "mean {mean:.3}; {}", below.join("; "));
}
