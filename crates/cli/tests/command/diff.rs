//! `slowpath diff`: pairs of captures of which it is known what changed, simulated and written.

use crate::captures::{Captures, transfer, transfer_at_receiver};
use crate::width::narrow;
use crate::{expect_handbook_example, flat, json, outcome, run, shipped};
use serde_json::Value;

/// A path that one transfer fills.
const BASE: &[u8] = b"title = \"base\"\nduration = \"10 s\"\n\
    [path]\nrate = \"50 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"1 bdp\"\n";
const SMALL: &str = "flows.receiver.socket.SO_RCVBUF=64KiB";

/// Simulates the base with other values, and captures it at both ends below `name`.
fn simulate(folder: &Captures, name: &str, set: &[&str], seed: &str) {
    folder.write("base.toml", BASE);
    let mut args = vec!["run", "base.toml", "--pcap", name, "--seed", seed];
    args.extend(set.iter().flat_map(|value| ["--set", value]));
    let (code, _, err) = outcome(&run(folder, &args));
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
}

fn compared(folder: &Captures, a: &str, b: &str, more: &[&str]) -> Value {
    let args = [&["diff", a, b, "--json"], more].concat();
    let (code, out, err) = outcome(&run(folder, &args));
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    json(&out)
}

/// Copies a shipped capture of a sender below a short name.
fn copy(folder: &Captures, case: &str, name: &'static str) -> &'static str {
    std::fs::copy(shipped(case, "sender"), folder.path(name)).expect("a shipped capture");
    name
}

/// The one pair of a comparison, whose parts add up.
fn pair(document: &Value) -> &Value {
    assert_eq!(document["schema"], "slowpath/diff/1");
    let pairs = document["pairs"].as_array().expect("pairs");
    assert_eq!(pairs.len(), 1, "{document}");
    let difference = &pairs[0]["difference"];
    let number = |value: &Value| value.as_i64().expect("a time");
    let parts = difference["parts"].as_array().expect("parts");
    let sum = |of: &dyn Fn(&Value) -> i64| parts.iter().map(of).sum::<i64>();
    assert_eq!(sum(&|part| number(&part["change_ns"])), number(&difference["change_ns"]), "{difference}");
    for side in 0..2 {
        let time = number(&difference["times_ns"][side]);
        assert_eq!(sum(&|part| number(&part["times_ns"][side])), time);
        // By way of the rate, without the causes.
        let of = |field: &str| pairs[0]["sides"][side][field].as_f64().expect("a number");
        let by_rate = of("lasted_ns") * difference["per_bytes"].as_f64().expect("an amount") / of("bytes");
        assert!((by_rate - time as f64).abs() <= 1.0 + parts.len() as f64, "{by_rate} {time}");
    }
    &pairs[0]
}

/// The names of a list's entries.
fn names<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    let list = list.as_array().expect("a list");
    list.iter().map(|one| one[field].as_str().expect("a name")).collect()
}

/// The facts of the mechanism, one of `names`, that explains the time under `cause`.
#[track_caller]
fn facts<'a>(pair: &'a Value, cause: &str, names: &[&str]) -> Vec<&'a str> {
    let reasons = pair["reasons"].as_array().expect("reasons");
    let reason = reasons.iter().find(|reason| reason["cause"] == cause);
    let mechanisms = reason.and_then(|reason| reason["mechanisms"].as_array());
    let found = mechanisms
        .into_iter()
        .flatten()
        .find(|mechanism| names.iter().any(|name| mechanism["name"] == *name));
    let found = found.unwrap_or_else(|| panic!("{cause} is not explained by {names:?}: {pair:#}"));
    found["facts"].as_array().expect("facts").iter().map(|fact| fact.as_str().expect("a name")).collect()
}

/// What was changed, what has to explain it, and facts that must not be said to.
struct Change {
    a: &'static [&'static str],
    b: &'static [&'static str],
    cause: &'static str,
    mechanism: &'static [&'static str],
    facts: &'static [&'static str],
    innocent: &'static [&'static str],
}

