//! Several flows: a table of services first, filters, and lists for programs.

use crate::captures::{Captures, header};
use crate::width::narrow;
use crate::{expect_handbook_example, flat, json, outcome, run, shipped, slowpath};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

/// Sixty connections to one server, and four to four ports of another.
const SIXTY: &str = "short-connections-50mbit-40ms-30000b-4x15";
const FOUR: &str = "parallel-10mbit-30ms-4streams";

fn printed(args: &[&str]) -> String {
    let (code, out, err) = outcome(&run(&Captures::new(), args));
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}: {out}");
    out
}

fn document(args: &[&str]) -> Value {
    json(&printed(args))
}

fn sum(rows: &Value, field: &str) -> u64 {
    let rows = rows.as_array().expect("rows");
    rows.iter().map(|row| row[field].as_u64().expect("a number")).sum()
}

/// A capture of `count` connections to as many ports as `ports`, each a handshake and a request that is acknowledged.
fn connections(count: u32, ports: u16) -> Vec<u8> {
    let mut file = header();
    let mut push = |micros: u32, ends: [([u8; 4], u16); 2], seq: u32, ack: u32, flags: u8, len: u16| {
        file.extend((micros / 1_000_000).to_le_bytes());
        file.extend((micros % 1_000_000).to_le_bytes());
        file.extend(40_u32.to_le_bytes());
        file.extend((40 + u32::from(len)).to_le_bytes());
        file.extend([0x45, 0]);
        file.extend((40 + len).to_be_bytes());
        file.extend([0, 0, 0, 0, 64, 6, 0, 0]);
        ends.iter().for_each(|(address, _)| file.extend(address));
        ends.iter().for_each(|(_, port)| file.extend(port.to_be_bytes()));
        file.extend(seq.to_be_bytes());
        file.extend(ack.to_be_bytes());
        file.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    };
    for number in 0..count {
        let [_, high, low, _] = number.to_be_bytes();
        let client = ([10, high, low, 1 + (number % 250) as u8], 40_000);
        let server = ([192, 0, 2, 9], 1 + (number % u32::from(ports)) as u16);
        let at = number * 1000;
        push(at, [client, server], 100, 0, 0x02, 0);
        push(at + 300, [server, client], 500, 101, 0x12, 0);
        push(at + 310, [client, server], 101, 501, 0x18, 300);
        push(at + 620, [server, client], 501, 401, 0x10, 0);
    }
    file
}

#[test]
fn several_flows_are_a_table_unless_one_is_asked_for() {
    let file = shipped(SIXTY, "sender");
    let out = printed(&["diagnose", &file]);
    assert!(out.lines().count() <= 24, "it fits a screen: {out}");
    assert!(out.contains("192.0.2.1:8080") && !out.contains("── flow"), "{out}");
    assert!(flat(&out).contains("Slowest flows • flow 8: 192.0.2.1:8080 → 192.0.2.2:55454"), "{out}");
    let out = printed(&["diagnose", &file, "--flow", "8"]);
    assert!(out.contains("── flow 8 ") && !out.contains("Slowest flows"), "{out}");
    let out = printed(&["diagnose", &file, "--top", "2"]);
    assert!(out.matches("── flow ").count() == 2 && out.contains("limits"), "{out}");
    let out = printed(&["diagnose", &file, "--top", "60"]);
    assert!(out.matches("── flow ").count() == 60 && !out.contains("One flow in full"), "{out}");
    let out = printed(&["diagnose", &file, "--filter", "port 55454"]);
    assert!(out.contains("── flow 8 ") && out.contains("59 flows not shown, as asked for"), "{out}");
}

#[test]
fn ten_thousand_flows_fit_a_screen() {
    let folder = Captures::new();
    folder.write("many.pcap", &connections(10_000, 300));
    for by in ["service", "port", "peer", "server", "client", "hosts", "file"] {
        let out = narrow(&folder, &["diagnose", "many.pcap", "--summary", "--by", by]);
        assert!(out.lines().count() <= 24 && out.contains("10,000 TCP flows"), "--by {by}: {out}");
    }
    let out = narrow(&folder, &["diagnose", "many.pcap"]);
    assert!(out.lines().count() <= 30, "{out}");
    assert!(out.lines().any(|line| line.starts_with("290 others  ")), "{out}");
    let out = narrow(&folder, &["diagnose", "many.pcap", "--summary", "--top", "300"]);
    assert!(out.contains("192.0.2.9:300 ") && !out.contains(" others"), "{out}");
}

