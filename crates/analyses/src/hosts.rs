//! What hosts tell of their connections, summed up: for sources that see no packets, or more than these.

use crate::cause::Cause;
use crate::waits::Waits;
use slowpath_model::{
    Bytes, End, Event, EventKind, FlowEnd, FlowId, FlowKey, Hold, Instant, Mark, Sink, SocketSample, Wait,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

/// Flows kept at once. What comes beyond is counted and left aside.
const MOST_FLOWS: usize = 100_000;

/// Sums up what the hosts at both ends of flows tell.
#[derive(Debug, Default)]
pub struct Hosts {
    flows: BTreeMap<FlowId, Account>,
    not_kept: u64,
}

/// A flow, as far as its hosts told.
#[derive(Debug)]
pub struct Account {
    /// Its number.
    pub id: FlowId,
    /// Its ends.
    pub key: FlowKey,
    /// When something was first told, and last.
    pub told: Option<[Instant; 2]>,
    /// Why no more was; `None` while it lives.
    pub ended: Option<FlowEnd>,
    /// What each end's host told; `None` for one that told nothing.
    pub ends: [Option<Box<EndAccount>>; 2],
}

/// What one end's host told.
#[derive(Debug, Default)]
pub struct EndAccount {
    /// Written by the process.
    pub written: Bytes,
    /// Read by the process.
    pub read: Bytes,
    /// Where packets, data and the process waited.
    pub waits: Waits,
    /// For how long what held the sender, in the order of [`Hold::ALL`].
    pub held: [Duration; Hold::ALL.len()],
    /// Of the time that the congestion window held it: while round trips showed a queue on the path.
    pub held_by_full_path: Duration,
    /// The longest that was told at once of the time that the peer's window held it.
    pub longest_by_window: Duration,
    /// Retransmission timeouts, and those that were spurious.
    pub timeouts: [u64; 2],
    /// Fast recoveries, and those that were undone.
    pub recoveries: [u64; 2],
    /// The first sample, and the last.
    pub samples: Option<[SocketSample; 2]>,
    /// The least and the largest window that the peer advertised.
    pub snd_wnd: Option<[u32; 2]>,
    /// The congestion window's time since the last sample: that will say what it was.
    undecided: Duration,
}

/// What bound a sender for a share of its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// What it was.
    pub cause: Cause,
    /// For how long.
    pub lasted: Duration,
    /// Of all the time that was told.
    pub share: f64,
}

impl Hosts {
    /// What was told, in the order of the flows' numbers; how many flows were left aside.
    pub fn finish(self) -> (Vec<Account>, u64) {
        (self.flows.into_values().collect(), self.not_kept)
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
        let account = Account { id: flow, key: *key, told: None, ended: None, ends: [None, None] };
        self.flows.insert(flow, account);
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        let Some(account) = self.flows.get_mut(&flow) else { return };
        let [first, last] = account.told.unwrap_or([event.at; 2]);
        account.told = Some([first.min(event.at), last.max(event.at)]);
        let Some(end) = event.kind.end() else { return };
        account.ends[end.index()].get_or_insert_default().accept(&event.kind);
    }

    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        if let Some(account) = self.flows.get_mut(&flow) {
            account.ended = Some(end);
        }
    }
}

impl EndAccount {
    fn accept(&mut self, kind: &EventKind) {
        match *kind {
            EventKind::Written { amount, .. } => self.written = sum(self.written, amount),
            EventKind::Read { amount, .. } => self.read = sum(self.read, amount),
            EventKind::Waited { on, lasted, amount, times, .. } => self.waits.add(on, lasted, amount, times),
            EventKind::Held { by, lasted, .. } => {
                self.held[by as usize] += lasted;
                match by {
                    Hold::CongestionWindow => self.undecided += lasted,
                    Hold::ReceiveWindow => self.longest_by_window = self.longest_by_window.max(lasted),
                    _ => {}
                }
            }
            EventKind::Marked { mark: Mark::Timeout, .. } => self.timeouts[0] += 1,
            EventKind::Marked { mark: Mark::SpuriousTimeout, .. } => self.timeouts[1] += 1,
            EventKind::Marked { mark: Mark::State(slowpath_model::CaState::Recovery), .. } => {
                self.recoveries[0] += 1;
            }
            EventKind::Marked { mark: Mark::Undo, .. } => self.recoveries[1] += 1,
            EventKind::Sampled(sample) => self.sample(sample),
            _ => {}
        }
    }

