//! A web server under load on this machine's kernel: nginx in one network namespace, wrk in another, a pair of veth
//! devices between them, each host with one CPU of its own.
//!
//! It is the experiment of J. LaVoie, E. Nahum and R. Flynn, "Profiling TCP: An In-depth Analysis of Processing Costs" (IBM
//! Research Report; `lavoie`): one server whose CPU is busy, clients that ask for one file again and again. Who profiles the
//! server's CPU meanwhile is not the lab's affair: [`Bench::run`] says when to begin and to end.
//!
//! All that a host receives it receives on its own CPU, where its device is polled by a timer ([`card`]); of the client's work nothing
//! is done on the server's. [`Ran::received_at_home`] says how much of that came true. What a card's driver would cost, the pair does
//! not show: the server's CPU has `veth_xmit` and `eth_type_trans` of what it sends, the client's those of what it receives.
//!
//! - [`server`]: nginx and its files; [`load`]: wrk; [`hosts`], [`pair`]: who is where, and what lies between them;
//!   [`card`]: how they receive.
//! - [`counters`]: what both hosts and their CPUs did meanwhile; [`tools`]: what is missing for it.

pub mod card;
pub mod counters;
pub mod hosts;
pub mod load;
pub mod pair;
pub mod server;
pub mod tools;

use crate::cpus::{self, KeptAway};
use crate::error::LabError;
use crate::host::Host;
use crate::namespaces::Namespaces;
use crate::privilege::{self, Privilege};
use crate::scratch::Scratch;
use crate::task;
use crate::workload::programs::{Stop, joined};
use counters::{Counted, Look};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// What is asked for, and how it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WebCase {
    /// The file's size, in KiB.
    pub file_kib: u32,
    /// Requests on a connection, of which the server closes it after the last one.
    pub requests: u32,
    /// Whether the server sends files by sendfile(2); else it reads them and writes what it read.
    pub sendfile: bool,
    /// Whether TCP hands super-packets down which the device takes as they are (TSO). Without, each buffer is one
    /// segment ([`pair::segmentation`]).
    pub tso: bool,
}

/// How long the server is warmed up before, and observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Until the counters are looked at.
    pub warm_up: Duration,
    /// From there on.
    pub observed: Duration,
}

/// For so much longer the load may last: an observer needs time to begin and to end.
const SPARE: Duration = Duration::from_secs(60);

/// Two hosts, each with a CPU; removed when this value is dropped.
#[derive(Debug)]
pub struct Bench {
    namespaces: Namespaces,
    scratch: Scratch,
    _kept_away: KeptAway,
    /// The server's CPU and the client's.
    pub cpus: [u32; 2],
}

/// The result of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Ran {
    /// What was asked for.
    pub case: WebCase,
    /// The server's CPU.
    pub server_cpu: u32,
    /// What was counted while somebody watched.
    pub counted: Counted,
    /// What the load generator says of the whole of its run, the warm-up included.
    pub load: load::LoadSummary,
}

impl Ran {
    /// Whether the server's CPU had no time to be idle: less than a hundredth.
    pub fn is_saturated(&self) -> bool {
        self.counted.server.idle_share() < 0.01
    }

    /// Of the packets that came to the server, the part that its own CPU received. More than all if something else was received
    /// there. `None` where none came.
    pub fn received_at_home(&self) -> Option<f64> {
        let came = self.counted.packets_to_server;
        (came > 0).then(|| self.counted.received_on_server_cpu as f64 / came as f64)
    }
}

impl Bench {
    /// Lays it out, with files of these sizes in KiB.
    ///
    /// # Errors
    /// If the machine has one CPU only, the process is not its root, or a command fails.
    pub fn build(file_kib: &[u32]) -> Result<Self, LabError> {
        let machine = task::own_cpus();
        let cpus = Host::BOTH.map(|host| cpus::of_host(&machine, host, 0));
        let [Some(server), Some(client)] = cpus else {
            return Err(LabError::Unfit("this process has no CPU".to_owned()));
        };
        if server == client {
            return Err(LabError::Unfit(
                "server and client need a CPU each, and this process has one".to_owned(),
            ));
        }
        if privilege::held() != Privilege::Root || !privilege::is_root() {
            return Err(LabError::Unfit(
                "run it as root: what a host receives is steered to its CPU, and a CPU is sampled, which both concern \
                 the whole machine"
                    .to_owned(),
            ));
        }
        let scratch = Scratch::create()?;
        server::write_files(&scratch, file_kib)?;
        let namespaces = Namespaces::create()?;
        pair::lay(&namespaces, [server, client])?;
        let _kept_away = KeptAway::from_cpus(&[server])?;
        Ok(Self { namespaces, scratch, _kept_away, cpus: [server, client] })
    }

    /// Serves a case. Once it is warm, whoever observes it begins, with the server's CPU, and ends when the time is over. What was
    /// counted is of the time between: both may take the client's CPU for a while, and the server then waits for requests.
    ///
    /// # Errors
    /// If the server does not start, the load fails or is over before the observer has ended, or the observer fails.
    pub fn run<O, T, E: From<LabError>>(
        &self,
        case: WebCase,
        times: Times,
        begin: impl FnOnce(u32) -> Result<O, E>,
        end: impl FnOnce(O) -> Result<T, E>,
    ) -> Result<(Ran, T), E> {
        let [server_cpu, client_cpu] = self.cpus;
        pair::segmentation(&self.namespaces, case.tso)?;
        let [end_server, end_load] = [AtomicBool::new(false), AtomicBool::new(false)];
        thread::scope(|scope| {
            let (end_server, end_load) = (&end_server, &end_load);
            let _stops = [Stop(end_server), Stop(end_load)];
            let serving =
                scope.spawn(|| server::serve(&self.namespaces, &self.scratch, case, server_cpu, end_server));
            if !server::is_ready(&self.namespaces, &serving) {
                end_server.store(true, Ordering::Relaxed);
                return Err(joined(serving)?.failure("before it answered").into());
            }
            let most = times.warm_up + times.observed + SPARE;
            let loading = scope.spawn(move || load::ask(&self.namespaces, case, client_cpu, most, end_load));
            thread::sleep(times.warm_up);
            let observer = begin(server_cpu)?;
            let before = Look::at(&self.namespaces, self.cpus)?;
            thread::sleep(times.observed);
            let after = Look::at(&self.namespaces, self.cpus)?;
            let seen = end(observer)?;
            let ended_early = loading.is_finished();
            end_load.store(true, Ordering::Relaxed);
            let said = joined(loading)?;
            end_server.store(true, Ordering::Relaxed);
            joined(serving)?;
            let load = load::LoadSummary::read(&said)?;
            if ended_early {
                return Err(said.failure("while it was to go on").into());
            }
            let counted = Counted::between(&before, &after);
            Ok((Ran { case, server_cpu, counted, load }, seen))
        })
    }
}
