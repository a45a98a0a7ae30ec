//! The receive softirq: from the ring to the sockets, within a budget (net/core/dev.c, kernel/softirq.c).

use super::Host;
use super::cpu::later;
use super::gro::{Gro, Merge};
use super::handling::Handling;
use super::schedule::{TaskId, Waker};
use super::socket::SocketId;
use super::spinlock::Spins;
use crate::outside::Outside;
use crate::wire::Frame;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_kernels::{BacklogThrottle, PacketIntake};
use slowpath_model::{DropReason, Instant, Mark, Wait};
use slowpath_scenario::Cost;
use std::collections::VecDeque;

/// The softirqs of a CPU that takes its card's interrupts, or of all of these where one at a time runs them. Timers are
/// served there as well.
#[derive(Debug)]
pub struct Softirq {
    /// The CPU whose they are; of several, the one that runs them or ran them last.
    pub(super) cpu: usize,
    /// The task of that CPU which runs what is left to it.
    pub(super) ksoftirqd: TaskId,
    /// The device is to be polled, or the CPU's backlog worked off (`NET_RX_SOFTIRQ`).
    pub(super) receive: bool,
    /// Sockets whose timers have fired (`TIMER_SOFTIRQ`).
    pub(super) timers: VecDeque<SocketId>,
    /// Sockets for which there is room below again (`tsq_workfn`).
    pub(super) throttled: VecDeque<SocketId>,
    /// Left to `ksoftirqd`, or the next who lets softirqs run.
    pub(super) deferred: bool,
    run: Option<Run>,
    gro: Gro,
    /// Packets on their way up to IP.
    ready: VecDeque<Frame>,
    /// The packet that IP is through with, while other CPUs may have its socket.
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
    /// Packets and time left of this run of `net_rx_action`.
    budget: u32,
    receive_until: Instant,
    /// Packets left of this poll.
    weight: u32,
}

/// A CPU's queue between interrupt and softirq (`softnet_data.input_pkt_queue`).
#[derive(Debug, Default)]
struct CpuBacklog {
    /// Packets, and when each was put there.
    frames: VecDeque<(Instant, Frame)>,
    throttled: bool,
}

/// What happened in softirq context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SoftirqCounts {
    /// Packets that the driver passed on.
    pub received: u64,
    /// Of these, those the CPU's backlog had no room for, or that came while it was throttled.
    pub backlog_dropped: u64,
    /// How often the backlog was throttled.
    pub throttled: u64,
    /// Packets that were merged into another.
    pub merged: u64,
    /// Packets and merged packets that went up to IP.
    pub delivered: u64,
    /// Of the packets received, those that a reader took off the ring itself (`BusyPollRxPackets`).
    pub busy_polled: u64,
    /// Runs of `net_rx_action` that ended with their budget (`time_squeeze`).
    pub squeezed: u64,
    /// How often the work was left to `ksoftirqd`.
    pub deferred: u64,
}

impl SoftirqCounts {
    /// Of two CPUs together.
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
    /// Nothing to do yet for a CPU. Its `ksoftirqd` is yet to be made.
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

    /// How often it waited for a socket's lock.
    pub fn spins(&self) -> u64 {
        self.spins.count
    }

    /// The socket whose timer or turn to send is next, where no packet goes before.
    pub(super) fn next_socket(&self) -> Option<SocketId> {
        let next = self.timers.front().or_else(|| self.throttled.front());
        next.copied().filter(|_| self.ready.is_empty())
    }

    /// Whether it has a socket's lock.
    pub(super) fn has(&self, socket: SocketId) -> bool {
        self.handling.is_at(socket)
    }

    /// What happened.
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

    /// So many of them by a process.
    pub(super) fn count_polled(&mut self, packets: u32) {
        self.counts.busy_polled += u64::from(packets);
    }

    /// The next packet on its way up.
    pub(super) fn next_ready(&mut self) -> Option<Frame> {
        self.ready.pop_front()
    }

    /// What is held goes up at the end of a poll (`napi_gro_flush`).
    pub(super) fn end_poll(&mut self) {
        while let Some(frame) = self.gro.flush() {
            self.ready.push_back(frame);
        }
    }

    /// What is not to wait for the end of the poll goes up (`gro_normal_list`).
    pub(super) fn end_round(&mut self) {
        while let Some(frame) = self.gro.flush_pushed() {
            self.ready.push_back(frame);
        }
    }

    /// An interrupt has ended (`irq_exit`) or a process turned softirqs on (`local_bh_enable`): what is pending runs, though
    /// it was left to `ksoftirqd`, which may wait long for a CPU. (From 4.9 to 6.4 it was `ksoftirqd`'s alone.)
    pub(super) fn run_again(&mut self) {
        self.deferred = false;
    }

    fn is_pending(&self) -> bool {
        self.receive || !self.timers.is_empty() || self.has_throttled()
    }

    /// Whether a socket is to make use of room below.
    pub(super) fn has_throttled(&self) -> bool {
        !self.throttled.is_empty()
    }
}

