//! The connections of this host over the last seconds, and the rows that are kept of the last ten minutes.

use crate::cgroup::Cgroup;
use crate::figures::{Figures, WINDOW};
use crate::host::HostNow;
use crate::reports::{self, Ahead};
use slowpath_analyses::Cause;
use slowpath_analyses::hosts::{Account, EndAccount};
use slowpath_live::Process;
use slowpath_model::{Bytes, End, FlowId, FlowKey, Wait};
use slowpath_runs::filter::Filter;
use slowpath_runs::watch::Seen;
use slowpath_views::services::{By, Name};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

/// Intervals that a line of rates covers.
pub const RATES: usize = 24;
/// Rows of the last interval.
const MOST_ROWS: usize = 1000;
/// Rows of each earlier one.
const ROWS_KEPT: usize = 30;
/// Intervals that are kept: ten minutes of a second each.
const MOST_MOMENTS: usize = 600;

/// What a connection did in an interval.
#[derive(Clone, Debug)]
pub struct FlowNow<'a> {
    /// Its number.
    pub id: FlowId,
    /// Its ends.
    pub key: FlowKey,
    /// The end that sends more.
    pub sender: End,
    /// The end on this host; `None` if both are.
    pub near: Option<End>,
    /// The process on this host; of a connection within it, the server's.
    pub process: Option<&'a Process>,
    /// The control group of that process, if that is wanted.
    pub cgroup: Option<&'a Rc<Cgroup>>,
    /// What it did.
    pub figures: Figures,
    /// What limits it now, and for how long by now, as far as that is not in the figures.
    pub pending: Option<(Cause, Duration)>,
    /// Its sockets' last state.
    pub numbers: Numbers,
}

/// The last state of a connection's sockets, as far as this host reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Each with its name, unit and value; of the sender.
    pub sender: Vec<(&'static str, Unit, u64)>,
    /// Of the receiver.
    pub receiver: Vec<(&'static str, Unit, u64)>,
    /// What waited in this interval: where, the median and the longest.
    pub waits: Vec<(Wait, Duration, Duration)>,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds.
    Micros,
    /// Bytes.
    Bytes,
    /// Segments.
    Segments,
    /// Events.
    Times,
}

/// What happened in an interval.
#[derive(Debug)]
pub struct Interval<'a> {
    /// When it ended, since the watch began.
    pub at: Duration,
    /// How long it was.
    pub lasted: Duration,
    /// The connections.
    pub flows: Vec<FlowNow<'a>>,
    /// Connections of which nothing is kept because there are too many.
    pub not_kept: u64,
    /// The host.
    pub host: HostNow,
}

impl<'a> From<Seen<'a>> for FlowNow<'a> {
    fn from(seen: Seen<'a>) -> Self {
        let Seen { account, processes, pending } = seen;
        let sender = account.sender();
        Self {
            id: account.id,
            key: account.key,
            sender,
            near: reports::near(account),
            process: processes[1].or(processes[0]),
            cgroup: None,
            figures: reports::figures(account),
            pending: reports::pending(account, pending),
            numbers: Numbers::of(account, sender),
        }
    }
}

