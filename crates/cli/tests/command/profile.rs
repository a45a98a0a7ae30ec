//! `slowpath profile` on folded stacks.

use crate::captures::Captures;
use crate::{json, outcome, run};
use serde_json::Value;

/// A server that sends from its own system call and, when ACKs arrive, from a softirq.
const STACKS: &str = "\
nginx;entry_SYSCALL_64_[k];tcp_sendmsg_[k];tcp_sendmsg_locked_[k];tcp_write_xmit_[k];skb_clone_[k] 30
nginx;entry_SYSCALL_64_[k];tcp_sendmsg_[k];tcp_sendmsg_locked_[k];kmem_cache_free_[k] 10
nginx;asm_common_interrupt_[k];net_rx_action_[k];tcp_v4_rcv_[k];tcp_write_xmit_[k];skb_clone_[k] 60
nginx;asm_common_interrupt_[k];net_rx_action_[k];tcp_v4_rcv_[k];kmem_cache_free_[k] 40
nginx;asm_common_interrupt_[k];net_rx_action_[k];kmem_cache_free_[k] 20
nginx;main;ngx_http_handler 40
";

/// Writes the files that examples name.
pub fn fixtures(folder: &Captures) {
    let doubled = STACKS.replace("skb_clone_[k] 60", "skb_clone_[k] 120");
    for (name, text) in [
        ("perf.data", STACKS),
        ("before.perf.data", STACKS),
        ("after.perf.data", &doubled),
        ("a.perf.data", STACKS),
        ("b.perf.data", &doubled),
    ] {
        folder.write(name, text.as_bytes());
    }
}

fn ready() -> Captures {
    let folder = Captures::new();
    fixtures(&folder);
    folder
}

fn report(folder: &Captures, args: &[&str]) -> Value {
    let (code, out, err) = outcome(&run(folder, &[&["profile"], args, &["--json"]].concat()));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    json(&out)
}

/// A function of a document.
fn function<'a>(document: &'a Value, name: &str) -> &'a Value {
    let functions = document["functions"].as_array().expect("functions");
    functions
        .iter()
        .find(|function| function["name"] == name)
        .unwrap_or_else(|| panic!("{name}: {document:#}"))
}

#[test]
fn top_lists_functions_with_categories() {
    let folder = ready();
    let document = report(&folder, &["top", "perf.data"]);
    assert_eq!(document["schema"], "slowpath/profile-top/1");
    assert_eq!(document["profile"]["samples"], 200);
    let clone = &document["functions"][0];
    assert_eq!((&clone["name"], &clone["share"]), (&"skb_clone".into(), &0.45.into()));
    let (code, out, err) = outcome(&run(&folder, &["profile", "top", "perf.data"]));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(
        out.contains("45.0 %") && out.contains("socket buffers") && out.contains("in no category"),
        "{out}"
    );
}

/// Two thirds of the cost of skb_clone belong to receiving. The call graph alone gives the same, as only tcp_write_xmit
/// lies between; a part of kmem_cache_free has no root.
#[test]
fn attribute_splits_costs_by_caller() {
    let folder = ready();
    let document = report(&folder, &["attribute", "perf.data", "--to", "tcp_v4_rcv,tcp_sendmsg_locked"]);
    assert_eq!(document["shares"], serde_json::json!([0.5, 0.2]));
    let parts = |name: &str| function(&document, name)["exact"]["innermost"].clone();
    assert_eq!(parts("skb_clone"), serde_json::json!([60.0 / 90.0, 30.0 / 90.0]));
    assert_eq!(parts("kmem_cache_free"), serde_json::json!([40.0 / 70.0, 10.0 / 70.0]));
    assert_eq!(function(&document, "kmem_cache_free")["exact"]["elsewhere"], 20.0 / 70.0);
    for name in ["skb_clone", "kmem_cache_free"] {
        let misplaced = function(&document, name)["misplaced"].as_f64().expect("there are stacks");
        assert!(misplaced < 1e-9, "{name}: {misplaced}");
    }
    let (_, out, _) = outcome(&run(&folder, &["profile", "attribute", "perf.data"]));
    assert!(out.contains("TCP receive") && out.contains("50.0 %"), "{out}");
}

