//! Whether a program writes by the clock: a timer that flushes what has gathered, a codec's frames, a limit of so much per
//! so much time.
//!
//! The writes of a timer stay on its grid: one that is late by a millisecond is followed by one that is not. Turns walk away
//! from any grid: each begins where the one before has ended, so that its delay moves all that follow. In both, the times
//! between two writes may be alike.

use super::thresholds;
use slowpath_model::Instant;
use slowpath_model::statistics::median;
use std::time::Duration;

/// Writes that are compared: 3 KiB at most.
const MOST: usize = 128;

/// Writes for which there is room at first: short connections have fewer.
const FEW: usize = 12;

/// ACKs kept after the first few writes.
const MOST_ACKS: usize = 32;

/// A write after a wait.
#[derive(Clone, Copy, Debug)]
struct Write {
    /// When, in microseconds since the first one.
    at: u32,
    /// How long before it the last payload of the other end came, if any did since the write before; in microseconds.
    asked: Option<u32>,
    /// How long before it came what may have triggered it, an ACK of all or payload, seen from afar; in microseconds.
    heard: Option<u32>,
    /// An ACK or payload that came just before it explains it.
    explained: bool,
}

/// The last writes of one direction, each after a wait.
#[derive(Clone, Debug, Default)]
pub struct Ticks {
    first: Instant,
    writes: Vec<Write>,
    found: Option<Clock>,
    /// When the sender sent ACKs without data, in microseconds since the first write; the first ones of so many writes,
    /// without those of the first few.
    acks: Vec<u32>,
    /// Some of them came between two writes: the path lets packets through at any time.
    passes_between: bool,
    /// The tap is not next to the sender.
    is_far: bool,
}

/// A clock that writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// The time from one write to the next.
    pub every: Duration,
    /// How far the writes were from its grid: the root mean square, without outliers.
    pub within: Duration,
    /// How many writes.
    pub writes: u64,
}

/// How writes keep to the grid that fits them best, in microseconds.
struct Grid {
    period: f64,
    /// How far they are from it.
    off: f64,
    /// How much the times between two of them differ.
    uneven: f64,
    /// As [`Self::off`], for the payload of the other end before them; and how long before it came.
    asked_off: Option<(f64, f64)>,
    /// How much the time varies by which they followed what came just before them, if something did before most of them.
    heard_off: Option<f64>,
    /// Where its multiples are.
    zero: f64,
}

impl Ticks {
    /// A write ends a wait at `at`; `asked` is when payload of the other end came last, if it did since the write before, and
    /// `heard` when an ACK or payload came that may have triggered it, seen from afar.
    /// Returns since when writes were by a clock, if those up to this one show it.
    /// `explained` says that an ACK or payload just before explains it, or may do so.
    pub fn on_write(
        &mut self,
        at: Instant,
        [asked, heard]: [Option<Instant>; 2],
        at_sender: bool,
        explained: bool,
    ) -> Option<Instant> {
        if self.writes.is_empty() {
            self.first = at;
            self.writes.reserve(FEW);
        }
        self.is_far |= !at_sender;
        let micros = |nanos: i64| u32::try_from(nanos / 1000).ok();
        let before = |came: Option<Instant>| came.and_then(|came| micros(at.nanos_since(came)));
        let (asked, heard) = (before(asked), before(heard));
        match micros(at.nanos_since(self.first)) {
            Some(at) => self.writes.push(Write { at, asked, heard, explained }),
            None => self.writes.clear(),
        }
        if self.writes.len() < MOST {
            return None;
        }
        let since = self.evaluate();
        self.writes.clear();
        self.acks.clear();
        since
    }

    /// The sender sends an ACK without data.
    pub fn on_pure_ack(&mut self, at: Instant) {
        if self.writes.len() >= FEW && !self.passes_between && self.acks.len() < MOST_ACKS {
            self.acks.extend(u32::try_from(at.nanos_since(self.first) / 1000).ok());
        }
    }

    /// The direction is over. Returns as [`Self::on_write`].
    pub fn finish(&mut self) -> Option<Instant> {
        let since = self.evaluate();
        (self.writes, self.acks) = Default::default();
        since
    }

    /// The clock that wrote, if there was one.
    pub const fn clock(&self) -> Option<Clock> {
        self.found
    }