impl Numbers {
    fn of(account: &Account, sender: End) -> Self {
        let own = |end: End| account.ends[end.index()].as_deref();
        let mut numbers = Self::default();
        if let Some(own) = own(sender) {
            let last = own.samples.map(|[_, last]| last);
            let value = |of: fn(&slowpath_model::SocketSample) -> Option<u32>| last.as_ref().and_then(of);
            let known = [
                ("RTT", Unit::Micros, value(|last| last.srtt)),
                ("shortest RTT", Unit::Micros, value(|last| last.min_rtt)),
                ("RTO", Unit::Micros, value(|last| last.rto)),
                ("cwnd", Unit::Segments, value(|last| last.snd_cwnd)),
                (
                    "ssthresh",
                    Unit::Segments,
                    value(|last| last.snd_ssthresh.filter(|most| *most < i32::MAX as u32)),
                ),
                ("in flight", Unit::Segments, value(|last| last.packets_out)),
                ("receive window", Unit::Bytes, value(|last| last.snd_wnd)),
                ("not sent yet", Unit::Bytes, value(|last| last.notsent)),
                ("send buffer", Unit::Bytes, value(|last| last.sndbuf)),
            ];
            let known = known.into_iter().filter_map(|(name, unit, value)| Some((name, unit, value?.into())));
            numbers.sender = known.chain([("timeouts", Unit::Times, own.timeouts[0])]).collect();
        }
        if let Some(EndAccount { samples: Some([_, last]), zero_windows, .. }) = own(!sender) {
            let known = [
                ("not read yet", Unit::Bytes, last.receive_queue),
                ("receive window", Unit::Bytes, last.rcv_wnd),
                ("receive buffer", Unit::Bytes, last.rcvbuf),
            ];
            let known = known.into_iter().filter_map(|(name, unit, value)| Some((name, unit, value?.into())));
            numbers.receiver = known.chain([("zero windows", Unit::Times, *zero_windows)]).collect();
        }
        for own in End::BOTH.into_iter().filter_map(own) {
            numbers
                .waits
                .extend(own.waits.spreads().map(|spread| (spread.on, spread.median, spread.longest)));
        }
        numbers
    }
}

/// What a row is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A connection.
    Flow(FlowId),
    /// Several, by what they have in common.
    Service(Name),
}

/// A row.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is of.
    pub key: Key,
    /// How many connections it has.
    pub flows: u64,
    /// The ends of a connection, which of them sends, and which is on this host.
    pub ends: Option<(FlowKey, End, Option<End>)>,
    /// The process of a connection.
    pub process: Option<Process>,
    /// The control group of that process, if it is known.
    pub cgroup: Option<Rc<Cgroup>>,
    /// What it did in the last seconds.
    pub figures: Figures,
    /// Bytes of each interval, the last one last, as eighths of the most of them.
    pub rates: [u8; RATES],
    /// The sockets of a connection.
    pub numbers: Numbers,
}

/// An interval, with the seconds before it.
#[derive(Clone, Debug)]
pub struct Moment {
    /// When it ended, since the watch began.
    pub at: Duration,
    /// The time that the figures are of.
    pub window: Duration,
    /// All connections that the filter takes.
    pub all: Figures,
    /// How many they are.
    pub flows: u64,
    /// Those that it leaves out.
    pub left_out: u64,
    /// Connections of which nothing is kept because there are too many.
    pub not_kept: u64,
    /// Services, those that lose most time first; empty without [`Flows::by`].
    pub services: Vec<Row>,
    /// Further services.
    pub more_services: usize,
    /// The service that the connections are of, if one was open.
    pub service: Option<Name>,
    /// Connections, those that lose most time first.
    pub rows: Vec<Row>,
    /// Further connections.
    pub more: usize,
    /// The host.
    pub host: HostNow,
}

/// The last seconds of a connection.
#[derive(Debug)]
struct Recent {
    key: FlowKey,
    sender: End,
    near: Option<End>,
    process: Option<Process>,
    cgroup: Option<Rc<Cgroup>>,
    /// Intervals since it was last reported.
    unreported: usize,
    /// The last intervals, the latest last: at most [`WINDOW`].
    steps: VecDeque<Figures>,
    /// Bytes of the last intervals.
    rates: [u64; RATES],
    numbers: Numbers,
    ahead: Ahead,
}

impl Recent {
    fn new(now: &FlowNow<'_>) -> Self {
        let (key, sender, near) = (now.key, now.sender, now.near);
        let (steps, numbers) = (VecDeque::with_capacity(WINDOW), Numbers::default());
        Self {
            key,
            sender,
            near,
            process: None,
            cgroup: None,
            unreported: 0,
            steps,
            rates: [0; RATES],
            numbers,
            ahead: Ahead::default(),
        }
    }

    fn report(&mut self, now: FlowNow<'_>, lasted: Duration) {
        self.unreported = 0;
        (self.sender, self.near) = (now.sender, now.near);
        if self.process.as_ref() != now.process {
            self.process = now.process.cloned();
        }
        self.cgroup = now.cgroup.map(Rc::clone);
        self.numbers = now.numbers;
        let mut figures = now.figures;
        self.ahead.settle(&mut figures, now.pending, lasted);
        self.push(figures);
    }

