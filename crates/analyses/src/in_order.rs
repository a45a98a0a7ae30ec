//! Puts events back into timestamp order, if a recording was not written in it.
//!
//! Some captures are written by several queues, or in batches for each direction: the timestamps are right but frames
//! are out of place, so that an ACK comes before the data it acknowledges.

use slowpath_model::{End, Event, FlowEnd, FlowId, FlowKey, Instant, Sink};
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

/// Passes on events in timestamp order, if they are out of order by no more than a window.
#[derive(Debug)]
pub struct InOrder<'a, S: Sink> {
    sink: &'a mut S,
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// How much older than the newest event an event may be, in nanoseconds.
    window: i64,
    newest: Instant,
    count: u64,
    /// Directions whose timestamps are late, and by how much.
    late: BTreeMap<(FlowId, usize), i64>,
}

/// An event that others may have to precede.
#[derive(Debug)]
struct Waiting {
    flow: FlowId,
    event: Event,
    /// Its place in the recording: events with the same timestamp keep their order.
    place: u64,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.event.at.cmp(&other.event.at).then(self.place.cmp(&other.place))
    }
}

/// Maximum number of waiting events: 200 MB.
const MOST_WAITING: usize = 1 << 20;

impl<'a, S: Sink> InOrder<'a, S> {
    /// Orders events for `sink` that come up to `window` nanoseconds late.
    pub fn new(sink: &'a mut S, window: i64) -> Self {
        let newest = Instant::from_nanos(i64::MIN / 2);
        Self { sink, waiting: BinaryHeap::new(), window, newest, count: 0, late: BTreeMap::new() }
    }

    /// Treats the segments of these directions as earlier than their timestamps, by this many nanoseconds.
    #[must_use]
    pub fn with_stamped_late(mut self, late: &[(FlowId, End, i64)]) -> Self {
        // The earliest ACK left some microseconds after its data.
        const AT_ONCE: i64 = 10_000;
        self.late = late.iter().map(|(flow, end, by)| ((*flow, end.index()), by + AT_ONCE)).collect();
        self.window += self.late.values().max().copied().unwrap_or(0);
        self
    }

    /// Passes on all waiting events.
    pub fn finish(mut self) {
        self.pass_on_until(None);
    }

    /// Passes on all events before `until`; all for `None`.
    fn pass_on_until(&mut self, until: Option<Instant>) {
        while let Some(Reverse(first)) = self.waiting.peek() {
            if until.is_some_and(|until| first.event.at >= until) && self.waiting.len() <= MOST_WAITING {
                break;
            }
            if let Some(Reverse(first)) = self.waiting.pop() {
                self.sink.accept(first.flow, &first.event);
            }
        }
    }
}

impl<S: Sink> Sink for InOrder<'_, S> {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.sink.open(flow, key);
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        self.count += 1;
        let mut event = *event;
        if let Some(segment) = event.kind.segment()
            && let Some(by) = self.late.get(&(flow, segment.from.index()))
        {
            event.at = event.at.plus_nanos(-by);
        }
        self.waiting.push(Reverse(Waiting { flow, event, place: self.count }));
        self.newest = self.newest.max(event.at);
        self.pass_on_until(Some(self.newest.plus_nanos(-self.window)));
    }

    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        self.pass_on_until(None);
        self.sink.close(flow, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::{EventKind, Flags, Segment, StreamOffset};

    #[derive(Default)]
    struct Seen(Vec<i64>);

    impl Sink for Seen {
        fn open(&mut self, _: FlowId, _: &FlowKey) {}
        fn accept(&mut self, _: FlowId, event: &Event) {
            self.0.push(event.at.nanos());
        }
        fn close(&mut self, _: FlowId, _: FlowEnd) {}
    }

    #[test]
    fn late_stamped_segments_are_ordered_before_their_acks() {
        let mut seen = Seen::default();
        let flow = FlowId(1);
        let mut sorter = InOrder::new(&mut seen, 0).with_stamped_late(&[(flow, End::B, 3_000_000)]);
        let segment = |from, at| {
            let segment = Segment::new(from, Flags::ACK, StreamOffset(1), 100);
            Event { at: Instant::from_nanos(at), kind: EventKind::Seen(segment) }
        };
        sorter.accept(flow, &segment(End::A, 10_000_000));
        sorter.accept(flow, &segment(End::B, 12_990_000));
        sorter.accept(flow, &segment(End::A, 20_000_000));
        sorter.finish();
        assert_eq!(seen.0, [9_980_000, 10_000_000, 20_000_000]);
    }

    #[test]
    fn events_within_window_are_reordered_without_loss() {
        let mut seen = Seen::default();
        let mut sorter = InOrder::new(&mut seen, 10);
        for at in [5, 8, 3, 20, 15, 11, 40, 2] {
            sorter.accept(
                FlowId(1),
                &Event { at: Instant::from_nanos(at), kind: EventKind::Missed { events: 1 } },
            );
        }
        sorter.finish();
        assert_eq!(seen.0, [3, 5, 8, 11, 15, 20, 2, 40], "2 came too late to be put in its place");
    }
}
