//! A kernel's ticks and timers.

use slowpath_model::Instant;
use std::time::Duration;

/// A kernel's tick rate (`CONFIG_HZ`), and the resolution of its timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Ticks per second.
    pub hz: u32,
    /// How timers many ticks ahead are kept.
    pub wheel: TimerWheel,
}

/// The resolution of timers far ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerWheel {
    /// Cascading: every timer fires on the requested tick (before 4.8).
    Exact,
    /// Levels of 64 buckets, each eight times as coarse as the one below, never cascaded: a timer fires on the next
    /// bucket edge at or after the requested tick (`calc_wheel_index`, kernel/time/timer.c, since 4.8).
    Levels,
}

/// Ticks of a kernel since the recording's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Jiffies(pub i64);

const NANOS: i64 = 1_000_000_000;
/// Buckets of a level (`LVL_SIZE`).
const LEVEL_SIZE: i64 = 64;
/// Each level is coarser by this shift (`LVL_CLK_SHIFT`).
const LEVEL_SHIFT: u32 = 3;
/// Levels at 1000 ticks a second (`LVL_DEPTH`).
const LEVELS: u32 = 9;

impl Clock {
    /// Nanoseconds per tick.
    #[inline]
    pub const fn tick_nanos(self) -> i64 {
        // `NANOS` fits: a narrow division.
        (NANOS as u32 / self.hz) as i64
    }

    /// Whole ticks in `nanos`, rounded down. A `match` on the known tick rates turns the division into a
    /// multiplication: ticks are computed several times per packet.
    #[inline]
    const fn whole_ticks(self, nanos: i64) -> i64 {
        match self.hz {
            1000 => nanos.div_euclid(NANOS / 1000),
            250 => nanos.div_euclid(NANOS / 250),
            100 => nanos.div_euclid(NANOS / 100),
            _ => nanos.div_euclid(self.tick_nanos()),
        }
    }

    /// The tick that began last.
    pub const fn jiffies(self, now: Instant) -> Jiffies {
        Jiffies(self.whole_ticks(now.nanos()))
    }

    /// When a tick begins.
    pub const fn instant(self, tick: Jiffies) -> Instant {
        Instant::from_nanos(tick.0.saturating_mul(self.tick_nanos()))
    }

    /// A span in whole ticks, rounded up (`usecs_to_jiffies`).
    pub fn ticks(self, span: Duration) -> i64 {
        // Not `as_nanos`, which is 128-bit: this runs several times per packet.
        let seconds = i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
        let nanos = seconds.saturating_mul(NANOS).saturating_add(i64::from(span.subsec_nanos()));
        let whole = self.whole_ticks(nanos);
        whole + i64::from(whole * self.tick_nanos() != nanos)
    }

    /// When a timer fires that is set now to expire `ticks` after the current tick (`mod_timer(jiffies + ticks)`).
    pub fn fires(self, now: Instant, ticks: i64) -> Instant {
        let current = self.jiffies(now).0;
        let expires = current.saturating_add(ticks.max(0));
        let edge = match self.wheel {
            TimerWheel::Exact => expires.max(current + 1),
            TimerWheel::Levels => levels_edge(current, expires),
        };
        self.instant(Jiffies(edge))
    }
}

/// The tick on which a timer's bucket of the wheel expires (`calc_wheel_index` and `calc_index`).
fn levels_edge(current: i64, expires: i64) -> i64 {
    let delta = expires - current;
    let mut level = 0;
    // LVL_START(n) = (LVL_SIZE - 1) << ((n - 1) * LVL_CLK_SHIFT) is the first delta that level n serves.
    while level + 1 < LEVELS && delta >= (LEVEL_SIZE - 1) << (level * LEVEL_SHIFT) {
        level += 1;
    }
    let shift = level * LEVEL_SHIFT;
    // The next bucket: a timer never fires early.
    ((expires + (1 << shift)) >> shift) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: Clock = Clock { hz: 1000, wheel: TimerWheel::Levels };

    fn millis(millis: i64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn timer_wheel_is_exact_nearby_and_within_an_eighth_far_ahead() {
        assert_eq!(CLOCK.fires(millis(1000), 40), millis(1041));
        assert_eq!(CLOCK.fires(millis(1000), 200), millis(1208));
        assert_eq!(CLOCK.fires(millis(1001), 200), millis(1208));
        for ticks in [1, 5, 62, 63, 64, 200, 503, 504, 3000, 60_000] {
            let late = CLOCK.fires(millis(1001), ticks).nanos() / 1_000_000 - 1001 - ticks;
            assert!(late >= 0 && late <= (ticks / 7).max(1), "{ticks} ticks: {late} late");
        }
    }

    #[test]
    fn cascading_timers_fire_on_the_requested_tick() {
        let clock = Clock { hz: 100, wheel: TimerWheel::Exact };
        assert_eq!(clock.fires(millis(1005), 20), millis(1200));
    }
}
