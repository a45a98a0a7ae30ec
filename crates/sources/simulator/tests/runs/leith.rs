//! The effects of leith's changes to the 2.4 sender on the paper's paths (figures 1 to 8).

use slowpath_simulator::report::HostReport;
use slowpath_simulator::{Nobody, Simulation};

/// A scenario of the paper for `seconds`, with some choices of the sender changed; returns Mbit/s and the sender's host
/// report.
fn played(name: &str, seconds: u32, choices: &[&str]) -> (f64, HostReport) {
    let file = format!("{}/../../../scenarios/leith/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).expect("a scenario of the repository");
    let choices = choices.iter().map(|choice| format!("hosts.sender.kernel.{choice}"));
    let sets = choices.chain([format!("duration={seconds}s")]);
    let sets: Vec<_> = sets.map(|set| set.parse().expect("KEY=VALUE")).collect();
    let scenario = slowpath_scenario::check(&file, &text, &sets, None).expect("a valid scenario").scenario;
    let mut simulation = Simulation::new(&scenario);
    simulation.run(&mut Nobody);
    let rate = simulation.total(0).bytes.get() as f64 * 8.0 / f64::from(seconds) / 1e6;
    (rate, simulation.host_reports().swap_remove(0))
}

/// Figure 1: a walk from the head per block takes longer than the ACK interval, so the backlog fills up and drops
/// everything until it is empty, including ACKs that would have reported arrivals.
#[test]
fn sack_walk_per_block_throttles_the_backlog() {
    let (walked, old) = played("sack", 15, &[]);
    let (found, new) = played("sack", 15, &["sack-walk=holes"]);
    assert!(old.softirq.throttled > 0 && old.softirq.backlog_dropped > 1000, "{:?}", old.softirq);
    assert_eq!((new.softirq.throttled, new.softirq.backlog_dropped), (0, 0));
    assert!(found > 1.1 * walked, "{found} and {walked} Mbit/s");
}

/// Section 1.2: with the walk but without the throttle, ACKs are still dropped.
#[test]
fn sack_walk_is_too_slow_without_the_throttle() {
    let (_, report) = played("sack", 15, &["throttle=none"]);
    assert_eq!(report.softirq.throttled, 0);
    assert!(report.softirq.backlog_dropped > 1000, "{:?}", report.softirq);
}

/// Figures 3 to 8: repeated reordering, with all of Leith's changes and without one of them. An undo that restores
/// three quarters of cwnd costs a quarter each time; a cwnd cut to what is in flight must be regrown after a loss and
/// after an undo.
#[test]
fn each_of_leiths_changes_keeps_cwnd_under_reordering() {
    let (all, _) = played("dublin-slac", 60, &[]);
    for (choice, costs) in [
        ("prior-threshold=three-quarters", 1.1),
        ("reduction-cap=yes", 1.3),
        ("burst-moderation=in-flight", 1.1),
    ] {
        let (without, _) = played("dublin-slac", 60, &[choice]);
        assert!(all > costs * without, "{choice}: {without} and {all} Mbit/s");
    }
}
