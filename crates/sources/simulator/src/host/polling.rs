//! Busy polling: a process that reads an empty socket takes packets off the card itself before it sleeps (`SO_BUSY_POLL`:
//! `sk_busy_loop` from `tcp_recvmsg`; `napi_busy_loop` and `busy_poll_stop` of net/core/dev.c, 6.18).
//!
//! While it does, the card's NAPI is its own. Nobody tells the card: it raises its interrupt for what waits as long as that
//! takes, the handler finds NAPI taken (`NAPI_STATE_MISSED`), and the interrupt stays masked until the process lets go. It
//! lets go, after one more round, when there is data, when its time is over, or to give way to another task; what is left
//! on the ring then is the softirq's.

use super::Host;
use super::handling::Handling;
use super::schedule::TaskId;
use super::socket::SocketId;
use super::task::Mode;
use crate::outside::Outside;
use slowpath_kernels::PacketIntake;
use slowpath_model::Instant;
use slowpath_scenario::Cost;
use slowpath_tcp::State;
use std::time::Duration;

/// Most packets of a round (`BUSY_POLL_BUDGET`).
const BUDGET: u32 = 8;
/// The least that a round takes in which nothing came (`cpu_relax`, and a look at the clock).
const LEAST_SPIN: Cost = Cost::nanos(100);

/// A process has the card's NAPI (`NAPI_STATE_SCHED`, `NAPI_STATE_IN_BUSY_POLL`).
#[derive(Clone, Copy, Debug)]
pub struct Poller {
    task: TaskId,
    /// The softirqs of its CPU, with which what it has taken waits.
    at: usize,
    /// How many packets more the round may take; 0 when it is over.
    left: u32,
    stops: Stop,
}

/// Whether a round is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// It is not.
    No,
    /// It is (`busy_poll_stop`).
    Begun,
    /// It was, and took all there was: interrupts again (`napi_complete_done`).
    Complete,
    /// It was, and took all it may: the rest is for the softirq (`__napi_schedule`).
    Spent,
}

/// When a process that begins to poll now stops: the kernel counts units of 1024 ns, and stops after the last of them
/// (`busy_loop_current_time`, `sk_busy_loop_timeout`).
fn end_of(now: Instant, lasts: Duration) -> Instant {
    const UNIT_BITS: u32 = 10;
    let units = i64::try_from(lasts.as_micros()).unwrap_or(i64::MAX);
    let end = (now.nanos() >> UNIT_BITS).saturating_add(units).saturating_add(1);
    Instant::from_nanos(end.saturating_mul(1 << UNIT_BITS))
}

impl Host {
    /// For how long a socket's reader polls (`sk_ll_usec`), if it can: the card must have a NAPI, and on a host on which
    /// nothing takes time nobody waits for anything.
    pub(super) fn busy_poll_of(&self, asked: Option<Duration>) -> Duration {
        let path = &self.receive_path;
        let can = path.busy_poll && path.intake == PacketIntake::Napi && !self.is_free;
        if can { asked.unwrap_or(path.busy_read) } else { Duration::ZERO }
    }

    /// Whether a process's socket asks for polling.
    pub(super) fn asks_for_polling(&self, socket: Option<SocketId>) -> bool {
        socket.and_then(|id| self.sockets.get(id)).is_some_and(|socket| !socket.busy_poll.is_zero())
    }

    /// Until when a process that enters `read` now polls, if its socket asks for that. There must be nothing to read.
    pub(super) fn polls_until(&self, socket: SocketId, now: Instant) -> Option<Instant> {
        let lasts = self.sockets.get(socket)?.busy_poll;
        let polls = !lasts.is_zero() && !self.has_something(socket);
        polls.then(|| end_of(now, lasts))
    }

    /// Whether a reader need not wait: there is data, or there will be none (`sk_receive_queue`, in which a FIN is too).
    fn has_something(&self, socket: SocketId) -> bool {
        self.sockets.get(socket).is_none_or(|socket| {
            let queue = socket.tcp.receive_queue();
            socket.tcp.state() != State::Established || queue.end.distance_from(queue.start) > 0
        })
    }

    /// Whether a process has the card's NAPI.
    pub(super) fn is_polled(&self) -> bool {
        self.poller.is_some()
    }