    fn evaluate(&mut self) -> Option<Instant> {
        if self.writes.len() < thresholds::TICKS_MORE {
            return None;
        }
        let grid = Grid::of(&self.writes)?;
        let is_between = |ack: &&u32| {
            let phase = ((f64::from(**ack) - grid.zero) / grid.period).rem_euclid(1.0);
            (thresholds::TICKS_BETWEEN..1.0 - thresholds::TICKS_BETWEEN).contains(&phase)
        };
        self.passes_between |= self.acks.iter().filter(is_between).count() >= thresholds::TICKS_PASSED;
        // From afar, turns over a path that lets packets through at times of its own look alike.
        let explained = self.writes.iter().filter(|write| write.explained).count();
        if explained * thresholds::TICKS_EXTRA_PART > self.writes.len() {
            return None;
        }
        if self.is_far && grid.asked_off.is_some() && !self.passes_between {
            return None;
        }
        let goes_on = self.found.is_some_and(|found| {
            let period = found.every.as_secs_f64() * 1e6;
            (grid.period - period).abs() <= thresholds::TICKS_ALIKE * period
        });
        let enough = if goes_on { thresholds::TICKS_MORE } else { thresholds::TICKS };
        if self.writes.len() < enough || !grid.is_a_clock() {
            return None;
        }
        let micros = |time: f64| Duration::from_secs_f64(time * 1e-6);
        let writes = self.writes.len() as u64 + self.found.map_or(0, |found| found.writes);
        self.found = Some(Clock { every: micros(grid.period), within: micros(grid.off), writes });
        Some(self.first)
    }
}

impl Grid {
    /// The grid of the median time between writes.
    fn of(writes: &[Write]) -> Option<Self> {
        let (first, rest) = writes.split_first()?;
        let between = writes.windows(2).map(|two| f64::from(two[1].at.saturating_sub(two[0].at)));
        let usual = median(between).filter(|usual| *usual >= thresholds::TICKS_LEAST_US)?;
        // Of two writes in one period, the first is on the grid.
        let (mut on_grid, mut nth, mut last) = (vec![(0.0, *first)], 0.0, *first);
        for write in rest {
            let periods = (f64::from(write.at.saturating_sub(last.at)) / usual).round();
            if periods >= 1.0 {
                nth += periods;
                last = *write;
                on_grid.push((nth, *write));
            }
        }
        if on_grid.len() * thresholds::TICKS_EXTRA_PART < writes.len() * (thresholds::TICKS_EXTRA_PART - 1) {
            return None;
        }
        let half = on_grid.len() / 2;
        let at = |(_, write): &(f64, Write)| f64::from(write.at);
        let slopes = on_grid.iter().zip(&on_grid[half..]);
        let period = median(slopes.map(|(one, other)| (at(other) - at(one)) / (other.0 - one.0)))?;
        let zero = median(on_grid.iter().map(|one| at(one) - period * one.0))?;
        let off = spread(on_grid.iter().map(|one| at(one) - period * one.0))?;
        let late = |two: &[(f64, Write)]| at(&two[1]) - at(&two[0]) - period * (two[1].0 - two[0].0);
        let uneven = spread(on_grid.windows(2).map(late))?;
        let asked = || on_grid.iter().filter_map(|one| Some((one, f64::from(one.1.asked?))));
        let often = asked().count() * 2 > on_grid.len();
        let asked_off =
            if often { spread(asked().map(|(one, before)| at(one) - before - period * one.0)) } else { None };
        let before = median(asked().map(|(_, before)| before));
        let heard = || on_grid.iter().filter_map(|one| one.1.heard.map(f64::from));
        let heard_off = if heard().count() * 2 > on_grid.len() { spread(heard()) } else { None };
        Some(Self { period, off, uneven, asked_off: asked_off.zip(before), heard_off, zero })
    }

    /// Whether a clock keeps this grid, and not that of the other end, whose payload would then keep it better.
    fn is_a_clock(&self) -> bool {
        let is_late_by_chance = self.off < thresholds::TICKS_OFF_PART * self.uneven;
        let is_own = self.asked_off.is_none_or(|(off, before)| {
            let answers = before * 2.0 <= self.period;
            off >= self.off * if answers { thresholds::TICKS_OTHERS } else { 1.0 / thresholds::TICKS_OTHERS }
        });
        // A reaction keeps to its trigger better than to any grid. From the ACK of a clock's last write to its next one, the time
        // varies by what both were late.
        let is_no_reaction = self.heard_off.is_none_or(|off| off >= self.off);
        is_late_by_chance
            && is_own
            && is_no_reaction
            && self.off <= self.period / thresholds::TICKS_WITHIN_PART
    }
}

