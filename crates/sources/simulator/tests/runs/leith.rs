//! The effects of leith's changes to the 2.4 sender on the path of the paper's figure 1. The tests of `slowpath-papers`
//! run the other figures.

use slowpath_simulator::report::HostReport;
use slowpath_simulator::{Nobody, Simulation};

const SECONDS: u32 = 15;

/// Figure 1's scenario, cut short, with some choices of the sender changed; returns Mbit/s and the sender's host
/// report.
fn played(choices: &[&str]) -> (f64, HostReport) {
    let file = format!("{}/../../../scenarios/leith/sack.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).expect("a scenario of the repository");
    let choices = choices.iter().map(|choice| format!("hosts.sender.kernel.{choice}"));
    let sets = choices.chain([format!("duration={SECONDS}s")]);
    let sets: Vec<_> = sets.map(|set| set.parse().expect("KEY=VALUE")).collect();
    let scenario = slowpath_scenario::check(&file, &text, &sets, None).expect("a valid scenario").scenario;
    let mut simulation = Simulation::new(&scenario);
    simulation.run(&mut Nobody);
    let rate = simulation.total(0).bytes.get() as f64 * 8.0 / f64::from(SECONDS) / 1e6;
    (rate, simulation.host_reports().swap_remove(0))
}

/// Figure 1: a walk from the head per block takes longer than the ACK interval, so the backlog fills up and drops
/// everything until it is empty, including ACKs that would have reported arrivals.
#[test]
fn sack_walk_per_block_throttles_the_backlog() {
    let (walked, old) = played(&[]);
    let (found, new) = played(&["sack-walk=holes"]);
    assert!(old.softirq.throttled > 0 && old.softirq.backlog_dropped > 1000, "{:?}", old.softirq);
    assert_eq!((new.softirq.throttled, new.softirq.backlog_dropped), (0, 0));
    assert!(found > 1.1 * walked, "{found} and {walked} Mbit/s");
}

/// Section 1.2: with the walk but without the throttle, ACKs are still dropped.
#[test]
fn sack_walk_is_too_slow_without_the_throttle() {
    let (_, report) = played(&["throttle=none"]);
    assert_eq!(report.softirq.throttled, 0);
    assert!(report.softirq.backlog_dropped > 1000, "{:?}", report.softirq);
}
