//! This host's connections as its kernel reports them, watched live or read from a stored file.

mod source;

use crate::Error;
use crate::filter::Filter;
use slowpath_analyses::hosts::{Account, Hosts};
use slowpath_analyses::waits::Waits;
use slowpath_files::{Existing, create_output};
use slowpath_live::{
    Check, Device, Dropped, Drops, EVERY, Filter as LiveFilter, HostSoFar, Owners, Process, Replayed, Rest,
    cgroups_below, open_raw,
};
use slowpath_model::{Bytes, End, FlowId, Hold, Wait};
use source::Source;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::BufWriter;
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The folder in which `ip netns` keeps network namespaces.
const NAMESPACES: &str = "/run/netns";
/// What is unknown without /proc.
const NO_PROC: &str = "which processes the connections belong to: /proc is not mounted";
/// What a file without process names lacks.
const NO_OWNERS: &str = "whose the sockets were";

/// Which connections to watch, and for how long.
#[derive(Clone, Debug, Default)]
pub struct Wanted<'a> {
    /// The duration; without it, until stopped.
    pub lasting: Option<Duration>,
    /// Only connections with this port at either end.
    pub port: Option<u16>,
    /// Only connections of this process.
    pub pid: Option<u32>,
    /// Only connections created in this control group or below it.
    pub cgroup: Option<&'a Path>,
    /// Only connections in these network namespaces, by name or file; at most [`slowpath_live::NETNSES`].
    pub netns: &'a [PathBuf],
    /// Asks the kernel for `TCP_INFO`, which needs no privilege, instead of loading the probe.
    pub without_probe: bool,
    /// The file that stores the probe's records.
    pub raw: Option<&'a Path>,
    /// What to do with that file if it exists.
    pub existing: Existing,
}

/// The observed connections of this host.
#[derive(Default)]
pub struct Watched {
    /// How long they were watched.
    pub lasted: Duration,
    /// The connections, in the order of display.
    pub accounts: Vec<Account>,
    /// Connections that were not kept because there were too many.
    pub not_kept: u64,
    /// The processes that own the sockets.
    pub processes: HashMap<(FlowId, End), Process>,
    /// The devices that send their packets.
    pub devices: HashMap<(FlowId, End), Device>,
    /// The kernel's counters, compared with what the probe saw; `None` without the probe.
    pub check: Option<Check>,
    /// Packets that the kernel dropped.
    pub drops: Drops,
    /// How long this host's receive softirqs waited to run; empty without the probe.
    pub softirqs: Waits,
    /// What is not visible on this kernel, or without the probe.
    pub unseen: Vec<String>,
    /// Why a file was not read to its end.
    pub incomplete: Option<String>,
}

impl Watched {
    /// Keeps the selected flow, or all that carried at least `least` bytes and that `filter` takes, sorted by size.
    pub fn choose(&mut self, flow: Option<FlowId>, least: Bytes, filter: Option<&Filter>) {
        let is_chosen = |account: &Account| {
            flow.is_none_or(|flow| account.id == flow)
                && filter.is_none_or(|filter| filter.takes(&account.key))
        };
        self.accounts.retain(|account| is_chosen(account) && account.carried() >= least);
        self.accounts.sort_by_key(|account| Reverse(account.carried()));
    }

    /// Whether everything that is visible was seen.
    pub fn is_whole(&self) -> bool {
        let Check { untold, unwatched, .. } = self.check.unwrap_or_default();
        [untold, unwatched, self.not_kept] == [0; 3] && self.incomplete.is_none()
    }
}

/// This host's connections while they are watched.
pub struct Watching {
    choice: Choice,
    source: Source,
    hosts: Hosts,
    owners: Owners,
    began: Instant,
}

/// A connection in an interval.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    /// Its reports in this interval.
    pub account: &'a Account,
    /// The process at each end.
    pub processes: [Option<&'a Process>; 2],
    /// What holds the sender now, and for how long by now, if that is not in the reports yet.
    pub pending: Option<(Hold, Duration)>,
}

/// The connections whose owners are asked for.
struct Choice {
    pid: Option<u32>,
    groups: Option<HashSet<u64>>,
}

