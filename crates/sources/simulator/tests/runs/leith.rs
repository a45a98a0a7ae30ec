//! What leith's changes to the sender of 2.4 do on the paper's paths (figures 1 to 8).

use slowpath_simulator::report::HostReport;
use slowpath_simulator::{Nobody, Simulation};

/// A scenario of the paper for so many seconds, with some of the sender's choices made otherwise: Mbit/s, and what the sender's
/// host says.
fn played(name: &str, seconds: u32, choices: &[&str]) -> (f64, HostReport) {
    let file = format!("{}/../../../scenarios/leith/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).expect("it is in the repository");
    let choices = choices.iter().map(|choice| format!("hosts.sender.kernel.{choice}"));
    let sets = choices.chain([format!("duration={seconds}s")]);
    let sets: Vec<_> = sets.map(|set| set.parse().expect("KEY=VALUE")).collect();
    let scenario = slowpath_scenario::check(&file, &text, &sets, None).expect("it is one").scenario;
    let mut simulation = Simulation::new(&scenario);
    simulation.run(&mut Nobody);
    let rate = simulation.total(0).bytes.get() as f64 * 8.0 / f64::from(seconds) / 1e6;
    (rate, simulation.host_reports().swap_remove(0))
}

/// Figure 1: a walk from the head for each block takes the CPU for longer than ACKs are apart, the backlog fills up and throws
/// away all until it is empty; and the ACKs that would have shown that something arrived.
#[test]
fn a_sack_walk_for_each_block_throttles_the_backlog() {
    let (walked, old) = played("sack", 15, &[]);
    let (found, new) = played("sack", 15, &["sack-walk=holes"]);
    assert!(old.softirq.throttled > 0 && old.softirq.backlog_dropped > 1000, "{:?}", old.softirq);
    assert_eq!((new.softirq.throttled, new.softirq.backlog_dropped), (0, 0));
    assert!(found > 1.1 * walked, "{found} and {walked} Mbit/s");
}

/// Section 1.2: without the throttle, and with the walk, ACKs are dropped all the same.
#[test]
fn a_sack_walk_is_too_slow_without_the_throttle() {
    let (_, report) = played("sack", 15, &["throttle=none"]);
    assert_eq!(report.softirq.throttled, 0);
    assert!(report.softirq.backlog_dropped > 1000, "{:?}", report.softirq);
}

/// Figures 3 to 8: packets that are reordered again and again, with all of Leith's changes and without one of them. An undo
/// that restores three quarters of the window costs a quarter each time; a window that is cut to what is in flight has to be
/// built up again, after a loss and after an undo.
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