#[test]
fn descendants_and_calltree_follow_stacks() {
    let folder = ready();
    let document = report(&folder, &["descendants", "perf.data", "--of", "tcp_v4_rcv", "--greatest", "1"]);
    let found = &document["functions"][0]["descendants"];
    assert_eq!(found.as_array().map(Vec::len), Some(1));
    assert_eq!((&found[0]["name"], &found[0]["depth"]), (&"skb_clone".into(), &2.into()));
    let args = ["calltree", "perf.data", "--of", "skb_clone", "--until", "tcp_v4_rcv,tcp_sendmsg_locked"];
    let document = report(&folder, &args);
    let belongs = &function(&document, "skb_clone")["belongs"];
    let share = |at: usize| belongs[at].as_f64().expect("a share");
    assert!((share(0) - 2.0 / 3.0).abs() < 1e-9 && (share(1) - 1.0 / 3.0).abs() < 1e-9, "{belongs}");
    let (_, out, _) = outcome(&run(&folder, &[&["profile"], &args[..]].concat()));
    assert!(out.contains("66.7 % of it belongs to tcp_v4_rcv"), "{out}");
}

/// All commands attribute costs by one rule: a softirq on top of sending does not belong to sending, and an ACK is
/// recognised although `__tcp_send_ack` is on no stack.
#[test]
fn all_commands_attribute_softirqs_and_acks_alike() {
    let folder = ready();
    folder.write(
        "jumps.perf.data",
        b"iperf3;tcp_sendmsg_[k];__ip_queue_xmit_[k];__local_bh_enable_ip_[k];handle_softirqs_[k];tcp_v4_rcv_[k];kmem_cache_free_[k] 30\n\
          iperf3;tcp_sendmsg_[k];__ip_queue_xmit_[k];kmem_cache_free_[k] 10\n\
          iperf3;tcp_recvmsg_[k];tcp_recvmsg_locked_[k];__tcp_transmit_skb_[k];kmem_cache_free_[k] 60\n",
    );
    let ask = |args: &[&str]| report(&folder, &[&[args[0], "jumps.perf.data"], &args[1..]].concat());
    let to = "TCP receive,TCP send message,TCP send ACK";
    let document = ask(&["attribute", "--to", to]);
    assert_eq!(document["shares"], serde_json::json!([0.3, 0.1, 0.6]));
    let document = ask(&["attribute", "--to", to, "--with-callees"]);
    assert_eq!(function(&document, "__ip_queue_xmit")["weight"], 10);
    let transmit = &function(&document, "__tcp_transmit_skb")["exact"]["innermost"];
    assert_eq!(*transmit, serde_json::json!([0.0, 0.0, 1.0]));
    let document = ask(&["descendants", "--of", "__ip_queue_xmit"]);
    let descendants = document["functions"][0]["descendants"].as_array().expect("some");
    assert_eq!((descendants.len(), &descendants[0]["name"]), (1, &"kmem_cache_free".into()));
    let document = ask(&["calltree", "--of", "kmem_cache_free", "--until", "tcp_sendmsg,TCP send ACK"]);
    let belongs = &function(&document, "kmem_cache_free")["belongs"];
    assert!((belongs[0].as_f64().expect("a share") - 0.1).abs() < 1e-9, "{belongs}");
    assert!((belongs[1].as_f64().expect("a share") - 0.6).abs() < 1e-9, "{belongs}");
    // A flame graph shows the stacks as they were sampled.
    let flame = ["profile", "flame", "jumps.perf.data", "--out", "jumps.svg"];
    assert_eq!(outcome(&run(&folder, &flame)), (0, String::new(), String::new()));
    let svg = std::fs::read_to_string(folder.path("jumps.svg")).expect("it was written");
    assert!(svg.contains("__ip_queue_xmit: 40.0 % of all") && !svg.contains("__tcp_send_ack"), "{svg}");
}

#[test]
fn stacks_are_drawn_and_exported() {
    let folder = ready();
    let text = |name: &str| std::fs::read_to_string(folder.path(name)).expect("it was written");
    let args = ["profile", "flame", "perf.data", "--of", "tcp_v4_rcv", "--icicle", "--out", "receive.svg"];
    assert_eq!(outcome(&run(&folder, &args)), (0, String::new(), String::new()));
    let svg = text("receive.svg");
    assert!(svg.contains("skb_clone: 30.0 % of all") && svg.contains("50.0 % are here"), "{svg}");
    assert!(!svg.contains("ngx_http_handler"), "{svg}");
    for (format, name) in [("folded", "again.folded"), ("pprof", "again.pb.gz")] {
        let args = ["profile", "export", "perf.data", "--as", format, "--out", name];
        assert_eq!(outcome(&run(&folder, &args)), (0, String::new(), String::new()));
        let [first, again] =
            ["perf.data", name].map(|name| report(&folder, &["top", name])["functions"].clone());
        assert_eq!(first, again, "{format}");
    }
    let (code, _, err) = outcome(&run(&folder, &["profile", "flame", "perf.data", "--out", "perf.data"]));
    assert!(code == 2 && err.contains("is what is read"), "{err}");
    assert_eq!(text("perf.data"), STACKS);
}