impl Choice {
    fn takes(&self, flow: FlowId, owners: &Owners) -> bool {
        let of_process = self.pid.is_none_or(|pid| owners.has_process(flow, pid));
        let of_group = self.groups.as_ref().is_none_or(|groups| owners.is_in(flow, groups));
        of_process && of_group
    }
}

impl Watching {
    /// Begins to watch.
    ///
    /// # Errors
    ///
    /// If something requested does not exist, the kernel refuses, or the raw file cannot be created.
    pub fn start(wanted: &Wanted<'_>) -> Result<Self, Error> {
        let netns = wanted.netns.iter().map(|name| namespace(name)).collect::<Result<Vec<_>, _>>()?;
        let groups = wanted.cgroup.map(groups_below).transpose()?;
        if let Some(pid) = wanted.pid.filter(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            return Err(Error::NoProcess(pid));
        }
        let filter = LiveFilter { port: wanted.port, ..LiveFilter::of_netns(&netns) };
        let start = Source::start(filter, wanted.without_probe);
        let mut source = start.map_err(|reason| Error::Watch { reason })?;
        if let Some(path) = wanted.raw {
            let file = create_output(path, wanted.existing)?;
            source.record(Box::new(BufWriter::new(file)))?;
        }
        let (hosts, owners, began) = (Hosts::default(), Owners::default(), Instant::now());
        let choice = Choice { pid: wanted.pid, groups };
        Ok(Self { choice, source, hosts, owners, began })
    }

    /// Begins to watch. If this process may not load the probe, the kernel is asked for `TCP_INFO` instead.
    ///
    /// # Errors
    ///
    /// As [`Self::start`].
    pub fn start_as_possible(wanted: &Wanted<'_>) -> Result<Self, Error> {
        match Self::start(wanted) {
            Err(error) if error.lacks_privilege() => {
                Self::start(&Wanted { without_probe: true, ..wanted.clone() })
            }
            other => other,
        }
    }

    /// Takes in what the kernel reports since the last time; to be called each [`EVERY`].
    ///
    /// # Errors
    ///
    /// If the kernel returns an error.
    pub fn look(&mut self) -> Result<(), Error> {
        Ok(self.source.tell(&mut self.hosts, &mut self.owners)?)
    }

    /// Searches for the processes of new connections at once, not within a second: so that an interval has them. To be
    /// called once in a second at most.
    pub fn seek_owners(&mut self) {
        self.owners.seek_new();
    }

    /// The connections so far, each with what it did since the last [`next_interval`](Self::next_interval).
    pub fn seen(&self) -> impl Iterator<Item = Seen<'_>> {
        let pending =
            self.source.pending().into_iter().map(|(flow, end, by, for_)| ((flow, end), (by, for_)));
        let pending: HashMap<(FlowId, End), (Hold, Duration)> = pending.collect();
        self.hosts.flows().filter(|account| self.choice.takes(account.id, &self.owners)).map(move |account| {
            Seen {
                account,
                processes: End::BOTH.map(|end| self.owners.process(account.id, end)),
                pending: pending.get(&(account.id, account.sender())).copied(),
            }
        })
    }

    /// What is of the whole host so far; `None` without the probe.
    ///
    /// # Errors
    ///
    /// If the kernel returns an error.
    pub fn host(&mut self) -> Result<Option<HostSoFar>, Error> {
        Ok(self.source.host()?)
    }

    /// Packets of an end of a connection that the kernel dropped so far; `None` without the probe.
    pub fn dropped(&self, flow: FlowId, end: End) -> Option<Vec<Dropped>> {
        self.source.dropped(flow, end)
    }

    /// Whether the probe watches; otherwise the kernel is asked for `TCP_INFO`.
    pub const fn has_probe(&self) -> bool {
        matches!(self.source, Source::Probe(_))
    }

    /// Begins the next interval, without the connections that have ended.
    pub fn next_interval(&mut self) {
        let ended = self.hosts.next_interval();
        self.owners.forget(&ended);
    }

    /// Connections that were not kept because there were too many.
    pub fn not_kept(&self) -> u64 {
        self.hosts.not_kept()
    }

    /// What is not visible with this source, or on this kernel.
    pub fn unseen(&self) -> Vec<String> {
        let mut unseen = self.source.unseen();
        if !Path::new("/proc/self").exists() {
            unseen.push(NO_PROC.to_owned());
        }
        unseen
    }

    fn finish<G>(self, watching: G) -> Result<Watched, Error> {
        let (lasted, unseen) = (self.began.elapsed(), self.unseen());
        let Self { choice, source, mut hosts, owners, .. } = self;
        let rest = source.finish(&mut hosts)?;
        drop(watching);
        let (mut accounts, not_kept) = hosts.finish();
        accounts.retain(|account| choice.takes(account.id, &owners));
        let check = rest.as_ref().map(|rest| rest.check);
        let Rest { drops, softirqs, devices, .. } = rest.unwrap_or_default();
        Ok(Watched {
            lasted,
            accounts,
            not_kept,
            processes: owners.processes(),
            devices,
            check,
            drops,
            softirqs: ring(&softirqs),
            unseen,
            incomplete: None,
        })
    }
}