    fn sample(&mut self, sample: SocketSample) {
        self.samples = Some([self.samples.map_or(sample, |[first, _]| first), sample]);
        if let Some(window) = sample.snd_wnd {
            let [least, most] = self.snd_wnd.unwrap_or([window; 2]);
            self.snd_wnd = Some([least.min(window), most.max(window)]);
        }
        if shows_queue(&sample) {
            self.held_by_full_path += self.undecided;
        }
        self.undecided = Duration::ZERO;
    }

    /// All the time that something held the sender.
    pub fn time(&self) -> Duration {
        self.held.iter().sum()
    }
}

fn sum(one: Bytes, other: Bytes) -> Bytes {
    Bytes::new(one.get().saturating_add(other.get()))
}

/// Whether packets wait on the path: round trips are longer than the shortest by a quarter, and by more than a
/// scheduler's whim.
fn shows_queue(sample: &SocketSample) -> bool {
    const WHIM_US: u32 = 500;
    sample.srtt.zip(sample.min_rtt).is_some_and(|(srtt, least)| srtt > least + (least / 4).max(WHIM_US))
}

impl Account {
    /// The end that sent more, as far as that was told.
    pub fn sender(&self) -> End {
        let sent = |end: End| {
            let own = self.ends[end.index()].as_ref().map_or(0, |own| own.written.get());
            let taken = self.ends[(!end).index()].as_ref().map_or(0, |peer| peer.read.get());
            own.max(taken)
        };
        if sent(End::B) > sent(End::A) { End::B } else { End::A }
    }

    /// How long it was watched.
    pub fn lasted(&self) -> Duration {
        self.told.and_then(|[first, last]| last.since(first)).unwrap_or_default()
    }

    /// What went from the sender to the receiver: read, or where only the sender told, written.
    pub fn carried(&self) -> Bytes {
        let sender = self.sender();
        match (&self.ends[sender.index()], &self.ends[(!sender).index()]) {
            (_, Some(receiver)) if receiver.read > Bytes::ZERO => receiver.read,
            (Some(sender), _) => sender.written,
            _ => Bytes::ZERO,
        }
    }

    /// What bound the sender, the longest first. Empty where its host told nothing: the receiver's cannot know.
    pub fn bounds(&self) -> Vec<Bound> {
        let sender = self.sender();
        let Some(own) = &self.ends[sender.index()] else { return Vec::new() };
        let peer = self.ends[(!sender).index()].as_deref();
        let mut bounds: Vec<Bound> = Vec::new();
        let all = own.time().as_secs_f64();
        let mut add = |cause: Cause, lasted: Duration| {
            if lasted.is_zero() {
                return;
            }
            match bounds.iter_mut().find(|bound| bound.cause == cause) {
                Some(bound) => bound.lasted += lasted,
                None => bounds.push(Bound { cause, lasted, share: 0.0 }),
            }
        };
        for (hold, lasted) in Hold::ALL.iter().zip(own.held) {
            match hold {
                Hold::CongestionWindow => {
                    add(Cause::BottleneckFull, own.held_by_full_path);
                    add(below_full(own), lasted.saturating_sub(own.held_by_full_path));
                }
                other => add(cause(*other, own, peer), lasted),
            }
        }
        bounds.iter_mut().for_each(|bound| bound.share = bound.lasted.as_secs_f64() / all);
        bounds.sort_by_key(|bound| Reverse(bound.lasted));
        bounds
    }
}

