//! Turns what the probe added up into events: for each socket, the difference from the last time.

use crate::drops::{Counts, Drops, Reasons};
use crate::raw::{Closing, Look};
use crate::record::{self, Account, HELD, NoRecord, Output, Record, SampleRecord, Turn, WAITS};
use crate::table::{Owner, Table};
use bytemuck::Zeroable;
use slowpath_model::{
    Bytes, End, Event, EventKind, FlowId, Hold, Instant, Mark, Sink, SocketSample, Wait, measured,
};
use std::collections::HashMap;
use std::iter::zip;
use std::time::Duration;

/// What the probe should have seen, and what it saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// Segments of data that the kernel counted for the watched sockets (`tcpi_data_segs_in`).
    pub kernel_segments: u64,
    /// Of these, those that the probe counted.
    pub segments: u64,
    /// Of these, those without an arrival timestamp.
    pub unstamped: u64,
    /// Records that the probe had no room for.
    pub untold: u64,
    /// Sockets for which the kernel had no memory.
    pub unwatched: u64,
    /// Sockets that were watched.
    pub sockets: u64,
    /// Timeouts that were undone (`TCPLossUndo`).
    pub undone: Option<Counted>,
    /// Windows that closed (`TCPToZeroWindowAdv`).
    pub zero_windows: Option<Counted>,
    /// Program runs that the kernel skipped because the program was already running on that CPU.
    pub skipped: u64,
}

/// What remains to be reported when watching ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// What the probe should have seen.
    pub check: Check,
    /// What the kernel dropped.
    pub drops: Drops,
    /// How long the receive softirqs of this host waited to run, and how many of them.
    pub softirqs: Vec<(Duration, u32)>,
    /// By which device the packets of each end leave, as far as that is known.
    pub devices: HashMap<(FlowId, End), Device>,
}

/// The device by which a socket's packets leave its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name, such as `eth0`.
    pub name: String,
    /// Its queueing discipline, such as `fq_codel`; under mq, that of the socket's transmit queue. `None` if unknown.
    pub qdisc: Option<String>,
}

/// Ends of flows whose device is kept.
const MOST_DEVICES: usize = 200_000;

/// What the kernel counted in this process's network namespace, and what the probe counted; known if all of the
/// namespace is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// The kernel.
    pub kernel: u64,
    /// The probe.
    pub probe: u64,
}

impl Counted {
    /// Whether the two are equal.
    pub const fn agrees(&self) -> bool {
        self.kernel == self.probe
    }
}

/// The last report of a socket.
struct LastReport {
    account: Account,
    /// The most that the process is known to have written: a sample may come between the two numbers it consists of,
    /// and show less.
    written: u64,
}

/// Turns the probe's records into events. It does not touch the kernel: stored records can be replayed to it.
#[derive(Default)]
pub struct Decoder {
    table: Table<Box<LastReport>>,
    epoch_ns: Option<u64>,
    latest: Instant,
    /// Turns of sockets that were not reported yet; that happens in the same sample. No more than the ring holds.
    early: HashMap<u64, Vec<Turn>>,
    /// Sockets that ended since the last sample: the other end may be reported in the same one.
    ended: Vec<u64>,
    /// The network namespace whose counters are compared.
    home: Option<u32>,
    check: Check,
    drops: Counts,
    devices: HashMap<(FlowId, End), Device>,
}

impl Decoder {
    /// A decoder without records. The network namespace is the one whose counters are compared.
    pub fn new(home: Option<u32>) -> Self {
        Self { home, ..Self::default() }
    }

    /// Turns a sample of the probe into events.
    ///
    /// # Errors
    /// At the first invalid record, after all records before it.
    pub fn look(&mut self, look: &Look, sink: &mut impl Sink) -> Result<(), NoRecord> {
        self.table.begin();
        for bytes in [&look.records, &look.flows] {
            record::each(bytes, |record| self.take(record, sink))?;
        }
        self.sweep(sink);
        Ok(())
    }

