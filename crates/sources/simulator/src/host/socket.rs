//! A socket and the queues around it.

use crate::agenda::Slot;
use crate::host::schedule::TaskId;
use slowpath_model::{Bytes, CaState, End, Instant, Mark, SocketSample, StreamOffset};
use slowpath_tcp::socket::{ReadFlags, Unreachable};
use slowpath_tcp::{Connection, Errno, Packet, Vitals, WriteFlags};
use std::collections::VecDeque;
use std::time::Duration;

/// The place of a socket in its host's table. Reused once the socket is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SocketId(pub u32);

impl SocketId {
    /// Its place in the table.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The event that a process sleeps for in a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepsFor {
    /// Data to read.
    Readable,
    /// Room to write.
    Writable,
    /// The handshake.
    Established,
}

/// A socket.
#[derive(Debug)]
pub struct Socket {
    /// Its TCP.
    pub tcp: Connection,
    /// The connection's number.
    pub connection: u32,
    /// The wire that leads to the other end.
    pub wire: usize,
    /// The slot of its timers. It is armed for the earliest, or earlier: a timer that moves with every packet is not
    /// worth an agenda update each time.
    pub timer: Slot,
    /// When its next timer is due.
    pub timer_due: Option<Instant>,
    /// When its slot is due.
    pub timer_armed: Option<Instant>,
    /// A process in a system call has locked it (`sk_lock.owned`).
    pub locked: bool,
    /// The backlog (`sk_backlog`), with arrival times, and its memory.
    pub backlog: VecDeque<(Instant, Packet)>,
    /// Truesize of the backlog, in bytes.
    pub backlog_bytes: u64,
    /// The owning process is processing the backlog.
    pub in_backlog: bool,
    /// The prequeue (`tp->ucopy.prequeue`), with arrival times, and its memory.
    pub prequeue: VecDeque<(Instant, Packet)>,
    /// Truesize of the prequeue, in bytes.
    pub prequeue_bytes: u64,
    /// The process that sleeps in a system call on it.
    pub sleeper: Option<(TaskId, SleepsFor)>,
    /// A timer fired while it was locked (`TCP_WRITE_TIMER_DEFERRED`).
    pub timer_deferred: bool,
    /// A router reported a smaller MTU while it was locked, for the segment that begins there
    /// (`TCP_MTU_REDUCED_DEFERRED`).
    pub mtu_deferred: Option<(u32, StreamOffset)>,
    /// It sends more as soon as the NIC has sent a packet (`TSQ_THROTTLED`).
    pub throttled: bool,
    /// The NIC has sent a packet while it was locked (`TCP_TSQ_DEFERRED`).
    pub room_deferred: bool,
    /// The IP identification of its next packet (`inet_id`).
    pub next_id: u16,
    /// How long a process without data busy-polls the NIC (`sk_ll_usec`).
    pub busy_poll: Duration,
    /// Its counters.
    pub counts: SocketCounts,
    /// Arrival times of the receive queue's data, while an observer wants waits.
    pub arrivals: Arrivals,
    /// Its state at the last mark, while an observer wants marks.
    pub vitals: Vitals,
}

/// Arrival times of unread data: bytes and instant, the oldest first. Unknown for data that arrived before the
/// connection was accepted.
#[derive(Debug, Default)]
pub struct Arrivals(VecDeque<(Option<Instant>, u32)>);

impl Arrivals {
    /// For a connection accepted with `bytes` to read.
    pub fn after(bytes: i64) -> Self {
        let bytes = u32::try_from(bytes).unwrap_or(0);
        Self(if bytes > 0 { [(None, bytes)].into() } else { VecDeque::new() })
    }

    /// Adds readable data.
    pub fn add(&mut self, now: Instant, bytes: u32) {
        match self.0.back_mut() {
            _ if bytes == 0 => {}
            Some((at, last)) if *at == Some(now) => *last = last.saturating_add(bytes),
            _ => self.0.push_back((Some(now), bytes)),
        }
    }

    /// The next part of a read, at most `bytes`: its length, and when it arrived.
    pub fn take(&mut self, bytes: u64) -> Option<(Option<Instant>, u32)> {
        let (at, waiting) = self.0.front_mut()?;
        let taken = u32::try_from(bytes).unwrap_or(u32::MAX).min(*waiting);
        let found = (*at, taken);
        *waiting -= taken;
        if *waiting == 0 {
            self.0.pop_front();
        }
        (taken > 0).then_some(found)
    }
}

/// The counters of a socket: `arrived == processed + backlog_dropped + waiting`, always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketCounts {
    /// Packets and merged packets that IP passed up.
    pub arrived: u64,
    /// Packets that TCP processed.
    pub processed: u64,
    /// Packets that went through the backlog.
    pub backlogged: u64,
    /// Packets dropped because the backlog was full (`TCPBacklogDrop`).
    pub backlog_dropped: u64,
    /// Packets that went through the prequeue.
    pub prequeued: u64,
    /// The maximum number of packets on the backlog and the prequeue.
    pub most_waiting: u64,
    /// Packets that the qdisc dropped.
    pub local_drops: u64,
    /// Packets of an established connection that matched header prediction (the fast path of `tcp_rcv_established`,
    /// `TCPHPHits` and `TCPHPAcks`).
    pub fast_path: u64,
    /// Packets that did not.
    pub slow_path: u64,
    /// How often a full receive buffer made it discard out-of-order data (`OfoPruned`).
    pub ofo_pruned: u64,
    /// How often it found that the peer had discarded SACKed data (`TCPSACKReneging`).
    pub sack_renegings: u64,
    /// Window reductions undone.
    pub undos: u64,
}