#[test]
fn compare_gives_the_probability_of_chance() {
    let folder = ready();
    let document = report(&folder, &["compare", "a.perf.data", "b.perf.data", "--work", "100,200"]);
    let first = &document["functions"][0];
    assert_eq!(first["name"], "skb_clone");
    assert_eq!((&first["each_before"], &first["each_after"]), (&0.9.into(), &0.75.into()));
    let chance = first["by_chance"].as_f64().expect("counts");
    assert!(chance < 0.05 && first["among_all"].as_f64().expect("counts") >= chance, "{first}");
    let same = report(&folder, &["compare", "a.perf.data", "before.perf.data"]);
    assert!(
        same["functions"].as_array().expect("some").iter().all(|part| part["by_chance"] == 1.0),
        "{same:#}"
    );
}

#[test]
fn errors_name_the_fix() {
    let folder = ready();
    folder.write("empty.data", b"");
    folder.write("graph.pcap", &crate::captures::header());
    for (args, code, part) in [
        (&["top", "nowhere.data"][..], 2, "nowhere.data"),
        (&["top", "empty.data"], 2, "empty.data"),
        (&["top", "graph.pcap"], 2, "graph.pcap"),
        (&["attribute", "perf.data", "--to", "sendmsg"], 2, "it has tcp_sendmsg, tcp_sendmsg_locked"),
        (&["top", "perf.data", "--event", "cycles"], 2, "no event cycles"),
        (&["calltree", "perf.data", "--of", "skb_clone", "--threshold", "5x"], 2, "is not a share"),
        (&["compare", "a.perf.data", "b.perf.data", "--work", "0,1"], 2, "is not above 0"),
    ] {
        let (found, out, err) = outcome(&run(&folder, &[&["profile"], args].concat()));
        assert_eq!((found, out.as_str()), (code, ""), "{args:?}: {err}");
        assert!(err.contains(part), "{args:?}: {err}");
    }
}

#[test]
fn known_functions_are_shown_although_others_are_unknown() {
    let folder = ready();
    for args in [
        &["attribute", "perf.data", "--to", "tcp_sendmsg_locked,no_such"][..],
        &["calltree", "perf.data", "--of", "skb_clone,no_such"],
        &["descendants", "perf.data", "--of", "tcp_v4_rcv,no_such"],
    ] {
        let (code, out, err) = outcome(&run(&folder, &[&["profile"], args].concat()));
        assert_eq!(code, 1, "{args:?}: {err}");
        assert!(err.contains("no function no_such") && out.contains("skb_clone"), "{args:?}: {out}{err}");
    }
}

#[test]
fn long_name_is_cut_in_a_table_and_whole_in_json() {
    let folder = Captures::new();
    let long = format!("std::{}::run", "vector<int>".repeat(20));
    folder.write("perf.data", format!("a;{long} 5\na;b 1\n").as_bytes());
    let (_, out, _) = outcome(&run(&folder, &["profile", "top", "perf.data"]));
    let line = out.lines().find(|line| line.starts_with("std::vector")).expect("its line");
    assert!(line.contains('…') && line.contains("::run ") && line.chars().count() < 100, "{line}");
    let document = report(&folder, &["top", "perf.data"]);
    assert_eq!(function(&document, &long)["share"].as_f64().expect("a share"), 5.0 / 6.0);
}

/// `compare` uses the work files next to the profiles, unless `--work` is given.
#[test]
fn compare_uses_work_files_for_costs_per_segment() {
    let folder = ready();
    let work = |segments: u64| {
        format!(
            "{{\"schema\": \"slowpath/work/1\", \"seconds\": 10, \"devices\": {{\"lo\": 7}}, \"unknown\": [],
             \"counters\": {{\"Tcp.InSegs\": {segments}, \"Tcp.OutSegs\": 30, \"Tcp.RetransSegs\": 10}}}}"
        )
    };
    folder.write("before.perf.data.work.json", work(10).as_bytes());
    folder.write("after.perf.data.work.json", work(60).as_bytes());
    let args = ["profile", "compare", "before.perf.data", "after.perf.data"];
    let (code, out, err) = outcome(&run(&folder, &[&args[..], &["--json"]].concat()));
    assert!(code == 0 && err.contains("invalid values, skipped: devices.lo"), "{err}");
    let document = json(&out);
    assert_eq!(document["work"], "TCP segment");
    let clone = function(&document, "skb_clone");
    assert_eq!((&clone["each_before"], &clone["each_after"]), (&(90.0 / 50.0).into(), &1.5.into()));
    let document = report(&folder, &[&args[1..], &["--work", "9,15"]].concat());
    assert_eq!(
        (&document["work"], &function(&document, "skb_clone")["each_before"]),
        (&"--work".into(), &10.0.into())
    );
    folder.write("after.perf.data.work.json", b"{\"schema\": \"slowpath/work/2\"}");
    let (code, _, err) = outcome(&run(&folder, &args));
    assert!(code == 0 && err.contains("after.perf.data.work.json: not what a host did"), "{err}");
}

