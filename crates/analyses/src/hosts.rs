//! What hosts report of their connections, summed up: for sources that see no packets, or more than packets.

mod interval;
mod output;
mod receiving;
mod sending;
mod sizes;
mod spells;
mod why;
mod windows;

pub use receiving::Receiving;
pub use sending::{Sending, shows_queue};
pub use spells::{Spell, What};
pub use why::Why;

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::waits::Waits;
use slowpath_model::{
    Bytes, CaState, End, Event, EventKind, FlowEnd, FlowId, FlowKey, Hold, Instant, Mark, Sink, SocketSample,
    Wait,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

/// Flows kept at once. Further flows are only counted.
const MOST_FLOWS: usize = 100_000;
/// Sizes of a receive buffer that are kept: a buffer that doubles takes as many from a page to a gigabyte, and some
/// more.
const MOST_SIZES: usize = 64;

/// Sums up what the hosts at both ends of flows report.
#[derive(Debug, Default)]
pub struct Hosts {
    flows: BTreeMap<FlowId, Account>,
    not_kept: u64,
}

/// A flow, as its hosts reported it.
#[derive(Debug)]
pub struct Account {
    /// Its number.
    pub id: FlowId,
    /// Its ends.
    pub key: FlowKey,
    /// The first and the last report.
    pub told: Option<[Instant; 2]>,
    /// Why the reports ended; `None` while the flow lives.
    pub ended: Option<FlowEnd>,
    /// The reports of each end's host; `None` if it reported nothing.
    pub ends: [Option<Box<EndAccount>>; 2],
    /// What it had carried when the interval began.
    carried_before: Bytes,
}

/// What one end's host reported.
#[derive(Debug, Default)]
pub struct EndAccount {
    /// Written by the process.
    pub written: Bytes,
    /// Read by the process.
    pub read: Bytes,
    /// Where packets, data and the process waited.
    pub waits: Waits,
    /// What held the sender.
    pub sending: Sending,
    /// Retransmission timeouts, and those that were spurious.
    pub timeouts: [u64; 2],
    /// Losses: one timeout, or several in a row.
    losses: u64,
    /// Fast recoveries, and those that were undone.
    pub recoveries: [u64; 2],
    /// What held the transfer back here, where data came in.
    pub receiving: Receiving,
    /// How often the window that it advertises closed.
    pub zero_windows: u64,
    /// The size of the receive buffer at each change: the first changes.
    pub receive_buffer: Vec<(Instant, Bytes)>,
    /// How many changes there were after those.
    pub receive_buffer_more: u64,
    /// The last error that an ICMP message left at the socket: an errno (`sk_err_soft`).
    pub soft_error: Option<u32>,
    /// The first sample, and the last.
    pub samples: Option<[SocketSample; 2]>,
}

/// A cause that bound an end for a share of its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// What it was.
    pub cause: Cause,
    /// For how long.
    pub lasted: Duration,
    /// Of the time that its host reported, 0 to 1.
    pub share: f64,
}

impl Hosts {
    /// The flows, ordered by number; and how many were not kept.
    pub fn finish(self) -> (Vec<Account>, u64) {
        (self.flows.into_values().collect(), self.not_kept)
    }

    /// Flows that were not kept because there were too many.
    pub const fn not_kept(&self) -> u64 {
        self.not_kept
    }

    /// A flow so far.
    pub fn flow(&self, flow: FlowId) -> Option<&Account> {
        self.flows.get(&flow)
    }

    /// The flows so far.
    pub fn flows(&self) -> impl Iterator<Item = &Account> {
        self.flows.values()
    }
}

impl Sink for Hosts {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        if self.flows.len() >= MOST_FLOWS {
            self.not_kept += 1;
            return;
        }
        let (ends, carried_before) = ([None, None], Bytes::ZERO);
        let account = Account { id: flow, key: *key, told: None, ended: None, ends, carried_before };
        self.flows.insert(flow, account);
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        let Some(account) = self.flows.get_mut(&flow) else { return };
        let [first, last] = account.told.unwrap_or([event.at; 2]);
        let mut began = first.min(event.at);
        if let Some(end) = event.kind.end() {
            let own = account.ends[end.index()].get_or_insert_default();
            own.accept(event.at, &event.kind);
            // A report with a length began before.
            if matches!(event.kind, EventKind::Held { .. }) {
                began = began.min(own.sending.began());
            }
        }
        account.told = Some([began, last.max(event.at)]);
    }

    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        if let Some(account) = self.flows.get_mut(&flow) {
            account.ended = Some(end);
        }
    }
}

