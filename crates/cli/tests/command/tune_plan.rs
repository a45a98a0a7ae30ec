//! `slowpath tune plan` of a capture and of a diagnosis, and `slowpath tune advise`.

use crate::captures::Captures;
use crate::tune::Host;
use crate::{flat, json, outcome, run, shipped, slowpath};
use std::collections::BTreeSet;
use std::fs::{self, File};

const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/shipped");
/// A capture whose receiver has a small buffer; its ends are 192.0.2.1, which sends, and 192.0.2.2.
const UNTUNED: &str = "no-autotuning-50mbit-50ms";

/// The plan of `args`, without when it was made and of what.
fn plan(folder: &Captures, args: &[&str]) -> String {
    // A diagnosis has no packets to predict from.
    let (code, out, err) = outcome(&run(folder, &[&["tune", "plan", "--no-predict"], args].concat()));
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}: {out}");
    let is_of_run = |line: &&str| line.starts_with("made = ") || line.starts_with("goal = ");
    out.lines().filter(|line| !is_of_run(line)).collect::<Vec<_>>().join("\n")
}

/// The findings that a plan names.
fn named(plan: &str) -> BTreeSet<String> {
    let names = plan.lines().filter_map(|line| line.strip_prefix("finding = \"")?.strip_suffix('"'));
    names.flat_map(|names| names.split(", ")).map(str::to_owned).collect()
}

#[test]
fn a_capture_and_its_diagnosis_give_the_same_plan() {
    let folder = Captures::new();
    let capture = shipped(UNTUNED, "sender");
    let (code, out, _) = outcome(&run(&folder, &["diagnose", &capture, "--json"]));
    assert_eq!(code, 0);
    folder.write("found.json", out.as_bytes());
    for end in [["--as", "sender"], ["--as", "receiver"], ["--host", "192.0.2.2"]] {
        let of_capture = plan(&folder, &[&[capture.as_str()][..], &end].concat());
        assert_eq!(plan(&folder, &[&["found.json"][..], &end].concat()), of_capture, "{end:?}");
        assert!(!named(&of_capture).is_empty(), "{end:?}: {of_capture}");
    }
    assert_eq!(
        plan(&folder, &["found.json", "--as", "receiver"]),
        plan(&folder, &["found.json", "--host", "192.0.2.2"])
    );
    let mut piped = slowpath(&folder);
    piped.args(["tune", "plan", "-", "--as", "receiver"]);
    piped.stdin(File::open(folder.path("found.json")).expect("a file"));
    let (code, out, err) = outcome(&piped.output().expect("it runs"));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("goal = \"1 flow of 192.0.2.2 in -\""), "{out}");
}

/// A capture does not say which process has read too slowly.
#[test]
fn a_larger_share_is_planned_for_the_process_that_is_named() {
    let folder = Captures::new();
    let capture = shipped("slow-reader-20mbit-40ms-64k-every-200ms", "receiver");
    let of = |more: &[&str]| run(&folder, &[&["tune", "plan", &capture, "--as", "receiver"], more].concat());
    let (code, out, _) = outcome(&of(&[]));
    assert!(
        code == 0 && out.contains("the process is not known: `ss -tnp` shows it, and --pid names it"),
        "{out}"
    );
    let pid = std::process::id();
    let (code, out, err) = outcome(&of(&["--pid", &pid.to_string()]));
    assert_eq!((code, err.as_str()), (0, ""));
    let setting = out.lines().find(|line| line.starts_with(&format!("setting = \"process {pid}@")));
    assert!(setting.is_some_and(|line| line.ends_with(" nice\"")) && out.contains("then = \"-5\""), "{out}");
    let (code, _, err) = outcome(&of(&["--pid", "4194304"]));
    assert!(code == 2 && err.contains("there is no process 4194304"), "{err}");
}

