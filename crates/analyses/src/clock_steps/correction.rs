//! Events as if the capture's clock had not been set.

use super::ClockStep;
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Instant, Sink};

/// Passes on events with the steps removed from their times.
#[derive(Debug)]
pub struct ClockCorrection<'a, S: Sink> {
    sink: &'a mut S,
    /// Steps still to come.
    steps: &'a [ClockStep],
    count: u64,
    shift: i64,
    newest: Option<Instant>,
    earliest: Instant,
    largest_back: u64,
}

/// The range of the corrected times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorrectedTimes {
    /// The earliest and the latest event.
    pub span: (Instant, Instant),
    /// The most that an event is older than the newest before it, in nanoseconds.
    pub largest_back_ns: u64,
}

impl<'a, S: Sink> ClockCorrection<'a, S> {
    /// Corrects, for `sink`, the recording in which `steps` were found.
    pub fn new(sink: &'a mut S, steps: &'a [ClockStep]) -> Self {
        Self { sink, steps, count: 0, shift: 0, newest: None, earliest: Instant::START, largest_back: 0 }
    }

    /// The result; `None` without events.
    pub fn finish(self) -> Option<CorrectedTimes> {
        let span = (self.earliest, self.newest?);
        Some(CorrectedTimes { span, largest_back_ns: self.largest_back })
    }
}

impl<S: Sink> Sink for ClockCorrection<'_, S> {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.sink.open(flow, key);
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        while let [first, rest @ ..] = self.steps
            && first.place <= self.count
        {
            self.shift = self.shift.saturating_add(first.by);
            self.steps = rest;
        }
        self.count += 1;
        let at = event.at.plus_nanos(self.shift.saturating_neg());
        let newest = *self.newest.get_or_insert(at);
        self.earliest = if self.count == 1 { at } else { self.earliest.min(at) };
        self.largest_back = self.largest_back.max(newest.nanos_since(at).try_into().unwrap_or(0));
        self.newest = Some(newest.max(at));
        self.sink.accept(flow, &Event { at, ..*event });
    }

    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        self.sink.close(flow, end);
    }
}