#[test]
fn sums_of_services_are_those_of_their_flows() {
    for (case, by) in [(SIXTY, "service"), (SIXTY, "client"), (FOUR, "port"), (FOUR, "hosts"), (FOUR, "peer")]
    {
        let file = shipped(case, "sender");
        let summary = document(&["diagnose", &file, "--summary", "--by", by, "--json"]);
        let flows = document(&["flows", &file, "--json", "--sort", "lost"]);
        assert_eq!(
            (summary["schema"].as_str(), summary["by"].as_str()),
            (Some("slowpath/summary/1"), Some(by))
        );
        let services = &summary["services"];
        let all = flows["flows"].as_array().expect("flows");
        assert_eq!(sum(services, "flows"), all.len() as u64);
        assert_eq!(sum(services, "lost_ns"), sum(&flows["flows"], "lost_ns"));
        let bytes = |flow: &Value| {
            let ways = flow["directions"].as_array().expect("directions").iter();
            let own = ways.filter(|way| way["from"] == flow["sender"]);
            own.map(|way| way["measures"]["unique_bytes"].as_u64().expect("bytes")).sum::<u64>()
        };
        assert_eq!(sum(services, "bytes"), all.iter().map(bytes).sum::<u64>());
        let worst = &services[0]["worst"];
        let lost_most = services.as_array().expect("services").iter().map(|one| &one["worst"]);
        let lost_most = lost_most.max_by_key(|worst| worst["lost_ns"].as_u64()).expect("one");
        assert_eq!((&lost_most["flow"], &lost_most["lost_ns"]), (&all[0]["flow"], &all[0]["lost_ns"]));
        assert_eq!(&lost_most["main_cause"], &all[0]["main_cause"]);
        assert!(worst["recording"] == 0, "{worst}");
        for service in services.as_array().expect("services") {
            let limits = service["limits"].as_array().expect("limits");
            let shares: f64 = limits.iter().map(|limit| limit["share"].as_f64().expect("a share")).sum();
            assert!((shares - 1.0).abs() < 1e-9, "{service}");
        }
    }
}

#[test]
fn services_have_the_names_that_are_asked_for() {
    let file = shipped(FOUR, "sender");
    for (by, first) in [
        ("service", "192.0.2.2:5004"),
        ("port", "5004"),
        ("server", "192.0.2.2"),
        ("client", "192.0.2.1"),
        ("peer", "192.0.2.2"),
        ("hosts", "192.0.2.1 → 192.0.2.2"),
        ("file", "sender.pcap.zst"),
    ] {
        let summary = document(&["diagnose", &file, "--summary", "--by", by, "--json"]);
        assert_eq!(summary["services"][0]["name"], first, "--by {by}");
    }
    // The peer of a capture at the server is the client.
    let at_server = document(&["diagnose", &shipped(SIXTY, "sender"), "--summary", "--by", "peer", "--json"]);
    assert_eq!(at_server["services"][0]["address"], "192.0.2.2");
    let (code, _, err) =
        outcome(&run(&Captures::new(), &["diagnose", &file, "--summary", "--by", "process"]));
    assert!(code == 2 && err.contains("--by process goes with --live"), "{err}");
}