    fn push(&mut self, figures: Figures) {
        self.rates.rotate_left(1);
        self.rates[RATES - 1] = figures.bytes;
        if self.steps.len() == WINDOW {
            self.steps.pop_front();
        }
        self.steps.push_back(figures);
    }

    fn figures(&self) -> Figures {
        let mut sum = Figures::default();
        self.steps.iter().for_each(|step| sum.add(step));
        sum
    }

    fn name(&self, by: By) -> Name {
        service(by, &self.key, self.near, self.process.as_ref(), self.cgroup.as_deref())
    }
}

/// What a connection has in common with others.
fn service(
    by: By,
    key: &FlowKey,
    near: Option<End>,
    process: Option<&Process>,
    cgroup: Option<&Cgroup>,
) -> Name {
    match (by, near) {
        (By::Peer, Some(near)) => Name::Host(key.endpoint(!near).address),
        (By::Peer, None) => Name::Host(key.b.address),
        (By::Cgroup, _) => Name::Group(cgroup.map(|cgroup| cgroup.path.as_str().into())),
        (By::Pod, _) => Name::Group(cgroup.and_then(|cgroup| cgroup.pod.as_deref()).map(Box::from)),
        _ => Name::of(by, key, process.map(|process| &*process.name), 0),
    }
}

impl Row {
    /// The service of a connection.
    pub(crate) fn service(&self, by: Option<By>) -> Option<Name> {
        let (key, _, near) = self.ends.as_ref()?;
        Some(service(by?, key, *near, self.process.as_ref(), self.cgroup.as_deref()))
    }
}

/// Which connections there are rows for.
#[derive(Clone, Debug, Default)]
pub struct Focus {
    /// Those that it takes.
    pub filter: Option<Filter>,
    /// Those of this service.
    pub service: Option<Name>,
    /// This one has a row, however little time it loses.
    pub flow: Option<FlowId>,
}

/// This host's connections.
#[derive(Debug, Default)]
pub struct Flows {
    by: Option<By>,
    flows: BTreeMap<FlowId, Recent>,
    /// How long each of the last intervals was.
    lasted: VecDeque<Duration>,
    moments: VecDeque<Moment>,
}

impl Flows {
    /// None yet; with `by`, summed up by what they have in common.
    pub fn new(by: Option<By>) -> Self {
        Self { by, ..Self::default() }
    }

    /// What the rows have in common; `None` if each is a connection.
    pub const fn by(&self) -> Option<By> {
        self.by
    }

    /// Takes in an interval.
    /// The one before loses most of its rows, unless `is_shown`.
    pub fn take(&mut self, interval: Interval<'_>, focus: &Focus, is_shown: bool) {
        let Interval { at, lasted, flows, not_kept, host } = interval;
        if self.lasted.len() == WINDOW {
            self.lasted.pop_front();
        }
        self.lasted.push_back(lasted);
        self.flows.values_mut().for_each(|recent| recent.unreported += 1);
        for now in flows {
            self.flows.entry(now.id).or_insert_with(|| Recent::new(&now)).report(now, lasted);
        }
        for recent in self.flows.values_mut().filter(|recent| recent.unreported > 0) {
            recent.push(Figures::default());
        }
        self.flows.retain(|_, recent| recent.unreported < WINDOW);
        if let Some(last) = self.moments.back_mut().filter(|_| !is_shown) {
            last.shorten();
        }
        if self.moments.len() == MOST_MOMENTS {
            self.moments.pop_front();
        }
        let moment = self.moment(at, not_kept, host, focus);
        self.moments.push_back(moment);
    }

    /// Makes the rows of the last interval anew, for other connections.
    pub fn look_at(&mut self, focus: &Focus) {
        if let Some(last) = self.moments.pop_back() {
            let moment = self.moment(last.at, last.not_kept, last.host, focus);
            self.moments.push_back(moment);
        }
    }

    /// How many intervals are kept.
    pub fn moments(&self) -> usize {
        self.moments.len()
    }

