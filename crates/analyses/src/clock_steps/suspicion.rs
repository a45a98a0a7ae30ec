//! Whether the capture's clock was set, by the evidence of each end's clock.

use super::sender_clock::{Range, Sample, SenderClock};
use super::{MS, Odd, SMALLEST};
use crate::lateness::is_before;
use slowpath_model::FlowId;

/// What is known so far.
pub enum Verdict {
    /// More segments are needed.
    Open,
    /// The clock was not set.
    Silence,
    /// The clock was set by this many nanoseconds.
    Step { by: i64 },
}

/// How long it is checked that a step persists.
const WINDOW: i64 = 500 * MS;

/// How long to wait for segments of the ends.
const LONGEST: i64 = 10_000 * MS;

/// Maximum number of clocks used.
const MOST_WITNESSES: usize = 64;

/// Segments after which the evidence of a clock is complete.
const FIRST: u32 = 4;

/// A possible step.
#[derive(Debug)]
pub struct Suspicion {
    /// Where it is.
    pub odd: Odd,
    /// Its apparent size.
    by: i64,
    /// The newest time seen.
    now: i64,
    /// The times alternate.
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
    /// The newest timestamp that may have passed before the step.
    newest: Option<u32>,
    /// It certainly sent a segment after the step.
    answers: bool,
    first_at: i64,
    segments: u32,
    /// How far a jump may be from a step, or from none; `None` without timestamps.
    tolerance: Option<i64>,
    /// How much less its clock advanced than the capture's.
    jumps: Range,
    /// How late its segments are, and the least lateness before.
    lateness: Range,
    least_before: Option<i64>,
    says: Says,
    /// Its data continues where it was.
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

    /// The clocks used so far.
    pub fn witnesses(&self) -> &[Witness] {
        &self.witnesses
    }

    /// Takes a segment; `clock` is its sender's clock before it.
    pub fn hear(&mut self, flow: FlowId, end: usize, sample: &Sample, gap: i64, clock: &SenderClock) {
        if sample.place > self.odd.place && self.by < 0 {
            let before = self.odd.at.saturating_sub(self.odd.gap);
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
            self.witnesses.push(Witness::new(flow, end, sample, last));
        }
        let mut others = self.witnesses.iter();
        let other = others.find(|witness| (witness.flow, witness.end) == (flow, 1 - end));
        let is_answer = other.is_some_and(|other| other.is_answered_by(sample));
        let witness = &mut self.witnesses[index];
        witness.segments = witness.segments.saturating_add(1);
        if clock.tick().is_some() {
            let is_heard = witness.hear_clock(sample, clock, self.by);
            witness.answers |= is_answer && is_heard;
        } else {
            witness.hear_stamp(sample, last, self.by);
        }
        witness.last = *sample;
    }

    /// Whether any witness supports a step.
    pub fn is_serious(&self) -> bool {
        self.witnesses.iter().any(|witness| witness.says == Says::Step)
    }

    /// The verdict of the witnesses; `is_over` if no more segments will come.
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
        // No segment is late by less than zero: one direction is enough if times went back.
        if self.odd.gap <= -SMALLEST && agree().any(stays) {
            return true;
        }
        let is_other = |one: &Witness, two: &Witness| one.flow == two.flow && one.end != two.end;
        agree()
            .filter(|one| one.confirms(self.by) && stays(one))
            .any(|one| agree().any(|two| is_other(one, two) && two.confirms(self.by)))
    }

    /// The size of the step: by the steadiest clock, and never such that time goes back.
    fn size(&self) -> i64 {
        let steady = self
            .witnesses
            .iter()
            .filter(|witness| witness.says == Says::Step && witness.stays(self.by, self.returned))
            .filter_map(|witness| Some((witness, witness.tolerance?)))
            .min_by_key(|(witness, _)| witness.jumps.width());
        let by = match steady {
            Some((witness, tolerance)) => witness
                .least_before
                .map(|before| witness.lateness.least.saturating_sub(before))
                .filter(|rise| rise.saturating_sub(self.by).saturating_abs() <= tolerance)
                .unwrap_or(self.by),
            None => self.odd.gap,
        };
        by.min(self.odd.gap)
    }
}