/// Watches until the time is up or `stop` is true. `begin` is called when watching begins; the value it returns is
/// dropped at the end.
///
/// # Errors
///
/// If something requested does not exist, the kernel refuses, or the raw file cannot be written.
pub fn watch<G>(wanted: &Wanted<'_>, stop: &AtomicBool, begin: impl FnOnce() -> G) -> Result<Watched, Error> {
    let mut connections = Watching::start(wanted)?;
    let (began, watching) = (connections.began, begin());
    let is_over = || wanted.lasting.is_some_and(|time| began.elapsed() >= time);
    while !is_over() && !stop.load(Ordering::Relaxed) {
        let left = wanted.lasting.map_or(EVERY, |time| time.saturating_sub(began.elapsed()));
        thread::sleep(EVERY.min(left));
        connections.look()?;
    }
    connections.finish(watching)
}

/// Reads connections watched earlier, from the file that [`Wanted::raw`] named; `None` if `path` is not such a file.
///
/// # Errors
///
/// If nothing of it can be read.
pub fn replay(path: &Path) -> Result<Option<Watched>, Error> {
    let Ok(Some(raw)) = open_raw(path) else { return Ok(None) };
    let mut hosts = Hosts::default();
    let replayed = slowpath_live::replay(raw, &mut hosts)
        .map_err(|source| Error::Replay { path: path.to_owned(), source })?;
    let Replayed { rest, lasted, mut unseen, processes, incomplete, .. } = replayed;
    if processes.is_none() {
        unseen.push(NO_OWNERS.to_owned());
    }
    let (accounts, not_kept) = hosts.finish();
    Ok(Some(Watched {
        lasted,
        accounts,
        not_kept,
        processes: processes.unwrap_or_default(),
        check: Some(rest.check),
        drops: rest.drops,
        devices: rest.devices,
        softirqs: ring(&rest.softirqs),
        unseen,
        incomplete: incomplete.map(|error| format!("{}: {error}", path.display())),
    }))
}

/// Waits of receive softirqs, during which packets wait in a ring.
fn ring(softirqs: &[(Duration, u32)]) -> Waits {
    let mut waits = Waits::default();
    for (lasted, times) in softirqs {
        waits.add(Wait::Ring, *lasted, Bytes::ZERO, (*times).into());
    }
    waits
}

fn groups_below(group: &Path) -> Result<HashSet<u64>, Error> {
    cgroups_below(group).ok_or_else(|| Error::NoControlGroup(group.to_owned()))
}

/// The inode number of a network namespace.
fn namespace(name: &Path) -> Result<u32, Error> {
    let path = if name.components().count() > 1 { name.to_owned() } else { Path::new(NAMESPACES).join(name) };
    match fs::metadata(&path) {
        Err(source) => Err(Error::NoNamespace { path, source }),
        Ok(about) => {
            u32::try_from(about.st_ino()).map_err(|source| Error::OtherThanNamespace { path, source })
        }
    }
}
