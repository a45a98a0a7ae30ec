//! Ubik and Cimbal 2003, Debugging end-to-end performance in commodity operating systems: the best window on a path of
//! 1 Gbit/s and 40 ms, and the window that a buffer size gives in Linux 2.2 and 2.4.
//!
//! - `claims`: the paper's claims, and whether they hold here.
//! - [`copies`]: copies over ssh, which are measured in the lab.

mod claims;
pub mod copies;

use crate::PaperCase;
use crate::figure::{Axis, Figure, Series};
use crate::measure::{FlowMeasures, spread};
use crate::report::{Cell, Judged, Report, Table};
use slowpath_simulator::report::DatagramCounts;
use std::collections::BTreeMap;

const FILE: &str = "scenarios/ubik/geant.toml";
const TEXT: &str = include_str!("../../../scenarios/ubik/geant.toml");
const RUDE_FILE: &str = "scenarios/ubik/rude.toml";
const RUDE_TEXT: &str = include_str!("../../../scenarios/ubik/rude.toml");

/// Windows in MB, as tables I and II count them, and the rates in Mbit/s.
const TABLE_I: [(u32, f64); 4] = [(1, 135.0), (2, 230.0), (4, 153.0), (8, 115.0)];
const TABLE_II: [(u32, f64); 5] = [(1, 138.0), (2, 244.0), (4, 357.0), (8, 262.0), (16, 149.0)];

/// The lengths of the sender's queue: 2.4's default, table II's, and one longer than any window.
const QUEUES: [u32; 3] = [100, 1000, 20_000];
/// 2.4's default backlog of the receiver's CPU, instead of the scenario's.
const SHORT_BACKLOG: u32 = 300;

/// A window in MB whose first run has losses.
const SPOILING_WINDOW: u32 = 8;

/// RUDE's sending rates, in Mbit/s of packets of 1500 bytes, for a second each.
fn rude_rates() -> impl Iterator<Item = u32> {
    (300..=1000).step_by(20)
}

/// An experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Experiment {
    /// iperf from PC to PC without a path between them.
    BackToBack,
    /// RUDE at a rate in Mbit/s.
    Rude(u32),
    /// iperf over Géant, with the sender's queue and a window in MB.
    Iperf { queue: u32, window: u32 },
    /// The second of two runs of iperf over Géant with large windows, the parameter cache flushed between them or not.
    SecondRun { flushed: bool },
    /// iperf over Géant, with 2.4's default backlog of the receiver's CPU.
    IperfShortBacklog { queue: u32, window: u32 },
}

impl Experiment {
    fn all() -> Vec<Self> {
        let windows = || TABLE_II.into_iter().map(|(window, _)| window);
        let over = |queue| windows().map(move |window| Self::Iperf { queue, window });
        let short = |queue| windows().map(move |window| Self::IperfShortBacklog { queue, window });
        std::iter::once(Self::BackToBack)
            .chain(rude_rates().map(Self::Rude))
            .chain(QUEUES.into_iter().flat_map(over))
            .chain(QUEUES[..2].iter().copied().flat_map(short))
            .chain([false, true].map(|flushed| Self::SecondRun { flushed }))
            .collect()
    }

    fn case(self) -> PaperCase {
        let iperf =
            |name: String, sets: Vec<String>| PaperCase { name, file: FILE, text: TEXT, sets, flow: 0 };
        match self {
            Self::BackToBack => iperf("back to back".to_owned(), vec!["path.delay=50us".to_owned()]),
            Self::Rude(rate) => PaperCase {
                name: format!("RUDE at {rate} Mbit/s"),
                file: RUDE_FILE,
                text: RUDE_TEXT,
                sets: vec![format!("flows.datagrams.rate={rate}Mbit/s")],
                flow: 0,
            },
            Self::Iperf { queue, window } => {
                iperf(format!("{window} MB, txqueuelen {queue}"), sets_of(queue, window))
            }
            Self::SecondRun { flushed } => {
                let mut sets = sets_of(QUEUES[1], SPOILING_WINDOW);
                sets.extend(["duration=30s", "flows.runs=2"].map(str::to_owned));
                sets.push(format!("flows.flush={flushed}"));
                let between = if flushed { "with a flush between" } else { "nothing between" };
                let name = format!("{SPOILING_WINDOW} MB twice, {between}");
                PaperCase { flow: 1, ..iperf(name, sets) }
            }
            Self::IperfShortBacklog { queue, window } => {
                let mut sets = sets_of(queue, window);
                sets.push(format!("hosts.receiver.sysctl.netdev_max_backlog={SHORT_BACKLOG}"));
                iperf(format!("{window} MB, txqueuelen {queue}, netdev_max_backlog {SHORT_BACKLOG}"), sets)
            }
        }
    }
}