impl EndAccount {
    fn accept(&mut self, at: Instant, kind: &EventKind) {
        match *kind {
            EventKind::Written { amount, .. } => {
                self.written = sum(self.written, amount);
                self.sending.wrote(amount);
            }
            EventKind::Read { amount, .. } => {
                self.read = sum(self.read, amount);
                self.receiving.read(amount);
            }
            EventKind::Waited { on, lasted, amount, times, .. } => {
                self.waits.add(on, lasted, amount, times);
                self.receiving.waited(on, lasted, times);
            }
            EventKind::Held { by, lasted, .. } => self.sending.held(at, by, lasted),
            EventKind::Marked { mark: Mark::Timeout, .. } => self.timeouts[0] += 1,
            EventKind::Marked { mark: Mark::SpuriousTimeout, .. } => self.timeouts[1] += 1,
            EventKind::Marked { mark: Mark::State(CaState::Recovery), .. } => self.recoveries[0] += 1,
            EventKind::Marked { mark: Mark::State(CaState::Loss), .. } => self.losses += 1,
            EventKind::Marked { mark: Mark::Undo, .. } => self.recoveries[1] += 1,
            EventKind::Marked { mark: Mark::ZeroWindow, .. } => self.zero_windows += 1,
            EventKind::Marked { mark: Mark::ReceiveBuffer(size), .. } => {
                if self.receive_buffer.len() < MOST_SIZES {
                    self.receive_buffer.push((at, size));
                } else {
                    self.receive_buffer_more += 1;
                }
            }
            EventKind::Sampled(sample) => {
                // The next ACK clears it.
                self.soft_error = sample.soft_error.filter(|errno| *errno != 0).or(self.soft_error);
                self.receiving.sample(at, &sample);
                self.sending.sample(at, &sample);
                self.samples = Some([self.samples.map_or(sample, |[first, _]| first), sample]);
            }
            _ => {}
        }
    }

    /// Bytes that its process had written and TCP had not sent, when its host last looked.
    fn unsent(&self) -> u64 {
        self.samples.and_then(|[_, last]| last.notsent).unwrap_or(0).into()
    }

    /// Data waits for a process that has read nothing since the host began to report.
    fn reads_nothing(&self) -> bool {
        let waits = self.samples.and_then(|[_, last]| last.receive_queue).is_some_and(|waits| waits > 0);
        waits && self.read == Bytes::ZERO
    }

    /// The ICMP error that came for the connection, if one did.
    fn icmp_error(&self) -> Option<Evidence> {
        self.soft_error.map(|errno| Evidence::SoftError { errno: errno.into() })
    }

    /// How far the last smoothed RTT is above the shortest; `None` if that shows no queue.
    pub fn queueing(&self) -> Option<Duration> {
        let [_, last] = self.samples.filter(|[_, last]| shows_queue(last))?;
        let (srtt, least) = last.srtt.zip(last.min_rtt)?;
        Some(Duration::from_micros(srtt.saturating_sub(least).into()))
    }
}

fn sum(one: Bytes, other: Bytes) -> Bytes {
    Bytes::new(one.get().saturating_add(other.get()))
}

impl Account {
    /// The end that sent more, as far as reported, or has more to send: nothing goes out while a window is closed.
    pub fn sender(&self) -> End {
        let sends = |end: End| {
            let own = self.ends[end.index()].as_ref().map_or(0, |own| own.written.get().max(own.unsent()));
            let taken = self.ends[(!end).index()].as_ref().map_or(0, |peer| peer.read.get());
            own.max(taken)
        };
        if sends(End::B) > sends(End::A) { End::B } else { End::A }
    }

