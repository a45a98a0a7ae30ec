//! Busy polling: a process that reads an empty socket takes packets off the NIC itself before it sleeps
//! (`SO_BUSY_POLL`: `sk_busy_loop` from `tcp_recvmsg`; `napi_busy_loop` and `busy_poll_stop` of net/core/dev.c, 6.18).
//!
//! Meanwhile it owns the NIC's NAPI. The NIC does not know: it still raises its interrupt for waiting packets, the
//! handler finds NAPI taken (`NAPI_STATE_MISSED`), and the interrupt stays masked until the process releases NAPI. It
//! does so, after one more round, when there is data, when its time is over, or to yield to another task; packets left
//! on the ring are then processed by the softirq.

mod rounds;

use super::schedule::TaskId;
use slowpath_model::Instant;
use slowpath_scenario::Cost;
use std::time::Duration;

/// The maximum packets per round (`BUSY_POLL_BUDGET`).
const BUDGET: u32 = 8;
/// The minimum time of an empty round (`cpu_relax`, and reading the clock).
const LEAST_SPIN: Cost = Cost::nanos(100);

/// A process that owns the NIC's NAPI (`NAPI_STATE_SCHED`, `NAPI_STATE_IN_BUSY_POLL`).
#[derive(Clone, Copy, Debug)]
pub struct Poller {
    task: TaskId,
    /// The softirqs of its CPU, where the packets it has taken wait.
    at: usize,
    /// The remaining budget of the round; 0 when it is over.
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
    /// It was, and used its budget: the softirq takes the rest (`__napi_schedule`).
    Spent,
}

/// When a process that begins to poll now stops: the kernel counts units of 1024 ns, and stops after the last of them
/// (`busy_loop_current_time`, `sk_busy_loop_timeout`).
pub(super) fn end_of(now: Instant, lasts: Duration) -> Instant {
    const UNIT_BITS: u32 = 10;
    let units = i64::try_from(lasts.as_micros()).unwrap_or(i64::MAX);
    let end = (now.nanos() >> UNIT_BITS).saturating_add(units).saturating_add(1);
    Instant::from_nanos(end.saturating_mul(1 << UNIT_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 50 of the kernel's microseconds are 51.2 real ones, and the current unit does not count.
    #[test]
    fn busy_poll_time_is_in_units_of_1024_ns() {
        let at = Instant::from_nanos;
        assert_eq!(end_of(at(0), Duration::from_micros(50)), at(51 * 1024));
        assert_eq!(end_of(at(1023), Duration::from_micros(50)), at(51 * 1024));
        assert_eq!(end_of(at(1024), Duration::from_micros(50)), at(52 * 1024));
        assert_eq!(end_of(at(5), Duration::MAX), at(i64::MAX), "and never wraps");
    }
}