impl SocketCounts {
    /// The total for two sockets: sums and maxima.
    pub fn plus(self, other: Self) -> Self {
        Self {
            arrived: self.arrived + other.arrived,
            processed: self.processed + other.processed,
            backlogged: self.backlogged + other.backlogged,
            backlog_dropped: self.backlog_dropped + other.backlog_dropped,
            prequeued: self.prequeued + other.prequeued,
            most_waiting: self.most_waiting.max(other.most_waiting),
            local_drops: self.local_drops + other.local_drops,
            fast_path: self.fast_path + other.fast_path,
            slow_path: self.slow_path + other.slow_path,
            ofo_pruned: self.ofo_pruned + other.ofo_pruned,
            sack_renegings: self.sack_renegings + other.sack_renegings,
            undos: self.undos + other.undos,
        }
    }
}

impl Socket {
    /// Its counters so far.
    pub fn counts(&self) -> SocketCounts {
        let tcp = self.tcp.counters();
        let vitals = self.tcp.vitals();
        SocketCounts {
            fast_path: tcp.fast_path,
            slow_path: tcp.slow_path,
            ofo_pruned: tcp.ofo_pruned.into(),
            sack_renegings: vitals.renegings.into(),
            undos: vitals.undos.into(),
            ..self.counts
        }
    }

    /// Writes as much of `amount` as the send buffer accepts.
    pub fn write(&mut self, now: Instant, amount: u64) -> Result<u64, Errno> {
        let amount = u32::try_from(amount).unwrap_or(u32::MAX);
        self.tcp.write(now, amount, WriteFlags::default()).map(u64::from)
    }

    /// Reads up to `amount` bytes; 0 at the end of the stream.
    pub fn read(&mut self, now: Instant, amount: u64) -> Result<u64, Errno> {
        let amount = u32::try_from(amount).unwrap_or(u32::MAX);
        self.tcp.read(now, amount, ReadFlags::default()).map(u64::from)
    }

    /// Whether packets wait for the process that owns it.
    pub fn has_waiting(&self) -> bool {
        !self.backlog.is_empty() || !self.prequeue.is_empty()
    }

    /// The next packet of the backlog, for the process that owns the socket.
    pub fn next_of_backlog(&mut self) -> Option<(Instant, Packet)> {
        let packet = self.backlog.pop_front()?;
        if self.backlog.is_empty() {
            // The limit applies to a whole batch (`__release_sock`): only now is it reset for the next one.
            self.backlog_bytes = 0;
        }
        if !std::mem::replace(&mut self.in_backlog, true) {
            self.tcp.begin_backlog();
        }
        Some(packet)
    }

    /// The backlog is empty: does the deferred work (`tcp_release_cb`); returns whether there was any.
    pub fn end_of_waiting(&mut self, now: Instant) -> bool {
        let (worked, timer) =
            (std::mem::take(&mut self.in_backlog), std::mem::take(&mut self.timer_deferred));
        let room = std::mem::take(&mut self.room_deferred);
        if worked {
            self.tcp.end_backlog(now);
        }
        if room {
            self.tcp.handle_room(now);
        }
        if timer {
            self.tcp.handle_timeout(now);
        }
        let mtu = self.mtu_deferred.take();
        if let Some((mtu, seq)) = mtu {
            self.tcp.handle_icmp(now, Unreachable::TooBig(mtu), seq);
        }
        worked || room || timer || mtu.is_some()
    }

    /// Its state, including what waits before TCP.
    pub fn sample(&self, end: End, now: Instant) -> SocketSample {
        let waiting = |bytes: u64| Some(u32::try_from(bytes).unwrap_or(u32::MAX));
        let mut sample = self.tcp.sample(end, now);
        sample.backlog = waiting(self.backlog_bytes);
        sample.prequeue = waiting(self.prequeue_bytes);
        sample
    }

    /// The marks since the last query, in a fixed order.
    pub fn take_marks(&mut self) -> impl Iterator<Item = Mark> + use<> {
        let now = self.tcp.vitals();
        let before = std::mem::replace(&mut self.vitals, now);
        let size = |place: usize| Bytes::new(now.buffers[place].into());
        let resized = |place: usize| now.buffers[place] != before.buffers[place];
        let undone = match before.ca_state {
            CaState::Loss => Mark::SpuriousTimeout,
            _ => Mark::Undo,
        };
        [
            (now.timeouts != before.timeouts, Mark::Timeout),
            (now.undos != before.undos, undone),
            (now.zero_windows[1] != before.zero_windows[1], Mark::WindowOpened),
            (now.zero_windows[0] != before.zero_windows[0], Mark::ZeroWindow),
            (now.ca_state != before.ca_state, Mark::State(now.ca_state)),
            (resized(0), Mark::SendBuffer(size(0))),
            (resized(1), Mark::ReceiveBuffer(size(1))),
        ]
        .into_iter()
        .filter_map(|(took, mark)| took.then_some(mark))
    }

    /// `sock_owned_by_user`.
    pub fn is_locked(&self) -> bool {
        self.locked
    }

    /// Whether every packet that arrived is processed, dropped or waiting.
    pub fn is_conserved(&self) -> bool {
        let waiting = self.backlog.len() + self.prequeue.len();
        let counts = self.counts;
        counts.arrived == counts.processed + counts.backlog_dropped + waiting as u64
    }

    /// A packet is queued for the process.
    pub fn note_waiting(&mut self) {
        let waiting = self.backlog.len() + self.prequeue.len();
        self.counts.most_waiting = self.counts.most_waiting.max(waiting as u64);
    }
}
