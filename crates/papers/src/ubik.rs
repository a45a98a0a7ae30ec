//! Ubik and Cimbal 2003, Debugging end-to-end performance in commodity operating systems: how large windows should be on a
//! path of a gigabit and 40 ms, and what becomes of a buffer's size in Linux 2.2 and 2.4.
//!
//! - `claims`: what the paper says, and whether it is so here.

mod claims;

use crate::Case;
use crate::figure::{Axis, Figure, Series};
use crate::measure::{Measured, spread};
use crate::report::{Cell, Judged, Report, Table};
use slowpath_scenario::{Cost, CostTable, machines::machine};

const FILE: &str = "scenarios/ubik/geant.toml";
const TEXT: &str = include_str!("../../../scenarios/ubik/geant.toml");

/// Both PCs without the path between them.
const BACK_TO_BACK: &str = "back to back";

/// Windows in MB, as tables I and II count them, and the rates in Mbit/s.
const TABLE_I: [(u32, f64); 4] = [(1, 135.0), (2, 230.0), (4, 153.0), (8, 115.0)];
const TABLE_II: [(u32, f64); 5] = [(1, 138.0), (2, 244.0), (4, 357.0), (8, 262.0), (16, 149.0)];

/// The lengths of the sender's queue: 2.4's own, that of table II, and one that is longer than any window, which only a faster
/// sender is tried with.
const QUEUES: [u32; 3] = [100, 1000, 20_000];

/// A receiver whose CPU has a queue as long as table II's sender has, instead of 2.4's 300 packets: what bounds bursts here.
const BACKLOG: u32 = 1000;

/// The experiments with that receiver and a sender that is faster than its card, one whose packets cost what `pc-2002`'s do,
/// with room for 64 of them in the card: queue and window. What the paper says of its sender, that its CPU load was low, is so
/// for that one.
fn faster() -> impl Iterator<Item = (u32, u32)> {
    QUEUES.into_iter().flat_map(|queue| TABLE_II.map(|(window, _)| (queue, window)))
}

/// All experiments with a window: queue and window.
fn grid() -> impl Iterator<Item = (u32, u32)> {
    QUEUES[..2].iter().flat_map(|queue| TABLE_II.map(|(window, _)| (*queue, window)))
}

/// The paper's experiments.
pub fn cases() -> Vec<Case> {
    let case = |name: String, sets: Vec<String>| Case { name, file: FILE, text: TEXT, sets };
    let near = case(BACK_TO_BACK.to_owned(), vec!["path.delay=50us".to_owned()]);
    let windows = grid()
        .map(|(queue, window)| case(format!("{window} MB, txqueuelen {queue}"), sets_of(queue, window)));
    let faster = faster().map(|(queue, window)| {
        let sender = ["hosts.sender.machine=pc-2002", "hosts.sender.nic.tx-ring=64"].map(str::to_owned);
        let sets = sets_of(queue, window).into_iter().chain(sender).chain([backlog()]).collect();
        case(format!("faster sender, {window} MB, txqueuelen {queue}"), sets)
    });
    let longer = TABLE_II.map(|(window, _)| {
        let mut sets = sets_of(QUEUES[0], window);
        sets.push(backlog());
        case(format!("{window} MB, netdev_max_backlog {BACKLOG}"), sets)
    });
    std::iter::once(near).chain(windows).chain(faster).chain(longer).collect()
}

fn backlog() -> String {
    format!("hosts.receiver.sysctl.netdev_max_backlog={BACKLOG}")
}

fn sets_of(queue: u32, window: u32) -> Vec<String> {
    let bytes = u64::from(window) << 20;
    vec![
        // Doubled, and a quarter kept back.
        format!("flows.receiver.socket.SO_RCVBUF={}B", (bytes * 2).div_ceil(3)),
        format!("flows.sender.socket.SO_SNDBUF={bytes}B"),
        format!("hosts.sender.kernel.txqueuelen={queue}"),
    ]
}

/// What came of the experiments.
struct Results<'r> {
    runs: &'r [Vec<Measured>],
}

impl Results<'_> {
    /// The least, the median and the most of a figure of an experiment; not numbers where it was not run.
    fn of(&self, queue: u32, window: u32, of: impl Fn(&Measured) -> f64) -> [f64; 3] {
        let at = grid().position(|point| point == (queue, window));
        at.and_then(|at| self.runs.get(at + 1)).map_or([f64::NAN; 3], |runs| spread(runs, of))
    }

    /// The rate in Mbit/s with a faster sender and the receiver's longer queue.
    fn faster(&self, queue: u32, window: u32) -> [f64; 3] {
        let at = faster().position(|point| point == (queue, window));
        let runs = at.and_then(|at| self.runs.get(1 + grid().count() + at));
        runs.map_or([f64::NAN; 3], |runs| spread(runs, rate))
    }

    /// The rate in Mbit/s with the receiver's longer queue.
    fn longer(&self, window: u32) -> [f64; 3] {
        let at = TABLE_II.iter().position(|(one, _)| *one == window);
        let first = 1 + grid().count() + faster().count();
        at.and_then(|at| self.runs.get(first + at)).map_or([f64::NAN; 3], |runs| spread(runs, rate))
    }

    /// The rate in Mbit/s.
    fn rate(&self, queue: u32, window: u32) -> [f64; 3] {
        self.of(queue, window, rate)
    }

    fn back_to_back(&self) -> [f64; 3] {
        self.runs.first().map_or([f64::NAN; 3], |runs| spread(runs, rate))
    }

    /// The window with the highest median.
    fn best(&self, queue: u32, windows: &[(u32, f64)]) -> u32 {
        self.best_of(windows, |window| self.rate(queue, window)[1])
    }

    fn best_of(&self, windows: &[(u32, f64)], of: impl Fn(u32) -> f64) -> u32 {
        let best = windows.iter().max_by(|(one, _), (other, _)| of(*one).total_cmp(&of(*other)));
        best.map_or(0, |(window, _)| *window)
    }
}