#[test]
fn several_files_are_summed_up_together_or_one_by_one() {
    let [sixty, four] = [SIXTY, FOUR].map(|case| shipped(case, "sender"));
    let one_by_one = document(&["diagnose", &sixty, &four, "--summary", "--by", "file", "--json"]);
    let services = one_by_one["services"].as_array().expect("services");
    let flows: Vec<_> =
        services.iter().map(|one| (one["recording"].as_u64(), one["flows"].as_u64())).collect();
    assert_eq!(flows, [(Some(0), Some(60)), (Some(1), Some(4))]);
    for (service, file) in services.iter().zip([&sixty, &four]) {
        let alone = document(&["diagnose", file, "--summary", "--by", "file", "--json"]);
        assert_eq!(service["rate_bits_per_second"], alone["services"][0]["rate_bits_per_second"]);
        assert_eq!(service["limits"], alone["services"][0]["limits"]);
    }
    let out = printed(&["diagnose", &sixty, &four, "--summary"]);
    assert!(out.contains("  1: ") && out.contains("  2: ") && out.contains(" 2:4\n"), "{out}");
    // Time between two captures counts for no rate.
    let [first, second] = [0, 1].map(|which| one_by_one["recordings"][which]["epoch_ns"].as_i64());
    assert!(second.zip(first).is_some_and(|(second, first)| (second - first).abs() > 10_000_000_000));
    let folder = Captures::new();
    folder.transfer();
    for (args, says) in [
        (&["diagnose", "transfer.pcap", "./transfer.pcap", "--summary"][..], "transfer.pcap: is given twice"),
        (
            &["diagnose", "-", "transfer.pcap", "-", "--summary"],
            "only one of the recordings can be standard input",
        ),
        (&["diagnose", "transfer.pcap", "a.pcap", "b.pcap"], "--summary with any number"),
        (&["diagnose", "transfer.pcap", "--summary", "--flow", "1"], "cannot be used with"),
        (&["diagnose", "transfer.pcap", "--summary", "--html", "x.html"], "cannot be used with"),
        (&["diagnose", "transfer.pcap", "--by", "colour"], "possible values: service, port, peer"),
    ] {
        let (code, _, err) = outcome(&run(&folder, args));
        assert!(code == 2 && err.contains(says), "{args:?}: {err}");
    }
}

#[test]
fn summary_of_a_stream_and_of_no_flows() {
    let folder = Captures::new();
    folder.write("empty.pcap", &header());
    let file = std::fs::File::open(shipped(FOUR, "sender")).expect("it is shipped");
    let out = slowpath(&folder).args(["diagnose", "-", "--summary"]).stdin(Stdio::from(file)).output();
    let (code, out, _) = outcome(&out.expect("the binary runs"));
    assert!(code == 0 && out.starts_with("standard input: pcap") && out.contains("192.0.2.2:5004"), "{out}");
    let (code, out, _) = outcome(&run(&folder, &["diagnose", "empty.pcap", "--summary"]));
    assert!(code == 0 && out.contains("Was the right interface recorded?"), "{out}");
    let empty = document_in(&folder, &["diagnose", "empty.pcap", "--summary", "--json"]);
    assert_eq!((&empty["flows"], &empty["services"]), (&Value::from(0), &serde_json::json!([])));
}

fn document_in(folder: &Captures, args: &[&str]) -> Value {
    json(&outcome(&run(folder, args)).1)
}

#[test]
fn filter_selects_whole_flows_and_changes_no_verdict() {
    let file = shipped(FOUR, "sender");
    let numbers = |args: &[&str]| -> Vec<u64> {
        let document = document(args);
        let flows = document["flows"].as_array().expect("flows");
        flows.iter().map(|flow| flow["flow"].as_u64().expect("a number")).collect()
    };
    for (filter, flows) in [
        ("port 5002", &[2][..]),
        ("dst port 5002 or 5004", &[2, 4]),
        ("src port 5002", &[]),
        ("src host 192.0.2.1 and not portrange 5002-5003", &[1, 4]),
        ("net 192.0.2.0/24 and tcp", &[1, 2, 3, 4]),
        ("ip6 or host 192.0.2.7", &[]),
    ] {
        assert_eq!(numbers(&["flows", &file, "--json", "--filter", filter]), flows, "{filter}");
        let summary = document(&["diagnose", &file, "--summary", "--json", "--filter", filter]);
        assert_eq!(summary["flows_left_out"], 4 - flows.len(), "{filter}");
        assert_eq!(
            (sum(&summary["services"], "flows"), &summary["filter"]),
            (flows.len() as u64, &Value::from(filter))
        );
        let (_, out, _) = outcome(&run(&Captures::new(), &["show", &file, "--filter", filter]));
        let shown: BTreeSet<u64> = out
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split(' ').next().and_then(|flow| flow.parse().ok()).expect("a flow's number"))
            .collect();
        assert_eq!(shown, flows.iter().copied().collect(), "{filter}");
    }
    let all = document(&["diagnose", &file, "--json"]);
    let chosen = document(&["diagnose", &file, "--json", "--filter", "port 5002"]);
    let second = all["flows"].as_array().expect("flows").iter().find(|flow| flow["flow"] == 2);
    assert_eq!(second, chosen["flows"].get(0), "the same verdict, with the same number");
    let [labelled, both] = ["port 5002", "port 5002 and port 1"].map(|filter| {
        let args = ["show", &file, "--label", "retransmission", "--filter", filter];
        outcome(&run(&Captures::new(), &args)).1
    });
    assert!(labelled.starts_with("# flow 2: ") && both.is_empty(), "{labelled}");
    for args in [&["diagnose", &file][..], &["flows", &file], &["show", &file]] {
        let args = [args, &["--filter", "host example.org"]].concat();
        let (code, _, err) = outcome(&run(&Captures::new(), &args));
        assert!(
            code == 2 && err.contains("at character 6: \"example.org\" is not an address; write one"),
            "{err}"
        );
    }
}

