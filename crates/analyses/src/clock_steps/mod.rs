//! Steps of the capture's clock: it was set while recording.
//!
//! The ends have clocks of their own, and most segments carry one: TSval (RFC 7323, section 3). Where the capture's clock
//! moved by 20 s and the clocks of both ends by 1 ms, the capture's clock was set. A host that was suspended, a path that
//! stalled and an application that paused move the clock of at least one end, and stay a silence.
//!
//! [`ClockWatch`] reads a recording on its way to another sink and finds the steps. [`ClockCorrection`] reads it again and
//! passes all events on as if the clock had not been set.
//!
//! # Decisions
//!
//! **The first segment only raises a suspicion.** Segments that waited in a queue while the path stalled look like a
//! step: they are late and carry old timestamps. Segments sent after the stall are not late. Both ends have to confirm
//! a step with segments that were certainly sent after it: their TSecr echoes a segment that passed after it.
//!
//! **A step back can show without timestamps**: the times of one direction go back while its data continues, and stay
//! back. If several queues or batches are written one after the other, each direction by itself is in order.
//!
//! **Few segments are examined**: one per end every few milliseconds, and those next to which the capture's clock did
//! something unusual. During a suspicion, all are.

mod correction;
mod sender_clock;
mod suspicion;
#[cfg(test)]
mod tests;

pub use correction::{ClockCorrection, CorrectedTimes};

use sender_clock::{FlowClocks, Sample};
use slowpath_model::{Event, EventKind, FlowEnd, FlowId, FlowKey, Instant, Segment, Sink};
use suspicion::{Suspicion, Verdict};

/// A step of the capture's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// Number of events before it in the recording.
    pub place: u64,
    /// The first frame after it.
    pub frame: u64,
    /// The time of that frame, by the clock as it was before the first step.
    pub at: Instant,
    /// The size of the step in nanoseconds; negative if the clock was set back.
    pub by: i64,
}

/// Nanoseconds in a millisecond.
const MS: i64 = 1_000_000;

/// Smaller steps cannot be distinguished from jitter.
const SMALLEST: i64 = 20 * MS;

/// How often an end's clock is read. Not a multiple of a tick, so that a reading soon falls next to the start of a
/// tick.
const PERIOD: i64 = 4_630_000;

/// Maximum number of steps: a clock that is set more often cannot be followed.
const MOST_STEPS: usize = 1000;

/// Flows whose clocks are kept.
const MOST_FLOWS: usize = 1024;

/// Passes events on and finds steps of the capture's clock.
#[derive(Debug)]
pub struct ClockWatch<'a, S: Sink> {
    sink: &'a mut S,
    /// Events so far.
    count: u64,
    /// The time of the last event.
    last: Instant,
    /// When the next segment of each end is due to be examined.
    due: [Instant; 2],
    found: Found,
}

/// The state that is needed only when a segment is examined.
#[derive(Debug, Default)]
struct Found {
    /// The sum of all steps so far. All times below are corrected by it.
    shift: i64,
    /// A flow's slot is its number modulo [`MOST_FLOWS`].
    clocks: Vec<Option<FlowClocks>>,
    /// The last event that a step may be at.
    odd: Option<Odd>,
    suspicion: Option<Box<Suspicion>>,
    steps: Vec<ClockStep>,
}

/// An event before which the capture's clock went back, or forward by more than [`SMALLEST`].
#[derive(Clone, Copy, Debug)]
struct Odd {
    place: u64,
    frame: u64,
    at: i64,
    /// The size of the jump.
    gap: i64,
}

/// An examined segment.
#[derive(Clone, Copy, Debug)]
struct Look {
    flow: FlowId,
    end: usize,
    frame: u64,
    /// The time from the event before it.
    gap: i64,
    sample: Sample,
}

impl<'a, S: Sink> ClockWatch<'a, S> {
    /// Passes events on to `sink`.
    pub fn new(sink: &'a mut S) -> Self {
        let never = Instant::from_nanos(i64::MIN);
        Self { sink, count: 0, last: Instant::START, due: [never; 2], found: Found::default() }
    }

    /// The steps that were found, in the order of the recording.
    pub fn finish(mut self) -> Vec<ClockStep> {
        self.found.decide(true);
        self.found.steps
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self, flow: FlowId, at: Instant, gap: i64, segment: &Segment) {
        let end = segment.from.index();
        let sample = Sample {
            at: at.nanos().saturating_sub(self.found.shift),
            place: self.count,
            val: segment.timestamps.map(|times| times.val),
            ecr: segment.timestamps.map(|times| times.ecr),
            reach: segment
                .seq
                .0
                .saturating_add(i64::from(segment.len))
                .saturating_add(segment.ack.map_or(0, |ack| ack.0)),
        };
        self.found.look(&Look { flow, end, frame: segment.frame, gap, sample });
        // During a suspicion, each segment counts.
        let wait = if self.found.suspicion.is_some() { i64::MIN } else { PERIOD };
        self.due[end] = at.plus_nanos(wait);
        if self.found.suspicion.is_some() || gap < 0 {
            self.due[1 - end] = at;
        }
    }
}