impl Host {
    /// What a card's interrupt costs beside its entry and exit: a driver without NAPI takes the packets here.
    pub(super) fn card_work(&mut self, out: &mut Outside<'_>) -> Cost {
        match self.receive_path.intake {
            PacketIntake::Napi => Cost::ZERO,
            PacketIntake::CpuBacklog => {
                self.fill_ring(out.now, out);
                self.costs.driver_receive.times(self.ring.waiting() as u64)
            }
        }
    }

    /// The card's interrupt handler is through, on the CPU with these softirqs.
    pub(super) fn card_interrupted(&mut self, at: usize, out: &mut Outside<'_>) {
        self.ring.mask();
        // A process that has NAPI keeps it (`napi_schedule_prep`).
        self.softirqs[at].receive = !self.is_polled();
        match self.receive_path.intake {
            // The poll looks for itself.
            PacketIntake::Napi => self.watch_arrival(0, out),
            PacketIntake::CpuBacklog => {
                while let Some((came, frame)) = self.ring.take() {
                    out.observe(self.id, false, &frame);
                    let waited = [came, out.now];
                    out.waited(self.id, frame.connection, Wait::Ring, waited, frame.packet.len);
                    self.put_on_backlog(at, frame, out);
                }
                self.ring.unmask();
                self.watch_wires(out);
            }
        }
    }

    /// `netif_rx`.
    fn put_on_backlog(&mut self, at: usize, frame: Frame, out: &mut Outside<'_>) {
        let softirq = &mut self.softirqs[at];
        softirq.counts.received += 1;
        let backlog = &mut softirq.backlog;
        let full = backlog.frames.len() > self.receive_path.netdev_max_backlog as usize;
        if full && self.receive_path.throttle == BacklogThrottle::UntilEmpty && !backlog.throttled {
            backlog.throttled = true;
            softirq.counts.throttled += 1;
            out.marked(self.id, frame.connection, Mark::Throttled);
        }
        if full || backlog.throttled {
            softirq.counts.backlog_dropped += 1;
            out.dropped(self.id, false, &frame, DropReason::CpuBacklog);
        } else {
            backlog.frames.push_back((out.now, frame));
        }
    }

    /// The next piece of softirq work on this CPU; `None` when there is none, or `ksoftirqd` or another CPU has to do it.
    pub(super) fn softirq_step(&mut self, at: usize, out: &mut Outside<'_>) -> Option<Cost> {
        let softirq = &mut self.softirqs[at];
        match softirq.run {
            None if softirq.deferred || !softirq.is_pending() => return None,
            None => softirq.cpu = self.here,
            // One at a time (`softirq_trylock`, 2.2): whoever is at it sees to this as well.
            Some(_) if softirq.cpu != self.here => return None,
            Some(_) => {}
        }
        let mut handling = std::mem::take(&mut softirq.handling);
        let cost = self.softirq_piece(at, &mut handling, out);
        self.softirqs[at].handling = handling;
        cost
    }

    fn softirq_piece(&mut self, at: usize, handling: &mut Handling, out: &mut Outside<'_>) -> Option<Cost> {
        let Some(mut run) = self.softirqs[at].run else {
            let now = out.now;
            let (budget, weight) = (self.receive_path.netdev_budget, 0);
            let receive_until = now + self.receive_path.netdev_budget_time;
            self.softirqs[at].run = Some(Run { began: now, restarts: 0, budget, receive_until, weight });
            return Some(self.costs.softirq);
        };
        loop {
            if let Some(cost) = self.proceed(handling, Waker::Interrupt, out) {
                return Some(cost);
            }
            if self.shares_sockets()
                && let Some(cost) = self.lock_socket(at, handling, out)
            {
                return Some(cost);
            }
            let is_polled = self.is_polled();
            let softirq = &mut self.softirqs[at];
            // What a process has taken off the ring it brings up itself.
            if !is_polled && let Some(frame) = softirq.next_ready() {
                softirq.counts.delivered += 1;
                return Some(self.go_up(at, &frame, handling, out));
            }
            if let Some(socket) = softirq.timers.pop_front() {
                match self.fire(socket, handling, out) {
                    Cost::ZERO => continue,
                    cost => return Some(cost),
                }
            }
            if let Some(socket) = softirq.throttled.pop_front() {
                match self.make_use_of_room(socket, handling, out) {
                    Cost::ZERO => continue,
                    cost => return Some(cost),
                }
            }
            if !softirq.receive {
                softirq.run = None;
                return None;
            }
            if run.budget == 0 || out.now >= run.receive_until {
                softirq.counts.squeezed += 1;
                if self.may_restart(at, &run, out.now) {
                    run.restarts += 1;
                    run.budget = self.receive_path.netdev_budget;
                    run.receive_until = out.now + self.receive_path.netdev_budget_time;
                    self.softirqs[at].run = Some(run);
                    continue;
                }
                let softirq = &mut self.softirqs[at];
                softirq.run = None;
                softirq.deferred = true;
                softirq.counts.deferred += 1;
                let ksoftirqd = softirq.ksoftirqd;
                self.wake(ksoftirqd, Waker::Interrupt, out);
                return None;
            }
            let cost = self.poll(at, &mut run, out);
            self.softirqs[at].run = Some(run);
            if let Some(cost) = cost {
                return Some(cost);
            }
        }
    }

