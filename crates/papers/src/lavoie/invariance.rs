//! Whether TCP/IP costs the same for other workloads, servers and event methods, by layer (sections 2.2 and 6): "the behavior of TCP is largely
//! invariant between workloads, HTTP servers, and hardware".
//!
//! Two questions differ. A server that does more work itself leaves less of the CPU to TCP/IP, whatever TCP/IP does: the
//! share of the CPU. And the work of TCP/IP may be divided among its layers in another way: the share of TCP/IP.

use super::judge::{Answer, all, per_cent, within};
use super::measured::ServerSamples;
use super::{COMPARED, Events, FILES_KIB, MIXED, Runs, Server, ServerCase, of, waits_by};
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

/// The names of the layers.
const NAMES: [&str; LAYERS.len()] = ["TCP", "IP", "socket buffers", "memory", "driver"];

/// Each layer's share in each case: of the CPU, and of all that the layers take.
pub(super) fn tables(runs: &Runs) -> [Table; 2] {
    let servers = [Server::Nginx, Server::Apache].map(|server| COMPARED.map(|workload| (workload, server)));
    let mut cases: Vec<ServerCase> = servers
        .into_iter()
        .flatten()
        .map(|(workload, server)| ServerCase { server, ..of(workload) })
        .collect();
    cases.extend([Events::Epoll, Events::Poll, Events::Select].map(waits_by));
    let cells = |part_of: Of| {
        let runs = cases.iter().filter_map(|case| Some((case, runs.get(*case)?)));
        let cells = runs.flat_map(|(case, measured)| {
            LAYERS.into_iter().zip(NAMES).map(move |(layer, name)| {
                let share = per_cent(part_of.share(measured, layer));
                Cell::new(case.to_string(), name, None, share, Judged::Shown)
            })
        });
        cells.collect()
    };
    [
        Table {
            name: "Section 6",
            about: "workloads, servers and event methods: layers, % of the server's CPU",
            cells: cells(Of::Cpu),
        },
        Table {
            name: "Section 6, TCP/IP",
            about: "workloads, servers and event methods: layers, % of what all five of them take",
            cells: cells(Of::Layers),
        },
    ]
}

/// Whether each layer's share is as in the cases compared with: not less than the least of them by more than the
/// tolerance, nor more than the most.
fn is_as_in(compared: &[&ServerSamples], measured: &ServerSamples, part_of: Of) -> Answer {
    let mut farthest: f64 = 1.0;
    let mut seen = Vec::new();
    let mut holds = Vec::new();
    for layer in LAYERS {
        let values = compared.iter().filter_map(|compared| part_of.share(compared, layer).value());
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(0.0, f64::max);
        if most < LEAST || !least.is_finite() {
            continue;
        }
        let share = part_of.share(measured, layer);
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
    let word = part_of.word();
    let spread = if farthest.is_finite() { format!("{farthest:.2}") } else { "without bound".to_owned() };
    let seen = format!("{word}: {} (largest ratio {spread})", seen.join(", "));
    if holds.is_empty() { (seen, None) } else { (seen, all(holds)) }
}

/// The mixed workload, whose files are of all sizes, compared with the single files.
pub(super) fn of_workloads(runs: &Runs, part_of: Of) -> Option<Answer> {
    let files: Vec<&ServerSamples> =
        FILES_KIB.into_iter().map(|kib| runs.plain(kib)).collect::<Option<_>>()?;
    let (seen, holds) = is_as_in(&files, runs.get(MIXED)?, part_of);
    Some((format!("mixed, {seen}"), holds))
}

/// Apache compared with nginx, for each workload.
pub(super) fn of_servers(runs: &Runs, part_of: Of) -> Option<Answer> {
    let compared = COMPARED.map(|workload| {
        let (nginx, apache) = (of(workload), ServerCase { server: Server::Apache, ..of(workload) });
        let (seen, holds) = is_as_in(&[runs.get(nginx)?], runs.get(apache)?, part_of);
        Some((format!("{workload}, {seen}"), holds))
    });
    together(compared)
}

/// The event methods compared with epoll, in one server.
pub(super) fn of_events(runs: &Runs, part_of: Of) -> Option<Answer> {
    let epoll = runs.get(waits_by(Events::Epoll))?;
    let compared = [("poll", Events::Poll), ("select", Events::Select)].map(|(name, events)| {
        let (seen, holds) = is_as_in(&[epoll], runs.get(waits_by(events))?, part_of);
        Some((format!("{name} and epoll, {seen}"), holds))
    });
    together(compared)
}

/// A claim that must hold in each comparison.
fn together<const N: usize>(compared: [Option<Answer>; N]) -> Option<Answer> {
    let answers: Vec<Answer> = compared.into_iter().collect::<Option<_>>()?;
    let holds = all(answers.iter().map(|(_, holds)| *holds));
    let seen: Vec<String> = answers.into_iter().map(|(seen, _)| seen).collect();
    Some((seen.join("; "), holds))
}