impl Witness {
    fn new(flow: FlowId, end: usize, first: &Sample, before: &Sample) -> Self {
        let newest = match (first.val, before.val) {
            (Some(first), Some(before)) if is_before(first, before) => Some(before),
            (first, _) => first,
        };
        Self {
            flow,
            end,
            newest,
            answers: false,
            last: *first,
            first_at: first.at,
            segments: 0,
            tolerance: None,
            jumps: Range::EMPTY,
            lateness: Range::EMPTY,
            least_before: None,
            says: Says::Nothing,
            goes_on: false,
        }
    }

    /// Whether the other end sent this after it had received a segment that passed after the step.
    fn is_answered_by(&self, sample: &Sample) -> bool {
        let newer = self.newest.zip(sample.ecr).map(|(newest, ecr)| ecr.wrapping_sub(newest) as i32);
        newer.is_some_and(|newer| newer > 0)
    }

    /// A segment of a clock with a known rate. Returns whether it is precise enough to distinguish a step of `by` from
    /// none.
    fn hear_clock(&mut self, sample: &Sample, clock: &SenderClock, by: i64) -> bool {
        let Some((jump, tick)) = clock.jump(sample).zip(clock.tick()) else { return false };
        // Queues grow and shrink.
        const JITTER: i64 = 3 * MS;
        let moved = sample.at.saturating_sub(clock.last().map_or(0, |last| last.at)).saturating_sub(jump);
        let off = (moved.saturating_abs() as f64 * clock.uncertainty()) as i64;
        // The path's delay varies too.
        let varied = clock.lately().map_or(0, |lately| lately.jitter);
        let part = by.saturating_abs() / 8;
        let tolerance = JITTER.saturating_add(tick).saturating_add(off).saturating_add(part).max(varied);
        if tolerance >= by.saturating_abs() / 2 {
            return false;
        }
        self.tolerance = Some(tolerance);
        self.jumps.take(jump);
        if let Some((late, lately)) = clock.lateness(sample).zip(clock.lately()) {
            self.lateness.take(late);
            self.least_before = Some(lately.least_late);
        }
        if self.says == Says::Nothing && (jump - by).saturating_abs() <= tolerance {
            self.says = Says::Step;
        }
        if self.says == Says::Nothing && self.segments >= FIRST && jump.saturating_abs() <= tolerance {
            self.says = Says::NoStep;
        }
        true
    }

    /// A segment without a timestamp, or of a clock with an unknown rate: if the capture's clock was set back, the
    /// segment's time may be earlier than that of the one before.
    fn hear_stamp(&mut self, sample: &Sample, last: &Sample, by: i64) {
        // Two concatenated recordings start over, and reach the same position only later.
        const AT_ONCE: u32 = 16;
        self.goes_on |= self.segments <= AT_ONCE && sample.reach >= last.reach;
        let back = sample.at.saturating_sub(last.at);
        if self.says == Says::Nothing && by < 0 && back < by / 2 {
            self.says = Says::Step;
        }
    }

    /// Whether it sent after the step, and its clock never contradicted that the capture's was set by `by`.
    fn confirms(&self, by: i64) -> bool {
        self.answers
            && self.tolerance.is_some_and(|tolerance| {
                if by > 0 { self.jumps.least > tolerance } else { self.jumps.most < -tolerance }
            })
    }

    /// Whether the step of `by` that it supports did not turn out to be a delay that ended.
    fn stays(&self, by: i64, returned: bool) -> bool {
        const ENOUGH: u32 = 8;
        const SPAN: i64 = 50 * MS;
        let Some(tolerance) = self.tolerance else {
            return self.segments >= ENOUGH && self.goes_on && !returned;
        };
        let least =
            if by > 0 { self.jumps.least.saturating_sub(by) } else { by.saturating_sub(self.jumps.most) };
        self.last.at.saturating_sub(self.first_at) >= SPAN && least >= -2 * tolerance
    }
}
