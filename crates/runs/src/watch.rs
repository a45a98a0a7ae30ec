//! This host's connections, as its kernel reports them: watched, or from a file of what was watched before.

mod source;

use crate::Error;
use slowpath_analyses::hosts::{Account, Hosts};
use slowpath_analyses::waits::Waits;
use slowpath_files::{Existing, create_output};
use slowpath_live::{
    Check, Device, Drops, EVERY, Filter, Owners, Process, Replayed, Rest, cgroups_below, open_raw,
};
use slowpath_model::{Bytes, End, FlowId, Wait};
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

/// Where `ip netns` keeps the namespaces.
const NAMESPACES: &str = "/run/netns";
/// What a file does not have in which no process was found.
const NO_OWNERS: &str = "whose the sockets were";

/// Which connections to watch, and for how long.
#[derive(Clone, Debug, Default)]
pub struct Wanted<'a> {
    /// For how long; without it, until stopped.
    pub lasting: Option<Duration>,
    /// Only those with this port at either end.
    pub port: Option<u16>,
    /// Only those of this process.
    pub pid: Option<u32>,
    /// Only those made in this control group or below it.
    pub cgroup: Option<&'a Path>,
    /// Only those of these network namespaces, by name or file; at most [`slowpath_live::NETNSES`].
    pub netns: &'a [PathBuf],
    /// Asks the kernel for `TCP_INFO`, which needs no privilege, instead of loading the probe.
    pub without_probe: bool,
    /// The file to write what the probe reports to.
    pub raw: Option<&'a Path>,
    /// What to do with that file if it exists.
    pub existing: Existing,
}

/// The observed connections of this host.
#[derive(Default)]
pub struct Watched {
    /// For how long they were watched.
    pub lasted: Duration,
    /// The connections, in the order in which they are shown.
    pub accounts: Vec<Account>,
    /// Connections that were too many to be kept.
    pub not_kept: u64,
    /// The processes that have the sockets open.
    pub processes: HashMap<(FlowId, End), Process>,
    /// The devices by which their packets leave.
    pub devices: HashMap<(FlowId, End), Device>,
    /// What the kernel counted, compared with what the probe saw; `None` without the probe.
    pub check: Option<Check>,
    /// Packets that the kernel dropped.
    pub drops: Drops,
    /// How long this host's receive softirqs waited to run; empty without the probe.
    pub softirqs: Waits,
    /// What cannot be seen on this kernel, or without the probe.
    pub unseen: Vec<String>,
    /// Why a file was not read to its end.
    pub incomplete: Option<String>,
}

impl Watched {
    /// Keeps the flow asked for, or all, if they carried at least so much; the largest first.
    pub fn choose(&mut self, flow: Option<FlowId>, least: Bytes) {
        let is_chosen = |account: &Account| flow.is_none_or(|flow| account.id == flow);
        self.accounts.retain(|account| is_chosen(account) && account.carried() >= least);
        self.accounts.sort_by_key(|account| Reverse(account.carried()));
    }

    /// Whether all was seen that can be.
    pub fn is_whole(&self) -> bool {
        let Check { untold, unwatched, .. } = self.check.unwrap_or_default();
        [untold, unwatched, self.not_kept] == [0; 3] && self.incomplete.is_none()
    }
}

/// Watches until the time is over or `stop` is true. `begin` is called when watching begins; what it returns is dropped when
/// it is over.
///
/// # Errors
///
/// If something asked for does not exist, the kernel refuses, or the raw file cannot be written.
pub fn watch<G>(wanted: &Wanted<'_>, stop: &AtomicBool, begin: impl FnOnce() -> G) -> Result<Watched, Error> {
    let netns = wanted.netns.iter().map(|name| namespace(name)).collect::<Result<Vec<_>, _>>()?;
    let groups = wanted.cgroup.map(groups_below).transpose()?;
    if let Some(pid) = wanted.pid.filter(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
        return Err(Error::NoProcess(pid));
    }
    let filter = Filter { port: wanted.port, ..Filter::of_netns(&netns) };
    let mut source = Source::start(filter, wanted.without_probe).map_err(|reason| Error::Watch { reason })?;
    if let Some(path) = wanted.raw {
        let file = create_output(path, wanted.existing)?;
        source.record(Box::new(BufWriter::new(file)))?;
    }
    let (mut hosts, mut owners) = (Hosts::default(), Owners::default());
    let began = Instant::now();
    let watching = begin();
    let is_over = || wanted.lasting.is_some_and(|time| began.elapsed() >= time);
    while !is_over() && !stop.load(Ordering::Relaxed) {
        let left = wanted.lasting.map_or(EVERY, |time| time.saturating_sub(began.elapsed()));
        thread::sleep(EVERY.min(left));
        source.tell(&mut hosts, &mut owners)?;
    }
    let lasted = began.elapsed();
    let unseen = source.unseen();
    let rest = source.finish(&mut hosts)?;
    drop(watching);
    let (mut accounts, not_kept) = hosts.finish();
    accounts.retain(|account| {
        let of_process = wanted.pid.is_none_or(|pid| owners.has_process(account.id, pid));
        let of_group = groups.as_ref().is_none_or(|groups| owners.is_in(account.id, groups));
        of_process && of_group
    });
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

/// What was watched before, from the file that [`Wanted::raw`] named; `None` if `path` is no such file.
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

/// A softirq that waits to run has packets wait in a ring.
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

/// The number of a network namespace.
fn namespace(name: &Path) -> Result<u32, Error> {
    let path = if name.components().count() > 1 { name.to_owned() } else { Path::new(NAMESPACES).join(name) };
    match fs::metadata(&path) {
        Err(source) => Err(Error::NoNamespace { path, source }),
        Ok(about) => {
            u32::try_from(about.st_ino()).map_err(|source| Error::OtherThanNamespace { path, source })
        }
    }
}
