//! What a plan gives back: rates of iperf3 with good settings, with a wrong one, and with the plan for what doctor finds,
//! in both directions over the lab's emulated path.

use super::*;
use slowpath_lab::host::Host;
use slowpath_lab::iperf3;
use slowpath_lab::path::loss::LossConfig;
use slowpath_lab::path::{PathConfig, ReorderConfig};
use slowpath_lab::relay::Relay;
use slowpath_lab::settings::{Offload, Settings};
use slowpath_lab::testbed::{build, direction, ways};
use slowpath_model::statistics::median;
use std::time::Duration;

/// What shows only where packets are lost or come out of order.
const OF_ROUGH_PATHS: [&str; 7] =
    ["sack", "timestamps", "tail-loss-probe", "frto", "dsack", "reordering", "max-reordering"];

/// Megabits per second, from the host and to it.
type Rates = [f64; 2];

/// The rates of each run with good settings, with the wrong one and with the plan.
#[derive(Default)]
struct Row([Vec<Rates>; 3]);

impl Row {
    /// The median rate in this direction.
    fn rate(&self, state: usize, direction: usize) -> f64 {
        median(self.0[state].iter().map(|rates| rates[direction])).expect("a run")
    }

    /// The median rate in a state, as a share of that with good settings, in the direction where that is less.
    fn share(&self, state: usize) -> f64 {
        let share = |direction| self.rate(state, direction) / self.rate(0, direction);
        share(0).min(share(1))
    }
}

/// The path that [`goal`] is about.
fn path(is_rough: bool) -> PathConfig {
    let mut way = direction(goal().rate, goal().rtt);
    if is_rough {
        // Every other packet of a few, so that recovery has holes to fill, and a few out of order. By their numbers, so that
        // every run meets as many.
        let bursts = (1..20).flat_map(|burst| (0..4).map(move |nth| burst * 2000 + nth * 2));
        way.loss = vec![LossConfig::Nth { packets: bursts.collect() }];
        way.reorder = Some(ReorderConfig { probability_ppm: 1000, extra: Duration::from_millis(1) });
    }
    way
}

/// One run of each state.
fn measure(wrong: &WrongSetting, row: &mut Row, seed: u64, bytes: u64) {
    let mut settings = Settings::plain();
    settings.offload = Offload::SuperPackets;
    // The other host shall not be the limit.
    settings.receiver_sysctls = vec![("net.ipv4.tcp_wmem".to_owned(), "4096 16384 16777216".to_owned())];
    let (namespaces, _) = build(&settings).expect("two hosts");
    let way = path(OF_ROUGH_PATHS.contains(&wrong.finding));
    let relay = Relay::open(&namespaces, ways(&settings, [&way, &way], [seed * 2 + 1, seed * 2 + 2]));
    let bench = Bench::of(Testbed::of(namespaces));
    let rates = |bytes: u64| {
        [Host::Sender, Host::Receiver].map(|from| {
            let lasted = iperf3::send(&bench.testbed.0, from, bytes, &[]).expect("iperf3");
            bytes as f64 * 8.0 / 1e6 / lasted.as_secs_f64()
        })
    };
    relay.expect("a path").during(|| {
        bench.testbed.expect_none("well set");
        row.0[0].push(rates(bytes));
        bench.testbed.shell(&wrong.set);
        // Slow ones have one rate from beginning to end.
        let some = rates(bytes / 4);
        let is_slow = some.iter().any(|rate| *rate < 150.0);
        row.0[1].push(if is_slow { some } else { rates(bytes) });
        bench.apply(&bench.plan()).expect("applied");
        row.0[2].push(rates(bytes));
    });
}

/// `SLOWPATH_REGAINED=3` measures all wrong settings with that many runs, and prints the table of `docs/src/tune.md`; with
/// `SLOWPATH_REGAINED_ONLY=FINDING`, one of them.
#[test]
#[ignore = "needs root"]
fn plan_gives_the_rate_back() {
    let asked = std::env::var("SLOWPATH_REGAINED").ok();
    let runs: u64 = asked.as_ref().map_or(1, |runs| runs.parse().expect("a number of runs"));
    let only = std::env::var("SLOWPATH_REGAINED_ONLY").ok();
    let quick = ["window-scaling", "send-buffer"];
    let bytes = if asked.is_some() { 100_000_000 } else { 8_000_000 };
    for wrong in wrong_settings() {
        if BY_HAND.iter().any(|kind| wrong.set.contains(kind))
            || (asked.is_none() && !quick.contains(&wrong.finding))
            || only.as_ref().is_some_and(|only| only != wrong.finding)
        {
            continue;
        }
        let mut row = Row::default();
        (0..runs).for_each(|run| measure(&wrong, &mut row, run, bytes));
        let [good, set, cured] =
            [0, 1, 2].map(|state| format!("{:.0} / {:.0}", row.rate(state, 0), row.rate(state, 1)));
        println!(
            "| `{}` | `{}` | {good} | {set} | {cured} | {:.0} % |",
            wrong.finding,
            wrong.set,
            row.share(2) * 100.0
        );
        if asked.is_none() {
            assert!(row.share(1) < 0.7 && row.share(2) > 0.8, "{}: {:?}", wrong.finding, row.0);
        }
    }
}
