//! LaVoie, Nahum and Flynn, Profiling TCP: An In-depth Analysis of Processing Costs (IBM Research Report): where a busy
//! web server spends its CPU time, and for which part of TCP.
//!
//! Unlike the other papers' experiments, these are not simulated: a real server is loaded and its CPU profiled,
//! elsewhere. This compares the paper's claims with profiles and counters. The paper's figures have no numbers, so only
//! its text can be compared, most of it about Linux 2.6.14, some about 2.4.16.
//!
//! - `measured`: each operation in a profile, and its owner.
//! - `claims`, `judge`: the paper's claims, and whether they still hold; `tables`, `figures`, `graphs`.
//! - `invariance`: workloads, servers and event methods compared, by layer.
//! - `enhancements`: what the paper's proposals would save at most.
//! - `two_kernels`: two kernels compared.
//!
//! # Decisions
//!
//! Each host receives on its own CPU. A timer polls its veth device there, as a NIC of the paper's time interrupted
//! (`web/card.rs` in the lab). Super-packets cannot wait in that ring and are steered between CPUs by interrupts that
//! no NIC needs, so CPU shares are judged with and without these interrupts. A share that depends on them is not
//! reported, nor one that chance can explain (`judge`).

mod claims;
mod enhancements;
mod figures;
mod graphs;
mod invariance;
mod judge;
mod measured;
mod tables;
mod two_kernels;

pub use measured::{Excluded, Owner, ServerSamples};
pub use two_kernels::{Side, add_comparison, compared_cases};

use crate::report::Report;
use slowpath_cost::{Profile, Share};
use std::fmt;

/// Sizes of the files, in KiB.
pub const FILES_KIB: [u32; 3] = [1, 8, 64];
/// Requests per connection: one with HTTP/1.0, and ten with persistent connections (section 3).
pub const REQUESTS: [u32; 2] = [1, 10];

/// What the clients request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Workload {
    /// One file of this size, in KiB, again and again, as the paper's SingleClient did.
    File(u32),
    /// Pages with embedded objects, of sizes from a log-normal distribution and of popularity by Zipf's law, as its
    /// WaspClient did.
    Mixed,
}

/// As in the names of cases: `8K`, `mixed`.
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(kib) => write!(f, "{kib}K"),
            Self::Mixed => f.write_str("mixed"),
        }
    }
}

/// The web server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Server {
    /// nginx, which waits with epoll; it stands for the paper's Flash.
    Nginx,
    /// Apache with its event MPM.
    Apache,
    /// HAProxy, which waits with any of three system calls.
    Haproxy(Events),
}

/// The system call with which a server waits for its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Events {
    /// epoll_wait(2).
    Epoll,
    /// poll(2).
    Poll,
    /// select(2).
    Select,
}

impl Server {
    /// What it adds to the name of a case.
    const fn words(self) -> &'static str {
        match self {
            Self::Nginx => "",
            Self::Apache => "Apache",
            Self::Haproxy(Events::Epoll) => "HAProxy epoll",
            Self::Haproxy(Events::Poll) => "HAProxy poll",
            Self::Haproxy(Events::Select) => "HAProxy select",
        }
    }
}

/// An experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ServerCase {
    /// What is requested.
    pub workload: Workload,
    /// Requests per connection.
    pub requests: u32,
    /// Whether the server uses sendfile, as the paper's does.
    pub sendfile: bool,
    /// Whether TCP makes super-packets (TSO).
    pub tso: bool,
    /// The server.
    pub server: Server,
}

/// As in `--only`: `8K ten sendfile TSO`, `64K one write no-TSO`, `8K one sendfile no-TSO Apache`.
impl fmt::Display for ServerCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.workload, if self.requests == 1 { "one" } else { "ten" })?;
        write!(f, " {}", if self.sendfile { "sendfile" } else { "write" })?;
        f.write_str(if self.tso { " TSO" } else { " no-TSO" })?;
        match self.server {
            Server::Nginx => Ok(()),
            server => write!(f, " {}", server.words()),
        }
    }
}

/// All of them: each file size, with one and with ten requests per connection, with and without sendfile, with and
/// without TSO. Then the mixed workload, and some of these with other servers.
pub fn cases() -> Vec<ServerCase> {
    let mut cases = Vec::new();
    for requests in REQUESTS {
        for (sendfile, tso) in [(true, false), (true, true), (false, false), (false, true)] {
            let case = |kib| ServerCase {
                workload: Workload::File(kib),
                requests,
                sendfile,
                tso,
                server: Server::Nginx,
            };
            cases.extend(FILES_KIB.map(case));
        }
    }
    cases.push(MIXED);
    cases.extend(COMPARED.map(|workload| ServerCase { server: Server::Apache, ..of(workload) }));
    cases.extend([Events::Epoll, Events::Poll, Events::Select].map(waits_by));
    cases
}

/// The case of most of the paper's figures: one request per connection, sendfile, no TSO.
const fn plain(file_kib: u32) -> ServerCase {
    ServerCase {
        workload: Workload::File(file_kib),
        requests: 1,
        sendfile: true,
        tso: false,
        server: Server::Nginx,
    }
}

/// The mixed workload, with HTTP/1.0 as WaspClient's.
const MIXED: ServerCase = of(Workload::Mixed);

/// The workloads with which servers are compared.
const COMPARED: [Workload; 4] = [Workload::File(1), Workload::File(8), Workload::File(64), Workload::Mixed];

/// A workload, with HTTP/1.0, sendfile and no TSO.
const fn of(workload: Workload) -> ServerCase {
    ServerCase { workload, ..plain(1) }
}

