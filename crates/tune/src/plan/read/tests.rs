//! Plans as they are written, and edited by hand.

use super::super::{ByHand, Forecast, Made, Plan, Planned, Prediction};
use proptest::prelude::*;
use slowpath_analyses::Cause;
use slowpath_model::Rate;
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
        predictions: vec![
            Prediction {
                changes: "sysctl net.ipv4.tcp_rmem = 4096 131072 20971520".to_owned(),
                outcome: Ok(forecast([14_240_000, 44_100_000, 47_300_000], Some((Cause::SlowStart, 0.62)))),
            },
            Prediction {
                changes: "route 192.0.2.9/32 = dev eth0 mtu lock 1400".to_owned(),
                outcome: Err("the \"simulation\" has no such setting".to_owned()),
            },
        ],
    }
}

fn forecast(rates: [u64; 3], next: Option<(Cause, f64)>) -> Forecast {
    let [now, low, high] = rates.map(Rate::bits_per_second);
    Forecast::of(now, [low, high], next).expect("rates")
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
fn predictions_are_of_the_plan_as_it_was_made() {
    let mut plan = plan();
    let of = |plan: &Plan| plan.changes.iter().map(|one| plan.predicted_of(one).cloned()).collect::<Vec<_>>();
    assert!(matches!(of(&plan)[..], [Some(Ok(_)), Some(Err(_))]), "{plan:?}");
    // Nothing is said of both together, and what is left when one is removed was predicted.
    assert!(plan.predicted().is_some_and(|whole| whole.is_err_and(|why| why.contains("was edited"))));
    plan.changes.truncate(1);
    assert!(matches!(plan.predicted(), Some(Ok(_))), "{plan:?}");
    plan.changes[0].then = "4096 131072 8388608".to_owned();
    assert_eq!(of(&plan), [None]);
    assert!(plan.predicted().is_some_and(|whole| whole.is_err()));
    plan.predictions.clear();
    assert_eq!(plan.predicted(), None);
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
        (
            "sysctl net.ipv4.tcp_rmem\"",
            "process 1 scheduler\"",
            "plan.toml:13: then: \"4096 131072 20971520\" is not a policy; write SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, or",
        ),
        (
            "sysctl net.ipv4.tcp_rmem\"",
            "rps ../sda rx-0\"",
            "plan.toml:11: setting: \"rps ../sda rx-0\" names no interface; write one of",
        ),
        (
            "sysctl net.ipv4.tcp_rmem\"",
            "process PID nice\"",
            "plan.toml:11: setting: process PID nice: write the number of the process in place of PID",
        ),
        ("sysctl net.ipv4.tcp_rmem\"", "irq 7 affinity\"", "is not a list of CPUs; write one such as 0-3,8"),
        ("rate-then = \"44.1", "rate-then = \"84.1", "plan.toml:33: rate-then: write two rates above zero"),
        (
            "rate-now = \"14.2 Mbit/s\"",
            "rate-now = \"14.2\"",
            "plan.toml:32: rate-now: \"14.2\" is not a rate",
        ),
        (
            "slow-start, 62 %",
            "slow-start, 620 %",
            "plan.toml:34: limit-then: \"congestion-window/slow-start, 620 %\"",
        ),
        (
            "rate-then = ",
            "not-predicted = ",
            "plan.toml:30: [[predicted]]: write changes, and either rate-now and",
        ),
        ("not-predicted = ", "rate-now = ", "plan.toml:36: [[predicted]]: write changes, and either"),
        (
            "limit-then",
            "limit",
            "plan.toml:34: \"limit\" is not a key of [[predicted]]; known are changes, rate-now",
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

/// A setting with two values that it can have.
fn change() -> impl Strategy<Value = (Setting, String, String)> {
    let device = prop::sample::select(vec!["eth0", "wlan0.5", "br-lan", "ü"]);
    let number = || (0..=u32::MAX).prop_map(|number| number.to_string());
    let address = any::<[u8; 4]>().prop_map(|octets| std::net::Ipv4Addr::from(octets).to_string());
    let sysctl = ("[a-z_]{1,12}", prop::collection::vec(any::<i32>(), 1..4), any::<i32>()).prop_map(
        |(name, now, then)| {
            let now: Vec<String> = now.iter().map(ToString::to_string).collect();
            (format!("sysctl net.ipv4.{name}"), now.join("\t"), then.to_string())
        },
    );
    let numbers = (device.clone(), number(), number());
    let link = numbers.clone().prop_map(|(device, now, then)| (format!("link {device} mtu"), now, then));
    let queue =
        numbers.prop_map(|(device, now, then)| (format!("qdisc {device} 1:a fq_codel limit"), now, then));
    let offload = device.prop_map(|device| {
        let now = "tx-tcp-segmentation off tx-tcp6-segmentation on";
        (format!("offload {device} tso"), now.to_owned(), "on".to_owned())
    });
    let route = (address.clone(), address, 0..=32_u8, 1..100_u32).prop_map(|(to, via, length, cwnd)| {
        let then = format!("via {via} dev eth0 mtu lock 1400 initcwnd {cwnd}");
        (format!("route {to}/{length}"), "none".to_owned(), then)
    });
    let cpus = || prop::collection::btree_set(0..300_u32, 1..5);
    let list =
        |cpus: std::collections::BTreeSet<u32>| cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let steering = (cpus(), 0..64_u32)
        .prop_map(move |(cpus, queue)| (format!("rps eth0 rx-{queue}"), "none".to_owned(), list(cpus)));
    let interrupt = (cpus(), cpus(), 0..500_u32)
        .prop_map(move |(now, then, number)| (format!("irq {number} affinity"), list(now), list(then)));
    let process = (1..4_000_000_u32, any::<u64>(), -20..=19_i32).prop_map(|(pid, start, nice)| {
        (format!("process {pid}@{start} nice"), format!("{pid}=0 {}=5", pid + 1), nice.to_string())
    });
    prop_oneof![sysctl, link, queue, offload, route, steering, interrupt, process]
        .prop_map(|(setting, now, then)| (setting.parse::<Setting>().expect("a setting"), now, then))
        .prop_filter("a change changes something", |(setting, now, then)| {
            setting.canonical(now) != setting.canonical(then)
        })
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let text = any::<String>;
    let planned =
        (change(), text(), text(), text()).prop_map(|((setting, now, then), finding, why, source)| Planned {
            setting,
            now,
            then,
            finding,
            why,
            source,
        });
    let by_hand = (text(), text(), text(), text()).prop_map(|(command, finding, why, not_applied)| ByHand {
        command,
        finding,
        why,
        not_applied,
    });
    let rates = (1..u64::MAX / 4, 0.5..20.0, 1.0..3.0);
    let next = prop::option::of((prop::sample::select(Cause::ALL.to_vec()), 0.0..=1.0));
    let forecast = (rates, next).prop_filter_map("rates above zero", |((now, factor, more), next)| {
        let low = now as f64 * factor;
        let rates = [low, low * more].map(|rate| Rate::bits_per_second(rate as u64));
        Forecast::of(Rate::bits_per_second(now), rates, next)
    });
    let outcome = prop_oneof![forecast.prop_map(Ok), text().prop_map(Err)];
    let predictions = (text(), outcome).prop_map(|(changes, outcome)| Prediction { changes, outcome });
    let predictions = prop::collection::vec(predictions, 0..4);
    let made =
        (text(), text(), text(), text()).prop_map(|(at, host, kernel, goal)| Made { at, host, kernel, goal });
    let changes = prop::collection::vec(planned, 0..8);
    let by_hand = prop::collection::vec(by_hand, 0..4);
    (made, changes, by_hand, predictions).prop_map(|(made, mut changes, by_hand, predictions)| {
        // Each setting once.
        let mut seen = std::collections::HashSet::new();
        changes.retain(|planned| seen.insert(planned.setting.clone()));
        Plan { made, changes, by_hand, predictions }
    })
}

proptest! {
    #[test]
    fn any_plan_reads_back_as_written(plan in any_plan()) {
        let text = plan.to_toml();
        prop_assert_eq!(Plan::from_toml("plan.toml", &text), Ok(plan), "{}", text);
    }

    /// What is damaged is a plan, or has faults with lines that the text has.
    #[test]
    fn damaged_plans_are_plans_or_have_faults(
        plan in any_plan(), at in any::<prop::sample::Index>(), with in "\\PC{0,3}|[\\[\\]\"=\n#{}]{1,3}",
    ) {
        let mut text = plan.to_toml();
        let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
        let place = places[at.index(places.len())];
        let length = text[place..].chars().next().map_or(0, char::len_utf8);
        text.replace_range(place..place + length, &with);
        if let Err(bad) = Plan::from_toml("plan.toml", &text) {
            let lines = text.lines().count().max(1);
            prop_assert!(!bad.faults.is_empty());
            prop_assert!(bad.faults.iter().all(|fault| (1..=lines + 1).contains(&fault.line)), "{}", bad);
        }
    }
}
