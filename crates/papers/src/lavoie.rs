//! LaVoie, Nahum and Flynn, Profiling TCP: An In-depth Analysis of Processing Costs (IBM Research Report): where the CPU of a busy
//! web server goes, and for which part of TCP.
//!
//! Unlike the other papers' experiments these are not simulated: a real server is loaded and its CPU profiled, elsewhere. Here is
//! what the paper says, and what profiles and counters say to that. The paper's figures came without numbers: what can be held
//! against it is what its text says, most of it of Linux 2.6.14, some of 2.4.16.
//!
//! - `measured`: what a profile has of each operation, and who each belongs to.
//! - `claims`, `judge`: what the paper says, and whether it is still so; `tables`, `figures`, `graphs`.
//! - `beside`: two kernels compared.
//!
//! # Decisions
//!
//! Each host receives on a CPU of its own. A timer polls its veth device there, as a NIC of the paper's time
//! interrupted (`web/card.rs` in the lab). Super-packets cannot wait in that ring and are steered between CPUs by
//! interrupts that no NIC needs, so that CPU shares are judged with these interrupts and without. A share that
//! depends on them is not reported, nor one that chance can explain (`judge`).

mod beside;
mod claims;
mod figures;
mod graphs;
mod judge;
mod measured;
mod tables;

pub use beside::{Side, compared_cases, put_beside};
pub use measured::{Excluded, Owner, ServerSamples};

use crate::report::Report;
use slowpath_cost::{Profile, Share};
use std::fmt;

/// Sizes of the files, in KiB.
pub const FILES_KIB: [u32; 3] = [1, 8, 64];
/// Requests on a connection: HTTP/1.0's one, and the ten of the persistent ones (section 3).
pub const REQUESTS: [u32; 2] = [1, 10];

/// An experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ServerCase {
    /// The file's size, in KiB.
    pub file_kib: u32,
    /// Requests on a connection.
    pub requests: u32,
    /// Whether the server uses sendfile, as the paper's does.
    pub sendfile: bool,
    /// Whether TCP makes super-packets (TSO).
    pub tso: bool,
}

/// As `--only` names them: `8K ten sendfile TSO`, `64K one write no-TSO`.
impl fmt::Display for ServerCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}K {}", self.file_kib, if self.requests == 1 { "one" } else { "ten" })?;
        write!(f, " {}", if self.sendfile { "sendfile" } else { "write" })?;
        f.write_str(if self.tso { " TSO" } else { " no-TSO" })
    }
}

/// All of them: each size of a file, with one and with ten requests on a connection, with and without sendfile, with and without TSO.
pub fn cases() -> Vec<ServerCase> {
    let mut cases = Vec::new();
    for requests in REQUESTS {
        for (sendfile, tso) in [(true, false), (true, true), (false, false), (false, true)] {
            cases.extend(FILES_KIB.map(|file_kib| ServerCase { file_kib, requests, sendfile, tso }));
        }
    }
    cases
}

/// As most of the paper's figures are: a connection for each request, sendfile, no TSO.
const fn plain(file_kib: u32) -> ServerCase {
    ServerCase { file_kib, requests: 1, sendfile: true, tso: false }
}

/// What was counted while a case was profiled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// For how long.
    pub seconds: f64,
    /// Requests that were answered.
    pub requests: u64,
    /// Connections that were accepted.
    pub connections: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Segments that the server received.
    pub segments_in: u64,
    /// Segments that it sent.
    pub segments_out: u64,
    /// ACKs without data among those that it received.
    pub pure_acks_in: u64,
    /// The part of its CPU's time in which that had nothing to do.
    pub idle: f64,
    /// The part in which it was not there: another virtual machine had it.
    pub stolen: f64,
}

/// A case that was run.
#[derive(Debug)]
pub struct Run<'a> {
    /// Which.
    pub case: ServerCase,
    /// What was counted.
    pub counters: Counters,
    /// The profile of the server's CPU.
    pub profile: &'a Profile,
    /// The name of the server's processes.
    pub server: &'a str,
}

/// What is said of a share of samples, and the share.
type Note<'a> = (&'static str, &'a dyn Fn(&ServerSamples) -> Share);