    /// Whether pending softirqs are run again at once (`__do_softirq`).
    fn may_restart(&self, at: usize, run: &Run, now: Instant) -> bool {
        let path = &self.receive_path;
        let in_time = path.softirq_time.is_none_or(|most| now.since(run.began).unwrap_or_default() < most);
        // With a limit of time came the rule that a task that waits goes first (since 3.9).
        let wanted = path.softirq_time.is_some() && self.cpus[self.softirqs[at].cpu].need_resched;
        run.restarts < path.softirq_restarts && in_time && !wanted
    }

    /// Takes packets until one is ready to go up, the poll is over, or nothing is left.
    fn poll(&mut self, at: usize, run: &mut Run, out: &mut Outside<'_>) -> Option<Cost> {
        let mut cost = Cost::ZERO;
        if run.weight == 0 {
            run.weight = self.receive_path.dev_weight.max(1);
            cost = self.costs.poll;
        }
        let most = run.weight.min(run.budget);
        let mut left = most;
        let (cost, is_empty) = self.take_until_ready(at, &mut left, cost, out);
        run.weight -= most - left;
        run.budget -= most - left;
        if is_empty {
            run.weight = 0;
            self.softirqs[at].end_poll();
            if self.softirqs[at].ready.is_empty() {
                self.complete(at, out);
            }
        } else if left == 0 {
            run.weight = 0;
            self.softirqs[at].end_poll();
        }
        (cost != Cost::ZERO).then_some(cost)
    }

    /// Takes packets, `left` of them at most, until one is ready to go up; says what all of it costs, and whether nothing
    /// is left.
    pub(super) fn take_until_ready(
        &mut self,
        at: usize,
        left: &mut u32,
        so_far: Cost,
        out: &mut Outside<'_>,
    ) -> (Cost, bool) {
        let mut cost = so_far;
        while *left > 0 && self.softirqs[at].ready.is_empty() {
            let Some(frame) = self.next_frame(at, cost, out) else { return (cost, true) };
            cost = cost.plus(self.costs.driver_receive_if(self.receive_path.intake));
            cost = cost.plus(self.offer(at, frame));
            *left -= 1;
        }
        (cost, false)
    }

    /// The next packet off the ring or the backlog, as of when the work so far is done.
    fn next_frame(&mut self, at: usize, so_far: Cost, out: &mut Outside<'_>) -> Option<Frame> {
        match self.receive_path.intake {
            PacketIntake::Napi => {
                let now = later(out.now, so_far.as_nanos());
                self.fill_ring(now, out);
                let (came, frame) = self.ring.take()?;
                self.softirqs[at].count_received();
                out.observe(self.id, false, &frame);
                out.waited(self.id, frame.connection, Wait::Ring, [came, now], frame.packet.len);
                Some(frame)
            }
            PacketIntake::CpuBacklog => {
                let (put, frame) = self.softirqs[at].backlog.frames.pop_front()?;
                let waited = [put, later(out.now, so_far.as_nanos())];
                out.waited(self.id, frame.connection, Wait::CpuBacklog, waited, frame.packet.len);
                Some(frame)
            }
        }
    }

    /// A packet off the ring is merged with one that is held, held, or ready to go up; what that costs.
    pub(super) fn offer(&mut self, at: usize, frame: Frame) -> Cost {
        let softirq = &mut self.softirqs[at];
        if !self.gro {
            softirq.ready.push_back(frame);
            return Cost::ZERO;
        }
        let offered = softirq.gro.offer(&frame);
        softirq.ready.extend(offered.flushed);
        match offered.merge {
            Merge::Merged => {
                softirq.counts.merged += 1;
                self.costs.merge
            }
            Merge::Held => Cost::ZERO,
            Merge::Normal => {
                softirq.ready.push_back(frame);
                Cost::ZERO
            }
        }
    }

    /// Nothing is left: interrupts again (`napi_complete_done`).
    pub(super) fn complete(&mut self, at: usize, out: &mut Outside<'_>) {
        self.softirqs[at].receive = false;
        self.softirqs[at].backlog.throttled = false;
        if self.receive_path.intake == PacketIntake::Napi {
            self.ring.unmask();
            self.watch_wires(out);
        }
    }

    /// A packet goes up to IP, and to its socket unless other CPUs may have that: then its lock is asked for first.
    fn go_up(&mut self, at: usize, frame: &Frame, handling: &mut Handling, out: &mut Outside<'_>) -> Cost {
        let ip = self.costs.ip_receive_of(&frame.packet);
        if self.shares_sockets() {
            self.softirqs[at].above_ip = Some(*frame);
            return ip;
        }
        ip.plus(self.receive_frame(frame, handling, out))
    }

    /// A packet goes up to its socket.
    pub(super) fn deliver(
        &mut self,
        at: usize,
        frame: &Frame,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Cost {
        self.softirqs[at].counts.delivered += 1;
        self.costs.ip_receive_of(&frame.packet).plus(self.receive_frame(frame, handling, out))
    }
}
