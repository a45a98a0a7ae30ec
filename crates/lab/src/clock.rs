//! The clocks and the scheduling class of the lab's threads.

use std::time::Duration;

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to fill; these clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Nanoseconds of `CLOCK_REALTIME`, the clock of packet timestamps in captures.
pub fn realtime_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// Nanoseconds of `CLOCK_MONOTONIC`, which no administrator sets back.
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of CPU time of the calling thread.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Sleeps until an instant of [`monotonic_ns`]; at once if it has passed.
pub fn sleep_until_monotonic(at_ns: u64) {
    std::thread::sleep(Duration::from_nanos(at_ns.saturating_sub(monotonic_ns())));
}

/// Gives the calling thread priority over all ordinary ones, so that a busy machine does not delay it, and asks for
/// timers that are not rounded. Without the privilege the thread stays ordinary; the truth contains its lateness either
/// way.
pub fn make_thread_punctual(priority: i32) {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: both calls concern the calling thread only and take plain values.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter);
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0, 0, 0);
    }
}

/// Kernel ticks per second (`CONFIG_HZ`).
pub fn ticks_per_second() -> u32 {
    let tick_ns = slowpath_live::tick_ns();
    // Half a nanosecond of error in a tick of 1/300 s must not make it 299.
    (1_000_000_000 + tick_ns / 2).checked_div(tick_ns).unwrap_or_default()
}

/// Waits for the middle between the kernel's next tick and the one after it, and returns that instant of
/// [`monotonic_ns`]. Work that starts there and keeps to whole milliseconds stays away from the edges of ticks, where
/// the kernel's timers would fire a tick earlier or later by chance.
///
/// The coarse clock moves with a tick, but to the time when the tick was due: on a virtual machine that can be
/// milliseconds ago. While a CPU is idle, it moves by several ticks at once.
pub fn start_between_ticks() -> u64 {
    let coarse = || read(libc::CLOCK_MONOTONIC_COARSE);
    let before = coarse();
    while coarse() == before {
        std::hint::spin_loop();
    }
    let middle = monotonic_ns() + u64::from(slowpath_live::tick_ns()) / 2;
    while monotonic_ns() < middle {
        std::hint::spin_loop();
    }
    monotonic_ns()
}