    /// The processes of the sockets that were reported last.
    pub fn owners(&self) -> impl Iterator<Item = (FlowId, End, Owner)> {
        self.table.owners()
    }

    /// What holds senders at the last sample, and for how long since their last segment: the next segment's record has
    /// that time.
    pub fn pending(&self) -> impl Iterator<Item = (FlowId, End, Hold, Duration)> {
        self.table.all().filter_map(|socket| {
            let account = &socket.before.account;
            let (by, lasted) = account.pending(account).filter(|_| !account.sample.is_closing())?;
            Some((socket.flow, socket.end, by, lasted))
        })
    }

    /// What the kernel dropped so far.
    pub(crate) fn drops(&self) -> &Counts {
        &self.drops
    }

    /// The time of day of instant 0, in nanoseconds since 1970.
    pub fn epoch_ns(&self) -> Option<i64> {
        self.epoch_ns.map(u64::cast_signed)
    }

    /// The time of the last event, from the first.
    pub fn latest(&self) -> Duration {
        self.latest.since(Instant::START).unwrap_or_default()
    }

    fn take(&mut self, record: Record<'_>, sink: &mut impl Sink) {
        match record {
            Record::Alive(account) => self.account(account, false, sink),
            Record::Ended(account) => {
                self.account(account, true, sink);
                self.ended.push(account.flow.cookie);
            }
            Record::Turn(turn) => self.turn(turn, sink),
        }
    }

    /// All live sockets were reported: an unreported one is gone, and its end was missed.
    fn sweep(&mut self, sink: &mut impl Sink) {
        let Self { table, ended, check, home, .. } = self;
        let ended: Vec<_> = ended.drain(..).filter_map(|cookie| table.forget(cookie, sink)).collect();
        let gone = ended.into_iter().chain(table.sweep(sink));
        gone.for_each(|last| check.add(&last.account, *home));
        self.early.clear();
    }

    /// Ends decoding. `closing` is what is read at the end, if known.
    pub fn finish(
        self,
        sink: &mut impl Sink,
        closing: Option<&Closing>,
        softirqs: &record::Waits,
        reasons: &Reasons,
    ) -> Rest {
        let Self { table, home, mut check, drops, epoch_ns, devices, .. } = self;
        // If a file was cut off, what came next is unknown.
        for socket in closing.iter().flat_map(|_| table.sockets()) {
            socket.before.rest(socket.flow, socket.end, epoch_ns.unwrap_or(0), sink);
        }
        table.finish(sink).for_each(|last| check.add(&last.account, home));
        let closing = closing.copied().unwrap_or_else(Closing::zeroed);
        let compared = |kernel, probe: Option<Counted>| {
            probe.filter(|_| closing.is_counted != 0).map(|probe| Counted { kernel, ..probe })
        };
        let check = Check {
            untold: closing.totals.ring_full,
            unwatched: closing.totals.no_memory,
            skipped: closing.skipped,
            undone: compared(closing.undone, check.undone),
            zero_windows: compared(closing.zero_windows, check.zero_windows),
            ..check
        };
        let softirqs = softirqs.since(&Zeroable::zeroed()).collect();
        Rest { check, drops: drops.finish(&closing.dropped, reasons), softirqs, devices }
    }

    fn at(&mut self, nanos: u64) -> Instant {
        let epoch = *self.epoch_ns.get_or_insert(nanos);
        let at = instant(nanos, epoch);
        self.latest = self.latest.max(at);
        at
    }

    fn turn(&mut self, turn: &Turn, sink: &mut impl Sink) {
        let at = self.at(turn.at_ns);
        let Some(mark) = turn.mark() else { return };
        match self.table.get(turn.cookie) {
            Some(socket) => {
                let end = socket.end;
                sink.accept(socket.flow, &Event { at, kind: EventKind::Marked { end, mark } });
            }
            None => self.early.entry(turn.cookie).or_default().push(*turn),
        }
    }

