//! How late the packets of one end are at the tap, by that end's own clock.
//!
//! An end stamps what it sends with its clock (TSval; RFC 7323, section 3). What the tap's clock advanced beyond that, from one
//! packet of it to another, is by how much longer the second was under way to the tap, or waited in the end's own queue. So
//! one capture tells the way of the data from the way of the ACKs, which an RTT does not.

use slowpath_model::Instant;

/// Microseconds in a tick, of Linux since 4.13 and most others. With another tick, lateness is unknown.
const TICK_US: u32 = 1000;

/// Two quartz clocks drift apart by less than a 5,000th of the time.
const DRIFT_PART: i64 = 5_000;

/// A time is known from timestamps if it is so many times what a tick and the clocks' drift may add.
const LEAST_ERRORS: i64 = 8;

/// The longest that a packet may be late, in microseconds: more shows another tick.
const MOST_LATE_US: i64 = 5_000_000;

/// When a packet with this TSval passed, in microseconds after its end sent it, from a zero that is not known.
#[inline]
pub const fn unplaced(tsval: u32, at: Instant) -> u32 {
    ((at.nanos() / 1000) as u32).wrapping_sub(tsval.wrapping_mul(TICK_US))
}

/// Whether `one` of two timestamps, or of two other values that wrap, is before the `other` (RFC 7323, section 5.2).
#[inline]
pub const fn is_before(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) < 0
}

/// The earlier of two.
#[inline]
pub const fn earlier(one: u32, other: u32) -> u32 {
    if is_before(one, other) { one } else { other }
}

/// How late packets were on average, from a zero that is not known.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    /// Of the first.
    first: u32,
    /// By how much the others were later, added up.
    later: i64,
    count: u32,
}

impl Mean {
    /// None.
    pub const NONE: Self = Self { first: 0, later: 0, count: 0 };

    /// Takes another packet.
    #[inline]
    pub const fn take(&mut self, late: u32) {
        if self.count == 0 {
            self.first = late;
        }
        self.later = self.later.saturating_add(late.wrapping_sub(self.first) as i32 as i64);
        self.count = self.count.saturating_add(1);
    }

    /// Takes all of `other`.
    pub fn absorb(&mut self, other: Self) {
        if self.count == 0 {
            *self = other;
        } else {
            let by = i64::from(other.first.wrapping_sub(self.first) as i32);
            self.later = self.later.saturating_add(other.later + by * i64::from(other.count));
            self.count = self.count.saturating_add(other.count);
        }
    }

    /// The mean, if there was any.
    pub fn get(self) -> Option<u32> {
        let more = self.later.checked_div(self.count.into())?;
        Some(self.first.wrapping_add(more as u32))
    }
}

/// What the packets of one end show.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lateness {
    first: Option<(u32, Instant)>,
    last: (u32, Instant),
    /// Of the packet that was under way for the shortest time.
    least: (u32, Instant),
    /// Of the first one, a SYN, when it was first repeated.
    repeated: Option<(u32, Instant)>,
}

impl Lateness {
    /// A packet of the end passed.
    #[inline]
    pub fn saw(&mut self, tsval: u32, at: Instant) {
        let late = unplaced(tsval, at);
        self.last = (late, at);
        if self.first.is_none() {
            self.first = Some(self.last);
            self.least = self.last;
        } else if earlier(late, self.least.0) != self.least.0 {
            self.least = self.last;
        }
    }

    /// The end's SYN is repeated.
    pub fn repeats(&mut self, tsval: u32, at: Instant) {
        self.repeated.get_or_insert((unplaced(tsval, at), at));
    }

    /// When the end's SYN was first repeated, if it had a timestamp.
    pub const fn repeated_at(&self) -> Option<Instant> {
        match self.repeated {
            Some((_, at)) => Some(at),
            None => None,
        }
    }

    /// Whether the first packet had this timestamp.
    pub fn is_of_first(&self, tsval: u32) -> bool {
        self.first.is_some_and(|(late, at)| late == unplaced(tsval, at))
    }