    /// How long it was watched.
    pub fn lasted(&self) -> Duration {
        self.told.and_then(|[first, last]| last.since(first)).unwrap_or_default()
    }

    /// What went from the sender to the receiver: bytes read, or if only the sender reported, written.
    pub fn carried(&self) -> Bytes {
        let sender = self.sender();
        match (&self.ends[sender.index()], &self.ends[(!sender).index()]) {
            (_, Some(receiver)) if receiver.read > Bytes::ZERO => receiver.read,
            (Some(sender), _) => sender.written,
            _ => Bytes::ZERO,
        }
    }

    /// The causes that bound the sender, the longest first. Empty if its host reported nothing: the receiver's cannot
    /// know.
    pub fn bounds(&self) -> Vec<Bound> {
        let Some(own) = &self.ends[self.sender().index()] else { return Vec::new() };
        let mut bounds: Vec<Bound> = Vec::new();
        let whys = own.sending.whys(self.ended.is_some());
        let all = whys.iter().map(|(_, lasted)| *lasted).sum::<Duration>().as_secs_f64();
        for (why, lasted) in whys.into_iter().filter(|(_, lasted)| !lasted.is_zero()) {
            let (cause, share) = (self.cause(why), lasted.as_secs_f64() / all);
            match bounds.iter_mut().find(|bound| bound.cause == cause) {
                Some(bound) => (bound.lasted, bound.share) = (bound.lasted + lasted, bound.share + share),
                None => bounds.push(Bound { cause, lasted, share }),
            }
        }
        bounds.sort_by_key(|bound| Reverse(bound.lasted));
        bounds
    }

    /// What bound the sender, spell by spell, over all of the time in which the flow was watched.
    pub fn spells(&self) -> Vec<Spell> {
        let Some(watched) = self.told else { return Vec::new() };
        match &self.ends[self.sender().index()] {
            Some(own) => own.sending.spells(watched, self.ended.is_some()),
            None => vec![Spell { what: What::NotSeen, from: watched[0], to: watched[1] }],
        }
    }

