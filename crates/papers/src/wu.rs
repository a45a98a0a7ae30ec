//! Wu and Crawford 2007, Potential performance bottleneck in Linux TCP: packets that wait on prequeue and backlog while
//! the process that should handle them is off the CPU, and a change to the scheduler of Linux 2.6.14.

pub mod equations;
mod figures;

use crate::PaperCase;
use crate::measure::{FlowMeasures, spread};
use crate::report::{Cell, Claim, Judged, Report, Table};
use crate::trace::Trace;
use slowpath_model::statistics;

const FILE: &str = "scenarios/wu/receiver.toml";
const TEXT: &str = include_str!("../../../scenarios/wu/receiver.toml");

/// The receiver does nothing else (BL0), with either kernel.
const IDLE: usize = 0;
/// It compiles a kernel (BL10): with the original kernel, and with the paper's change.
const OLD: usize = 1;
const NEW: usize = 2;
/// The first of table VII's.
const FAIR: usize = 3;

/// Table VII's processes that compute without a pause next to iperf.
const HOGS: [u32; 4] = [1, 3, 4, 9];

const WITH_CHANGE: &str = "hosts.receiver.kernel.base=2.6.14-wu";

/// Section 5's other solutions, next to the make: the changed scheduler as listing 1 words it, and TCP in interrupt
/// context only.
const LISTING_1: usize = FAIR + HOGS.len();
const IN_SOFTIRQS: usize = LISTING_1 + 1;
/// Ten processes that compute in place of the make, with the original kernel and with the change.
const OLD_HOGS: usize = LISTING_1 + 2;
const NEW_HOGS: usize = LISTING_1 + 3;
/// The original kernel, without preemption.
const UNPREEMPTED: usize = LISTING_1 + 4;

/// The paper's experiments.
pub fn cases() -> Vec<PaperCase> {
    let case = |name: &str, sets| PaperCase { name: name.to_owned(), file: FILE, text: TEXT, sets, flow: 0 };
    let fair = ["1 process", "3 processes", "4 processes", "9 processes"];
    let fair = fair.into_iter().zip(HOGS).map(|(name, hogs)| {
        let load = format!("hosts.receiver.load={{ hogs = {hogs} }}");
        case(name, vec![load, "flows.receiver.socket.SO_RCVBUF=20MB".to_owned(), WITH_CHANGE.to_owned()])
    });
    let kernel = |choice: &str| format!("hosts.receiver.kernel.{choice}");
    let ten_hogs = "hosts.receiver.load={ hogs = 10 }".to_owned();
    let solutions = [
        case("listing 1", vec![kernel("scheduler=o1 with extra runs while packets wait")]),
        case("in softirqs", vec![kernel("locked-socket=process"), kernel("prequeue=no")]),
        case("O, 10 hogs", vec![ten_hogs.clone()]),
        case("N, 10 hogs", vec![ten_hogs, WITH_CHANGE.to_owned()]),
        case("preemption none", vec![kernel("preemption=none")]),
    ];
    [
        case("O-BL0", vec!["hosts.receiver.load=[]".to_owned()]),
        case("O-BL10", Vec::new()),
        case("N-BL10", vec![WITH_CHANGE.to_owned()]),
    ]
    .into_iter()
    .chain(fair)
    .chain(solutions)
    .collect()
}

/// The cases with figures in the paper: the first ones. One run of each must be [traced](crate::measure::traced).
pub const TRACED: usize = 3;

/// The paper's tables, figures and claims next to the results of each case's runs, and the traces of the first
/// [`TRACED`].
pub fn report(runs: &[Vec<FlowMeasures>], traces: &[Trace]) -> Report {
    let described = cases().iter().map(|case| (case.name.clone(), case.command())).collect();
    Report {
        tables: vec![
            throughput("Table III", "iperf's results at the sender", runs, &III),
            waits("Table IV", runs, &IV),
            throughput("Table V", "the same with the changed scheduler", runs, &V),
            waits("Table VI", runs, &VI),
            fairness(runs),
            solutions(runs),
        ],
        figures: figures::figures(traces),
        claims: claims(runs).into_iter().chain(figures::claims(traces)).collect(),
        runs: described,
        ..Report::simulated("wu", "Wu and Crawford 2007, Potential performance bottleneck in Linux TCP", runs)
    }
}

