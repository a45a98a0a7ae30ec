//! The paper's lists and figures as tables: its numbers, and ours.

use super::judge::per_cent;
use super::measured::{Owner, ServerSamples};
use super::{COMPARED, FILES_KIB, Runs, enhancements, invariance};
use crate::report::{Cell, Judged, Table};
use slowpath_cost::Share;
use slowpath_cost::categories::Category;

fn cell(row: impl Into<String>, quantity: &'static str, published: Option<f64>, share: Share) -> Cell {
    Cell::new(row, quantity, published, per_cent(share), Judged::Shown)
}

/// The tables for which there are runs.
pub fn tables(runs: &Runs) -> Vec<Table> {
    let mut tables = vec![candidates(runs), whole(runs)];
    const TOP: [[&str; 3]; 2] =
        [["Figure 8", "Figure 9", "Figure 10"], ["Figure 11", "Figure 12", "Figure 13"]];
    const ABOUT: [[&str; 3]; 2] = [
        [
            "top functions for 1K files, % of the CPU",
            "top functions for 8K files, % of the CPU",
            "top functions for 64K files, % of the CPU",
        ],
        [
            "top functions for 1K files with TSO, % of the CPU",
            "top functions for 8K files with TSO, % of the CPU",
            "top functions for 64K files with TSO, % of the CPU",
        ],
    ];
    for (at, kib) in FILES_KIB.into_iter().enumerate() {
        for (with, measured) in [runs.plain(kib), runs.tso(kib)].into_iter().enumerate() {
            tables.extend(measured.map(|measured| top(TOP[with][at], ABOUT[with][at], measured)));
        }
    }
    tables.extend(divided(runs));
    tables.extend(invariance::tables(runs));
    tables.push(enhancements::table(runs));
    tables.push(cache_misses(runs));
    tables.push(counters(runs));
    tables.retain(|table| !table.cells.is_empty());
    tables
}

/// The list of section 2.2, of Linux 2.4.16: the paper's number for each function.
const CANDIDATES: [(&str, f64); 8] = [
    ("TCP receive", 5.0),
    ("TCP send pages", 3.0),
    ("TCP transmit sk buffer", 2.8),
    ("sk buffer clone", 2.3),
    ("TCP clean retransmit queue", 2.0),
    ("TCP receive state process", 2.0),
    ("TCP clone sock", 1.0),
    ("handle IRQ", 5.0),
];
/// The names of these columns.
const ITSELF: [&str; 3] = ["1K, itself", "8K, itself", "64K, itself"];

fn candidates(runs: &Runs) -> Table {
    let mut cells = Vec::new();
    for (operation, published) in CANDIDATES {
        for (at, kib) in FILES_KIB.into_iter().enumerate() {
            let Some(measured) = runs.plain(kib) else { continue };
            cells.push(cell(operation, ITSELF[at], Some(published), measured.own(operation)));
        }
    }
    Table {
        name: "Section 2.2",
        about: "candidates in Linux 2.4.16 (up to so much, of any file), % of the CPU; a function that the compiler put into its \
                caller is counted with that",
        cells,
    }
}

const OWNERS: [(&str, Owner); 6] = [
    ("TCP receive", Owner::Receive),
    ("TCP send message", Owner::Message),
    ("TCP send pages", Owner::Pages),
    ("interrupts and softirqs before TCP", Owner::Interrupt),
    ("elsewhere", Owner::Nobody),
    ("undecided", Owner::CannotTell),
];
const WHOLE: [[&str; 3]; 2] = [["1K", "8K", "64K"], ["1K with TSO", "8K with TSO", "64K with TSO"]];

/// The whole CPU, divided: the owners' shares sum to 100 % in each case.
fn whole(runs: &Runs) -> Table {
    let mut cells = Vec::new();
    for (row, owner) in OWNERS {
        for (at, kib) in FILES_KIB.into_iter().enumerate() {
            for (with, measured) in [runs.plain(kib), runs.tso(kib)].into_iter().enumerate() {
                cells
                    .extend(measured.map(|measured| cell(row, WHOLE[with][at], None, measured.owned(owner))));
            }
        }
    }
    Table { name: "The whole", about: "to whom the server's CPU time belongs, %", cells }
}

fn top(name: &'static str, about: &'static str, measured: &ServerSamples) -> Table {
    let cells = measured.functions.iter().take(10).map(|(function, samples)| {
        cell(function.clone(), "itself", None, Share { part: *samples, of: measured.total })
    });
    Table { name, about, cells: cells.collect() }
}

/// Operations below the high-level ones (figures 5 to 7).
const BELOW: [&str; 11] = [
    "TCP ACK receive",
    "TCP push pending frames",
    "TCP transmit sk buffer",
    "IP queue transmit",
    "IP output",
    "device queue transmit",
    "sk buffer clone",
    "sk buffer allocation",
    "sk buffer free",
    "kernel memory allocation",
    "kernel memory deallocation",
];