    fn account(&mut self, account: &Account, is_last: bool, sink: &mut impl Sink) {
        let Account { flow, sample, .. } = account;
        let at = self.at(sample.at_ns);
        // A hold that is still going on is reported with the next segment.
        let held_until = self.at(flow.last_ns);
        let begun = || Box::new(LastReport { account: account.begun(), written: 0 });
        let Self { table, drops, devices, .. } = self;
        let (socket, was_known) = table.seen(flow.cookie, flow.ends(), begun, sink);
        self.check.sockets += u64::from(!was_known);
        socket.owner = Owner { inode: sample.inode, cgroup: flow.cgroup, netns: flow.netns };
        let (end, before) = (socket.end, &socket.before.account);
        let mut tell = |kind| {
            let at = if matches!(kind, EventKind::Held { .. }) { held_until } else { at };
            sink.accept(socket.flow, &Event { at, kind });
        };
        if let Some(amount) = growth(account.written(), socket.before.written) {
            tell(EventKind::Written { end, amount });
        }
        for (on, (now, before)) in zip(WAITS, zip(&flow.waits, &before.flow.waits)) {
            for (lasted, count) in now.since(before) {
                let (amount, times) = if on == Wait::ReceiveQueue { (count, 1) } else { (0, count) };
                let amount = Bytes::new(amount.into());
                tell(EventKind::Waited { end, on, lasted, amount, times: times.into() });
            }
        }
        if let Some(amount) = growth(flow.read, before.flow.read) {
            tell(EventKind::Read { end, amount });
        }
        for (by, (now, before)) in zip(HELD, zip(flow.held_ns(), before.flow.held_ns())) {
            if now > before {
                tell(EventKind::Held { end, by, lasted: Duration::from_nanos(now - before) });
            }
        }
        let mut tell = |kind| sink.accept(socket.flow, &Event { at, kind });
        let is_over = is_last || sample.is_closing();
        if let Some((by, lasted)) = is_over.then(|| account.pending(before)).flatten() {
            tell(EventKind::Held { end, by, lasted });
        }
        for _ in 0..flow.timeouts.wrapping_sub(before.flow.timeouts).min(MOST_TIMEOUTS) {
            tell(EventKind::Marked { end, mark: Mark::Timeout });
        }
        tell(EventKind::Sampled(account.sampled(end)));
        drops.add((socket.flow, end), account, before);
        keep_device(devices, (socket.flow, end), account, before);
        let written = socket.before.written.max(account.written());
        *socket.before = LastReport { account: *account, written };
        for turn in self.early.remove(&flow.cookie).unwrap_or_default() {
            self.turn(&turn, sink);
        }
    }
}

/// A time of day on the events' clock.
const fn instant(nanos: u64, epoch: u64) -> Instant {
    Instant::from_nanos(nanos.cast_signed().wrapping_sub(epoch.cast_signed()))
}

/// How much an amount grew since the last time.
pub(crate) fn growth(now: u64, before: u64) -> Option<Bytes> {
    (now > before).then(|| Bytes::new(now - before))
}

/// Of one socket between two samples: a timeout takes 200 ms.
pub(crate) const MOST_TIMEOUTS: u32 = 1000;

impl Check {
    fn add(&mut self, Account { sample, flow, .. }: &Account, home: Option<u32>) {
        self.kernel_segments += u64::from(sample.data_segs_in.wrapping_sub(flow.segments_before));
        // Nothing from a file can be relied on.
        self.segments = self.segments.saturating_add(flow.segments);
        self.unstamped = self.unstamped.saturating_add(flow.unstamped);
        if let Some(home) = home {
            let is_here = u64::from(flow.netns == home);
            self.undone.get_or_insert_default().probe += is_here * u64::from(flow.timeouts_undone);
            self.zero_windows.get_or_insert_default().probe += is_here * u64::from(flow.zero_windows);
        }
    }
}

/// Keeps the device by which packets leave, if it is new.
fn keep_device(
    devices: &mut HashMap<(FlowId, End), Device>,
    of: (FlowId, End),
    now: &Account,
    before: &Account,
) {
    let is_new = !now.output.leaves_as(&before.output);
    if is_new && now.output.ifindex != 0 && (devices.len() < MOST_DEVICES || devices.contains_key(&of)) {
        let [name, qdisc] = now.output.names();
        devices.insert(of, Device { name, qdisc: (!qdisc.is_empty()).then_some(qdisc) });
    }
}

