//! The capture's clock may have been set: what each end's clock says of it.

use super::sender_clock::{Sample, SenderClock};
use super::{MS, Odd, SMALLEST};
use slowpath_model::FlowId;

/// What is known so far.
pub enum Verdict {
    /// More segments will tell.
    Open,
    /// It was not set.
    Silence,
    /// It was set by so many nanoseconds.
    Step { by: i64 },
}

/// How long it is watched whether a step stays.
const WINDOW: i64 = 500 * MS;

/// How long the ends have to speak.
const LONGEST: i64 = 10_000 * MS;

/// Clocks that are heard at most.
const MOST_WITNESSES: usize = 64;

/// Segments by which a clock says what it has to say.
const FIRST: u32 = 4;

/// A possible step.
#[derive(Debug)]
pub struct Suspicion {
    /// Where it is.
    pub odd: Odd,
    /// How large it seems to be.
    by: i64,
    /// The newest time that was heard.
    now: i64,
    /// The stamps alternate.
    returned: bool,
    witnesses: Vec<Witness>,
}

/// An end whose clock was read before.
#[derive(Debug)]
pub struct Witness {
    pub flow: FlowId,
    pub end: usize,
    /// Its newest segment.
    pub last: Sample,
    first_at: i64,
    segments: u32,
    /// How far a jump may be from a step, or from none; `None` where it has no timestamps.
    tolerance: Option<i64>,
    /// By how much less its clock moved than the capture's, at least and at most.
    jumps: (i64, i64),
    /// How late its segments are now, at least, and were before.
    floors: Option<(i64, i64)>,
    says: Says,
    /// Its data goes on where it was.
    goes_on: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Nothing,
    Step,
    NoStep,
}

impl Suspicion {
    pub const fn new(odd: Odd, by: i64) -> Self {
        Self { odd, by, now: odd.at, returned: false, witnesses: Vec::new() }
    }

    /// Those that were heard.
    pub fn witnesses(&self) -> &[Witness] {
        &self.witnesses
    }

    /// A segment passes whose sender's clock before is `clock`.
    pub fn hear(&mut self, flow: FlowId, end: usize, sample: &Sample, gap: i64, clock: &SenderClock) {
        if sample.place > self.odd.place && self.by < 0 {
            let before = self.odd.at - self.odd.gap;
            self.returned |= gap <= -SMALLEST || (self.now < before && gap > self.by.saturating_abs() / 2);
        }
        self.now = self.now.max(sample.at);
        let Some(last) = clock.last() else { return };
        let known = self.witnesses.iter().position(|witness| (witness.flow, witness.end) == (flow, end));
        let index = known.unwrap_or(self.witnesses.len());
        if known.is_none() {
            if index == MOST_WITNESSES || last.place >= self.odd.place {
                return;
            }
            self.witnesses.push(Witness::new(flow, end, sample));
        }
        let witness = &mut self.witnesses[index];
        witness.segments = witness.segments.saturating_add(1);
        if clock.tick().is_some() {
            witness.hear_clock(sample, clock, self.by);
        } else {
            witness.hear_stamp(sample, last, self.by);
        }
        witness.last = *sample;
    }

    /// Whether someone speaks for a step.
    pub fn is_serious(&self) -> bool {
        self.witnesses.iter().any(|witness| witness.says == Says::Step)
    }

    /// What the witnesses say; `is_over` if no more will come.
    pub fn verdict(&self, is_over: bool) -> Verdict {
        let count = |says| self.witnesses.iter().filter(|witness| witness.says == says).count();
        let (for_it, against) = (count(Says::Step), count(Says::NoStep));
        if against * 2 > for_it {
            return Verdict::Silence;
        }
        let passed = self.now.saturating_sub(self.odd.at);
        if passed < WINDOW && !is_over {
            return Verdict::Open;
        }
        if self.is_proven() && against * 4 <= for_it {
            return Verdict::Step { by: self.size() };
        }
        if passed > LONGEST || is_over { Verdict::Silence } else { Verdict::Open }
    }