    /// An interval, counted back from the last one.
    pub fn back(&self, intervals: usize) -> Option<&Moment> {
        self.moments.get(self.moments.len().checked_sub(1 + intervals)?)
    }

    fn moment(&self, at: Duration, not_kept: u64, host: HostNow, focus: &Focus) -> Moment {
        let mut moment = Moment {
            at,
            window: self.lasted.iter().sum(),
            all: Figures::default(),
            flows: 0,
            left_out: 0,
            not_kept,
            services: Vec::new(),
            more_services: 0,
            service: focus.service.clone(),
            rows: Vec::new(),
            more: 0,
            host,
        };
        let mut services: HashMap<Name, (u64, Figures, [u64; RATES])> = HashMap::new();
        let mut ranked = Vec::with_capacity(self.flows.len());
        for (id, recent) in &self.flows {
            if focus.filter.as_ref().is_some_and(|filter| !filter.takes(&recent.key)) {
                moment.left_out += 1;
                continue;
            }
            let figures = recent.figures();
            moment.flows += 1;
            moment.all.add(&figures);
            if let Some(by) = self.by {
                let name = recent.name(by);
                let is_focused = focus.service.as_ref().is_none_or(|service| *service == name);
                let (flows, sum, rates) =
                    services.entry(name).or_insert_with(|| (0, Figures::default(), [0; RATES]));
                *flows += 1;
                sum.add(&figures);
                rates.iter_mut().zip(recent.rates).for_each(|(sum, more)| *sum = sum.saturating_add(more));
                if !is_focused {
                    continue;
                }
            }
            let is_pinned = focus.flow == Some(*id);
            ranked.push((Reverse((is_pinned, figures.lost(), figures.bytes)), *id, figures));
        }
        ranked.sort_unstable_by_key(|one| (one.0, one.1));
        moment.more = ranked.len().saturating_sub(MOST_ROWS);
        ranked.truncate(MOST_ROWS);
        // The one that always has a row is at its place among the others.
        ranked.sort_by_key(|(_, id, figures)| (Reverse((figures.lost(), figures.bytes)), *id));
        let rows = ranked.into_iter().filter_map(|(_, id, figures)| {
            let recent = self.flows.get(&id)?;
            Some(Row {
                key: Key::Flow(id),
                flows: 1,
                ends: Some((recent.key, recent.sender, recent.near)),
                process: recent.process.clone(),
                cgroup: recent.cgroup.clone(),
                figures,
                rates: eighths(&recent.rates),
                numbers: recent.numbers.clone(),
            })
        });
        moment.rows = rows.collect();
        let rows = services.into_iter().map(|(name, (flows, figures, rates))| Row {
            key: Key::Service(name),
            flows,
            ends: None,
            process: None,
            cgroup: None,
            figures,
            rates: eighths(&rates),
            numbers: Numbers::default(),
        });
        moment.services = rows.collect();
        moment.services.sort_by(|one, other| {
            let rank = |row: &Row| Reverse((row.figures.lost(), row.figures.bytes));
            (rank(one), &one.key).cmp(&(rank(other), &other.key))
        });
        moment.more_services = moment.services.len().saturating_sub(MOST_ROWS);
        moment.services.truncate(MOST_ROWS);
        moment
    }
}

impl Moment {
    /// What is kept once it is not the last one.
    fn shorten(&mut self) {
        for (rows, more) in [(&mut self.services, &mut self.more_services), (&mut self.rows, &mut self.more)]
        {
            *more += rows.len().saturating_sub(ROWS_KEPT);
            rows.truncate(ROWS_KEPT);
            rows.shrink_to_fit();
        }
    }

    /// The rate of a row, or of all.
    pub fn rate(&self, figures: &Figures) -> Option<slowpath_model::Rate> {
        slowpath_model::Rate::of(Bytes::new(figures.bytes), self.window)
    }
}

/// Each as eighths of the most of them, rounded up: nothing is shown as nothing, anything as something.
fn eighths(rates: &[u64; RATES]) -> [u8; RATES] {
    let most = rates.iter().copied().max().unwrap_or(0).max(1);
    rates.map(|rate| (u128::from(rate) * 8).div_ceil(most.into()) as u8)
}

#[cfg(test)]
mod tests;
