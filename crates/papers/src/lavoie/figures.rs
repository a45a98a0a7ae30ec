//! Figures: shares over the file size.

use super::judge::per_cent;
use super::measured::{Owner, ServerSamples};
use super::{FILES_KIB, Runs};
use crate::figure::{Axis, Figure, Series};
use slowpath_cost::Share;
use slowpath_cost::categories::Category;

const FILE: Axis = Axis::logarithmic("file", "KiB");
const CPU: Axis = Axis::linear("of the CPU", "%");

/// The run of a size for a figure.
type Of = for<'a> fn(&'a Runs, u32) -> Option<&'a ServerSamples>;

fn series(runs: &Runs, of: Of, name: &str, share: impl Fn(&ServerSamples) -> Share) -> Option<Series> {
    let points =
        FILES_KIB.map(|kib| of(runs, kib).map(|measured| (f64::from(kib), per_cent(share(measured)))));
    let points: Vec<_> = points.into_iter().flatten().collect();
    (!points.is_empty()).then(|| Series::of_runs(name, points))
}

/// The figures whose cases were run.
pub fn figures(runs: &Runs) -> Vec<Figure> {
    let figures = [
        categories(runs),
        operations(runs, Runs::plain, "Figures 8 to 10", "what operations cost themselves, without TSO"),
        operations(runs, Runs::tso, "Figures 11 to 13", "what operations cost themselves, with TSO"),
        divided(
            runs,
            |measured, operation| measured.attributed(operation, Owner::Receive),
            "Figures 14, 16 and 18",
            "which part of each operation belongs to TCP receive",
        ),
        divided(
            runs,
            |measured, operation| {
                let of = |owner| measured.attributed(operation, owner);
                Share { part: of(Owner::Message).part + of(Owner::Pages).part, ..of(Owner::Message) }
            },
            "Figures 15, 17 and 19",
            "which part of each belongs to TCP send message and TCP send pages",
        ),
    ];
    figures.into_iter().filter(|figure| !figure.series.is_empty()).collect()
}

/// As many as there are colours.
const CATEGORIES: [Category; 8] = [
    Category::Tcp,
    Category::Ip,
    Category::SocketBuffers,
    Category::Memory,
    Category::Locks,
    Category::Driver,
    Category::Interrupts,
    Category::SystemCalls,
];

fn categories(runs: &Runs) -> Figure {
    let series = CATEGORIES.into_iter().filter_map(|category| {
        series(runs, Runs::plain, &category.to_string(), |measured| measured.category(category))
    });
    Figure {
        name: "Figure 1",
        about: "the CPU by kinds of work, without TSO",
        x: FILE,
        y: CPU,
        series: series.collect(),
        says: "TCP typically takes 30 %, followed by socket buffers and the card's driver at about ten each (2.4.16)",
        seen: "interrupts are those between the two CPUs, and driver the pair of devices".to_owned(),
    }
}

const OPERATIONS: [&str; 8] = [
    "TCP receive",
    "TCP send message",
    "TCP transmit sk buffer",
    "TCP ACK receive",
    "sk buffer clone",
    "kernel memory allocation",
    "kernel memory deallocation",
    "lock sock",
];

fn operations(runs: &Runs, of: Of, name: &'static str, about: &'static str) -> Figure {
    let series = OPERATIONS
        .into_iter()
        .filter_map(|operation| series(runs, of, operation, |measured| measured.own(operation)));
    Figure {
        name,
        about,
        x: FILE,
        y: CPU,
        series: series.collect(),
        says: "sending costs more and receiving less as files grow; sk buffer clone costs more",
        seen: "the ten most expensive functions of each size are in the tables".to_owned(),
    }
}

const DIVIDED: [&str; 8] = [
    "TCP push pending frames",
    "TCP transmit sk buffer",
    "IP output",
    "sk buffer clone",
    "sk buffer allocation",
    "sk buffer free",
    "kernel memory allocation",
    "kernel memory deallocation",
];

fn divided(
    runs: &Runs,
    share: impl Fn(&ServerSamples, &str) -> Share,
    name: &'static str,
    about: &'static str,
) -> Figure {
    let series = DIVIDED
        .into_iter()
        .filter_map(|operation| series(runs, Runs::plain, operation, |measured| share(measured, operation)));
    Figure {
        name,
        about,
        x: FILE,
        y: Axis::linear("of the operation", "%"),
        series: series.collect(),
        says: "TCP receive carries most of the costs, and more of sending's as files grow",
        seen: "counted by whole stacks; to which of several callers a sample belongs is not estimated"
            .to_owned(),
    }
}