    fn is_proven(&self) -> bool {
        let agree = || self.witnesses.iter().filter(|witness| witness.says == Says::Step);
        let stays = |witness: &Witness| witness.stays(self.by, self.returned);
        // Nothing is late by less than nothing: one direction is enough where stamps went back.
        if self.odd.gap <= -SMALLEST && agree().any(stays) {
            return true;
        }
        let is_other = |one: &Witness, two: &Witness| one.flow == two.flow && one.end != two.end;
        agree()
            .filter(|witness| witness.tolerance.is_some() && stays(witness))
            .any(|one| agree().any(|two| is_other(one, two) && two.tolerance.is_some()))
    }

    /// How large the step is: by the clock that is the steadiest, and never so that time goes back.
    fn size(&self) -> i64 {
        let steady = self
            .witnesses
            .iter()
            .filter(|witness| witness.says == Says::Step && witness.stays(self.by, self.returned))
            .filter_map(|witness| Some((witness.jumps.1 - witness.jumps.0, witness)))
            .filter_map(|(spread, witness)| Some((spread, witness.floors?, witness.tolerance?)))
            .min_by_key(|(spread, ..)| *spread);
        let by = match steady {
            Some((_, (now, before), tolerance)) if (now - before - self.by).abs() <= tolerance => {
                now - before
            }
            Some(_) => self.by,
            None => self.odd.gap,
        };
        by.min(self.odd.gap)
    }
}

impl Witness {
    const fn new(flow: FlowId, end: usize, first: &Sample) -> Self {
        Self {
            flow,
            end,
            last: *first,
            first_at: first.at,
            segments: 0,
            tolerance: None,
            jumps: (i64::MAX, i64::MIN),
            floors: None,
            says: Says::Nothing,
            goes_on: false,
        }
    }

    /// A segment with a timestamp of a clock whose rate is known.
    fn hear_clock(&mut self, sample: &Sample, clock: &SenderClock, by: i64) {
        let Some((jump, tick)) = clock.jump(sample).zip(clock.tick()) else { return };
        // Queues grow and shrink.
        const JITTER: i64 = 3 * MS;
        let moved = sample.at.saturating_sub(clock.last().map_or(0, |last| last.at)).saturating_sub(jump);
        let off = (moved.saturating_abs() as f64 * clock.uncertainty()) as i64;
        let tolerance =
            JITTER.saturating_add(tick).saturating_add(off).saturating_add(by.saturating_abs() / 8);
        if tolerance >= by.saturating_abs() / 2 {
            return;
        }
        self.tolerance = Some(tolerance);
        self.jumps = (self.jumps.0.min(jump), self.jumps.1.max(jump));
        if let Some((late, before)) = clock.lateness(sample).zip(clock.floor()) {
            let floor = self.floors.map_or(late, |(floor, _)| floor.min(late));
            self.floors = Some((floor, before));
        }
        if self.says == Says::Nothing && (jump - by).saturating_abs() <= tolerance {
            self.says = Says::Step;
        }
        if self.says == Says::Nothing && self.segments >= FIRST && jump.saturating_abs() <= tolerance {
            self.says = Says::NoStep;
        }
    }

    /// A segment without one, or of a clock whose rate is not known: where a clock is set back, its stamp may be earlier
    /// than that of the one before.
    fn hear_stamp(&mut self, sample: &Sample, last: &Sample, by: i64) {
        self.goes_on |= sample.reach >= last.reach;
        let back = sample.at.saturating_sub(last.at);
        if self.says == Says::Nothing && by < 0 && back < by / 2 {
            self.says = Says::Step;
        }
    }

    /// Whether a step of `by` that it speaks for did not turn out to be a delay that ended.
    fn stays(&self, by: i64, returned: bool) -> bool {
        const ENOUGH: u32 = 8;
        const SPAN: i64 = 50 * MS;
        let Some(tolerance) = self.tolerance else {
            return self.segments >= ENOUGH && self.goes_on && !returned;
        };
        let least = if by > 0 { self.jumps.0 - by } else { by - self.jumps.1 };
        self.last.at.saturating_sub(self.first_at) >= SPAN && least >= -2 * tolerance
    }
}