fn cause(hold: Hold, own: &EndAccount, peer: Option<&EndAccount>) -> Cause {
    match hold {
        Hold::Idle | Hold::Drained => Cause::SenderIdle,
        Hold::SendBuffer => Cause::SendBufferFull,
        Hold::ReceiveWindow => window(own, peer),
        Hold::SlowStart => Cause::SlowStart,
        Hold::CongestionWindow => below_full(own),
        Hold::Recovery => Cause::FastRecovery,
        // All of them, or the time is that of real ones.
        Hold::Loss if own.timeouts[1] > 0 && own.timeouts[1] >= own.timeouts[0] => Cause::SpuriousTimeout,
        Hold::Loss => Cause::Timeout,
        Hold::Local => Cause::Undetermined,
    }
}

/// A congestion window that was used up, and no queue on the path.
fn below_full(own: &EndAccount) -> Cause {
    if own.timeouts[0] + own.recoveries[0] > 0 { Cause::AfterLoss } else { Cause::Undetermined }
}

/// A reader lets the window close that leaves data waiting, most of it for longer than a round trip, or some for as long
/// as the sender was held. Where its host does not tell, the window itself does: a buffer that is too small stays as
/// large as it is.
fn window(own: &EndAccount, peer: Option<&EndAccount>) -> Cause {
    let round_trip = own.samples.and_then(|[_, last]| last.srtt).map(|us| Duration::from_micros(us.into()));
    let waited = peer.and_then(|peer| peer.waits.spreads().find(|spread| spread.on == Wait::ReceiveQueue));
    let is_slow = match (waited, round_trip) {
        (Some(waited), Some(round_trip)) => {
            waited.median > round_trip || waited.longest >= own.longest_by_window / 2
        }
        _ => own.snd_wnd.is_some_and(|[least, most]| least < most / 4),
    };
    if is_slow { Cause::SlowReader } else { Cause::ReceiveBufferTooSmall }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::Endpoint;

    const WRITER: End = End::A;

    /// What bound the sender of a flow of which the lines of notation were told.
    fn bounds(lines: &[&str]) -> Vec<(Cause, u64)> {
        let mut hosts = Hosts::default();
        let end = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
        hosts.open(FlowId(1), &FlowKey { a: end(1, 40_000), b: end(2, 80), occurrence: 0 });
        for line in lines {
            hosts.accept(FlowId(1), &line.parse().expect("an event"));
        }
        let (accounts, _) = hosts.finish();
        assert_eq!(accounts[0].sender(), WRITER);
        let bounds = accounts[0].bounds();
        let shares: f64 = bounds.iter().map(|bound| bound.share).sum();
        assert!((shares - 1.0).abs() < 1e-9, "each instant belongs to one: {bounds:?}");
        bounds.iter().map(|bound| (bound.cause, bound.lasted.as_millis() as u64)).collect()
    }

    /// The same time, by whether and how long data waited to be read, or by how the window went.
    #[test]
    fn a_window_is_used_up_for_want_of_room_or_of_reading() {
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
    }

    /// Round trips tell a full path from a window that was cut.
    #[test]
    fn a_congestion_window_is_the_paths_while_a_queue_shows() {
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

    /// Only if all of them were.
    #[test]
    fn timeouts_are_needless_if_all_were_taken_back() {
        let one = [
            "0.3 A wrote 100",
            "0.3 A held loss 0.300",
            "0.3 A marked timeout",
            "0.3 A marked spurious-timeout",
        ];
        assert_eq!(bounds(&one), [(Cause::SpuriousTimeout, 300)]);
        assert_eq!(bounds(&[&one[..], &["0.9 A marked timeout"]].concat()), [(Cause::Timeout, 300)]);
    }

    #[test]
    fn a_receiver_cannot_know_what_held_the_other() {
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