/// Of every finding with advice, the plans of both ends say what is done about it, or why nothing is.
#[test]
fn no_finding_is_dropped_in_silence() {
    let folder = Captures::new();
    let mut cases: Vec<String> = fs::read_dir(SHIPPED)
        .expect("the captures")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| fs::metadata(shipped(name, "sender")).is_ok())
        .collect();
    cases.sort();
    let (mut all, mut both_captures) = (BTreeSet::new(), 0);
    for case in cases.iter().step_by(5) {
        let capture = shipped(case, "sender");
        let (_, out, _) = outcome(&run(&folder, &["diagnose", &capture, "--json"]));
        folder.write("found.json", out.as_bytes());
        let document = json(&out);
        let mut wanted = BTreeSet::new();
        for flow in document["flows"].as_array().expect("flows") {
            let sender = flow["directions"].as_array().expect("directions").iter();
            for direction in sender.filter(|direction| direction["from"] == flow["sender"]) {
                let causes = direction["findings"].as_array().expect("findings").iter();
                wanted.extend(causes.map(|finding| finding["cause"].as_str().expect("a cause").to_owned()));
            }
        }
        for role in ["sender", "receiver"] {
            let args = ["tune", "plan", "found.json", "--as", role];
            let (code, out, err) = outcome(&run(&folder, &args));
            if code == 2 {
                let is_known = ["no flow has a finding with advice", "the flows have several"];
                assert!(is_known.iter().any(|text| err.contains(text)), "{case}: {err}");
                continue;
            }
            assert_eq!(named(&out), wanted, "{case} {role}: {out}");
            both_captures += 1;
        }
        all.extend(wanted);
    }
    assert!(both_captures > 40 && all.len() > 15, "{both_captures} plans of {all:?}");
}

#[test]
fn what_is_not_known_is_asked_for() {
    let folder = Captures::new();
    let capture = shipped(UNTUNED, "sender");
    folder.write("doctor.json", b"{\"schema\": \"slowpath/doctor/1\"}");
    folder.write("broken.json", b"{\"schema\": \"slowpath/diagnosis/1\",\n \"flows\": [{}]}");
    for (args, says) in [
        (vec![capture.as_str()], "does not say which of its hosts this is: write --as or --host"),
        (vec![&capture, "--as", "both"], "does not say which of its hosts this is"),
        (
            vec![&capture, "--host", "198.51.100.7"],
            "no flow has an end at 198.51.100.7; there are 192.0.2.1, 192.0.2.2",
        ),
        (
            vec![&capture, "--as", "sender", "--rate", "1Gbit/s"],
            "--rate, --rtt, --streams and --interface go with --doctor",
        ),
        (vec![&capture, "--as", "sender", "--host", "192.0.2.1"], "cannot be used with"),
        (vec!["doctor.json", "--as", "sender"], "this is what doctor has found; use --doctor"),
        (vec!["broken.json", "--as", "sender"], "broken.json:2: missing field `flow`"),
        (vec!["none.pcap", "--as", "sender"], "none.pcap"),
        (vec![], "required arguments were not provided"),
    ] {
        let (code, out, err) = outcome(&run(&folder, &[&["tune", "plan"], &args[..]].concat()));
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(says), "{args:?}: {err}");
    }
}