const CHANGES: &[Change] = &[
    Change {
        a: &[SMALL],
        b: &[SMALL, "path.delay=20ms"],
        cause: "receive-window/buffer-too-small",
        mechanism: &["window-over-rtt"],
        facts: &["shortest-rtt"],
        innocent: &["receive-window", "lost", "segment-payload"],
    },
    Change {
        a: &["flows.receiver.socket.SO_RCVBUF=128KiB"],
        b: &["flows.receiver.socket.SO_RCVBUF=32KiB"],
        cause: "receive-window/buffer-too-small",
        mechanism: &["window-over-rtt"],
        facts: &["receive-window"],
        innocent: &["shortest-rtt", "lost"],
    },
    Change {
        a: &["path.delay=40ms"],
        b: &["path.delay=40ms", "hosts.receiver.sysctl.tcp_window_scaling=false"],
        cause: "receive-window/no-window-scaling",
        mechanism: &["window-over-rtt"],
        facts: &["window-scaling", "receive-window"],
        innocent: &["shortest-rtt", "sack"],
    },
    Change {
        a: &["path.delay=20ms"],
        b: &["path.delay=20ms", "path.forward.loss=0.5%"],
        cause: "congestion-window/after-loss",
        mechanism: &["loss-reduces-window"],
        facts: &["lost"],
        innocent: &["shortest-rtt", "segment-payload"],
    },
    Change {
        a: &[],
        b: &["hosts.sender.nic.mtu=576B", "hosts.receiver.nic.mtu=576B"],
        cause: "path/bottleneck-full",
        mechanism: &["headers-of-segments"],
        facts: &["segment-payload"],
        innocent: &["shortest-rtt", "lost"],
    },
    Change {
        a: &["path.forward.loss=0.3%"],
        b: &["path.forward.loss=0.3%", "hosts.sender.nic.mtu=576B", "hosts.receiver.nic.mtu=576B"],
        cause: "congestion-window/after-loss",
        mechanism: &["window-grows-by-segments"],
        facts: &["segment-payload"],
        innocent: &["lost", "shortest-rtt"],
    },
    Change {
        a: &[],
        b: &["path.rate=20Mbit/s"],
        cause: "path/bottleneck-full",
        mechanism: &["path-carries-less"],
        facts: &["peak-rate"],
        innocent: &["shortest-rtt", "lost"],
    },
    Change {
        a: &["flows.sender.rate=20Mbit/s"],
        b: &["flows.sender.rate=8Mbit/s"],
        cause: "application/sender-idle",
        mechanism: &["program-paused"],
        facts: &[],
        innocent: &["shortest-rtt", "lost", "receive-window"],
    },
    Change {
        a: &["flows.receiver.rate=30Mbit/s"],
        b: &["flows.receiver.rate=10Mbit/s"],
        cause: "receive-window/slow-reader",
        // Next to the receiver, the rate of the reading program shows in both.
        mechanism: &["reader-is-slower", "receiver-was-late"],
        facts: &[],
        innocent: &["shortest-rtt", "lost"],
    },
    Change {
        a: &[],
        b: &["path.forward.reorder=2%", "path.forward.reorder-by=30ms"],
        cause: "loss-recovery/reordering",
        mechanism: &["spurious-reduces-window"],
        facts: &["spurious-retransmissions"],
        innocent: &["lost", "shortest-rtt"],
    },
];

#[test]
fn what_changed_is_found_at_either_end_and_in_either_order() {
    for (number, change) in CHANGES.iter().enumerate() {
        let folder = Captures::new();
        simulate(&folder, "a", change.a, "1");
        simulate(&folder, "b", change.b, "2");
        for end in ["sender", "receiver"] {
            let [a, b] = ["a", "b"].map(|side| format!("{side}/{end}.pcapng"));
            for (first, second, is_slower) in [(&a, &b, true), (&b, &a, false)] {
                let document = compared(&folder, first, second, &[]);
                let pair = pair(&document);
                let why = format!("change {number} at the {end}: {pair:#}");
                assert_eq!(
                    (&pair["is_certain"], &pair["paired_by"]),
                    (&true.into(), &"service".into()),
                    "{why}"
                );
                let difference = &pair["difference"];
                assert_eq!(difference["is_beyond_chance"], true, "{why}");
                assert_eq!(difference["change_ns"].as_i64().expect("a time") > 0, is_slower, "{why}");
                let found = facts(pair, change.cause, change.mechanism);
                assert!(change.facts.iter().all(|fact| found.contains(fact)), "{found:?} {why}");
                let explains = |fact: &&&str| {
                    let changed = pair["changed"].as_array().expect("facts");
                    changed.iter().any(|one| one["fact"] == ***fact && one["explains"] == true)
                };
                assert_eq!(change.innocent.iter().find(explains), None, "{why}");
            }
        }
    }
}