    /// Evidence that a cause bound the sender, if its host reports numbers for it.
    pub fn evidence(&self, cause: Cause) -> Vec<Evidence> {
        let Some(own) = &self.ends[self.sender().index()] else { return Vec::new() };
        match cause {
            Cause::LocalRateLimit => own.sending.own_limits(),
            Cause::MtuBlackHole => {
                sizes::pattern(own).and_then(|pattern| pattern.evidence(cause)).into_iter().collect()
            }
            Cause::Timeout => own.icmp_error().into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The cause of `why`, by all reports.
    pub fn cause(&self, why: Why) -> Cause {
        let sender = self.sender();
        let Some(own) = &self.ends[sender.index()] else { return Cause::Undetermined };
        cause(why, own, self.ends[(!sender).index()].as_deref())
    }
}

fn cause(why: Why, own: &EndAccount, peer: Option<&EndAccount>) -> Cause {
    match why {
        // ACKs pace a congestion window: what held them back held it, if the receiver's host reports that.
        Why::FullPath | Why::Silence | Why::Hold(Hold::CongestionWindow)
            if peer.is_some_and(|peer| answered_late(own, peer)) =>
        {
            Cause::AcksHeldBack
        }
        Why::FullPath => Cause::BottleneckFull,
        Why::OwnQueue | Why::Hold(Hold::Paced) => Cause::LocalRateLimit,
        // The sender cannot know who was late.
        Why::Silence => Cause::DelaySpike,
        Why::Hold(Hold::Idle | Hold::Drained) => Cause::SenderIdle,
        Why::Hold(Hold::SendBuffer) => Cause::SendBufferFull,
        Why::Hold(Hold::ReceiveWindow) => window(own, peer),
        Why::Hold(Hold::SlowStart) => Cause::SlowStart,
        // The congestion window was used up beyond slow start, without a queue on the path.
        Why::Hold(Hold::CongestionWindow) if own.timeouts[0] + own.recoveries[0] > 0 => Cause::AfterLoss,
        Why::Hold(Hold::CongestionWindow) => Cause::EarlyExit,
        // However the loss was found, it recurs as long as the segments are as large.
        Why::Hold(Hold::Recovery | Hold::Loss) if sizes::follow_mtu(own) => Cause::MtuBlackHole,
        Why::Hold(Hold::Recovery) => Cause::FastRecovery,
        // All of them, or the time is that of real ones. Those in a row are undone at once.
        Why::Hold(Hold::Loss) if own.timeouts[1] > 0 && own.timeouts[1] >= own.losses => {
            Cause::SpuriousTimeout
        }
        // A probe found the loss, before a timeout (tcp_send_loss_probe).
        Why::Hold(Hold::Loss) if own.timeouts[0] == 0 => Cause::TailLoss,
        Why::Hold(Hold::Loss) => Cause::Timeout,
        // TCP had handed on as much as it allows, and no queue of this host is known to have held it.
        Why::Hold(Hold::Local | Hold::OutputQueue) => Cause::Undetermined,
    }
}

/// Whether the process that had locked the peer's socket was off the CPU for half of the time in which the congestion
/// window held the sender, which is an RTT longer than the answers were late.
fn answered_late(own: &EndAccount, peer: &EndAccount) -> bool {
    let held = peer.receiving.bounds().into_iter().find(|bound| bound.cause == Cause::LockHolderOffCpu);
    held.is_some_and(|held| held.lasted * 2 >= own.sending.holds()[Hold::CongestionWindow as usize])
}

/// A reader lets the window close if it leaves data waiting: most of it for longer than an RTT, or some of it for as
/// long as the sender was held, or all of it while nothing was read. If its host does not report that, the windows show
/// it: a buffer that is too small keeps its size.
fn window(own: &EndAccount, peer: Option<&EndAccount>) -> Cause {
    let round_trip = own.samples.and_then(|[_, last]| last.srtt).map(|us| Duration::from_micros(us.into()));
    let waited = peer.and_then(|peer| peer.waits.spreads().find(|spread| spread.on == Wait::ReceiveQueue));
    let is_slow = match (waited, round_trip) {
        (Some(waited), Some(round_trip)) => {
            waited.median > round_trip || waited.longest >= own.sending.longest_by_window / 2
        }
        _ => peer.is_some_and(EndAccount::reads_nothing) || own.sending.windows.shrank(),
    };
    if is_slow {
        Cause::SlowReader
    } else if own.sending.windows.grew() {
        Cause::AutotuningLag
    } else {
        Cause::ReceiveBufferTooSmall
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::ReportedBy;
    use slowpath_model::Endpoint;
    use std::collections::BTreeSet;

    const WRITER: End = End::A;

    /// The account of a flow after these lines of notation were reported.
    fn account(lines: &[&str]) -> Account {
        let mut hosts = Hosts::default();
        let end = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
        hosts.open(FlowId(1), &FlowKey { a: end(1, 40_000), b: end(2, 80), occurrence: 0 });
        for line in lines {
            hosts.accept(FlowId(1), &line.parse().unwrap_or_else(|error| panic!("{line}: {error}")));
        }
        hosts.finish().0.remove(0)
    }

    /// The causes that bound the sender of such a flow.
    fn bounds(lines: &[&str]) -> Vec<(Cause, u64)> {
        let account = account(lines);
        assert_eq!(account.sender(), WRITER);
        let bounds = account.bounds();
        let shares: f64 = bounds.iter().map(|bound| bound.share).sum();
        assert!((shares - 1.0).abs() < 1e-9, "each instant belongs to one: {bounds:?}");
        bounds.iter().map(|bound| (bound.cause, bound.lasted.as_millis() as u64)).collect()
    }

    /// Time with a full window belongs to the buffer or to the reader, by how long data waited to be read or by how the
    /// window changed.
    #[test]
    fn full_window_is_buffer_too_small_or_slow_reader() {
        let held = [
            "0.1 A wrote 100000",
            "0.1 A held receive-window 0.100",
            "0.1 A sampled srtt 20000 snd_wnd 65536",
        ];
        let with = |more: &[&'static str]| bounds(&[&held[..], more].concat());
        assert_eq!(with(&[]), [(Cause::ReceiveBufferTooSmall, 100)]);
        assert_eq!(
            with(&["0.1 B waited receive-queue 0.000050 65536"]),
            [(Cause::ReceiveBufferTooSmall, 100)]
        );
        assert_eq!(with(&["0.1 B waited receive-queue 0.040 65536"]), [(Cause::SlowReader, 100)]);
        let rarely =
            ["0.1 B waited receive-queue 0.000050 6553600", "0.1 B waited receive-queue 0.080 65536"];
        assert_eq!(with(&rarely), [(Cause::SlowReader, 100)]);
        assert_eq!(with(&["0.2 A sampled srtt 20000 snd_wnd 1448"]), [(Cause::SlowReader, 100)]);
        assert_eq!(with(&["0.2 A sampled srtt 20000 snd_wnd 1000000"]), [(Cause::AutotuningLag, 100)]);
    }

    /// The live causes of the catalogue are those that these functions return, for anything that the kernel reports.
    #[test]
    fn live_causes_match_the_catalogue() {
        let mut found: BTreeSet<Cause> = receiving::CAUSES.into_iter().collect();
        let held = [
            "0.1 A wrote 100000",
            "0.1 A held receive-window 0.100",
            "0.1 A sampled srtt 20000 snd_wnd 65536",
        ];
        let times = [
            vec![],
            vec!["0.1 A marked ca-recovery"],
            vec!["0.1 A marked timeout"],
            vec!["0.1 A marked timeout", "0.1 A marked spurious-timeout"],
            vec!["0.1 B waited receive-queue 0.040 65536"],
            vec!["0.2 A sampled srtt 20000 snd_wnd 1000000"],
            vec!["0.2 A sampled resent 4 resent_smallest 1448 delivered_largest 600"],
            vec![
                "0.1 B sampled rcv_wnd 80000 receive_queue 0",
                "0.4 B waited holder-off-cpu 0.180 0",
                "0.4 B sampled rcv_wnd 80000 receive_queue 0",
            ],
        ];
        for more in times {
            let account = account(&[&held[..], &more].concat());
            let whys =
                Hold::ALL.iter().copied().map(Why::Hold).chain([Why::FullPath, Why::Silence, Why::OwnQueue]);
            found.extend(whys.map(|why| account.cause(why)));
        }
        let live = |cause: &&Cause| cause.is_reported_by(ReportedBy::Live);
        assert_eq!(found, Cause::ALL.iter().filter(live).copied().collect());
    }

    /// RTTs distinguish a full path from a congestion window that was reduced.
    #[test]
    fn congestion_window_time_is_the_paths_while_a_queue_shows() {
        let lines = [
            "0.1 A wrote 100000",
            "0.1 A marked ca-recovery",
            "0.1 A held recovery 0.040",
            "0.1 A held congestion-window 0.060",
            "0.1 A sampled srtt 20100 min_rtt 20000",
            "0.2 A held congestion-window 0.100",
            "0.2 A sampled srtt 38000 min_rtt 20000",
        ];
        let expected = [(Cause::BottleneckFull, 100), (Cause::AfterLoss, 60), (Cause::FastRecovery, 40)];
        assert_eq!(bounds(&lines), expected);
    }

    /// Only if all of them were; timeouts in a row are undone at once.
    #[test]
    fn timeouts_are_spurious_only_if_all_were_undone() {
        let once = [
            "1.5 A wrote 100",
            "1.5 A held loss 1.500",
            "0.2 A marked ca-loss",
            "0.2 A marked timeout",
            "0.6 A marked timeout",
            "1.5 A marked spurious-timeout",
        ];
        assert_eq!(bounds(&once), [(Cause::SpuriousTimeout, 1500)]);
        let again = ["1.9 A marked ca-loss", "1.9 A marked timeout"];
        assert_eq!(bounds(&[&once[..], &again].concat()), [(Cause::Timeout, 1500)]);
    }

    #[test]
    fn loss_repaired_by_tail_loss_probe_is_not_a_timeout() {
        let probed = ["0.1 A wrote 100", "0.1 A held loss 0.060", "0.1 A held recovery 0.025"];
        assert_eq!(bounds(&probed), [(Cause::TailLoss, 60), (Cause::FastRecovery, 25)]);
        let timed_out = ["0.1 A marked ca-loss", "0.1 A marked timeout"];
        let expected = [(Cause::Timeout, 60), (Cause::FastRecovery, 25)];
        assert_eq!(bounds(&[&probed[..], &timed_out].concat()), expected);
    }

    /// A sender knows that nothing came. Whether its receiver had no CPU to answer, only the receiver's host knows.
    #[test]
    fn late_answer_is_the_receivers_if_its_host_reports_it() {
        let sampled = "sampled srtt 40000 rttvar 1000 min_rtt 30000";
        let lines = [
            "0.1 A wrote 100000",
            "0.1 A held congestion-window 0.1",
            &format!("0.1 A {sampled}"),
            &format!("0.2 A {sampled}"),
            "0.3 A held congestion-window 0.2",
            &format!("0.3 A {sampled}"),
        ];
        let alone = [(Cause::BottleneckFull, 150), (Cause::DelaySpike, 150)];
        assert_eq!(bounds(&lines), alone);
        let with_receiver = |waited: &str| {
            let told = [
                "0.1 B sampled rcv_wnd 80000 receive_queue 0",
                &format!("0.4 B waited holder-off-cpu {waited} 0"),
                "0.4 B sampled rcv_wnd 80000 receive_queue 0",
            ];
            bounds(&[&lines[..], &told].concat())
        };
        assert_eq!(with_receiver("0.002"), alone);
        assert_eq!(with_receiver("0.180"), [(Cause::AcksHeldBack, 300)]);
    }

    /// However often a buffer changes its size, it takes the same memory, and the number of changes is known.
    #[test]
    fn receive_buffer_sizes_are_bounded() {
        let mut account = EndAccount::default();
        let size = |n| Mark::ReceiveBuffer(Bytes::new(n));
        for n in 1..=100 {
            account.accept(Instant::START, &EventKind::Marked { end: End::B, mark: size(n) });
            account.accept(Instant::START, &EventKind::Marked { end: End::B, mark: Mark::ZeroWindow });
        }
        let kept: Vec<u64> = account.receive_buffer.iter().map(|(_, size)| size.get()).collect();
        assert_eq!(kept, (1..=MOST_SIZES as u64).collect::<Vec<_>>());
        assert_eq!((account.receive_buffer_more, account.zero_windows), (100 - MOST_SIZES as u64, 100));
    }

    /// Of a transfer whose reader stopped before anybody watched, only window probes show: both ends sent nothing.
    #[test]
    fn who_has_more_to_send_is_the_sender() {
        let lines = ["1 A held idle 1.000", "1 B held receive-window 1.000"];
        // The window was closed when an ACK last told it, or data waits there.
        for (waits, snd_wnd) in [(0, 0), (6_000_000, 40_000)] {
            let told = [
                &format!("1 A sampled srtt 100 notsent 0 receive_queue {waits}"),
                &format!("1 B sampled srtt 100 snd_wnd {snd_wnd} notsent 2500000"),
            ];
            let account = account(&[&lines[..], &told.map(String::as_str)].concat());
            let bounds: Vec<_> = account.bounds().iter().map(|bound| (bound.cause, bound.lasted)).collect();
            assert_eq!(
                (account.sender(), bounds),
                (End::B, vec![(Cause::SlowReader, Duration::from_secs(1))])
            );
        }
    }

    #[test]
    fn receiver_alone_gives_no_sender_causes() {
        let mut hosts = Hosts::default();
        let end = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
        hosts.open(FlowId(1), &FlowKey { a: end(1, 40_000), b: end(2, 80), occurrence: 0 });
        for line in ["0.1 B read 5000", "0.1 B held idle 0.100"] {
            hosts.accept(FlowId(1), &line.parse().expect("an event"));
        }
        let (accounts, _) = hosts.finish();
        assert_eq!((accounts[0].sender(), accounts[0].carried()), (End::A, Bytes::new(5000)));
        assert_eq!(accounts[0].bounds(), []);
    }
}
