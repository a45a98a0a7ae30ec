//! A web server under load on this machine's kernel: nginx, Apache or HAProxy in one network namespace, wrk in another, a pair of veth
//! devices between them, each host with one CPU of its own.
//!
//! It is the experiment of J. LaVoie, E. Nahum and R. Flynn, "Profiling TCP: An In-depth Analysis of Processing Costs"
//! (IBM Research Report; `lavoie`): one server whose CPU is busy, and clients that request one file again and again.
//! The lab does not profile the server's CPU itself: [`Bench::run`] tells its caller when to begin and to end.
//!
//! Each host receives on its own CPU, where a timer polls its device ([`card`]); none of the client's work is done on
//! the server's CPU. [`Ran::received_at_home`] shows how far that succeeded. The pair does not show the cost of a
//! card's driver: the server's CPU has `veth_xmit` and `eth_type_trans` of what it sends, the client's those of what it
//! receives.
//!
//! - [`server`]: the servers and their files; [`load`]: wrk; `mixed`: the mixed workload's files and requests; [`hosts`], [`pair`]: who is where, and what lies between them;
//!   [`card`]: how they receive.
//! - [`counters`]: what both hosts and their CPUs did meanwhile; [`tools`]: what is missing for it.

pub mod card;
pub mod counters;
pub mod hosts;
pub mod load;
mod mixed;
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

/// What the clients request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Requested {
    /// One file of this size, in KiB, again and again.
    FileKib(u32),
    /// Pages with embedded objects, of many sizes (`web/mixed.rs`).
    Mixed,
}

/// A web server, with one process or thread that serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Server {
    /// nginx, with epoll.
    #[default]
    Nginx,
    /// Apache with its event MPM, also with epoll.
    Apache,
    /// HAProxy, which serves one file from memory.
    Haproxy(Events),
}

/// How a server waits for its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Events {
    /// epoll(7).
    Epoll,
    /// poll(2).
    Poll,
    /// select(2).
    Select,
}

/// What is requested, and how it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WebCase {
    /// What is requested.
    #[serde(flatten)]
    pub requested: Requested,
    /// Requests per connection; the server closes it after the last one. HAProxy has no such limit.
    pub requests: u32,
    /// Whether the server sends files by sendfile(2), or reads and writes them.
    pub sendfile: bool,
    /// Whether TCP passes down super-packets that the device takes as they are (TSO). Without it, each buffer is one
    /// segment ([`pair::segmentation`]).
    pub tso: bool,
    /// The server; not stored before there were others than nginx.
    #[serde(default)]
    pub server: Server,
}

/// How long the server is warmed up, and then observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Until the counters are first read.
    pub warm_up: Duration,
    /// The time from then on.
    pub observed: Duration,
}

/// How much longer the load may last: an observer needs time to begin and to end.
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
    /// The requested case.
    pub case: WebCase,
    /// The server's CPU.
    pub server_cpu: u32,
    /// The counters over the observed time.
    pub counted: Counted,
    /// The load generator's results of its whole run, including the warm-up.
    pub load: load::LoadSummary,
}

impl Ran {
    /// Whether the server's CPU was idle for less than a hundredth of the time.
    pub fn is_saturated(&self) -> bool {
        self.counted.server.idle_share() < 0.01
    }

    /// The part of the packets for the server that its own CPU received; above 1 if it received others too. `None`
    /// without packets.
    pub fn received_at_home(&self) -> Option<f64> {
        let came = self.counted.packets_to_server;
        (came > 0).then(|| self.counted.received_on_server_cpu as f64 / came as f64)
    }
}

impl Bench {
    /// Sets up the bench, with the files of these requests.
    ///
    /// # Errors
    /// If the machine has one CPU only, the process is not its root, or a command fails.
    pub fn build(requested: &[Requested]) -> Result<Self, LabError> {
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
        server::write_files(&scratch, requested)?;
        let namespaces = Namespaces::create()?;
        pair::lay(&namespaces, [server, client])?;
        let _kept_away = KeptAway::from_cpus(&[server])?;
        Ok(Self { namespaces, scratch, _kept_away, cpus: [server, client] })
    }

    /// Serves a case. Once it is warm, the observer begins, with the server's CPU, and ends when the time is over. The
    /// counters cover the time between: both may use the client's CPU for a while, and the server then waits for
    /// requests.
    ///
    /// # Errors
    /// If the server does not start, the load fails or ends before the observer, or the observer fails.
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
            if !server::is_ready(&self.namespaces, case.server, &serving) {
                end_server.store(true, Ordering::Relaxed);
                return Err(joined(serving)?.failure("before it answered").into());
            }
            server::delivers(&self.namespaces, case)?;
            let most = times.warm_up + times.observed + SPARE;
            let loading = scope
                .spawn(move || load::ask(&self.namespaces, &self.scratch, case, client_cpu, most, end_load));
            thread::sleep(times.warm_up);
            let observer = begin(server_cpu)?;
            let before = Look::at(&self.namespaces, self.cpus, case.server)?;
            thread::sleep(times.observed);
            let after = Look::at(&self.namespaces, self.cpus, case.server)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Stored before there were other workloads, with `--keep`.
    #[test]
    fn stored_cases_are_read_back() {
        let plain = WebCase {
            requested: Requested::FileKib(64),
            requests: 10,
            sendfile: true,
            tso: false,
            server: Server::Nginx,
        };
        let text = r#"{"file-kib":64,"requests":10,"sendfile":true,"tso":false}"#;
        assert_eq!(serde_json::from_str::<WebCase>(text).expect(text), plain);
        let mixed = WebCase { requested: Requested::Mixed, server: Server::Apache, ..plain };
        for case in [plain, mixed, WebCase { server: Server::Haproxy(Events::Select), ..plain }] {
            let text = serde_json::to_string(&case).expect("JSON");
            assert_eq!(serde_json::from_str::<WebCase>(&text).expect(&text), case);
        }
    }
}