/// Captures of the real kernel: a transfer with this cause, compared with one that filled its path.
#[test]
fn causes_of_captures_on_the_kernel_are_found_and_explained() {
    const FULL: &str = "full-link-20mbit-20ms-reno-tso";
    let folder = Captures::new();
    for (case, cause, mechanism) in [
        ("small-rcvbuf-10mbit-100ms-24k", "receive-window/buffer-too-small", "window-over-rtt"),
        ("no-autotuning-20mbit-80ms", "receive-window/buffer-too-small", "window-over-rtt"),
        ("no-window-scaling-20mbit-120ms-both", "receive-window/no-window-scaling", "window-over-rtt"),
        ("small-sndbuf-30mbit-150ms-32k", "send-buffer/full", "flight-over-rtt"),
        ("cwnd-clamped-20mbit-60ms-20packets", "congestion-window/early-exit", "flight-over-rtt"),
        ("random-loss-20mbit-40ms-10000ppm-cubic", "congestion-window/after-loss", "loss-reduces-window"),
        ("ecn-marks-30mbit-60ms-5000ppm-tso", "congestion-window/ecn-marks", "mark-reduces-window"),
        ("slow-reader-20mbit-40ms-64k-every-200ms", "receive-window/slow-reader", "reader-is-slower"),
        ("steady-writes-20mbit-60ms-1000b-every-10ms", "application/sender-idle", "program-paused"),
        ("request-response-20mbit-20ms-50000b-think-200ms", "application/think-time", "turns-cost-time"),
        ("policer-50mbit-20ms-policed-10mbit-100k", "path/policer", "policer-drops"),
        ("paced-100mbit-40ms-8mbit", "sending-host/rate-limit", "host-keeps-to-rate"),
        ("bufferbloat-5mbit-20ms-150packets", "path/standing-queue", "path-carries-less"),
        (
            "reordering-20mbit-40ms-20000ppm-by-60ms-nots",
            "loss-recovery/reordering",
            "spurious-reduces-window",
        ),
    ] {
        for end in ["sender", "receiver"] {
            let document = compared(&folder, &shipped(FULL, end), &shipped(case, end), &[]);
            let pair = pair(&document);
            assert_eq!(pair["difference"]["is_beyond_chance"], true, "{case} at the {end}: {pair:#}");
            facts(pair, cause, &[mechanism]);
        }
    }
}

#[test]
fn nothing_changed_but_the_seed() {
    let kinds: [&[&str]; 5] = [
        &[],
        &[SMALL],
        &["path.forward.loss=0.2%"],
        &["path.forward.loss=0.5%", "flows.sender.socket.TCP_CONGESTION=reno"],
        &["flows.sender.rate=8Mbit/s", "path.forward.loss=0.05%"],
    ];
    for set in kinds {
        let folder = Captures::new();
        ["1", "2", "3"].iter().for_each(|seed| simulate(&folder, seed, set, seed));
        for (a, b) in [("1", "2"), ("2", "3"), ("3", "1")] {
            for end in ["sender", "receiver"] {
                let [a, b] = [a, b].map(|side| format!("{side}/{end}.pcapng"));
                let document = compared(&folder, &a, &b, &[]);
                let pair = pair(&document);
                let why = format!("{set:?}, {a} and {b}: {pair:#}");
                assert_eq!(pair["difference"]["is_beyond_chance"], false, "{why}");
                assert_eq!(pair["reasons"], serde_json::json!([]), "{why}");
                assert_eq!(names(&pair["changed"], "fact"), Vec::<&str>::new(), "{why}");
                let text = pair["text"].as_str().expect("a sentence");
                assert!(text.contains("Nothing that slowpath measures changed."), "{why}");
            }
        }
    }
}

