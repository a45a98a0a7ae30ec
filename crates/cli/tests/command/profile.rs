//! `slowpath profile`, on stacks written by hand.

use crate::captures::Captures;
use crate::{run, told};
use serde_json::Value;

/// A server that answers requests: what it sends, it sends in its own call and, as ACKs come in, in an interrupt's softirq.
const STACKS: &str = "\
nginx;entry_SYSCALL_64_[k];tcp_sendmsg_[k];tcp_sendmsg_locked_[k];tcp_write_xmit_[k];skb_clone_[k] 30
nginx;entry_SYSCALL_64_[k];tcp_sendmsg_[k];tcp_sendmsg_locked_[k];kmem_cache_free_[k] 10
nginx;asm_common_interrupt_[k];net_rx_action_[k];tcp_v4_rcv_[k];tcp_write_xmit_[k];skb_clone_[k] 60
nginx;asm_common_interrupt_[k];net_rx_action_[k];tcp_v4_rcv_[k];kmem_cache_free_[k] 40
nginx;asm_common_interrupt_[k];net_rx_action_[k];kmem_cache_free_[k] 20
nginx;main;ngx_http_handler 40
";

/// The files that examples name.
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

fn json(folder: &Captures, args: &[&str]) -> Value {
    let (code, out, err) = told(&run(folder, &[&["profile"], args, &["--json"]].concat()));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    serde_json::from_str(&out).expect("JSON")
}

/// A function of a document's.
fn function<'a>(document: &'a Value, name: &str) -> &'a Value {
    let functions = document["functions"].as_array().expect("functions");
    functions
        .iter()
        .find(|function| function["name"] == name)
        .unwrap_or_else(|| panic!("{name}: {document:#}"))
}

#[test]
fn what_costs_most_and_what_it_is() {
    let folder = ready();
    let document = json(&folder, &["top", "perf.data"]);
    assert_eq!(document["schema"], "slowpath/profile-top/1");
    assert_eq!(document["profile"]["samples"], 200);
    let clone = &document["functions"][0];
    assert_eq!((&clone["name"], &clone["share"]), (&"skb_clone".into(), &0.45.into()));
    let (code, out, err) = told(&run(&folder, &["profile", "top", "perf.data"]));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(
        out.contains("45.0 %") && out.contains("socket buffers") && out.contains("in no category"),
        "{out}"
    );
}

/// Of what skb_clone cost two thirds are of what arrived. By who calls whom alone that is found too, as tcp_write_xmit is all that
/// is between; of kmem_cache_free a part belongs to nobody.
#[test]
fn costs_belong_to_whom_they_were_done_for() {
    let folder = ready();
    let document = json(&folder, &["attribute", "perf.data", "--to", "tcp_v4_rcv,tcp_sendmsg_locked"]);
    assert_eq!(document["shares"], serde_json::json!([0.5, 0.2]));
    let parts = |name: &str| function(&document, name)["exact"]["innermost"].clone();
    assert_eq!(parts("skb_clone"), serde_json::json!([60.0 / 90.0, 30.0 / 90.0]));
    assert_eq!(parts("kmem_cache_free"), serde_json::json!([40.0 / 70.0, 10.0 / 70.0]));
    assert_eq!(function(&document, "kmem_cache_free")["exact"]["elsewhere"], 20.0 / 70.0);
    for name in ["skb_clone", "kmem_cache_free"] {
        let misplaced = function(&document, name)["misplaced"].as_f64().expect("there are stacks");
        assert!(misplaced < 1e-9, "{name}: {misplaced}");
    }
    let (_, out, _) = told(&run(&folder, &["profile", "attribute", "perf.data"]));
    assert!(out.contains("TCP receive") && out.contains("50.0 %"), "{out}");
}

