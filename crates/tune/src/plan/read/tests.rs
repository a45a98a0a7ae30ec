//! Plans as they are written, and edited by hand.

use super::super::{ByHand, Made, Plan, Planned};
use slowpath_remedies::Setting;

fn plan() -> Plan {
    let planned = |setting: &str, now: &str, then: &str| Planned {
        setting: setting.parse::<Setting>().expect("a setting"),
        now: now.to_owned(),
        then: then.to_owned(),
        finding: "receive-buffer".to_owned(),
        why: "tcp_rmem limits \"it\"\\ to 4 MiB.\nSo.\u{7f}".to_owned(),
        source: "ubik IV-B".to_owned(),
    };
    Plan {
        made: Made {
            at: "2026-03-01 12:00:00 UTC".to_owned(),
            host: "a".to_owned(),
            kernel: "6.18.0".to_owned(),
            goal: "1 Gbit/s over 40 ms".to_owned(),
        },
        changes: vec![
            planned("sysctl net.ipv4.tcp_rmem", "4096 131072 4194304", "4096 131072 20971520"),
            planned("route 192.0.2.9/32", "none", "dev eth0 mtu lock 1400"),
        ],
        by_hand: vec![ByHand {
            command: "tc qdisc del dev eth0 root".to_owned(),
            finding: "shaper".to_owned(),
            why: "a shaper".to_owned(),
            not_applied: "it cannot be taken back exactly".to_owned(),
        }],
    }
}

#[test]
fn plan_reads_back_as_written() {
    let text = plan().to_toml();
    assert_eq!(Plan::from_toml("plan.toml", &text), Ok(plan()), "{text}");
    assert!(text.contains("undo = \"sysctl -w net.ipv4.tcp_rmem=\\\"4096 131072 4194304\\\"\""), "{text}");
}

#[test]
fn only_setting_now_and_then_are_needed() {
    let text = "schema = \"slowpath/plan/1\"\n[[change]]\nsetting = \"link eth0 mtu\"\nnow = \"576\"\nthen = \"1500\"\n";
    let plan = Plan::from_toml("plan.toml", text).expect("a plan");
    assert_eq!(plan.changes[0].then, "1500");
}

#[test]
fn slips_are_refused_with_line_key_and_fix() {
    let text = plan().to_toml();
    for (from, to, says) in [
        (
            "slowpath/plan/1",
            "slowpath/plan/2",
            "plan.toml:4: schema: \"slowpath/plan/2\" cannot be read; this slowpath reads",
        ),
        ("schema = ", "scheme = ", "plan.toml:4: \"scheme\" is not a key of a plan; known are schema, made"),
        ("then = \"4096", "than = \"4096", "\"than\" is not a key of [[change]]; known are setting, now"),
        ("then = \"4096 131072 20971520\"", "then = 5", "plan.toml:13: then: write text in quotes"),
        (
            "then = \"4096 131072 20971520\"",
            "then = \"4096 131072 4194304\"",
            "plan.toml:13: then: is the same as now",
        ),
        ("then = \"4096 131072 20971520\"", "", "plan.toml:10: then missing from this [[change]]"),
        (
            "tcp_rmem\"\nnow",
            "tcp_rmem; reboot\"\nnow",
            "plan.toml:11: setting: \"sysctl net.ipv4.tcp_rmem; reboot\" is not a setting; write one of",
        ),
        ("now = \"none\"", "now = \"nothing\"", "now: \"nothing\" is not an attribute of a route"),
        (
            "setting = \"route 192.0.2.9/32\"",
            "setting = \"sysctl net.ipv4.tcp_rmem\"",
            "is changed above already",
        ),
        ("[[by-hand]]", "[by-hand]", "by-hand: write a table for each, under [[by-hand]]"),
        ("[[by-hand]]", "[[by-foot]]", "\"by-foot\" is not a key of a plan"),
        ("[[change]]", "[[change]", "plan.toml:10: "),
        ("now = \"none\"", "now = \"none", "plan.toml:22: "),
    ] {
        assert!(text.contains(from), "{from}: {text}");
        let edited = text.replacen(from, to, 1);
        let error = Plan::from_toml("plan.toml", &edited).expect_err(to).to_string();
        assert!(error.contains(says), "{to}: {error}");
    }
}

#[test]
fn all_faults_are_reported_at_once() {
    let text = plan().to_toml().replace("finding =", "found =");
    let error = Plan::from_toml("plan.toml", &text).expect_err("unknown keys");
    assert_eq!(error.faults.len(), 3, "{error}");
}

#[test]
fn cut_at_each_character_it_is_an_error_or_a_plan() {
    let text = plan().to_toml();
    for (length, _) in text.char_indices() {
        if let Ok(plan) = Plan::from_toml("plan.toml", &text[..length]) {
            assert!(plan.changes.len() <= 2);
        }
    }
}