/// BBR does not reduce its window at each loss: no fact of a capture says so.
#[test]
fn difference_without_a_fact_is_not_explained() {
    let folder = Captures::new();
    let loss = "path.forward.loss=0.5%";
    simulate(&folder, "a", &[loss, "flows.sender.socket.TCP_CONGESTION=bbr"], "1");
    simulate(&folder, "b", &[loss], "2");
    let (a, b) = ("a/sender.pcapng", "b/sender.pcapng");
    let document = compared(&folder, a, b, &[]);
    let pair = pair(&document);
    assert_eq!(pair["difference"]["is_beyond_chance"], true, "{pair:#}");
    let reasons = pair["reasons"].as_array().expect("reasons");
    assert!(
        !reasons.is_empty() && reasons.iter().all(|one| one["mechanisms"] == serde_json::json!([])),
        "{pair:#}"
    );
    let out = narrow(&folder, &["diff", a, b]);
    assert!(
        flat(&out).contains("Nothing in the two captures that slowpath measures explains the difference."),
        "{out}"
    );
}

#[test]
fn short_and_long_captures_compare() {
    let folder = Captures::new();
    simulate(&folder, "short", &[SMALL], "1");
    simulate(&folder, "long", &[SMALL, "duration=40s"], "2");
    let document = compared(&folder, "short/sender.pcapng", "long/sender.pcapng", &[]);
    let pair = pair(&document);
    assert_eq!(pair["difference"]["is_beyond_chance"], false, "{pair:#}");
    assert_eq!(pair["difference"]["per_bytes"], 10 << 20, "{pair:#}");
}

#[test]
fn taps_at_different_places_are_named() {
    let folder = Captures::new();
    simulate(&folder, "a", &["path.forward.loss=0.2%"], "1");
    let document = compared(&folder, "a/sender.pcapng", "a/receiver.pcapng", &[]);
    let pair = pair(&document);
    assert!(names(&pair["cautions"], "kind").contains(&"other-place"), "{pair:#}");
    assert_eq!(names(&pair["changed"], "fact"), Vec::<&str>::new(), "{pair:#}");
    assert_eq!(pair["difference"]["is_beyond_chance"], false, "{pair:#}");
}

#[test]
fn written_captures_of_one_path_do_not_differ() {
    let folder = Captures::new();
    folder.write("a.pcap", &transfer(200));
    folder.write("b.pcap", &transfer(100));
    let document = compared(&folder, "a.pcap", "b.pcap", &[]);
    let pair = pair(&document);
    assert_eq!(pair["difference"]["is_beyond_chance"], false, "{pair:#}");
    folder.write("c.pcap", &transfer_at_receiver(200));
    let document = compared(&folder, "a.pcap", "c.pcap", &[]);
    assert!(names(&document["pairs"][0]["cautions"], "kind").contains(&"unknown-place"), "{document:#}");
}

/// A capture without its first `packets`.
fn without_first(capture: &[u8], packets: usize) -> Vec<u8> {
    let mut at = 24;
    for _ in 0..packets {
        let length = capture[at + 8..at + 12].try_into().expect("four bytes");
        at += 16 + u32::from_le_bytes(length) as usize;
    }
    [&capture[..24], &capture[at..]].concat()
}

#[test]
fn capture_that_begins_late_is_named_and_paired() {
    let folder = Captures::new();
    folder.write("a.pcap", &transfer(200));
    // The first packet that is left is the server's ACK, which makes it look like the client.
    let late = without_first(&transfer(200), 23);
    folder.write("b.pcap", &late);
    let document = compared(&folder, "a.pcap", "b.pcap", &[]);
    let pair = pair(&document);
    assert!(names(&pair["cautions"], "kind").contains(&"opening-not-seen"), "{pair:#}");
    assert_eq!((&pair["paired_by"], &pair["is_certain"]), (&"service".into(), &true.into()), "{pair:#}");
    assert_eq!(names(&pair["sides"], "server"), ["198.51.100.7:443"; 2]);
}