    /// How much longer the end's SYN was under way than its repetition, in microseconds, if what the end sent later shows that
    /// its clock has the tick that is assumed.
    pub fn syn_was_later(&self) -> Option<i64> {
        const LEAST_US: i64 = 10_000;
        let ((first, _), (again, since)) = (self.first?, self.repeated?);
        let (last, until) = self.last;
        let changed = i64::from(last.wrapping_sub(again) as i32).abs();
        let elapsed = until.nanos_since(since) / 1000;
        // With a tick of 2 ms or more, or of 0.5 ms or less, it would change by half of that or more.
        let is_tick = elapsed >= LEAST_US && changed * 5 <= elapsed * 2;
        is_tick.then(|| i64::from(first.wrapping_sub(again) as i32))
    }

    /// How many nanoseconds before `at` this timestamp passed, or would have passed as punctually as any. At most a tick more than
    /// is true: a clock shows the time in ticks. `None` if a tick or the clocks' drift would be a good part of it.
    pub fn passed(&self, tsval: u32, at: Instant) -> Option<i64> {
        let least = self.punctual()?;
        let micros = i64::from(unplaced(tsval, at).wrapping_sub(least.late) as i32);
        let error = least.drift(at).max(TICK_US.into());
        (micros >= error * LEAST_ERRORS).then_some(micros * 1000)
    }

    /// The packet that was least late, if the end's clock has the tick that is assumed.
    pub fn punctual(&self) -> Option<Punctual> {
        let (first, since) = self.first?;
        let (last, until) = self.last;
        let changed = i64::from(last.wrapping_sub(first) as i32).abs();
        let elapsed = until.nanos_since(since) / 1000;
        let is_tick = changed <= MOST_LATE_US && changed * 5 <= elapsed.max(1);
        is_tick.then_some(Punctual { late: self.least.0, at: self.least.1 })
    }
}

/// The packet of an end that was under way for the shortest time, which others are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Punctual {
    late: u32,
    at: Instant,
}

impl Punctual {
    /// By how much the clocks may have drifted apart since, in microseconds.
    fn drift(&self, at: Instant) -> i64 {
        at.nanos_since(self.at).abs() / 1000 / DRIFT_PART
    }

    /// At least and at most how much later than it a packet was, in microseconds.
    pub fn bounds(&self, late: u32, at: Instant) -> (u32, u32) {
        let by = i64::from(late.wrapping_sub(self.late) as i32);
        let error = self.drift(at) + i64::from(TICK_US);
        let bound = |by: i64| u32::try_from(by.max(0)).unwrap_or(u32::MAX);
        (bound(by - error), bound(by + error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// An end that ticks every `tick` milliseconds sends every 10 ms; packets take `takes` milliseconds at each time.
    fn seen(tick: i64, takes: impl Fn(i64) -> i64) -> Lateness {
        let mut lateness = Lateness::default();
        for sent in (0..3_000).step_by(10) {
            let tsval = (u32::MAX - 1000).wrapping_add((sent / tick) as u32);
            lateness.saw(tsval, at(sent + takes(sent)));
        }
        lateness
    }

    #[test]
    fn packet_is_as_late_as_its_queue_was_long() {
        let queue = |sent| if sent < 500 { 20 } else { 20 + (sent - 500) / 10 };
        let lateness = seen(1, queue);
        let punctual = lateness.punctual().expect("a tick of 1 ms");
        let late = unplaced((u32::MAX - 1000).wrapping_add(2_500), at(2_500 + queue(2_500)));
        let (least, most) = punctual.bounds(late, at(2_720));
        assert!((198_000..=200_000).contains(&least), "{least}");
        assert!((200_000..=202_000).contains(&most), "{most}");
    }

    #[test]
    fn timestamp_passed_a_tick_after_its_time_at_most() {
        let lateness = seen(1, |_| 0);
        let tsval = (u32::MAX - 1000).wrapping_add(2_990);
        assert_eq!(lateness.passed(tsval, at(3_030)), Some(40_000_000));
        assert_eq!(lateness.passed(tsval, at(2_994)), None, "a tick is a good part of that");
        assert_eq!(seen(4, |_| 0).passed(tsval, at(3_030)), None, "another tick");
    }

    #[test]
    fn clock_of_another_tick_tells_nothing() {
        assert!(seen(1, |_| 20).punctual().is_some());
        assert!(seen(4, |_| 20).punctual().is_none());
        assert!(seen(10, |_| 20).punctual().is_none());
        assert!(Lateness::default().punctual().is_none());
    }
}