/// The paper's experiments.
pub fn cases() -> Vec<PaperCase> {
    Experiment::all().into_iter().map(Experiment::case).collect()
}

fn sets_of(queue: u32, window: u32) -> Vec<String> {
    // Doubled, and a quarter reserved. iperf's -w sets the buffers of both ends.
    let asked = (u64::from(window << 20) * 2).div_ceil(3);
    vec![
        format!("flows.receiver.socket.SO_RCVBUF={asked}B"),
        format!("flows.sender.socket.SO_SNDBUF={asked}B"),
        format!("hosts.sender.kernel.txqueuelen={queue}"),
    ]
}

/// The result of the experiments.
struct Results<'r> {
    runs: BTreeMap<Experiment, &'r [FlowMeasures]>,
}

impl<'r> Results<'r> {
    fn new(runs: &'r [Vec<FlowMeasures>]) -> Self {
        Self { runs: Experiment::all().into_iter().zip(runs.iter().map(Vec::as_slice)).collect() }
    }

    /// The minimum, median and maximum of a measurement of an experiment; NaN if it was not run.
    fn of(&self, experiment: Experiment, of: impl Fn(&FlowMeasures) -> f64) -> [f64; 3] {
        self.runs.get(&experiment).map_or([f64::NAN; 3], |runs| spread(runs, of))
    }

    /// The rate over Géant in Mbit/s.
    fn rate(&self, queue: u32, window: u32) -> [f64; 3] {
        self.of(Experiment::Iperf { queue, window }, FlowMeasures::rate)
    }

    /// The rate over Géant with the receiver's short backlog, in Mbit/s.
    fn short(&self, queue: u32, window: u32) -> [f64; 3] {
        self.of(Experiment::IperfShortBacklog { queue, window }, FlowMeasures::rate)
    }

    /// The received part of RUDE's rate, in Mbit/s of packets.
    fn received(&self, rate: u32) -> [f64; 3] {
        self.of(Experiment::Rude(rate), |run| megabits(run, |counts| counts.read))
    }

    /// RUDE's highest rate with less than one packet in a thousand lost, and the maximum received.
    fn udp(&self) -> [[f64; 3]; 2] {
        let of = |pick: fn(f64, f64) -> f64| {
            [0, 1, 2].map(|at| rude_rates().map(|rate| self.received(rate)[at]).fold(0.0, pick))
        };
        let whole = [0, 1, 2].map(|at| {
            let kept = rude_rates().take_while(|rate| self.received(*rate)[at] > f64::from(*rate) * 0.999);
            kept.last().map_or(0.0, f64::from)
        });
        [whole, of(f64::max)]
    }

    /// The window with the highest median.
    fn best(&self, queue: u32, windows: &[(u32, f64)]) -> u32 {
        let of = |window| self.rate(queue, window)[1];
        let best = windows.iter().max_by(|(one, _), (other, _)| of(*one).total_cmp(&of(*other)));
        best.map_or(0, |(window, _)| *window)
    }
}

/// Datagrams of a run in Mbit/s of packets of 1500 bytes, over its second.
fn megabits(run: &FlowMeasures, of: impl Fn(&DatagramCounts) -> u64) -> f64 {
    run.datagrams.as_ref().map_or(f64::NAN, |counts| of(counts) as f64 * 1500.0 * 8.0 / 1e6)
}