impl LastReport {
    /// What has held the sender from the last segment to the last sample: nothing ends that hold any more.
    fn rest(&self, flow: FlowId, end: End, epoch_ns: u64, sink: &mut impl Sink) {
        let Self { account, .. } = self;
        let Some((by, lasted)) = account.pending(account).filter(|_| !account.sample.is_closing()) else {
            return;
        };
        let at = instant(account.sample.at_ns, epoch_ns);
        for kind in [EventKind::Held { end, by, lasted }, EventKind::Sampled(account.sampled(end))] {
            sink.accept(flow, &Event { at, kind });
        }
    }
}

impl Account {
    /// What has held the sender since the last segment, and for how long by now; `before` is the socket's previous
    /// sample. Segments of a closing connection are not seen, so each sample has its own part. A socket's hold is best
    /// taken while the socket lives: its data is gone afterwards.
    fn pending(&self, before: &Self) -> Option<(Hold, Duration)> {
        let is_same = before.flow.last_ns == self.flow.last_ns;
        let by = is_same.then(|| before.sample.hold()).flatten().or_else(|| self.sample.hold())?;
        let since = if before.sample.is_closing() { before.sample.at_ns } else { self.flow.last_ns };
        let lasted = self.sample.at_ns.checked_sub(since).filter(|lasted| *lasted > 0)?;
        Some((by, Duration::from_nanos(lasted)))
    }

    /// The socket's state as an event.
    fn sampled(&self, end: End) -> SocketSample {
        let Self { flow, output, .. } = self;
        let output = output.known();
        let queue = output.and_then(Output::queue);
        // A rate that exceeds 32 bits limits nobody.
        let rate = |rate: u64| u32::try_from(rate).ok().filter(|rate| *rate > 0);
        SocketSample {
            wmem_alloc: output.map(|output| output.wmem_alloc),
            max_pacing_rate: output.and_then(|output| rate(output.max_pacing_rate)),
            qdisc_backlog: queue.map(|[backlog, _]| backlog),
            qdisc_overlimits: queue.map(|[_, overlimits]| overlimits),
            qdisc_rate: output.and_then(|output| rate(output.rate)),
            soft_error: output.map(|output| output.soft_error),
            resent: output.map(|_| flow.resent_answered),
            resent_smallest: output.map(|_| flow.resent_smallest),
            delivered_largest: output.map(|_| flow.delivered_largest),
            ..self.sample.of(end)
        }
    }
}

impl SampleRecord {
    /// The sample of a socket.
    fn of(&self, end: End) -> SocketSample {
        SocketSample {
            ca_state: self.ca_state(),
            snd_cwnd: Some(self.snd_cwnd),
            snd_ssthresh: Some(self.snd_ssthresh),
            srtt: measured(self.srtt_us),
            rttvar: measured(self.srtt_us).map(|_| self.rttvar_us),
            min_rtt: measured(self.min_rtt_us),
            rto: measured(self.rto_us),
            snd_wnd: Some(self.snd_wnd),
            rcv_wnd: Some(self.rcv_wnd),
            packets_out: Some(self.packets_out),
            sacked_out: Some(self.sacked_out),
            lost_out: Some(self.lost_out),
            retrans_out: Some(self.retrans_out),
            notsent: Some(self.notsent),
            wmem_queued: Some(self.wmem_queued),
            sndbuf: Some(self.sndbuf),
            receive_queue: Some(self.receive_queue),
            rmem_alloc: Some(self.rmem_alloc),
            rcvbuf: Some(self.rcvbuf),
            backlog: Some(self.backlog),
            snd_mss: Some(self.mss),
            rcv_rtt: measured(self.rcv_rtt_us),
            total_retrans: Some(self.total_retrans),
            data_segs_in: Some(self.data_segs_in),
            ..SocketSample::unknown(end)
        }
    }
}