impl<S: Sink> Sink for ClockWatch<'_, S> {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.sink.open(flow, key);
    }

    #[inline(always)]
    fn accept(&mut self, flow: FlowId, event: &Event) {
        if let EventKind::Seen(segment) = &event.kind {
            let gap = event.at.nanos().wrapping_sub(self.last.nanos());
            self.last = event.at;
            // As `u64`, a negative gap is a large one.
            if gap as u64 > SMALLEST as u64 || event.at >= self.due[segment.from.index()] {
                self.look(flow, event.at, gap, segment);
            }
        }
        self.count += 1;
        self.sink.accept(flow, event);
    }

    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        self.sink.close(flow, end);
    }
}

impl Found {
    fn look(&mut self, look: &Look) {
        let Look { flow, end, frame, gap, sample } = *look;
        self.note_odd(look);
        if let Some(suspicion) = &mut self.suspicion {
            if let Some(clocks) = of_flow(&mut self.clocks, flow) {
                suspicion.hear(flow, end, &sample, gap, &clocks.ends[end]);
            }
            self.decide(false);
            return;
        }
        let Some(clocks) = slot(&mut self.clocks, flow, sample.at) else { return };
        let clock = &mut clocks.ends[end];
        let Some(last) = clock.last().copied().filter(|_| self.steps.len() < MOST_STEPS) else {
            clock.note(&sample);
            return;
        };
        // The step is at an event since the last reading of this clock.
        let here = Odd { place: sample.place, frame, at: sample.at, gap };
        let odd = self.odd.filter(|odd| odd.place > last.place).unwrap_or(here);
        let serious = clock.disagrees(&sample, odd.gap).and_then(|by| {
            let mut suspicion = Suspicion::new(odd, by);
            suspicion.hear(flow, end, &sample, gap, clock);
            suspicion.is_serious().then_some(suspicion)
        });
        match serious {
            Some(suspicion) => self.suspicion = Some(Box::new(suspicion)),
            None => clock.note(&sample),
        }
    }

    /// Keeps the last event that may be a step; of several between two readings of a clock, the largest.
    fn note_odd(&mut self, look: &Look) {
        const RECENT: i64 = 1_000 * MS;
        let Look { frame, gap, sample, .. } = *look;
        let is_larger = |odd: Odd| gap.saturating_abs() >= odd.gap.saturating_abs();
        let is_old = |odd: Odd| sample.at.saturating_sub(odd.at) > RECENT;
        if !(0..SMALLEST).contains(&gap) && self.odd.is_none_or(|odd| is_larger(odd) || is_old(odd)) {
            self.odd = Some(Odd { place: sample.place, frame, at: sample.at, gap });
        }
    }

    /// Decides on the suspicion as soon as possible; at once if `now`, when nothing more will come.
    fn decide(&mut self, now: bool) {
        let Some(suspicion) = &self.suspicion else { return };
        let by = match suspicion.verdict(now) {
            Verdict::Open => return,
            Verdict::Silence => 0,
            Verdict::Step { by } => {
                let Odd { place, frame, at, .. } = suspicion.odd;
                let at = Instant::from_nanos(at.saturating_sub(by));
                self.steps.push(ClockStep { place, frame, at, by });
                self.shift = self.shift.saturating_add(by);
                by
            }
        };
        for witness in suspicion.witnesses() {
            if let Some(clocks) = of_flow(&mut self.clocks, witness.flow) {
                clocks.ends[witness.end].resume(&witness.last, by);
            }
        }
        (self.suspicion, self.odd) = (None, None);
    }
}

/// The clocks of `flow`, if they are kept.
fn of_flow(clocks: &mut [Option<FlowClocks>], flow: FlowId) -> Option<&mut FlowClocks> {
    let slot = clocks.get_mut(flow.0 as usize % MOST_FLOWS)?.as_mut()?;
    (slot.flow == flow).then_some(slot)
}

/// The clocks of `flow`; `None` if a recently active flow occupies the slot.
fn slot(clocks: &mut Vec<Option<FlowClocks>>, flow: FlowId, at: i64) -> Option<&mut FlowClocks> {
    const MOMENT: i64 = 2_000 * MS;
    let index = flow.0 as usize % MOST_FLOWS;
    if index >= clocks.len() {
        clocks.resize_with(index + 1, || None);
    }
    let slot = &mut clocks[index];
    if slot.as_ref().is_some_and(|other| other.flow != flow && at.saturating_sub(other.last_at()) > MOMENT) {
        *slot = None;
    }
    let slot = slot.get_or_insert_with(|| FlowClocks::new(flow));
    (slot.flow == flow).then_some(slot)
}