/// The root mean square of how far the values are from the middle one, without those that are far beyond what is usual.
fn spread(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    let middle = median(values.iter().copied())?;
    let usual = median(values.iter().map(|value| (value - middle).abs()))?;
    let near = values.iter().map(|value| value - middle);
    let near: Vec<f64> = near.filter(|off| off.abs() <= thresholds::TICKS_OUTLIER * usual).collect();
    Some((near.iter().map(|off| off * off).sum::<f64>() / near.len().max(1) as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A generator of equal chances (Park and Miller, CACM 1988).
    struct Chance(i64);

    impl Chance {
        fn up_to(&mut self, most: i64) -> i64 {
            self.0 = self.0 * 16_807 % 2_147_483_647;
            self.0 * most / 2_147_483_647
        }
    }

    /// Writes at these times, with payload of the other end so long before each.
    fn clock_of(writes: impl Iterator<Item = (i64, i64)>) -> Option<Clock> {
        let mut ticks = Ticks::default();
        for (at, asked) in writes {
            let at = Instant::from_nanos(at);
            ticks.on_write(at, [Some(at.plus_nanos(-asked)), None], true, false);
        }
        ticks.finish();
        ticks.clock()
    }

    /// Every 50 ms, late by up to a millisecond; answers come after 14 to 17 ms.
    #[test]
    fn writes_of_a_timer_stay_on_its_grid() {
        for seed in 1..20 {
            let mut chance = Chance(seed * 7_919);
            let writes =
                (0..100).map(|nth| (nth * 50 * MS + chance.up_to(MS), 33 * MS + chance.up_to(3 * MS)));
            let found = clock_of(writes).unwrap_or_else(|| panic!("seed {seed}"));
            assert!((found.every.as_secs_f64() - 0.05).abs() < 2e-5, "{found:?}");
            assert!(found.within < Duration::from_micros(500) && found.writes == 100, "{found:?}");
        }
    }

    /// Each turn takes 50 ms and up to a millisecond.
    #[test]
    fn turns_walk_away_from_any_grid() {
        for seed in 1..20 {
            let mut chance = Chance(seed * 7_919);
            let mut at = 0;
            let writes = (0..100).map(|_| {
                at += 50 * MS + chance.up_to(MS);
                (at, 33 * MS)
            });
            assert_eq!(clock_of(writes), None, "seed {seed}");
        }
    }

    /// The other end asks by its clock, and this one answers after 5 to 15 ms.
    #[test]
    fn answers_to_a_clock_are_not_of_it() {
        for seed in 1..20 {
            let mut chance = Chance(seed * 7_919);
            let writes = (0..100).map(|nth| {
                let asked = nth * 100 * MS + chance.up_to(MS / 5);
                let takes = 5 * MS + chance.up_to(10 * MS);
                (asked + takes, takes)
            });
            assert_eq!(clock_of(writes), None, "seed {seed}");
        }
    }

    /// An access point lets packets through each 102.4 ms; the turns themselves take 20 ms.
    #[test]
    fn turns_over_a_path_with_a_clock_are_no_programs_from_afar() {
        let clock = |at_sender: bool, acks: bool| {
            let mut ticks = Ticks::default();
            let mut chance = Chance(7_919);
            for nth in 0..100 {
                let at = Instant::from_nanos(nth * 102_400_000 + chance.up_to(MS / 5));
                ticks.on_write(
                    at,
                    [Some(at.plus_nanos(-80 * MS - chance.up_to(MS))), None],
                    at_sender,
                    false,
                );
                if acks {
                    ticks.on_pure_ack(at.plus_nanos(60 * MS));
                }
            }
            ticks.finish();
            ticks.clock()
        };
        assert_eq!(clock(false, false), None);
        assert!(clock(true, false).is_some(), "next to the program");
        assert!(clock(false, true).is_some(), "packets pass at other times");
    }

    /// Seen from afar, each burst comes as soon after an ACK, but for some microseconds; or ACKs of a clock's own writes come so soon
    /// before the next ones, late by chance.
    #[test]
    fn reactions_to_acks_are_no_clocks() {
        let clock = |reacts: bool| {
            let mut ticks = Ticks::default();
            let mut chance = Chance(7_919);
            for nth in 0..100 {
                let heard = nth * 50 * MS + chance.up_to(MS / 2);
                let own = nth * 50 * MS + MS + chance.up_to(MS / 10);
                let at = if reacts { heard + chance.up_to(MS / 20) } else { own };
                let heard = Some(Instant::from_nanos(heard));
                ticks.on_write(Instant::from_nanos(at), [None, heard], false, false);
            }
            ticks.finish();
            ticks.clock()
        };
        assert_eq!(clock(true), None);
        assert!(clock(false).is_some());
    }

    #[test]
    fn few_writes_show_no_clock() {
        let mut chance = Chance(7_919);
        assert_eq!(clock_of((0..30).map(|nth| (nth * 50 * MS + chance.up_to(MS), 30 * MS))), None);
    }
}
