//! The clock of one end of a flow, as its segments show it.

use super::{MS, SMALLEST};
use crate::lateness::is_before;
use crate::rtt::TimestampClock;
use slowpath_model::FlowId;

/// The clocks of both ends of a flow.
#[derive(Debug)]
pub struct FlowClocks {
    pub flow: FlowId,
    pub ends: [SenderClock; 2],
}

impl FlowClocks {
    pub fn new(flow: FlowId) -> Self {
        Self { flow, ends: Default::default() }
    }

    /// The time of its last segment.
    pub fn last_at(&self) -> i64 {
        let last = |clock: &SenderClock| clock.last.map_or(i64::MIN, |last| last.at);
        last(&self.ends[0]).max(last(&self.ends[1]))
    }
}

/// One reading.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Time by the capture's clock, without the earlier steps, in nanoseconds.
    pub at: i64,
    /// Number of events before it.
    pub place: u64,
    /// TSval.
    pub val: Option<u32>,
    /// TSecr: the other end's clock when it sent the segment that this end received last.
    pub ecr: Option<u32>,
    /// The segment's last byte plus the byte that it acknowledges. Never decreases in a connection that continues
    /// without loss.
    pub reach: i64,
}

/// The clock of one end.
#[derive(Debug)]
pub struct SenderClock {
    /// An early timestamp, and when it passed.
    first: Option<(u32, i64)>,
    /// A timestamp that later ones are counted from, and when it would have passed.
    zero: Option<(u32, i64)>,
    /// Nanoseconds per tick; 0 until known.
    tick: u32,
    /// The newest reading.
    last: Option<Sample>,
    /// This period, and the one before.
    lately: [Lately; 2],
    /// When this period began.
    since: i64,
}

/// Statistics of recent segments, over one of two periods.
#[derive(Clone, Copy, Debug)]
pub struct Lately {
    /// The smallest lateness.
    pub least_late: i64,
    /// The largest difference in lateness between two successive segments.
    pub jitter: i64,
}

impl Lately {
    /// Anything older than twice this no longer counts.
    const SPAN: i64 = 250 * MS;

    const NOTHING: Self = Self { least_late: i64::MAX, jitter: 0 };

    fn take(&mut self, late: i64, jump: i64) {
        self.least_late = self.least_late.min(late);
        self.jitter = self.jitter.max(jump.saturating_abs());
    }
}

/// The smallest and the largest of some times, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    pub least: i64,
    pub most: i64,
}

impl Range {
    /// The range of no times.
    pub const EMPTY: Self = Self { least: i64::MAX, most: i64::MIN };

    pub fn take(&mut self, time: i64) {
        (self.least, self.most) = (self.least.min(time), self.most.max(time));
    }

    /// How far apart they are.
    pub const fn width(&self) -> i64 {
        self.most.saturating_sub(self.least)
    }
}

impl Default for SenderClock {
    fn default() -> Self {
        Self { first: None, zero: None, tick: 0, last: None, lately: [Lately::NOTHING; 2], since: i64::MIN }
    }
}

impl SenderClock {
    /// Its last reading.
    pub fn last(&self) -> Option<&Sample> {
        self.last.as_ref()
    }

    /// The length of a tick in nanoseconds, if known.
    pub fn tick(&self) -> Option<i64> {
        (self.tick != 0).then_some(i64::from(self.tick))
    }

    /// How much less this clock advanced since its last reading than the capture's, in nanoseconds; `None` if unknown,
    /// or if the segment was sent before the last one read.
    pub fn jump(&self, sample: &Sample) -> Option<i64> {
        let last = self.last.as_ref()?;
        let ahead = sample.val?.wrapping_sub(last.val?) as i32;
        let tick = self.tick().filter(|_| ahead >= 0)?;
        Some(sample.at.saturating_sub(last.at).saturating_sub(i64::from(ahead) * tick))
    }

