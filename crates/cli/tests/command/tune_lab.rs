//! `slowpath tune apply --in-lab`: a plan is tried on the kernel before this host is touched.

use crate::captures::Captures;
use crate::tune::plan;
use crate::{flat, json, outcome, run};
use std::fs;

/// A window of 256 KiB limits it; the path carries twice as much.
const SCENARIO: &[u8] = b"[path]\nrate = \"100 Mbit/s\"\ndelay = \"20 ms\"\n[flows]\namount = \"300 kB\"\n";
const BUFFER: (&str, &str, &str) = ("sysctl net.ipv4.tcp_rmem", "4096 65536 65536", "4096 1048576 33554432");

fn tried(folder: &Captures, args: &[&str]) -> (i32, String, String) {
    outcome(&run(folder, &[&["tune", "apply", "plan.toml", "--in-lab", "scenario.toml"], args].concat()))
}

#[test]
#[ignore = "needs root"]
fn a_plan_is_tried_in_the_lab_and_this_host_is_not_touched() {
    let folder = Captures::new();
    folder.write("scenario.toml", SCENARIO);
    let others = [
        BUFFER,
        ("sysctl net.core.netdev_budget", "1", "2"),
        ("irq 4000000 affinity", "0", "1"),
        ("link nonesuch0 txqueuelen", "1", "2"),
    ];
    folder.write("plan.toml", plan("", &others).as_bytes());
    let host = || {
        ["/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/net/core/netdev_budget", "/proc/self/mounts"]
            .map(|file| fs::read_to_string(file).expect("it is there"))
    };
    let before = host();
    let (code, out, err) = tried(&folder, &["--as", "receiver", "--runs", "6", "--json"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_eq!(host(), before);
    let document = json(&out);
    assert_eq!(document["schema"], "slowpath/tune-lab/1");
    assert_eq!(
        (&document["verdict"], &document["tried"][0]["setting"]),
        (&"helped".into(), &BUFFER.0.into())
    );
    let not_tried: Vec<&str> = document["not_tried"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["setting"].as_str())
        .collect();
    assert_eq!(not_tried, others[1..].iter().map(|(setting, ..)| *setting).collect::<Vec<_>>());
    assert!(document["gain"]["lower"].as_f64().expect("enough runs") > 0.3, "{out}");
    let rate = |side: &str| document[side]["median"].as_f64().expect("runs");
    // 64 KiB of buffer are a window of less than that in 40 ms.
    assert!(rate("old") < 13.2e6 && rate("new") > 1.3 * rate("old"), "{out}");
    assert_eq!(document["times_ns"].as_array().map(Vec::len), Some(12));
}

#[test]
#[ignore = "needs root"]
fn what_cannot_be_tried_is_named_with_the_reason() {
    let folder = Captures::new();
    folder.write("scenario.toml", SCENARIO);
    folder.write("plan.toml", plan("", &[("process 1 nice", "0", "5")]).as_bytes());
    let (code, _, err) = tried(&folder, &["--as", "sender"]);
    let says =
        "nothing of this plan can be tried in the lab: process 1 nice: the lab has processes of its own";
    assert!(code == 2 && flat(&err).contains(says), "{err}");
    folder.write(
        "plan.toml",
        plan("", &[("sysctl net.ipv4.tcp_congestion_control", "cubic", "nonesuch")]).as_bytes(),
    );
    let (code, _, err) = tried(&folder, &["--as", "sender"]);
    assert!(code == 2 && flat(&err).contains("scenarios have no congestion control nonesuch"), "{err}");
}

#[test]
fn arguments_of_a_trial_in_the_lab_are_checked() {
    let folder = Captures::new();
    folder.write("plan.toml", plan("", &[BUFFER]).as_bytes());
    for (args, says) in [
        (&[][..], "--as <ROLE>"),
        (&["--as", "both"], "possible values: sender, receiver"),
        (&["--as", "sender", "--for", "1h"], "cannot be used with"),
        (&["--as", "sender", "--verify", "true"], "cannot be used with"),
        (&["--as", "sender", "--runs", "5"], "5 is not in 6..=200"),
    ] {
        let (code, _, err) = tried(&folder, args);
        assert!(code == 2 && flat(&err).contains(says), "{args:?}: {err}");
    }
    let (code, _, err) = outcome(&run(&folder, &["tune", "apply", "plan.toml", "--as", "sender"]));
    assert!(code == 2 && err.contains("--in-lab <SCENARIO>"), "{err}");
}