#[test]
fn services_are_paired_and_those_of_one_capture_are_named() {
    let folder = Captures::new();
    let a = copy(&folder, "parallel-10mbit-30ms-4streams", "a.pcap.zst");
    let b = copy(&folder, "parallel-12mbit-50ms-4streams", "b.pcap.zst");
    let document = compared(&folder, a, b, &[]);
    let pairs = document["pairs"].as_array().expect("pairs");
    assert_eq!(pairs.len(), 4);
    let cost = |pair: &Value| {
        let [change, per] =
            ["change_ns", "per_bytes"].map(|field| pair["difference"][field].as_f64().expect("a number"));
        (change * pair["sides"][1]["bytes"].as_f64().expect("an amount") / per).abs()
    };
    assert!(pairs.is_sorted_by(|one, next| cost(one) >= cost(next)), "{document:#}");
    let out = narrow(&folder, &["diff", a, b]);
    assert!(out.contains("192.0.2.2:5003") && out.matches("Where the time went").count() == 1, "{out}");
    let out = narrow(&folder, &["diff", a, b, "--top", "4"]);
    assert_eq!(out.matches("Where the time went").count(), 4, "{out}");
    // Chosen flows are compared whatever their services are.
    let document = compared(&folder, a, b, &["--flow", "1,2"]);
    let pair = pair(&document);
    assert_eq!((&pair["paired_by"], &pair["is_certain"]), (&"choice".into(), &true.into()));
    assert_eq!(names(&pair["sides"], "server"), ["192.0.2.2:5001", "192.0.2.2:5002"]);
    // Nothing in common.
    let other = copy(&folder, "short-connections-50mbit-40ms-30000b-4x15", "other.pcap.zst");
    let document = compared(&folder, a, other, &[]);
    assert_eq!(
        (document["pairs"].as_array().map(Vec::len), names(&document["only"][0], "server").len()),
        (Some(0), 4)
    );
    let out = flat(&narrow(&folder, &["diff", a, other]));
    assert!(
        out.contains("no service in common") && out.contains("Only in B: 192.0.2.1:8080 (1.72 MiB)."),
        "{out}"
    );
}

#[test]
fn many_connections_of_a_service_are_summed_up() {
    let folder = Captures::new();
    let a = copy(&folder, "short-connections-20mbit-80ms-15000b-3x10", "a.pcap.zst");
    let b = copy(&folder, "short-connections-50mbit-40ms-30000b-4x15", "b.pcap.zst");
    let document = compared(&folder, a, b, &[]);
    let pair = pair(&document);
    assert_eq!(pair["sides"][1]["flows"], 60);
    assert_eq!(pair["sides"][1]["flow"], Value::Null);
    assert_eq!(facts(pair, "connection/handshake", &["steps-of-an-rtt"]), ["shortest-rtt"]);
    let out = flat(&narrow(&folder, &["diff", a, b]));
    assert!(out.contains("60 flows of 192.0.2.1:8080"), "{out}");
}

/// Anonymised addresses differ, and ports stay.
#[test]
fn uncertain_pairing_is_said_to_be() {
    let folder = Captures::new();
    folder.transfer();
    let (code, ..) = outcome(&run(&folder, &["anonymize", "transfer.pcap", "other.pcap"]));
    assert_eq!(code, 0);
    let document = compared(&folder, "transfer.pcap", "other.pcap", &[]);
    let pair = pair(&document);
    assert_eq!((&pair["paired_by"], &pair["is_certain"]), (&"port".into(), &false.into()), "{pair:#}");
    let out = flat(&narrow(&folder, &["diff", "transfer.pcap", "other.pcap"]));
    assert!(out.contains("Paired by port 443 alone"), "{out}");
    let other = copy(&folder, "full-link-10mbit-40ms-cubic", "link.pcap.zst");
    let document = compared(&folder, "transfer.pcap", other, &[]);
    assert_eq!(document["pairs"][0]["paired_by"], "largest");
    let out = flat(&narrow(&folder, &["diff", "transfer.pcap", other]));
    assert!(out.contains("The pairing is uncertain"), "{out}");
}