/// Figures of a size: their name, the size, their owner besides TCP receive, the column names, and the numbers in the
/// paper's text: operation, column, percent.
struct Divided {
    name: &'static str,
    about: &'static str,
    kib: u32,
    other: Owner,
    columns: [&'static str; 3],
    published: &'static [(&'static str, usize, f64)],
}

const DIVIDED: [Divided; 3] = [
    Divided {
        name: "Figures 14 and 15",
        about: "1K files: % of the CPU with what it calls, and % of that",
        kib: 1,
        other: Owner::Message,
        columns: ["of the CPU", "to TCP receive", "to TCP send message"],
        published: &[("lock sock", 0, 3.0), ("lock sock", 1, 10.0), ("TCP transmit sk buffer", 2, 50.0)],
    },
    Divided {
        name: "Figures 16 and 17",
        about: "8K files: % of the CPU with what it calls, and % of that",
        kib: 8,
        other: Owner::Pages,
        columns: ["of the CPU", "to TCP receive", "to TCP send pages"],
        published: &[],
    },
    Divided {
        name: "Figures 18 and 19",
        about: "64K files: % of the CPU with what it calls, and % of that",
        kib: 64,
        other: Owner::Pages,
        columns: ["of the CPU", "to TCP receive", "to TCP send pages"],
        published: &[("TCP push pending frames", 1, 96.0)],
    },
];

fn divided(runs: &Runs) -> Vec<Table> {
    let table = |figures: &Divided| {
        let measured = runs.plain(figures.kib)?;
        let cells = BELOW.into_iter().chain(["lock sock"]).flat_map(|operation| {
            let shares = [
                measured.with_callees(operation),
                measured.attributed(operation, Owner::Receive),
                measured.attributed(operation, figures.other),
            ];
            shares.into_iter().enumerate().map(move |(column, share)| {
                let is = |of: &&(&str, usize, f64)| of.0 == operation && of.1 == column;
                let published = figures.published.iter().find(is).map(|of| of.2);
                cell(operation, figures.columns[column], published, share)
            })
        });
        Some(Table { name: figures.name, about: figures.about, cells: cells.collect() })
    };
    DIVIDED.iter().filter_map(table).collect()
}

/// The names of the columns: the share of the misses, and of the time.
const MISSES: [[&str; 2]; COMPARED.len()] = [
    ["1K, misses", "1K, time"],
    ["8K, misses", "8K, time"],
    ["64K, misses", "64K, time"],
    ["mixed, misses", "mixed, time"],
];
/// What the paper suspects to be costly because of misses (section 3.2): operations that manage the memory of buffers.
const OF_BUFFERS: [&str; 5] = [
    "sk buffer allocation",
    "sk buffer free",
    "sk buffer clone",
    "kernel memory allocation",
    "kernel memory deallocation",
];

/// Where the machine counts them: the shares of the server's cache misses, next to those of its time.
fn cache_misses(runs: &Runs) -> Table {
    let mut cells = Vec::new();
    let counted: Vec<_> = COMPARED
        .into_iter()
        .zip(MISSES)
        .filter_map(|(workload, names)| {
            let measured = runs.get(super::of(workload))?;
            Some((names, measured.misses.as_deref()?, measured))
        })
        .collect();
    for category in Category::ALL {
        for (names, misses, time) in &counted {
            for (name, of) in names.iter().zip([misses, time]) {
                cells.push(cell(category.to_string(), name, None, of.category(category)));
            }
        }
    }
    for operation in OF_BUFFERS {
        for (names, misses, time) in &counted {
            for (name, of) in names.iter().zip([misses, time]) {
                cells.push(cell(format!("{operation} itself"), name, None, of.own(operation)));
            }
        }
    }
    let about = "shares of the server's cache misses, next to those of its time, %";
    Table { name: "Cache misses", about, cells }
}

/// Counters of each run.
fn counters(runs: &Runs) -> Table {
    let mut cells = Vec::new();
    for (case, counted, measured) in runs.all() {
        let each = |count: u64| count as f64 / counted.requests.max(1) as f64;
        let rows: [(&'static str, f64); 11] = [
            ("seconds", counted.seconds),
            ("requests a second", counted.requests as f64 / counted.seconds.max(f64::MIN_POSITIVE)),
            ("errors", counted.errors as f64),
            ("CPU idle, %", counted.idle * 100.0),
            ("CPU stolen, %", counted.stolen * 100.0),
            (
                "CPU with other programs, %",
                per_cent(Share { part: measured.excluded.others, of: measured.sampled() })[1],
            ),
            ("µs of CPU a request", runs.ns_per_request(*case).unwrap_or(0.0) / 1000.0),
            ("segments sent a request", each(counted.segments_out)),
            ("segments received a request", each(counted.segments_in)),
            ("pure ACKs among these", each(counted.pure_acks_in)),
            ("samples", measured.total as f64),
        ];
        cells.extend(
            rows.map(|(quantity, value)| {
                Cell::new(case.to_string(), quantity, None, [value; 3], Judged::Shown)
            }),
        );
    }
    Table { name: "The runs", about: "what server and CPU did meanwhile", cells }
}