#[test]
fn descendants_and_callers() {
    let folder = ready();
    let document = json(&folder, &["descendants", "perf.data", "--of", "tcp_v4_rcv", "--greatest", "1"]);
    let found = &document["functions"][0]["descendants"];
    assert_eq!(found.as_array().map(Vec::len), Some(1));
    assert_eq!((&found[0]["name"], &found[0]["depth"]), (&"skb_clone".into(), &2.into()));
    let args =
        ["calltree", "perf.data", "--functions", "skb_clone", "--until", "tcp_v4_rcv,tcp_sendmsg_locked"];
    let document = json(&folder, &args);
    let belongs = &function(&document, "skb_clone")["belongs"];
    let share = |at: usize| belongs[at].as_f64().expect("a share");
    assert!((share(0) - 2.0 / 3.0).abs() < 1e-9 && (share(1) - 1.0 / 3.0).abs() < 1e-9, "{belongs}");
    let (_, out, _) = told(&run(&folder, &[&["profile"], &args[..]].concat()));
    assert!(out.contains("66.7 % of it belongs to tcp_v4_rcv"), "{out}");
}

#[test]
fn stacks_as_a_picture_and_for_other_tools() {
    let folder = ready();
    let text = |name: &str| std::fs::read_to_string(folder.path(name)).expect("it was written");
    let args = ["profile", "flame", "perf.data", "--of", "tcp_v4_rcv", "--icicle", "--out", "receive.svg"];
    assert_eq!(told(&run(&folder, &args)), (0, String::new(), String::new()));
    let svg = text("receive.svg");
    assert!(svg.contains("skb_clone: 30.0 % of all") && svg.contains("50.0 % are here"), "{svg}");
    assert!(!svg.contains("ngx_http_handler"), "{svg}");
    for (format, name) in [("folded", "again.folded"), ("pprof", "again.pb.gz")] {
        let args = ["profile", "export", "perf.data", "--as", format, "--out", name];
        assert_eq!(told(&run(&folder, &args)), (0, String::new(), String::new()));
        let [first, again] =
            ["perf.data", name].map(|name| json(&folder, &["top", name])["functions"].clone());
        assert_eq!(first, again, "{format}");
    }
    let (code, _, err) = told(&run(&folder, &["profile", "flame", "perf.data", "--out", "perf.data"]));
    assert!(code == 2 && err.contains("is what is read"), "{err}");
    assert_eq!(text("perf.data"), STACKS);
}

#[test]
fn two_profiles_and_what_chance_makes_of_them() {
    let folder = ready();
    let document = json(&folder, &["compare", "a.perf.data", "b.perf.data", "--work", "100,200"]);
    let first = &document["functions"][0];
    assert_eq!(first["name"], "skb_clone");
    assert_eq!((&first["each_before"], &first["each_after"]), (&0.9.into(), &0.75.into()));
    let chance = first["by_chance"].as_f64().expect("counts");
    assert!(chance < 0.05 && first["among_all"].as_f64().expect("counts") >= chance, "{first}");
    let same = json(&folder, &["compare", "a.perf.data", "before.perf.data"]);
    assert!(
        same["functions"].as_array().expect("some").iter().all(|part| part["by_chance"] == 1.0),
        "{same:#}"
    );
}

#[test]
fn what_is_wrong_is_said_with_its_mend() {
    let folder = ready();
    folder.write("empty.data", b"");
    folder.write("graph.pcap", &crate::captures::header());
    for (args, code, part) in [
        (&["top", "nowhere.data"][..], 2, "nowhere.data"),
        (&["top", "empty.data"], 2, "empty.data"),
        (&["top", "graph.pcap"], 2, "graph.pcap"),
        (&["attribute", "perf.data", "--to", "sendmsg"], 2, "it has tcp_sendmsg, tcp_sendmsg_locked"),
        (&["top", "perf.data", "--event", "cycles"], 2, "no event cycles"),
        (
            &["calltree", "perf.data", "--functions", "skb_clone", "--threshold", "5x"],
            2,
            "a share is from 0%",
        ),
        (&["compare", "a.perf.data", "b.perf.data", "--work", "0,1"], 2, "no amount of work"),
    ] {
        let (found, out, err) = told(&run(&folder, &[&["profile"], args].concat()));
        assert_eq!((found, out.as_str()), (code, ""), "{args:?}: {err}");
        assert!(err.contains(part), "{args:?}: {err}");
    }
}