#[test]
#[ignore = "needs root"]
fn a_captures_advice_is_planned_applied_and_reverted() {
    let host = Host::new();
    host.shell("ip addr add 192.0.2.2/24 dev eth0 && ip route add 203.0.113.0/24 via 192.0.2.1");
    host.shell("sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0");
    let wrong = host.show();
    let capture = shipped(UNTUNED, "sender");
    let args = [
        "plan",
        &capture,
        "--as",
        "receiver",
        "--netns",
        &host.netns,
        "--hints",
        "--out",
        "plan.toml",
        "--force",
    ];
    let (code, out, err) = outcome(&run(&host.folder, &[&["tune"], &args[..]].concat()));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("sysctl net.ipv4.tcp_moderate_rcvbuf: 0 → 1"), "{out}");
    let (code, out, err) = host.run(&["apply", "plan.toml", "--netns", &host.netns]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_eq!(host.shell("sysctl -n net.ipv4.tcp_moderate_rcvbuf"), "1\n");
    assert_eq!(host.run(&["revert"]).0, 0);
    assert_eq!(host.shell("sysctl -n net.ipv4.tcp_moderate_rcvbuf"), "0\n");
    assert_eq!(host.show(), wrong);
    // Attributes are added to the way that packets take, and a limit that is large enough stays.
    host.folder.write("found.json", b"{\"schema\": \"slowpath/diagnosis/1\", \"flows\": [{\"flow\": 1, \"sender\": \"a\", \
        \"a\": \"192.0.2.2:5201\", \"b\": \"203.0.113.9:40000\", \"directions\": [{\"from\": \"a\", \"findings\": [{\
        \"cause\": \"congestion-window/slow-start\", \"from\": \"a\", \"share\": 0.7, \"spell_count\": 2, \
        \"confidence\": \"high\", \"advice\": [{\"text\": \"A larger window.\", \"caution\": null, \"fixes\": [\
        {\"host\": \"sender\", \"command\": \"ip route\", \"effect\": \"\", \"changes\": true, \"needs\": null, \"undo\": \"ip\", \"change\": \
        {\"setting\": \"route 203.0.113.9/32\", \"then\": \"initcwnd 30\", \"target\": \"added\"}},\
        {\"host\": \"either\", \"command\": \"sysctl\", \"effect\": \"\", \"changes\": true, \"needs\": null, \"undo\": \"sysctl\", \"change\": \
        {\"setting\": \"sysctl net.ipv4.tcp_rmem\", \"then\": \"4096 131072 1000000\", \"target\": \"at-least\"}}]}]}]}]}]}");
    let args = [
        "tune",
        "plan",
        "found.json",
        "--as",
        "sender",
        "--netns",
        &host.netns,
        "-o",
        "plan.toml",
        "--force",
    ];
    let (code, out, err) = outcome(&run(&host.folder, &args));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("route 203.0.113.9/32: none → via 192.0.2.1 dev eth0 initcwnd 30"), "{out}");
    assert!(out.contains("it is 4096 131072 1048576 already, which suffices"), "{out}");
    assert_eq!(host.run(&["apply", "plan.toml", "--netns", &host.netns]).0, 0);
    assert!(host.show().contains("203.0.113.9 via 192.0.2.1 dev eth0 initcwnd 30"), "{}", host.show());
    assert_eq!(host.run(&["revert"]).0, 0);
    assert_eq!(host.show(), wrong);
}

#[test]
fn advise_needs_no_root_and_says_why() {
    let folder = Captures::new();
    let args = ["tune", "advise", "--rate", "1Gbit/s", "--rtt", "40ms", "--memory", "16GiB"];
    let (code, out, err) = outcome(&run(&folder, &args));
    assert_eq!((code, err.as_str()), (0, ""));
    let text = flat(&out);
    for says in [
        "1 Gbit/s over 40 ms needs a window of 5.36 MiB for each connection.",
        "The path holds 4.77 MiB when its queues are empty.",
        "set 20 MiB, which allows a window of",
        "in flight, that of now",
        "only for programs that set SO_RCVBUF themselves",
        "TCP is under pressure from 1 GiB on (tcp_mem)",
        "Harm: with these limits, ",
    ] {
        assert!(text.contains(says), "{says}: {out}");
    }
    let (code, out, _) = outcome(&run(&folder, &[&args[..], &["--streams", "400", "--json"]].concat()));
    let document = json(&out);
    assert_eq!((code, document["schema"].as_str()), (0, Some("slowpath/tune-advise/1")));
    assert_eq!((&document["product_bytes"], &document["each_bytes"]), (&5_000_000.into(), &12_500.into()));
    let memory = &document["memory"];
    assert_eq!((&memory["most_bytes"], &memory["fits"]), (&(400_u64 << 20).into(), &1024.into()));
    for (args, says) in [
        (vec!["--rate", "1", "--rtt", "40ms"], "\"1\" is not a rate"),
        (vec!["--rate", "1Gbit/s"], "--rtt <TIME>"),
        (vec!["--rate", "1Gbit/s", "--rtt", "0s"], "write an RTT from 1us to 100s"),
        (vec!["--rate", "1Gbit/s", "--rtt", "1ms", "--memory", "0B"], "write an amount of at least 1B"),
    ] {
        let (code, _, err) = outcome(&run(&folder, &[&["tune", "advise"], &args[..]].concat()));
        assert!(code == 2 && err.contains(says), "{args:?}: {err}");
    }
}