#[test]
fn attribute_draws_the_call_graph_below_a_root() {
    let folder = ready();
    let draw = |args: &[&str]| {
        let all = [&["profile", "attribute", "perf.data", "--svg", "graph.svg", "--force"], args].concat();
        outcome(&run(&folder, &all))
    };
    let (code, out, err) = draw(&["--to", "TCP receive"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("worked for"), "{out}");
    let svg = std::fs::read_to_string(folder.path("graph.svg")).expect("it was written");
    // Of the cost of skb_clone, 60 of 90 samples were below TCP receive, through tcp_write_xmit.
    for part in [
        "TCP receive: 50.0 % of all CPU time",
        "skb_clone: 45.0 % of all CPU time with callees, of which 66.7 % for TCP receive; 45.0 % itself, of which 66.7 %",
        ">45.0 %, 66.7 % here</text>",
        ">itself 45.0 %, 66.7 % here</text>",
        "tcp_write_xmit to skb_clone: 30.0 % of all CPU time; 100.0 % of it called directly",
    ] {
        assert!(svg.contains(part), "{part}: {svg}");
    }
    assert!(!svg.contains("net_rx_action") && !svg.contains("<script"), "{svg}");
    // Functions below the threshold are bridged.
    assert_eq!(draw(&["--to", "TCP receive", "--threshold", "25%"]).0, 0);
    let svg = std::fs::read_to_string(folder.path("graph.svg")).expect("it was written");
    assert!(!svg.contains("kmem_cache_free") && svg.contains("1 function too small"), "{svg}");
    for (args, part) in
        [(&["--threshold", "1"][..], "is not a share"), (&["--threshold", "101%"], "is not a share")]
    {
        let (code, _, err) = draw(args);
        assert!(code == 2 && err.contains(part), "{err}");
    }
    let (code, _, err) = outcome(&run(&folder, &["profile", "attribute", "perf.data", "--svg", "perf.data"]));
    assert!(code == 2 && err.contains("is what is read"), "{err}");
}

/// Text in the format of `perf script`, sampled by the clock 1000 times a second, with a number of samples for each
/// stack.
fn by_the_clock(stacks: &[(&str, usize)]) -> String {
    let mut text = String::new();
    for (stack, samples) in stacks {
        for _ in 0..*samples {
            text += "server 1 [000] 1.000000: 1000000 cpu-clock: \n";
            for function in stack.rsplit(';') {
                text += &format!("\tffffffff81000010 {function}+0x10 ([kernel.kallsyms])\n");
            }
            text += "\n";
        }
    }
    text
}

/// 40 ms of receiving IP for 2000 segments are 20 µs each; a scenario accepts the table.
#[test]
fn costs_per_packet_become_a_scenario_cost_table() {
    let folder = Captures::new();
    let receive = "entry_SYSCALL_64;__napi_poll;ip_rcv;tcp_v4_rcv";
    let stacks = [
        (receive.to_owned(), 40),
        (format!("{receive};tcp_v4_do_rcv;tcp_rcv_established"), 30),
        (format!("{receive};tcp_v4_do_rcv;tcp_rcv_established;tcp_ack"), 24),
        ("entry_SYSCALL_64;tcp_recvmsg;skb_copy_datagram_iter".to_owned(), 50),
    ];
    let stacks = stacks.each_ref().map(|(stack, samples)| (stack.as_str(), *samples));
    folder.write("perf.data", by_the_clock(&stacks).as_bytes());
    let args = ["profile", "costs", "perf.data"];
    let (code, _, err) = outcome(&run(&folder, &args));
    assert!(code == 2 && err.contains("slowpath profile record --system 10s"), "{err}");
    folder.write(
        "work.json",
        br#"{"schema": "slowpath/work/1", "seconds": 10, "is_whole_host": true, "devices": {},
            "counters": {"Tcp.InSegs": 2000, "Tcp.OutSegs": 7, "Tcp.RetransSegs": 0, "TcpExt.TCPHPAcks": 400, "TcpExt.TCPPureAcks": 100,
            "TcpExt.TCPHPHits": 900, "Ip.InReceives": 2000, "Ip.OutRequests": 0, "IpExt.InOctets": 1104000, "IpExt.OutOctets": 0}}"#,
    );
    let (code, out, err) = outcome(&run(&folder, &[&args[..], &["--work", "work.json", "--json"]].concat()));
    assert_eq!((code, err.as_str()), (0, ""));
    let document = json(&out);
    let of = |name: &str| {
        let all = document["costs"].as_array().expect("costs");
        all.iter().find(|line| line["name"] == name).unwrap_or_else(|| panic!("{name}: {out}")).clone()
    };
    assert_eq!(
        (&of("ip-receive")["nanos"], &of("tcp-receive")["nanos"]),
        (&20_000.0.into(), &20_000.0.into())
    );
    assert_eq!((&of("copy-byte")["nanos"], &of("copy-byte")["times"]), (&50.0.into(), &1_000_000.into()));
    assert_eq!(
        (&of("ack-receive")["status"], &of("ack-receive")["nanos"]),
        (&"unknown".into(), &Value::Null)
    );
    assert_eq!(of("ip-receive")["functions"][0]["name"], "ip_rcv");
    let (_, out, _) = outcome(&run(&folder, &[&args[..], &["--work", "work.json"]].concat()));
    assert!(
        out.contains("20000 ns") && out.contains("24 of the 25 samples that it takes were seen"),
        "{out}"
    );

    let (code, table, err) = outcome(&run(
        &folder,
        &[&args[..], &["--work", "work.json", "--as-cost-table", "--host", "sender"]].concat(),
    ));
    assert_eq!((code, err.as_str()), (0, ""));
    for line in [
        "[hosts.sender.costs]",
        "ip-receive = \"20000 ns\" # measured, to 16 %: ip_rcv, tcp_v4_rcv, for each of 2,000 (Tcp.InSegs)",
        "# ack-receive = \"350 ns\" # kept: 24 of the 25 samples that it takes were seen",
    ] {
        assert!(table.lines().any(|found| found == line), "{line}: {table}");
    }
    let transfer = "title = \"x\"\nduration = \"1 s\"\n[path]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n[flows]\namount = \"1 MiB\"\n";
    folder.write("transfer.toml", format!("{transfer}{table}").as_bytes());
    let (code, out, err) = outcome(&run(&folder, &["scenario", "check", "transfer.toml"]));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let (code, out, err) = outcome(&run(&folder, &["run", "transfer.toml"]));
    assert!(code == 0 && out.contains("1 MiB"), "{out}{err}");
    let (code, out, _) = outcome(&run(&folder, &["scenario", "explain", "transfer.toml"]));
    assert!(code == 0 && out.contains("ip-receive") && out.contains("20000 ns"), "{out}");
}