#[test]
fn connection_that_failed_is_not_compared_by_time() {
    let folder = Captures::new();
    folder.transfer();
    // The SYN alone.
    let whole = transfer(1);
    folder.write("syn.pcap", &whole[..24 + 16 + 40]);
    let (code, out, _) = outcome(&run(&folder, &["diff", "transfer.pcap", "syn.pcap"]));
    assert_eq!(code, 0, "{out}");
    let text = flat(&out);
    assert!(text.contains("Not compared by time") && text.contains("B moved no data in 1 flow"), "{out}");
    assert!(text.contains("nothing answered the SYN"), "{out}");
}

#[test]
fn capture_without_flows_is_named() {
    let folder = Captures::new();
    folder.transfer();
    folder.write("empty.pcap", &transfer(1)[..24]);
    let out = flat(&narrow(&folder, &["diff", "transfer.pcap", "empty.pcap"]));
    assert!(out.contains("B has no TCP flow") && out.contains("Only in A: 198.51.100.7:443"), "{out}");
    let out = flat(&narrow(&folder, &["diff", "empty.pcap", "transfer.pcap", "--filter", "port 1"]));
    assert!(out.contains("Neither capture has a TCP flow that was asked for"), "{out}");
}

#[test]
fn damage_is_exit_code_1_and_errors_are_2() {
    let folder = Captures::new();
    let whole = transfer(200);
    folder.write("transfer.pcap", &whole);
    folder.write("cut.pcap", &whole[..whole.len() - 7]);
    let (code, out, _) = outcome(&run(&folder, &["diff", "transfer.pcap", "cut.pcap"]));
    assert!(code == 1 && out.contains("Read only up to byte") && out.contains("No difference"), "{out}");
    for (args, says) in [
        (&["transfer.pcap", "missing.pcap"][..], "missing.pcap: cannot be opened"),
        (&["transfer.pcap", "transfer.pcap"], "is given twice"),
        (&["transfer.pcap", "cut.pcap", "--flow", "7"], "no flow 7"),
        (&["transfer.pcap", "cut.pcap", "--flow", "1,1,1"], "--flow 3,7"),
        (&["transfer.pcap", "cut.pcap", "--flow", "x"], "x"),
        (&["transfer.pcap"], "<B>"),
    ] {
        let (code, out, err) = outcome(&run(&folder, &[&["diff"], args].concat()));
        assert!(code == 2 && out.is_empty() && err.contains(says), "{args:?}: {err}");
    }
}

#[test]
fn scenarios_and_recordings_are_compared_too() {
    let folder = Captures::new();
    folder.write("good.toml", BASE);
    let bad = String::from_utf8_lossy(BASE).replace("\"10 ms\"", "\"30 ms\"") + "loss = \"0.5 %\"\n";
    folder.write("bad.toml", bad.as_bytes());
    let out = flat(&narrow(&folder, &["diff", "good.toml", "bad.toml"]));
    assert!(out.contains("B was slower") && out.contains("congestion window reduced after loss"), "{out}");
    let (code, _, err) = outcome(&run(&folder, &["run", "good.toml", "--record", "recorded"]));
    assert_eq!((code, err.as_str()), (0, ""));
    let document = compared(&folder, "good.toml", "recorded/sender", &[]);
    assert_eq!(pair(&document)["difference"]["is_beyond_chance"], false, "{document:#}");
}

#[test]
fn colour_is_for_terminals() {
    let folder = Captures::new();
    folder.write("a.pcap", &transfer(200));
    folder.write("b.pcap", &transfer(100));
    let (_, plain, _) = outcome(&run(&folder, &["diff", "a.pcap", "b.pcap"]));
    let (_, coloured, _) = outcome(&run(&folder, &["diff", "a.pcap", "b.pcap", "--color", "always"]));
    assert!(!plain.contains('\u{1b}') && coloured.contains('\u{1b}'));
}

#[test]
fn handbook_example_of_a_diff_matches_the_output() {
    expect_handbook_example("diff.md");
}