/// What tcpdump selects of the first packets is what slowpath selects of the flows.
#[test]
fn filter_selects_what_tcpdump_does() {
    let folder = Captures::new();
    folder.write("many.pcap", &connections(500, 40));
    let tcpdump = |expression: &str| {
        let args = ["-n", "-t", "-r", "many.pcap", &format!("({expression}) and tcp[13] = 2")];
        Command::new("tcpdump").args(args).current_dir(folder.path("")).output().ok()
    };
    if tcpdump("tcp").is_none_or(|output| !output.status.success()) {
        println!("not judged: filters compared with tcpdump's: tcpdump cannot be run");
        return;
    }
    let mut selecting = 0;
    for expression in [
        "port 7 or 9 and dst portrange 9-12",
        "not port 7 or src net 10.0.1 and not port 9",
        "host 192.0.2.9 and not (net 10.0.0.0/23 or port 3)",
        "src net 10.0.0.0 mask 255.255.254.0 && !dst port 5",
        "dst host 192.0.2.9 and src 10.0.3.5",
        "src and dst net 10 or src or dst port 4",
        "ip6 or tcp port (3 or 4)",
        "ip host 10.0.17.18 or ip and port 2",
        "net 0.0.0.0/0 and not not port 11",
    ] {
        let lines = String::from_utf8(tcpdump(expression).expect("it ran before").stdout).expect("text");
        // IP 10.0.0.1.40000 > 192.0.2.9.1: Flags [S], …
        let expected: Vec<String> =
            lines.lines().filter_map(|line| Some(line.split(' ').nth(1)?.to_owned())).collect();
        let listed = outcome(&run(&folder, &["flows", "many.pcap", "--csv", "--filter", expression])).1;
        let found = listed.lines().skip(1).filter_map(|line| Some(line.split(',').nth(1)?.replace(':', ".")));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{expression}");
        selecting += usize::from((1..500).contains(&expected.len()));
    }
    assert!(selecting >= 6, "{selecting} expressions select some flows and not all");
}