    /// The next piece of polling; `None` when it is over and NAPI let go.
    pub(super) fn poll_busily(
        &mut self,
        task: TaskId,
        socket: SocketId,
        until: Instant,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<Cost> {
        self.tasks[task.index()].mode = Mode::Pinned;
        let mut gave_way = false;
        if let Some(own) = self.poller.filter(|own| own.task == task) {
            if let Some(frame) = self.softirqs[own.at].next_ready() {
                return Some(self.deliver(own.at, &frame, handling, out));
            }
            if own.left > 0 {
                return Some(self.continue_round(own, Cost::ZERO, out));
            }
            if own.stops != Stop::No {
                self.let_go(own, out);
                gave_way = true;
            }
        }
        let is_over = self.has_something(socket) || out.now >= until;
        let wanted = self.cpus[self.tasks[task.index()].cpu].need_resched;
        match self.poller.filter(|own| own.task == task) {
            Some(own) if is_over || wanted => {
                let last = Poller { left: BUDGET, stops: Stop::Begun, ..own };
                Some(self.continue_round(last, self.costs.poll, out))
            }
            Some(own) => Some(self.continue_round(Poller { left: BUDGET, ..own }, self.costs.poll, out)),
            None if is_over => None,
            None if wanted || gave_way => {
                self.tasks[task.index()].mode = Mode::KernelOffers;
                Some(self.spin())
            }
            // The softirq has it, or another process.
            None if self.softirqs.iter().any(|one| one.receive) || self.is_polled() => Some(self.spin()),
            None => {
                let at = self.softirqs_here();
                let own = Poller { task, at, left: BUDGET, stops: Stop::No };
                Some(self.continue_round(own, self.costs.poll, out))
            }
        }
    }

    /// What looking once and finding nothing costs.
    fn spin(&self) -> Cost {
        if self.costs.poll.as_picos() > LEAST_SPIN.as_picos() { self.costs.poll } else { LEAST_SPIN }
    }

    /// Takes packets until one is ready to go up, the round has had all it may, or nothing is left. What is held for more of
    /// its flow stays so from round to round: `napi_complete_done` does nothing while a process polls.
    fn continue_round(&mut self, mut own: Poller, so_far: Cost, out: &mut Outside<'_>) -> Cost {
        let before = own.left;
        let (cost, is_empty) = self.take_until_ready(own.at, &mut own.left, Cost::ZERO, out);
        // What comes while it looks is for the next look, and for the card to interrupt for.
        let cost = cost.plus(so_far);
        let took = before - own.left;
        self.softirqs[own.at].count_polled(took);
        if is_empty {
            own.left = 0;
            if own.stops == Stop::Begun {
                own.stops = Stop::Complete;
                self.softirqs[own.at].end_poll();
            }
        } else if own.left == 0 && own.stops == Stop::Begun {
            own.stops = Stop::Spent;
        }
        if own.left == 0 {
            self.softirqs[own.at].end_round();
        }
        self.poller = Some(own);
        if took > 0 && !self.ring.is_masked() {
            // When the card would have interrupted for these is no longer of interest.
            self.watch_wires(out);
        }
        if took == 0 && own.stops == Stop::No { self.spin() } else { cost }
    }

    /// The card's NAPI is nobody's again, or the softirq's.
    fn let_go(&mut self, own: Poller, out: &mut Outside<'_>) {
        self.poller = None;
        if own.stops == Stop::Spent {
            self.softirqs[own.at].receive = true;
            self.kicked |= 1 << self.softirqs[own.at].cpu;
        } else {
            self.complete(own.at, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 50 of the kernel's microseconds are 51.2 of the world's, and the one that has begun counts for nothing.
    #[test]
    fn time_is_counted_in_units_of_1024_ns() {
        let at = Instant::from_nanos;
        assert_eq!(end_of(at(0), Duration::from_micros(50)), at(51 * 1024));
        assert_eq!(end_of(at(1023), Duration::from_micros(50)), at(51 * 1024));
        assert_eq!(end_of(at(1024), Duration::from_micros(50)), at(52 * 1024));
        assert_eq!(end_of(at(5), Duration::MAX), at(i64::MAX), "and never wraps");
    }
}
