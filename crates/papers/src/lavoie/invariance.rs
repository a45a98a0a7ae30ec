//! Whether TCP/IP costs the same for other workloads, by layer (sections 2.2 and 6): "the behavior of TCP is largely
//! invariant between workloads, HTTP servers, and hardware".
//!
//! Two questions differ. A server that does more work itself leaves less of the CPU to TCP/IP, whatever TCP/IP does: the
//! share of the CPU. And the work of TCP/IP may be divided among its layers in another way: the share of TCP/IP.

use super::claims::Answer;
use super::judge::{all, within};
use super::measured::ServerSamples;
use super::tables::per_cent;
use super::{FILES_KIB, Runs, ServerCase, Workload};
use crate::report::{Cell, Judged, Table};
use slowpath_cost::Share;
use slowpath_cost::categories::Category;

/// The layers of figure 1, and IP.
const LAYERS: [Category; 5] =
    [Category::Tcp, Category::Ip, Category::SocketBuffers, Category::Memory, Category::Driver];
/// A smaller layer is not judged: of that, a quarter is within what the attribution of samples to layers leaves open.
const LEAST: f64 = 0.05;
/// How far a layer's share may be from the compared one's, as a part of it; set before the first measurement, and as
/// for numbers of the paper.
const TOLERANCE: f64 = 0.25;

/// What a layer's share is a part of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// The server's CPU time.
    Cpu,
    /// The part of that in these layers.
    Layers,
}

impl Of {
    fn share(self, measured: &ServerSamples, layer: Category) -> Share {
        let share = measured.category(layer);
        match self {
            Self::Cpu => share,
            Self::Layers => {
                Share { of: LAYERS.map(|layer| measured.category(layer).part).iter().sum(), ..share }
            }
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Cpu => "of the CPU",
            Self::Layers => "of TCP/IP",
        }
    }
}

/// A column: its name with either denominator, and its case.
struct Column {
    names: [&'static str; 2],
    case: ServerCase,
}

const fn column(names: [&'static str; 2], workload: Workload) -> Column {
    Column { names, case: ServerCase { workload, ..super::plain(1) } }
}

const COLUMNS: [Column; 4] = [
    column(["1K, of the CPU", "1K, of TCP/IP"], Workload::File(1)),
    column(["8K, of the CPU", "8K, of TCP/IP"], Workload::File(8)),
    column(["64K, of the CPU", "64K, of TCP/IP"], Workload::File(64)),
    column(["mixed, of the CPU", "mixed, of TCP/IP"], Workload::Mixed),
];

/// Each layer's share in each case.
pub(super) fn table(runs: &Runs) -> Table {
    let mut cells = Vec::new();
    for layer in LAYERS {
        for column in &COLUMNS {
            let Some(measured) = runs.get(column.case) else { continue };
            for (of, name) in [Of::Cpu, Of::Layers].into_iter().zip(column.names) {
                let share = per_cent(of.share(measured, layer));
                cells.push(Cell::new(layer.to_string(), name, None, share, Judged::Shown));
            }
        }
    }
    let about =
        "workloads compared, by layer, %: of the server's CPU, and of all that these layers take of it";
    Table { name: "Section 6", about, cells }
}

/// Whether each layer's share is as in the cases compared with: not less than the least of them by more than the
/// tolerance, nor more than the most.
fn is_as_in(compared: &[&ServerSamples], measured: &ServerSamples, of: Of) -> Answer {
    let mut farthest: f64 = 1.0;
    let mut seen = Vec::new();
    let mut holds = Vec::new();
    for layer in LAYERS {
        let values = compared.iter().filter_map(|compared| of.share(compared, layer).value());
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(0.0, f64::max);
        if most < LEAST || !least.is_finite() {
            continue;
        }
        let share = of.share(measured, layer);
        holds.push(within(share, [least * (1.0 - TOLERANCE), most * (1.0 + TOLERANCE)]));
        let value = share.value().unwrap_or(0.0);
        let distance = if value < least { least / value } else { value / most };
        farthest = farthest.max(distance);
        let range = if compared.len() == 1 {
            format!("{:.1}", least * 100.0)
        } else {
            format!("{:.1} to {:.1}", least * 100.0, most * 100.0)
        };
        seen.push(format!("{layer} {:.1} % compared with {range} %", value * 100.0));
    }
    let word = of.word();
    let spread = if farthest.is_finite() { format!("{farthest:.2}") } else { "without bound".to_owned() };
    let seen = format!("{word}: {} (largest ratio {spread})", seen.join(", "));
    if holds.is_empty() { (seen, None) } else { (seen, all(holds)) }
}

/// The mixed workload, whose files are of all sizes, compared with the single files.
pub(super) fn of_workloads(runs: &Runs, of: Of) -> Option<Answer> {
    let files: Vec<&ServerSamples> =
        FILES_KIB.into_iter().map(|kib| runs.plain(kib)).collect::<Option<_>>()?;
    let (seen, holds) = is_as_in(&files, runs.mixed()?, of);
    Some((format!("mixed, {seen}"), holds))
}