/// A server that waits in this way. It has no sendfile.
const fn waits_by(events: Events) -> ServerCase {
    ServerCase { sendfile: false, server: Server::Haproxy(events), ..plain(8) }
}

impl ServerCase {
    /// Whether this is one of the cases of these words (`--only`): `8K ten sendfile no-TSO` and each part of it. The mixed
    /// workload must be named, and servers other than nginx.
    pub fn is_named(&self, words: &str) -> bool {
        let name = self.to_string();
        let named = |of: &str| words.split_whitespace().any(|word| word.eq_ignore_ascii_case(of));
        let is_in_name = |word: &str| name.split(' ').any(|part| part.eq_ignore_ascii_case(word));
        words.split_whitespace().all(is_in_name)
            && (self.workload != Workload::Mixed || named("mixed"))
            && (self.server == Server::Nginx || self.server.words().split(' ').any(named))
    }
}

/// Counters of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// Its duration.
    pub seconds: f64,
    /// Requests answered.
    pub requests: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Segments that the server received.
    pub segments_in: u64,
    /// Segments that it sent.
    pub segments_out: u64,
    /// ACKs without data among those that it received.
    pub pure_acks_in: u64,
    /// The idle share of its CPU's time.
    pub idle: f64,
    /// The stolen share: another virtual machine had the CPU.
    pub stolen: f64,
}

/// A case that was run.
#[derive(Debug)]
pub struct Run<'a> {
    /// The case.
    pub case: ServerCase,
    /// Its counters.
    pub counters: Counters,
    /// The profile of the server's CPU.
    pub profile: &'a Profile,
    /// The name of the server's processes.
    pub server: &'a str,
}

/// A remark about a share of samples, and the share.
type Note<'a> = (&'static str, &'a dyn Fn(&ServerSamples) -> Share);

/// A CPU that is idle for less than this is saturated. Claims are judged from no other case: a server that waits takes
/// less work at a time, and costs that it pays once for several packets weigh more.
pub const SATURATED: f64 = 0.05;

/// The cases that were run, with the evaluated profiles.
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

    /// The cases that kept the server's CPU busy, and those that did not.
    fn saturated(self) -> (Self, Vec<(ServerCase, f64)>) {
        let idle = self.all().map(|(case, counters, _)| (*case, counters.idle));
        let idle = idle.filter(|(_, idle)| *idle >= SATURATED).collect();
        let all = self.all.into_iter().filter(|(_, counters, _)| counters.idle < SATURATED);
        (Self { all: all.collect() }, idle)
    }

    /// ACKs that the server received, for each segment that it sent; `None` if it sent none.
    fn acks_per_segment(&self, case: ServerCase) -> Option<f64> {
        let (_, counters, _) = self.all().find(|(of, ..)| *of == case)?;
        (counters.segments_out > 0).then(|| counters.pure_acks_in as f64 / counters.segments_out as f64)
    }

    /// The cases of figures 8 to 10.
    fn plain(&self, file_kib: u32) -> Option<&ServerSamples> {
        self.get(plain(file_kib))
    }

    /// The cases of figures 11 to 13.
    fn tso(&self, file_kib: u32) -> Option<&ServerSamples> {
        self.get(ServerCase { tso: true, ..plain(file_kib) })
    }

    /// Ten requests per connection.
    fn persistent(&self, file_kib: u32) -> Option<&ServerSamples> {
        self.get(ServerCase { requests: 10, ..plain(file_kib) })
    }

    /// The server's CPU time per request, in nanoseconds: the server's share of samples, of the time that the CPU was
    /// available.
    fn ns_per_request(&self, case: ServerCase) -> Option<f64> {
        let (_, counters, measured) = self.all().find(|(of, ..)| *of == case)?;
        let part = Share { part: measured.total, of: measured.sampled() }.value()?;
        let took = counters.seconds * (1.0 - counters.stolen) * part;
        (counters.requests > 0).then(|| took * 1e9 / counters.requests as f64)
    }

    /// Shares of samples that the paper did not measure, or that are not the server's: minimum and maximum of all
    /// cases.
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
        let remark = |(says, share): Note<'_>| {
            let values: Vec<f64> = self.all().filter_map(|(.., measured)| share(measured).value()).collect();
            let least = values.iter().copied().reduce(f64::min)? * 100.0;
            let most = values.iter().copied().reduce(f64::max)? * 100.0;
            (most > 0.0).then(|| format!("{least:.1} to {most:.1} % {says}"))
        };
        notes.into_iter().filter_map(remark).collect()
    }
}

/// The paper's claims next to the results of the cases that were run. `measured_on` says where and with what, in lines;
/// `command` is the command of a case.
pub fn report(runs: &[Run<'_>], measured_on: Vec<String>, command: impl Fn(ServerCase) -> String) -> Report {
    let measured = Runs::of(runs);
    let measured_on = measured_on.into_iter().chain(measured.notes());
    let (tables, figures, graphs) =
        (tables::tables(&measured), figures::figures(&measured), graphs::graphs(&measured));
    let (saturated, idle) = measured.saturated();
    let not_judged = idle.iter().map(|(case, idle)| {
        format!("no claim is judged from {case}: the server's CPU was idle for {:.1} %", idle * 100.0)
    });
    Report {
        paper: "lavoie",
        title: "LaVoie, Nahum and Flynn, Profiling TCP: An In-depth Analysis of Processing Costs",
        seeds: 0,
        measured_on: measured_on.chain(not_judged).collect(),
        tables,
        figures,
        graphs,
        comparison: None,
        claims: claims::claims(&saturated),
        runs: runs.iter().map(|run| (run.case.to_string(), command(run.case))).collect(),
    }
}