    /// The uncertainty of the rate, as a fraction of 1.
    pub fn uncertainty(&self) -> f64 {
        // Quartz clocks are right to 0.2 ‰, and emulated clocks nearly so.
        const QUARTZ: f64 = 0.002;
        // The deviation that `TimestampClock::rate` accepts for a known rate; the rest is delay that grew.
        const MOST: f64 = 0.2;
        let off = self.first.zip(self.last).and_then(|((val, at), last)| {
            let ticks = f64::from(last.val?.wrapping_sub(val));
            let counted = ticks * f64::from(self.tick);
            (counted > 0.0).then(|| (last.at.saturating_sub(at) as f64 / counted - 1.0).abs())
        });
        off.unwrap_or(MOST).min(MOST) + QUARTZ
    }

    /// The apparent step of the capture's clock since the last reading, given this `gap`.
    pub fn disagrees(&self, sample: &Sample, gap: i64) -> Option<i64> {
        let jump = match self.tick() {
            Some(_) => self.jump(sample)?,
            // Without timestamps, a segment whose time went back was certainly not later.
            None => (sample.at < self.last?.at).then_some(gap)?,
        };
        let is_possible = jump < 0 || gap >= jump - jump / 8;
        (jump.saturating_abs() >= SMALLEST && is_possible).then_some(jump)
    }

    /// How late a segment was, relative to an unknown constant; `None` if the rate is unknown.
    pub fn lateness(&self, sample: &Sample) -> Option<i64> {
        let (val, at) = self.zero?;
        let ticks = sample.val?.wrapping_sub(val) as i32;
        Some(sample.at.saturating_sub(at).saturating_sub(i64::from(ticks) * self.tick()?))
    }

    /// Statistics of its recent segments; `None` if the rate was unknown.
    pub fn lately(&self) -> Option<Lately> {
        let [now, before] = self.lately;
        let least_late = now.least_late.min(before.least_late);
        (least_late != i64::MAX).then_some(Lately { least_late, jitter: now.jitter.max(before.jitter) })
    }

    /// Takes a reading.
    #[inline]
    pub fn note(&mut self, sample: &Sample) {
        let is_older = |last: &Sample| match (last.val, sample.val) {
            (Some(last), Some(val)) => is_before(val, last),
            _ => false,
        };
        if self.last.as_ref().is_some_and(is_older) {
            return;
        }
        if let Some(val) = sample.val {
            self.read(val, sample.at);
        }
        if let Some(late) = self.lateness(sample) {
            if sample.at.saturating_sub(self.since) > Lately::SPAN {
                (self.lately, self.since) = ([Lately::NOTHING, self.lately[0]], sample.at);
            }
            self.lately[0].take(late, self.jump(sample).unwrap_or(0));
        }
        let reach = self.last.map_or(i64::MIN, |last| last.reach);
        self.last = Some(Sample { reach: sample.reach.max(reach), ..*sample });
    }

    fn read(&mut self, val: u32, at: i64) {
        const LONG_ENOUGH: i64 = 200 * MS;
        // Half of the range that can be counted from it.
        const FAR: u32 = 1 << 30;
        self.first.get_or_insert((val, at));
        let (zero, since) = self.zero.get_or_insert((val, at));
        let ticks = val.wrapping_sub(*zero);
        if self.tick == 0 {
            let elapsed = at.saturating_sub(*since);
            if elapsed > LONG_ENOUGH {
                self.tick = TimestampClock::rate(ticks, elapsed);
            }
        } else if ticks > FAR {
            *since = since.saturating_add(i64::from(ticks) * i64::from(self.tick));
            *zero = val;
            self.first = Some((val, at));
        }
    }

    /// Continues from `last`, the last reading during a suspicion, after the capture's clock was set `by` nanoseconds.
    pub fn resume(&mut self, last: &Sample, by: i64) {
        (self.lately, self.last) = ([Lately::NOTHING; 2], None);
        self.note(&Sample { at: last.at.saturating_sub(by), ..*last });
    }
}