/// The paper's tables and claims next to the results of each case's runs.
pub fn report(runs: &[Vec<FlowMeasures>]) -> Report {
    let results = Results::new(runs);
    let [short, long, _] = QUEUES;
    let tables = [
        ("Table I", "iperf over 40 ms with 2.4's txqueuelen of 100", &TABLE_I[..], short),
        ("Table II", "the same with a txqueuelen of 1000", &TABLE_II[..], long),
    ];
    let over_geant = tables.map(|(name, about, rows, queue)| {
        windows_table(name, about, rows, Judged::Share, |window| results.rate(queue, window))
    });
    let again = [
        ("Table I, 300", "where the receiver's CPU has 2.4's queue of 300 packets", &TABLE_I[..], short),
        ("Table II, 300", "the same with a txqueuelen of 1000", &TABLE_II[..], long),
    ];
    let short_backlog = again.map(|(name, about, rows, queue)| {
        windows_table(name, about, rows, Judged::Shown, |window| results.short(queue, window))
    });
    Report {
        tables: std::iter::once(baselines(&results)).chain(over_geant).chain(short_backlog).collect(),
        figures: vec![over_windows(&results), over_rates(&results)],
        claims: claims::of(&results),
        runs: cases().iter().map(|case| (case.name.clone(), case.command())).collect(),
        ..Report::simulated(
            "ubik",
            "Ubik and Cimbal 2003, Debugging end-to-end performance in commodity operating systems",
            runs,
        )
    }
}

fn windows_table(
    name: &'static str,
    about: &'static str,
    rows: &[(u32, f64)],
    judged: Judged,
    ours: impl Fn(u32) -> [f64; 3],
) -> Table {
    let cells = rows.iter().map(|(window, published)| {
        Cell::new(format!("{window} MB"), "throughput, Mbit/s", *published, ours(*window), judged)
    });
    Table { name, about, cells: cells.collect() }
}

/// Measurements of the PCs themselves.
fn baselines(results: &Results<'_>) -> Table {
    let near = results.of(Experiment::BackToBack, FlowMeasures::rate);
    let fastest = results.of(Experiment::Rude(1000), |run| megabits(run, |counts| counts.sent));
    let [whole, most] = results.udp();
    let cell =
        |row: &str, published, ours, judged| Cell::new(row.to_owned(), "Mbit/s", published, ours, judged);
    let cells = vec![
        cell("TCP back to back", 531.0, near, Judged::Fitted),
        cell("UDP sent at most", 1000.0, fastest, Judged::Share),
        cell("UDP received at most", 457.0, most, Judged::Share),
        cell("UDP without loss", 340.0, whole, Judged::Share),
    ];
    Table { name: "Section V", about: "the PCs themselves", cells }
}

fn over_windows(results: &Results<'_>) -> Figure {
    let of = |windows: &[(u32, f64)], ours: &dyn Fn(u32) -> [f64; 3]| {
        windows.iter().map(|(window, _)| (f64::from(*window), ours(*window))).collect::<Vec<_>>()
    };
    let published = |windows: &[(u32, f64)]| {
        windows.iter().map(|(window, rate)| (f64::from(*window), [*rate; 3])).collect::<Vec<_>>()
    };
    let [short, long, _] = QUEUES;
    let series = vec![
        Series::of_runs("txqueuelen 100", of(&TABLE_I, &|window| results.rate(short, window))),
        Series::of_runs("txqueuelen 1000", of(&TABLE_II, &|window| results.rate(long, window))),
        Series::of_runs("and netdev_max_backlog 300", of(&TABLE_II, &|window| results.short(long, window))),
        Series::of_runs("table I", published(&TABLE_I)),
        Series::of_runs("table II", published(&TABLE_II)),
    ];
    Figure {
        name: "Tables I and II",
        about: "throughput over the window, measured and simulated",
        x: Axis::logarithmic("window", "MB"),
        y: Axis::linear("throughput", "Mbit/s"),
        series,
        says: "the most is reached with 2 MB, with a longer queue with 4 MB",
        seen: format!(
            "the most with {} MB, and with {} MB",
            results.best(short, &TABLE_I),
            results.best(long, &TABLE_II)
        ),
    }
}

fn over_rates(results: &Results<'_>) -> Figure {
    let received = rude_rates().map(|rate| (f64::from(rate), results.received(rate)));
    let [whole, most] = results.udp();
    Figure {
        name: "RUDE and CRUDE",
        about: "UDP received over UDP sent",
        x: Axis::linear("sent", "Mbit/s"),
        y: Axis::linear("received", "Mbit/s"),
        series: vec![Series::of_runs("received", received)],
        says: "losses from about 340 Mbit/s on; throughput stops increasing at 457 Mbit/s",
        seen: format!("all of {:.0} Mbit/s is received, and {:.0} at most", whole[1], most[1]),
    }
}