/// The cases that were run, with what their profiles have.
pub(crate) struct Runs {
    all: Vec<(ServerCase, Counters, ServerSamples)>,
}

impl Runs {
    fn of(runs: &[Run<'_>]) -> Self {
        let measure =
            |run: &Run<'_>| (run.case, run.counters.clone(), ServerSamples::of(run.profile, run.server));
        Self { all: runs.iter().map(measure).collect() }
    }

    fn all(&self) -> impl Iterator<Item = &(ServerCase, Counters, ServerSamples)> {
        self.all.iter()
    }

    fn get(&self, case: ServerCase) -> Option<&ServerSamples> {
        self.all().find(|(of, ..)| *of == case).map(|(.., measured)| measured)
    }

    /// As figures 8 to 10.
    fn plain(&self, file_kib: u32) -> Option<&ServerSamples> {
        self.get(plain(file_kib))
    }

    /// As figures 11 to 13.
    fn tso(&self, file_kib: u32) -> Option<&ServerSamples> {
        self.get(ServerCase { file_kib, requests: 1, sendfile: true, tso: true })
    }

    /// Ten requests on a connection.
    fn persistent(&self, file_kib: u32) -> Option<&ServerSamples> {
        self.get(ServerCase { file_kib, requests: 10, sendfile: true, tso: false })
    }

    /// What the server took of its CPU for each request, in nanoseconds: of the time that the CPU was there the part of the samples
    /// that are the server's.
    fn ns_a_request(&self, case: ServerCase) -> Option<f64> {
        let (_, counters, measured) = self.all().find(|(of, ..)| *of == case)?;
        let part = Share { part: measured.total, of: measured.sampled() }.value()?;
        let took = counters.seconds * (1.0 - counters.stolen) * part;
        (counters.requests > 0).then(|| took * 1e9 / counters.requests as f64)
    }

    /// The parts of the samples that the paper did not measure, or that are not the server's: minimum and maximum of all cases.
    fn notes(&self) -> Vec<String> {
        let of_servers = |measured: &ServerSamples, part| Share { part, of: measured.total };
        let of_all = |measured: &ServerSamples, part| Share { part, of: measured.sampled() };
        let notes: [Note<'_>; 4] = [
            (
                "of the server's samples are interrupts between the two CPUs, by which packets are steered (shown as steering)",
                &|measured| of_servers(measured, measured.steering),
            ),
            (
                "of them are on a function that turns interrupts on again, where a clock puts what ran while they were off",
                &|measured| of_servers(measured, measured.irqs_on_again),
            ),
            ("of all samples are left out: the client's buffers", &|measured| {
                of_all(measured, measured.excluded.clients)
            }),
            (
                "of all samples are left out: other programs; that the server would have kept its CPU busy without them is not seen",
                &|measured| of_all(measured, measured.excluded.others),
            ),
        ];
        let told = |(says, share): Note<'_>| {
            let values: Vec<f64> = self.all().filter_map(|(.., measured)| share(measured).value()).collect();
            let least = values.iter().copied().reduce(f64::min)? * 100.0;
            let most = values.iter().copied().reduce(f64::max)? * 100.0;
            (most > 0.0).then(|| format!("{least:.1} to {most:.1} % {says}"))
        };
        notes.into_iter().filter_map(told).collect()
    }
}

/// What the paper says next to what was measured in the cases that were run. `measured_on` says where and with what, in lines;
/// `command` runs a case by itself.
pub fn report(runs: &[Run<'_>], measured_on: Vec<String>, command: impl Fn(ServerCase) -> String) -> Report {
    let measured = Runs::of(runs);
    Report {
        paper: "lavoie",
        title: "LaVoie, Nahum and Flynn, Profiling TCP: An In-depth Analysis of Processing Costs",
        seeds: 0,
        measured_on: measured_on.into_iter().chain(measured.notes()).collect(),
        tables: tables::tables(&measured),
        figures: figures::figures(&measured),
        graphs: graphs::graphs(&measured),
        comparison: None,
        claims: claims::claims(&measured),
        runs: runs.iter().map(|run| (run.case.to_string(), command(run.case))).collect(),
    }
}
