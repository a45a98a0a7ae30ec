//! The receive softirq: from the ring to the sockets, within a budget (net/core/dev.c, kernel/softirq.c).

mod intake;
mod step;

use super::gro::Gro;
use super::handling::Handling;
use super::schedule::TaskId;
use super::socket::SocketId;
use crate::wire::Frame;
use slowpath_model::Instant;
use std::collections::VecDeque;

/// The softirqs of a CPU that takes its NIC's interrupts, or of all such CPUs if they run one at a time. Timers run
/// here as well.
#[derive(Debug)]
pub struct Softirq {
    /// The CPU that owns them; of several, the one that runs them or ran them last.
    pub(super) cpu: usize,
    /// That CPU's task for deferred softirqs.
    pub(super) ksoftirqd: TaskId,
    /// The device must be polled, or the CPU's backlog processed (`NET_RX_SOFTIRQ`).
    pub(super) receive: bool,
    /// Sockets whose timers have fired (`TIMER_SOFTIRQ`).
    pub(super) timers: VecDeque<SocketId>,
    /// Sockets for which there is room in the qdisc again (`tsq_workfn`).
    pub(super) throttled: VecDeque<SocketId>,
    /// Left to `ksoftirqd`, or to the next context that enables softirqs.
    pub(super) deferred: bool,
    run: Option<Run>,
    gro: Gro,
    /// Packets to pass up to IP.
    ready: VecDeque<Frame>,
    /// The packet that IP has processed, while other CPUs may own its socket.
    pub(super) above_ip: Option<Frame>,
    pub(super) spins: Spins,
    backlog: CpuBacklog,
    handling: Handling,
    counts: SoftirqCounts,
}

/// One run of `do_softirq`.
#[derive(Clone, Copy, Debug)]
struct Run {
    began: Instant,
    restarts: u32,
    /// Remaining packets and time of this run of `net_rx_action`.
    budget: u32,
    receive_until: Instant,
    /// Remaining packets of this poll.
    weight: u32,
}

/// A CPU's queue between interrupt and softirq (`softnet_data.input_pkt_queue`).
#[derive(Debug, Default)]
struct CpuBacklog {
    /// Packets, with the time of queueing.
    frames: VecDeque<(Instant, Frame)>,
    throttled: bool,
}

/// A CPU's waits for sockets' locks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spins {
    /// It spins now.
    pub(super) now: bool,
    /// How often it began to spin.
    pub(super) count: u64,
}

/// The counters of softirqs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoftirqCounts {
    /// Packets received by the driver.
    pub received: u64,
    /// Packets dropped because the CPU's backlog was full or throttled.
    pub backlog_dropped: u64,
    /// How often the backlog was throttled.
    pub throttled: u64,
    /// Packets merged into another.
    pub merged: u64,
    /// Packets and merged packets passed up to IP.
    pub delivered: u64,
    /// Packets that a reader took off the ring itself (`BusyPollRxPackets`).
    pub busy_polled: u64,
    /// Runs of `net_rx_action` that used up their budget (`time_squeeze`).
    pub squeezed: u64,
    /// How often the work was left to `ksoftirqd`.
    pub deferred: u64,
}

impl SoftirqCounts {
    /// The sum for two CPUs.
    pub fn plus(self, other: Self) -> Self {
        Self {
            received: self.received + other.received,
            backlog_dropped: self.backlog_dropped + other.backlog_dropped,
            throttled: self.throttled + other.throttled,
            merged: self.merged + other.merged,
            delivered: self.delivered + other.delivered,
            busy_polled: self.busy_polled + other.busy_polled,
            squeezed: self.squeezed + other.squeezed,
            deferred: self.deferred + other.deferred,
        }
    }
}

impl Softirq {
    /// An idle set for a CPU, without its `ksoftirqd` yet.
    pub(super) fn new(cpu: usize) -> Self {
        Self {
            cpu,
            ksoftirqd: TaskId(0),
            receive: false,
            timers: VecDeque::new(),
            throttled: VecDeque::new(),
            deferred: false,
            run: None,
            gro: Gro::default(),
            ready: VecDeque::new(),
            above_ip: None,
            spins: Spins::default(),
            backlog: CpuBacklog::default(),
            handling: Handling::default(),
            counts: SoftirqCounts::default(),
        }
    }

    /// The number of waits for a socket's lock.
    pub fn spins(&self) -> u64 {
        self.spins.count
    }

    /// The socket whose timer or transmission is next, if no packet comes before.
    pub(super) fn next_socket(&self) -> Option<SocketId> {
        let next = self.timers.front().or_else(|| self.throttled.front());
        next.copied().filter(|_| self.ready.is_empty())
    }

    /// Whether it holds a socket's lock.
    pub(super) fn has(&self, socket: SocketId) -> bool {
        self.handling.is_at(socket)
    }

    /// The counters.
    pub fn counts(&self) -> SoftirqCounts {
        self.counts
    }

    /// Whether every packet received is dropped, merged, delivered or held.
    pub fn is_conserved(&self) -> bool {
        let held = self.gro.held() + self.ready.len() + self.backlog.frames.len();
        let counts = self.counts;
        counts.received == counts.backlog_dropped + counts.merged + counts.delivered + held as u64
    }

    /// A packet was taken off the ring.
    pub(super) const fn count_received(&mut self) {
        self.counts.received += 1;
    }

    /// `packets` packets were taken off the ring by a process.
    pub(super) fn count_polled(&mut self, packets: u32) {
        self.counts.busy_polled += u64::from(packets);
    }

    /// The next packet to pass up.
    pub(super) fn next_ready(&mut self) -> Option<Frame> {
        self.ready.pop_front()
    }

    /// Flushes held packets at the end of a poll (`napi_gro_flush`).
    pub(super) fn end_poll(&mut self) {
        while let Some(frame) = self.gro.flush() {
            self.ready.push_back(frame);
        }
    }

    /// Flushes packets that do not wait for the end of the poll (`gro_normal_list`).
    pub(super) fn end_round(&mut self) {
        while let Some(frame) = self.gro.flush_pushed() {
            self.ready.push_back(frame);
        }
    }

    /// An interrupt has ended (`irq_exit`) or a process enabled softirqs (`local_bh_enable`): pending softirqs run,
    /// even if left to `ksoftirqd`, which may wait long for a CPU. (From 4.9 to 6.4 only `ksoftirqd` ran them then.)
    pub(super) fn run_again(&mut self) {
        self.deferred = false;
    }

    fn is_pending(&self) -> bool {
        self.receive || !self.timers.is_empty() || self.has_throttled()
    }

    /// Whether a throttled socket is to send.
    pub(super) fn has_throttled(&self) -> bool {
        !self.throttled.is_empty()
    }
}