#[test]
fn costs_require_time_and_a_whole_host_profile() {
    let folder = ready();
    folder.write("work.json", br#"{"schema": "slowpath/work/1", "counters": {}}"#);
    let (code, _, err) = outcome(&run(&folder, &["profile", "costs", "perf.data", "--work", "work.json"]));
    assert!(code == 2 && err.contains("which is not time"), "{err}");
    let cycles = by_the_clock(&[("tcp_v4_rcv", 40)]).replace("cpu-clock", "cycles");
    folder.write("cycles", cycles.as_bytes());
    let args = ["profile", "costs", "cycles", "--work", "part.json", "--json"];
    let part = r#"{"schema": "slowpath/work/1", "is_whole_host": false, "counters": {"Tcp.InSegs": 10}}"#;
    folder.write("part.json", part.as_bytes());
    let (code, _, err) = outcome(&run(&folder, &args));
    assert!(code == 2 && err.contains("give --cpu-mhz"), "{err}");
    // 40 million cycles at 2 GHz are 20 ms, for 10 segments.
    let (code, out, err) = outcome(&run(&folder, &[&args[..], &["--cpu-mhz", "2000"]].concat()));
    let document = json(&out);
    let receive =
        document["costs"].as_array().and_then(|all| all.iter().find(|line| line["name"] == "ip-receive"));
    assert_eq!((code, &receive.expect("it is a cost")["nanos"]), (0, &2_000_000.0.into()));
    assert!(err.contains("only a part of the host was profiled"), "{err}");
}