/// A row of tables III and V: its name, its case, the data transmitted in 20 s (in MiB), and the rate in Mbit/s.
type Throughput = (&'static str, usize, f64, f64);
const III: [Throughput; 2] = [("BL0", IDLE, 1.17 * 1024.0, 504.0), ("BL10", OLD, 174.0, 72.1)];
const V: [Throughput; 3] =
    [("O-BL0", IDLE, 1.17 * 1024.0, 504.0), ("O-BL10", OLD, 174.0, 72.1), ("N-BL10", NEW, 220.0, 88.8)];

fn throughput(
    name: &'static str,
    about: &'static str,
    runs: &[Vec<FlowMeasures>],
    rows: &[Throughput],
) -> Table {
    let cells = rows.iter().flat_map(|(row, case, transmitted, rate)| {
        let judged = if *case == IDLE { Judged::Fitted } else { Judged::Share };
        let mebibytes = spread(&runs[*case], |run| run.written as f64 / f64::from(1 << 20));
        let mbit = spread(&runs[*case], |run| run.written as f64 * 8.0 / run.seconds / 1e6);
        [
            Cell::new(*row, "data transmitted, MiB", *transmitted, mebibytes, judged),
            Cell::new(*row, "throughput, Mbit/s", *rate, mbit, judged),
        ]
    });
    Table { name, about, cells: cells.collect() }
}

/// A row of tables IV and VI: its name, its case, and its packets by how long they waited.
type Waited = (&'static str, usize, [f64; 6]);
const CLASSES: [&str; 6] =
    ["below 1 ms, packets", "1 to 10 ms", "10 to 100 ms", "100 to 200 ms", "200 ms to 1 s", "above 1 s"];
const IV: [Waited; 2] = [
    ("BL0", IDLE, [862_429.0, 636.0, 0.0, 0.0, 0.0, 0.0]),
    ("BL10", OLD, [122_657.0, 744.0, 896.0, 40.0, 300.0, 75.0]),
];
const VI: [Waited; 3] = [
    ("O-BL0", IDLE, [862_429.0, 636.0, 0.0, 0.0, 0.0, 0.0]),
    ("O-BL10", OLD, [122_657.0, 744.0, 896.0, 40.0, 300.0, 75.0]),
    ("N-BL10", NEW, [156_300.0, 851.0, 618.0, 29.0, 0.0, 0.0]),
];

fn waits(name: &'static str, runs: &[Vec<FlowMeasures>], rows: &[Waited]) -> Table {
    let cells = rows.iter().flat_map(|(row, case, published)| {
        CLASSES.iter().zip(published).enumerate().map(|(class, (quantity, published))| {
            let ours = spread(&runs[*case], |run| run.waited[class] as f64);
            Cell::new(*row, quantity, *published, ours, Judged::Factor)
        })
    });
    let about = "how long packets waited on prequeue and backlog";
    Table { name, about, cells: cells.collect() }
}

/// Table VII's rate in Mbit/s, and iperf's share of the CPU and its fair share, in percent.
const VII: [[f64; 3]; 4] =
    [[265.0, 52.58, 50.0], [143.0, 28.38, 25.0], [117.0, 23.8, 20.0], [70.0, 13.86, 10.0]];

fn cpu_share(run: &FlowMeasures) -> f64 {
    (run.cpu[0] + run.cpu[1]) / run.seconds * 100.0
}

fn fairness(runs: &[Vec<FlowMeasures>]) -> Table {
    let rows = cases().into_iter().zip(runs).skip(FAIR);
    let cells = rows.zip(VII).flat_map(|((case, runs), [rate, share, _])| {
        // The column has the same name as in tables III and V, where it is the sender's rate.
        let mbit = spread(runs, |run| run.written as f64 * 8.0 / run.seconds / 1e6);
        [
            Cell::new(&case.name, "throughput, Mbit/s", rate, mbit, Judged::Share),
            Cell::new(
                &case.name,
                "iperf's share of the CPU, %",
                share,
                spread(runs, cpu_share),
                Judged::Share,
            ),
        ]
    });
    let about = "iperf next to processes that compute, with the changed scheduler";
    Table { name: "Table VII", about, cells: cells.collect() }
}

/// What each of section 5's solutions does, and what it leaves to other processes. The paper publishes two cells.
fn solutions(runs: &[Vec<FlowMeasures>]) -> Table {
    let rows = [
        ("original kernel", OLD, Some(72.1), Some(375.0)),
        ("change as posted", NEW, Some(88.8), Some(0.0)),
        ("change as in listing 1", LISTING_1, None, None),
        ("TCP in softirqs only", IN_SOFTIRQS, None, None),
        ("original, no preemption", UNPREEMPTED, None, None),
        ("original, 10 hogs", OLD_HOGS, None, None),
        ("as posted, 10 hogs", NEW_HOGS, None, None),
    ];
    let cells = rows.into_iter().flat_map(|(row, case, rate, late)| {
        let of = |of: fn(&FlowMeasures) -> f64| spread(&runs[case], of);
        let mbit = of(|run| run.written as f64 * 8.0 / run.seconds / 1e6);
        let packets = of(|run| run.waited[4..].iter().sum::<u64>() as f64);
        [
            Cell::new(row, "throughput, Mbit/s", rate, mbit, Judged::Shown),
            Cell::new(row, "packets that wait 200 ms or longer", late, packets, Judged::Shown),
            Cell::new(row, "retransmission timeouts", None, of(|run| run.timeouts.into()), Judged::Shown),
            Cell::new(row, "other processes' CPU time, s", None, of(|run| run.others), Judged::Shown),
        ]
    });
    let about = "each solution next to ten jobs of a make, and what it leaves to other processes in 20 s";
    Table { name: "Section 5", about, cells: cells.collect() }
}

fn claims(runs: &[Vec<FlowMeasures>]) -> Vec<Claim> {
    let median = |case: usize, of: &dyn Fn(&FlowMeasures) -> f64| spread(&runs[case], of)[1];
    let long = |run: &FlowMeasures| run.waited[4..].iter().sum::<u64>() as f64;
    let rate = |run: &FlowMeasures| run.written as f64 * 8.0 / run.seconds / 1e6;
    let count = |number: f64| format!("{number:.0}");
    let of = |case: usize, quantity: &dyn Fn(&FlowMeasures) -> f64| median(case, quantity);
    // Seed by seed: the make jobs are the same in both.
    let gains = runs[OLD].iter().zip(&runs[NEW]).map(|(old, new)| rate(new) / rate(old));
    let gain = statistics::median(gains).unwrap_or(f64::NAN);
    let timeouts = |run: &FlowMeasures| f64::from(run.timeouts);
    let most_extra =
        runs[FAIR..].iter().zip(VII).map(|(runs, [_, _, fair])| spread(runs, cpu_share)[1] - fair);
    let most_extra = most_extra.fold(0.0, f64::max);
    let lost: u64 = runs.iter().flatten().map(|run| run.lost).sum();
    let all_times_out = runs[OLD].iter().map(|run| run.timeouts).min().unwrap_or(0);
    vec![
        Claim {
            place: "section 4, table IV",
            says: "without background load, no packet waits for 10 ms",
            seen: format!("{} do", count(of(IDLE, &|run| run.waited[2..].iter().sum::<u64>() as f64))),
            holds: Some(runs[IDLE].iter().all(|run| run.waited[2..] == [0; 4])),
        },
        Claim {
            place: "section 4, plate 1 and table IV",
            says: "next to ten jobs of a make, packets wait longer than the sender's timeout, though none is lost",
            seen: format!(
                "{} wait for 200 ms or longer; {} timeouts; {lost} packets are lost in all runs",
                count(of(OLD, &long)),
                count(of(OLD, &timeouts))
            ),
            holds: Some(of(OLD, &long) > 0.0 && all_times_out > 0 && lost == 0),
        },
        Claim {
            place: "section 5, table V",
            says: "with the changed scheduler more is transmitted",
            seen: format!("{gain:.2} times as much; 1.23 in the paper"),
            holds: Some(gain > 1.05),
        },
        Claim {
            place: "section 5, table VI",
            says: "with the changed scheduler no packet waits for 200 ms",
            seen: format!("{} do, {} without it", count(of(NEW, &long)), count(of(OLD, &long))),
            holds: Some(runs[NEW].iter().all(|run| run.waited[4..] == [0; 2])),
        },
        Claim {
            place: "section 5, table VII",
            says: "iperf has at most 3.86 % more of the CPU than its fair share",
            seen: format!("{most_extra:.2} % at most"),
            holds: Some(most_extra <= 3.86),
        },
    ]
}
