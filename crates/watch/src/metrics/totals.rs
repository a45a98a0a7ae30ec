//! All that is counted.

use super::groups::{Group, Groups, Place};
use super::host::HostTotals;
use super::labels::{self, Label, Prefixes};
use super::places::Drops;
use crate::cgroup::Cgroup;
use crate::figures::Figures;
use crate::reports::{self, Ahead};
use slowpath_analyses::Cause;
use slowpath_analyses::hosts::Account;
use slowpath_analyses::waits::{Steps, Waits};
use slowpath_live::{Dropped, Process};
use slowpath_model::{Bytes, End, FlowId, FlowKey, Wait};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

/// The most series that depend on labels, unless another number is given.
pub const SERIES: usize = 1000;

/// Which labels, and how many series of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labelling {
    /// The labels, each once.
    pub labels: Vec<Label>,
    /// How much of a remote address is one.
    pub prefixes: Prefixes,
    /// The most series that depend on labels; those of `other` are not counted.
    pub series: usize,
}

impl Labelling {
    /// With these labels, each once.
    pub fn new(labels: &[Label], prefixes: Prefixes, series: usize) -> Self {
        let mut once: Vec<Label> = Vec::new();
        labels.iter().for_each(|label| {
            if !once.contains(label) {
                once.push(*label);
            }
        });
        Self { labels: once, prefixes, series }
    }
}

/// A connection in an interval.
#[derive(Clone, Debug)]
pub struct Connection<'a> {
    /// Its number.
    pub id: FlowId,
    /// Its ends.
    pub key: FlowKey,
    /// The end whose process and bytes are counted: the one on this host; if both are, the server's.
    pub own: End,
    /// The process there.
    pub process: Option<&'a Process>,
    /// The control group of that process.
    pub cgroup: Option<&'a Cgroup>,
    /// Bytes that the process has written, and read, since the connection was first seen.
    pub carried: [u64; 2],
    /// Data segments that came in, in this interval.
    pub segments: u64,
    /// What this host dropped of it since watching began; `None` without the probe.
    pub dropped: Option<Vec<Dropped>>,
    /// Retransmissions and time under each cause, in this interval.
    pub figures: Figures,
    /// What limits it now, and for how long by now, as far as that is not in the figures.
    pub pending: Option<(Cause, Duration)>,
    /// From its first report to its last.
    pub age: Duration,
    /// The waits at its ends on this host, in this interval.
    pub waits: [Option<&'a Waits>; 2],
}

/// What is kept of a connection between intervals.
#[derive(Debug)]
struct Known {
    group: Place,
    /// What its labels were made of: they are made anew when one changes.
    labelled: (Option<u16>, Option<u32>, bool),
    carried: [u64; 2],
    ahead: Ahead,
    drops: Drops,
    /// The interval in which it was last seen.
    seen: u64,
}

/// All that is counted.
#[derive(Debug)]
pub struct Totals {
    pub(super) labelling: Labelling,
    pub(super) source: &'static str,
    pub(super) groups: Groups,
    known: HashMap<FlowId, Known>,
    pub(super) waits: BTreeMap<Wait, Steps>,
    pub(super) host: HostTotals,
    listening: HashSet<u16>,
    pub(super) not_kept: u64,
    pub(super) sockets: u64,
    pub(super) intervals: u64,
    pub(super) watched: Duration,
    /// The time of all connections in the last interval, and how much of it has a cause.
    last: [Duration; 2],
}

impl Totals {
    /// Nothing yet; `source` is `probe` or `tcp-info`.
    pub fn new(labelling: Labelling, source: &'static str) -> Self {
        Self {
            groups: Groups::new(labelling.labels.len(), labelling.series),
            labelling,
            source,
            known: HashMap::new(),
            waits: BTreeMap::new(),
            host: HostTotals::default(),
            listening: HashSet::new(),
            not_kept: 0,
            sockets: 0,
            intervals: 0,
            watched: Duration::ZERO,
            last: [Duration::ZERO; 2],
        }
    }

