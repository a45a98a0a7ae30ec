//! Two flows with different congestion controls in one queue.

use crate::run::Run;

/// The share of the first flow of two, on a path of 25 Mbit/s with an RTT of 30 ms: where BBR, version 3, is to be fair
/// to Reno and CUBIC (tcp_bbr.c of google/bbr, branch v3, `bbr_bw_probe_max_rounds`).
fn share(first: &str, second: &str, queue: &str) -> f64 {
    let flow = |name: &str| {
        format!("[[flows]]\nname = \"{name}\"\n[flows.sender.socket]\nTCP_CONGESTION = \"{name}\"\n")
    };
    let run = Run::of(&format!(
        "title = \"t\"\nduration = \"60 s\"\n[hosts.sender]\nmachine = \"free\"\n[hosts.receiver]\nmachine = \"free\"\n\
         [path]\nrate = \"25 Mbit/s\"\ndelay = \"15 ms\"\nqueue = \"{queue}\"\n{}{}",
        flow(first),
        flow(second)
    ));
    let of_first = run.simulation.transfers()[0].bytes.get() as f64;
    of_first / run.bytes().get() as f64
}

/// In a queue of a pipe or less, version 1 takes nearly all: losses do not slow it. Version 3 leaves more, and CUBIC and
/// Reno some to it in turn.
#[test]
fn bbr_version_3_leaves_more_to_cubic_and_reno_than_version_1() {
    for (other, most) in [("cubic", 0.75), ("reno", 0.82)] {
        let [first, third] = ["bbr", "bbr3"].map(|bbr| share(bbr, other, "1 bdp"));
        assert!(first > 0.85, "version 1 has {first:.2} beside {other}");
        assert!((0.5..most).contains(&third), "version 3 has {third:.2} beside {other}");
    }
}

#[test]
fn bbr_version_1_takes_most_from_version_3() {
    let first = share("bbr", "bbr3", "1 bdp");
    assert!(first > 0.75, "{first:.2}");
}