fn rate(run: &Measured) -> f64 {
    run.read as f64 * 8.0 / run.seconds / 1e6
}

/// The paper's tables and claims beside what was measured in the runs of each case.
pub fn report(runs: &[Vec<Measured>]) -> Report {
    let results = Results { runs };
    Report {
        schema: "slowpath/paper/1",
        paper: "ubik",
        title: "Ubik and Cimbal 2003, Debugging end-to-end performance in commodity operating systems",
        seeds: runs.iter().map(Vec::len).min().unwrap_or(0) as u64,
        tables: vec![
            baselines(&results),
            over_geant(
                ("Table I", "iperf over 40 ms with 2.4's txqueuelen of 100"),
                &TABLE_I,
                Judged::Share,
                |window| results.rate(QUEUES[0], window),
            ),
            over_geant(
                ("Table II", "the same with a txqueuelen of 1000"),
                &TABLE_II,
                Judged::Share,
                |window| results.rate(QUEUES[1], window),
            ),
            over_geant(
                (
                    "Table II again",
                    "beside a txqueuelen of 100 and a netdev_max_backlog of 1000 at the receiver",
                ),
                &TABLE_II,
                Judged::Shown,
                |window| results.longer(window),
            ),
            over_geant(
                (
                    "Table I, both",
                    "beside that and a sender that is faster than its card, with a txqueuelen of 100",
                ),
                &TABLE_I,
                Judged::Shown,
                |window| results.faster(QUEUES[0], window),
            ),
            over_geant(
                ("Table II, both", "the same with a txqueuelen of 1000"),
                &TABLE_II,
                Judged::Shown,
                |window| results.faster(QUEUES[1], window),
            ),
        ],
        figures: vec![over_windows(&results)],
        claims: claims::of(&results),
        runs: cases().iter().map(|case| (case.name.clone(), case.command())).collect(),
    }
}

fn over_geant(
    (name, about): (&'static str, &'static str),
    rows: &[(u32, f64)],
    judged: Judged,
    ours: impl Fn(u32) -> [f64; 3],
) -> Table {
    let cells = rows.iter().map(|(window, published)| {
        Cell::new(format!("{window} MB"), "throughput, Mbit/s", *published, ours(*window), judged)
    });
    Table { name, about, cells: cells.collect() }
}

/// What was measured of the PCs without the path. Datagrams are not simulated: what they come to is added up from the
/// machine's costs.
fn baselines(results: &Results<'_>) -> Table {
    let table = machine("ubik-pc").expect("it is one of the machines");
    let [woken, busy] = datagrams(&table);
    let cells = vec![
        Cell::new("TCP back to back", "Mbit/s", 531.0, results.back_to_back(), Judged::Fitted),
        Cell::new("UDP without loss", "Mbit/s", 340.0, [woken; 3], Judged::Share),
        Cell::new("UDP at most", "Mbit/s", 457.0, [busy; 3], Judged::Share),
    ];
    let about = "the PCs themselves; UDP by the machine's costs";
    Table { name: "Section V", about, cells }
}

/// The rates in Mbit/s at which a PC takes datagrams of 1500 bytes: each with an interrupt of its own, to a reader that is
/// woken for it, and to one that has fallen behind and finds the next already there.
fn datagrams(table: &CostTable) -> [f64; 2] {
    const PACKET: u64 = 1500;
    const HEADERS: u64 = 28;
    let arrives = [table.interrupt, table.softirq, table.driver_receive, table.ip_receive, table.tcp_receive];
    let read = table.system_call.plus(table.copy_byte.times(PACKET - HEADERS));
    let busy = arrives.into_iter().fold(read, Cost::plus);
    let woken = busy.plus(table.wake_up).plus(table.context_switch);
    [woken, busy].map(|cost| PACKET as f64 * 8.0 / cost.duration().as_secs_f64() / 1e6)
}

fn over_windows(results: &Results<'_>) -> Figure {
    let ours = |name, queue, windows: &[(u32, f64)]| {
        Series::of_runs(
            name,
            windows.iter().map(|(window, _)| (f64::from(*window), results.rate(queue, *window))),
        )
    };
    let published = |name, windows: &[(u32, f64)]| {
        Series::of_runs(name, windows.iter().map(|(window, rate)| (f64::from(*window), [*rate; 3])))
    };
    let series = vec![
        ours("txqueuelen 100", QUEUES[0], &TABLE_I),
        ours("txqueuelen 1000", QUEUES[1], &TABLE_II),
        Series::of_runs(
            "netdev_max_backlog 1000",
            TABLE_II.map(|(window, _)| (f64::from(window), results.longer(window))),
        ),
        Series::of_runs(
            "that and a faster sender",
            TABLE_II.map(|(window, _)| (f64::from(window), results.faster(QUEUES[1], window))),
        ),
        published("table I", &TABLE_I),
        published("table II", &TABLE_II),
    ];
    Figure {
        name: "Tables I and II",
        about: "throughput over the window, measured and simulated",
        x: Axis::logarithmic("window", "MB"),
        y: Axis::linear("throughput", "Mbit/s"),
        series,
        says: "the most is reached with 2 MB, with a longer queue with 4 MB",
        seen: format!(
            "the most with {} MB, and with {} MB; with a longer queue at the receiver, with {} MB",
            results.best(QUEUES[0], &TABLE_I),
            results.best(QUEUES[1], &TABLE_II),
            results.best_of(&TABLE_II, |window| results.longer(window)[1])
        ),
    }
}