    /// Takes in an interval that ended `at` after watching began, and lasted so long. `not_kept` is how many connections
    /// were not watched by then because there are too many.
    pub fn take<'a>(
        &mut self,
        at: Duration,
        lasted: Duration,
        connections: impl Iterator<Item = Connection<'a>>,
        not_kept: u64,
        host: HostTotals,
    ) {
        self.intervals += 1;
        self.watched += lasted;
        self.not_kept = not_kept;
        self.listening = host.listeners.iter().map(|one| one.at.port).collect();
        for (waited, times) in host.probe.iter().flat_map(|probe| &probe.softirqs) {
            self.waits.entry(Wait::Ring).or_default().add(*waited, (*times).into());
        }
        self.host = host;
        (self.last, self.sockets) = ([Duration::ZERO; 2], 0);
        self.groups.begin();
        connections.for_each(|connection| self.connection(at, lasted, connection));
        self.known.retain(|_, known| known.seen == self.intervals);
    }

    fn connection(&mut self, at: Duration, lasted: Duration, connection: Connection<'_>) {
        let Connection { id, key, own, process, cgroup, mut figures, .. } = connection;
        let (own_end, remote) = (key.endpoint(own), key.endpoint(!own));
        let service = labels::service_port(&key, own_end.port, &self.listening);
        let labelled = (service, process.map(|process| process.pid), cgroup.is_some());
        let is_new = !self.known.contains_key(&id);
        let groups = &mut self.groups;
        let mut place = || {
            let Labelling { labels, prefixes, .. } = &self.labelling;
            let values = labels::values(labels, *prefixes, service, process, cgroup, remote.address);
            groups.place(values, at)
        };
        let known = self.known.entry(id).or_insert_with(|| Known {
            group: place(),
            labelled,
            carried: [0; 2],
            ahead: Ahead::default(),
            drops: Drops::default(),
            seen: 0,
        });
        if known.labelled != labelled {
            (known.group, known.labelled) = (place(), labelled);
        }
        known.seen = self.intervals;
        known.ahead.settle(&mut figures, connection.pending, lasted);
        let retransmitted = figures.retransmitted.unwrap_or(0);
        let lost = known.drops.look(connection.dropped.as_deref(), retransmitted);
        let reported: Duration = figures.causes.iter().map(|(_, lasted)| *lasted).sum();
        // One that is new has not been watched for longer than it reports.
        let watched = if is_new { lasted.min(connection.age.max(reported)) } else { lasted };
        let group = self.groups.get_mut(known.group, at);
        group.connections += 1;
        group.watched += watched;
        group.sent += connection.carried[0].saturating_sub(known.carried[0]);
        group.received += connection.carried[1].saturating_sub(known.carried[1]);
        group.segments += connection.segments;
        known.carried = connection.carried;
        for (cause, lasted) in &figures.causes {
            self.groups.limited(known.group, *cause, *lasted);
        }
        if retransmitted > 0 {
            self.groups.retransmitted(known.group, lost, retransmitted);
        }
        self.sockets += connection.waits.iter().flatten().count() as u64;
        self.last[0] += watched;
        self.last[1] += reported;
        for (on, steps) in connection.waits.into_iter().flatten().flat_map(Waits::steps) {
            self.waits.entry(on).or_default().join(steps);
        }
    }

    /// The groups of connections, by their labels.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter()
    }

    /// The share of the last interval's time of all connections that is under a cause; `None` without connections.
    pub fn accounted(&self) -> Option<f64> {
        let [watched, reported] = self.last;
        // The kernel may report a little more time than passed.
        (!watched.is_zero()).then(|| (reported.as_secs_f64() / watched.as_secs_f64()).min(1.0))
    }
}

impl<'a> Connection<'a> {
    /// Of the account of a connection in an interval; its process, control group, drops and pending time are added by who
    /// knows them.
    pub fn of(account: &'a Account, own: End) -> Self {
        let end = account.ends[own.index()].as_deref();
        let segments = || {
            let [first, last] = end?.samples?;
            Some(last.data_segs_in?.wrapping_sub(first.data_segs_in?).into())
        };
        Self {
            id: account.id,
            key: account.key,
            own,
            process: None,
            cgroup: None,
            carried: end.map_or([0; 2], |end| [end.written, end.read].map(Bytes::get)),
            segments: segments().unwrap_or(0),
            dropped: None,
            figures: reports::figures(account),
            pending: None,
            age: account.lasted(),
            waits: account.ends.each_ref().map(|end| end.as_deref().map(|end| &end.waits)),
        }
    }
}

#[cfg(test)]
mod tests;