#[test]
fn flows_are_sorted_and_listed_as_csv() {
    let file = shipped(FOUR, "sender");
    let by_number = document(&["flows", &file, "--json"]);
    let all = by_number["flows"].as_array().expect("flows");
    for (key, column) in [
        ("lost", "lost_ns"),
        ("time", "lasted_ns"),
        ("bytes", "unique_bytes"),
        ("retr", "retransmitted"),
        ("rtt", "rtt_min_ns"),
        ("goodput", "goodput_bits_per_second"),
    ] {
        let csv = printed(&["flows", &file, "--csv", "--sort", key]);
        let mut lines = csv.lines();
        let heading: Vec<&str> = lines.next().expect("a heading").split(',').collect();
        let place = |name: &str| heading.iter().position(|one| *one == name).expect("a column");
        let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
        assert!(rows.len() == 4 && rows.iter().all(|row| row.len() == heading.len()), "{csv}");
        let values: Vec<u64> = rows.iter().map(|row| row[place(column)].parse().expect("a number")).collect();
        assert!(values.is_sorted_by(|one, next| one >= next), "{key}: {csv}");
        for row in &rows {
            let number: usize = row[place("flow")].parse().expect("a number");
            let flow = &all[number - 1];
            let main = &flow["directions"][usize::from(flow["sender"] == "b")];
            let value = |name: &str| row[place(name)].to_owned();
            assert_eq!(value("first_ns"), flow["first_ns"].to_string());
            assert_eq!(value("lost_ns"), flow["lost_ns"].to_string());
            assert_eq!(value("unique_bytes"), main["measures"]["unique_bytes"].to_string());
            assert_eq!(Some(value("main_cause").as_str()), flow["main_cause"].as_str());
            assert_eq!(Some(value("a").as_str()), flow["a"].as_str());
        }
        let order = document(&["flows", &file, "--json", "--sort", key]);
        let order: Vec<String> =
            order["flows"].as_array().expect("flows").iter().map(|flow| flow["flow"].to_string()).collect();
        assert_eq!(order, rows.iter().map(|row| row[place("flow")].to_owned()).collect::<Vec<_>>(), "{key}");
    }
    let (code, _, err) = outcome(&run(&Captures::new(), &["flows", &file, "--sort", "size"]));
    assert!(code == 2 && err.contains("possible values: flow, lost, bytes"), "{err}");
}

#[test]
fn wall_clock_times_are_those_of_the_capture() {
    let file = shipped(FOUR, "sender");
    let listed = document(&["flows", &file, "--json"]);
    let epoch = listed["recordings"][0]["epoch_ns"].as_i64().expect("a shipped capture is dated");
    let seconds = epoch / 1_000_000_000;
    let output = Command::new("date").args(["-u", "-d", &format!("@{seconds}"), "+%F %T"]).output();
    let date = String::from_utf8(output.expect("date runs").stdout).expect("text");
    let table = printed(&["flows", &file]);
    assert!(table.contains("started (UTC)") && table.contains(date.trim()), "{date}: {table}");
    let csv = printed(&["flows", &file, "--csv"]);
    assert!(csv.contains(&format!(",{}.", date.trim().replace(' ', "T"))), "{date}: {csv}");
    // Times that begin at 0 are no dates.
    let folder = Captures::new();
    folder.transfer();
    let (_, out, _) = outcome(&run(&folder, &["flows", "transfer.pcap"]));
    assert!(!out.contains("UTC") && !out.contains("1970"), "{out}");
    assert_eq!(
        document_in(&folder, &["flows", "transfer.pcap", "--json"])["recordings"][0]["epoch_ns"],
        Value::Null
    );
}

#[test]
fn connections_of_a_host_are_summed_up() {
    let folder = Captures::new();
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../sources/live/tests/live/kept/transfer.raw");
    let live = document_in(&folder, &["diagnose", kept, "--json"]);
    let summary = document_in(&folder, &["diagnose", kept, "--summary", "--json"]);
    assert_eq!(sum(&summary["services"], "bytes"), sum(&live["flows"], "bytes"));
    assert!(summary["watched_ns"].as_u64().is_some_and(|time| time > 0), "{summary}");
    let out = narrow_but_for_checks(&folder, &["diagnose", kept, "--summary", "--by", "process"]);
    assert!(out.contains("unknown process") && out.contains("Check: the kernel counted"), "{out}");
    let none = document_in(&folder, &["diagnose", kept, "--json", "--filter", "port 1"]);
    assert_eq!(none["flows"], serde_json::json!([]));
}

/// The check at the end is one line for each fact, however long.
fn narrow_but_for_checks(folder: &Captures, args: &[&str]) -> String {
    let (code, out, err) = outcome(&run(folder, args));
    assert_eq!(code, 0, "{err}");
    let is_check =
        |line: &str| ["Check:", "Not seen", "Receive softirqs"].iter().any(|begin| line.starts_with(begin));
    assert!(out.lines().all(|line| is_check(line) || line.chars().count() <= 80), "{out}");
    out
}

#[test]
fn handbook_example_matches_the_output() {
    expect_handbook_example("many-flows.md");
}
