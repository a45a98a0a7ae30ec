//! The live probe names the cause that was imposed on each transfer.
//!
//! The floors are a little below what was measured (docs/src/live-measurements.md).

use serde_json::Value;
use slowpath_model::statistics::mean;
use std::path::Path;
use std::process::{Command, Output};

/// A case of each kind, its group, the end whose verdict counts, and the least share of its time with the right
/// verdict.
const CASES: [(&str, &str, &str, f64); 17] = [
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
    // One group: each is judged by the measurements of both.
    ("paced-100mbit-40ms-8mbit", "sending-host", "sender", 0.95),
    ("own-link-100mbit-50ms-10mbit", "sending-host", "sender", 0.95),
];
/// The least mean share over all cases.
const MEAN: f64 = 0.95;
/// The least number of cases that must be judged. The lab keeps no run in which its own path was late, and on a busy
/// machine a few cases are late in each attempt. If a third of them is late, the machine cannot show whether the probe
/// is right.
const JUDGED: usize = 10;

/// The scores of [`CASES`].
#[derive(Debug, Default)]
struct Judged {
    /// The share of the time with the right verdict, of each case that was judged.
    shares: Vec<f64>,
    /// Cases below their floor.
    below: Vec<String>,
    /// Cases without a run that counts.
    missing: Vec<&'static str>,
}

impl Judged {
    /// Reads `xtask score --json`.
    fn of(score: &[u8]) -> Self {
        let score: Value = serde_json::from_slice(score).expect("`xtask score --json` prints JSON");
        let groups = score.pointer("/live/by_time/groups").and_then(Value::as_array);
        let groups = groups.expect("/live/by_time/groups is a list");
        let mut judged = Self::default();
        for (name, group, place, floor) in CASES {
            let Some(row) = groups.iter().find(|row| row["group"] == group) else {
                judged.missing.push(name);
                continue;
            };
            let share = &row["right_at"][place];
            let share = share.as_f64().unwrap_or_else(|| panic!("{group}: right_at.{place} is {share}"));
            println!("{group:16} {:5.1} % right", share * 100.0);
            judged.shares.push(share);
            if share < floor {
                judged.below.push(format!("{name}: {share:.3} of the time right, floor {floor}"));
            }
        }
        judged
    }

    /// Why the test fails; `None` if it passes.
    fn failure(&self) -> Option<String> {
        let count = self.shares.len();
        if count < JUDGED {
            return Some(format!(
                "{count} of {} cases judged, {JUDGED} needed; missing: {:?}",
                CASES.len(),
                self.missing
            ));
        }
        let mean = mean(self.shares.iter().copied()).unwrap_or(0.0);
        (!self.below.is_empty() || mean < MEAN)
            .then(|| format!("mean {mean:.3}, floor {MEAN}; {:?}", self.below))
    }
}

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

/// A score in which each of these groups has this share.
fn score(groups: &[&str], share: f64) -> Judged {
    let right_at = serde_json::json!({ "sender": share, "receiver": share });
    let groups: Vec<Value> =
        groups.iter().map(|group| serde_json::json!({ "group": group, "right_at": right_at })).collect();
    let score = serde_json::json!({ "live": { "by_time": { "groups": groups } } });
    Judged::of(score.to_string().as_bytes())
}

#[test]
fn score_passes_only_with_enough_right_cases() {
    let groups = CASES.map(|(_, group, ..)| group);
    assert_eq!(score(&groups, 0.99).failure(), None);
    assert_eq!(score(&groups[..JUDGED], 0.99).failure(), None);
    let failure = |judged: Judged| judged.failure().expect("it fails");
    assert!(failure(score(&groups[..JUDGED - 1], 0.99)).contains("9 of 17 cases judged, 10 needed"));
    assert!(failure(score(&[], 0.99)).contains("0 of 17 cases judged"));
    assert!(failure(score(&groups, 0.93)).contains("small-rcvbuf"));
    assert!(failure(score(&["loss"; 17], 0.99)).contains("1 of 17"));
}

#[test]
#[should_panic(expected = "prints JSON")]
fn score_that_is_not_json_fails() {
    Judged::of(b"error: no runs\n");
}

#[test]
#[should_panic(expected = "groups is a list")]
fn score_without_live_groups_fails() {
    Judged::of(b"{}");
}

#[test]
#[ignore = "needs root"]
fn live_probe_names_the_imposed_cause() {
    let out = std::env::temp_dir().join(format!("slowpath-live-{}", std::process::id()));
    let listed = xtask(&["captures", "--set", "shipped", "--list"], &out);
    let listed = String::from_utf8_lossy(&listed.stdout);
    let first = |name: &str| {
        let mut ids = listed.lines().filter_map(|line| line.split_whitespace().next());
        ids.find(|id| id.starts_with(name)).unwrap_or_else(|| panic!("{name}: there is no such case"))
    };
    let only: Vec<&str> = CASES.iter().flat_map(|(name, ..)| ["--only", first(name)]).collect();
    // It fails if one case was late in each attempt; `Judged` counts those.
    let recorded = xtask(&[&["captures", "--set", "shipped", "--attempts", "4"][..], &only].concat(), &out);
    print!("{}", String::from_utf8_lossy(&recorded.stdout));
    let score = xtask(&["score", "shipped", "--json"], &out);
    let _ = std::fs::remove_dir_all(&out);
    assert!(score.status.success(), "{}", String::from_utf8_lossy(&score.stderr));
    let judged = Judged::of(&score.stdout);
    for name in &judged.missing {
        println!("not judged: {name}: no run in which the lab's path was in time");
    }
    assert_eq!(judged.failure(), None);
}
