//! What one recording saw, kept for comparison with another: a sink with bounded memory.

use super::record::{LONGEST, Record};
use crate::report::SynOptions;
use slowpath_model::{End, Event, EventKind, Flags, FlowEnd, FlowId, FlowKey, Instant, Segment, Sink};

/// How much to keep.
#[derive(Clone, Copy, Debug)]
pub struct CollectorOptions {
    /// Segments of one flow; beyond that only every other stretch of its stream is kept, then every fourth, and so
    /// on, the same ones in both recordings.
    pub most_per_flow: usize,
    /// Segments of all flows, at 32 bytes each.
    pub most: usize,
}

impl Default for CollectorOptions {
    fn default() -> Self {
        Self { most_per_flow: 4_000_000, most: 12_000_000 }
    }
}

/// Which stretches of a stream are kept: all, or one in 2ⁿ of those of [`Stripes::BYTES`] bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stripes {
    pub halvings: u32,
}

impl Stripes {
    /// Long compared with a super-packet, short compared with a transfer of millions of packets.
    const BYTES: u32 = 1 << 20;

    /// Whether the byte at `offset` is in a stretch that is kept.
    pub const fn keeps(self, offset: i64) -> bool {
        (offset >> Self::BYTES.trailing_zeros()) & ((1 << self.halvings) - 1) == 0
    }

    /// Whether any byte of the record is kept.
    fn touches(self, record: &Record) -> bool {
        if record.is_data() {
            self.keeps(record.seq()) || self.keeps(record.end() - 1)
        } else {
            self.keeps(record.place())
        }
    }
}

/// One flow as one recording has it.
#[derive(Clone, Debug)]
pub(super) struct Tapped {
    pub id: FlowId,
    pub key: FlowKey,
    /// What each end sent, in the order of observation.
    pub ends: [Vec<Record>; 2],
    /// The options of each end's SYN, as far as it was seen.
    pub syns: [Option<SynOptions>; 2],
    pub stripes: Stripes,
}

impl Tapped {
    pub fn len(&self) -> usize {
        self.ends.iter().map(Vec::len).sum()
    }

    fn halve(&mut self) {
        self.stripes.halvings += 1;
        for records in &mut self.ends {
            records.retain(|record| self.stripes.touches(record));
            records.shrink_to_fit();
        }
    }

    /// The payload of a full packet of either end, by the handshake (RFC 6691).
    pub fn agreed_mss(&self) -> Option<i64> {
        let [Some(a), Some(b)] = self.syns else { return None };
        let mss = i64::from(a.mss.unwrap_or(536).min(b.mss.unwrap_or(536)));
        Some(mss - if a.timestamps && b.timestamps { 12 } else { 0 }).filter(|mss| *mss > 0)
    }
}

/// Keeps what one recording saw.
#[derive(Debug, Default)]
pub struct Collector {
    options: CollectorOptions,
    /// Flow numbers start at 1; the slot of flow n is n − 1.
    flows: Vec<Option<Tapped>>,
    kept: usize,
    span: Option<(i64, i64)>,
    not_kept: u64,
}

impl Collector {
    /// A collector that has seen nothing.
    pub fn new(options: CollectorOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Forgets what it has seen.
    pub fn restart(&mut self) {
        *self = Self::new(self.options);
    }

    /// Ends the collecting. `epoch_ns` is the wall-clock time of the recording's instant 0, in nanoseconds since 1970.
    /// If it is unknown, pass 0; the offset between the clocks then means nothing.
    pub fn finish(self, epoch_ns: i64) -> Tap {
        let flows = self.flows.into_iter().flatten().collect();
        Tap {
            flows,
            epoch: epoch_ns.clamp(0, 1 << 62),
            span: self.span.unwrap_or_default(),
            not_kept: self.not_kept,
        }
    }

    fn keep(&mut self, index: usize, at: Instant, segment: &Segment) {
        let Some(Some(flow)) = self.flows.get_mut(index) else { return };
        if segment.flags.has(Flags::SYN) {
            let seen = SynOptions::of(segment);
            flow.syns[segment.from.index()].get_or_insert(seen);
        }
        let record = Record::of(at, segment);
        if !flow.stripes.touches(&record) {
            return;
        }
        flow.ends[segment.from.index()].push(record);
        self.kept += 1;
        if flow.len() > self.options.most_per_flow.max(Self::WORTH_HALVING) {
            self.kept -= flow.len();
            flow.halve();
            self.kept += flow.len();
        }
        if self.kept > self.options.most {
            self.make_room();
        }
    }

    /// A flow of fewer segments is not thinned out.
    const WORTH_HALVING: usize = 1024;

    /// Thins out the largest flow, or drops the latest if they are all small.
    fn make_room(&mut self) {
        let largest = self.flows.iter_mut().flatten().max_by_key(|flow| flow.len());
        if let Some(flow) =
            largest.filter(|flow| flow.len() >= Self::WORTH_HALVING && flow.stripes.halvings < 32)
        {
            self.kept -= flow.len();
            flow.halve();
            self.kept += flow.len();
        } else if let Some(latest) = self.flows.iter_mut().rev().find_map(Option::take) {
            self.kept -= latest.len();
            self.not_kept += 1;
        }
    }
}

impl Sink for Collector {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        let Some(index) = flow.0.checked_sub(1).map(|index| index as usize) else { return };
        if self.kept >= self.options.most {
            self.not_kept += 1;
            return;
        }
        if index >= self.flows.len() {
            self.flows.resize_with(index + 1, || None);
        }
        self.flows[index] = Some(Tapped {
            id: flow,
            key: *key,
            ends: Default::default(),
            syns: Default::default(),
            stripes: Stripes::default(),
        });
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        let now = event.at.nanos().clamp(-LONGEST, LONGEST);
        self.span = Some(self.span.map_or((now, now), |(first, last)| (first.min(now), last.max(now))));
        if let EventKind::Seen(segment) = &event.kind {
            self.keep(flow.0.wrapping_sub(1) as usize, event.at, segment);
        }
    }

    fn close(&mut self, _: FlowId, _: FlowEnd) {}
}

/// What one recording saw: one of the two to be compared.
#[derive(Debug)]
pub struct Tap {
    pub(super) flows: Vec<Tapped>,
    /// Wall-clock time of instant 0, in nanoseconds.
    pub(super) epoch: i64,
    /// First and last event of any flow, in nanoseconds on the recording's clock.
    pub(super) span: (i64, i64),
    pub(super) not_kept: u64,
}

impl Tap {
    /// The wall-clock time of the recording's instant 0, in nanoseconds since 1970.
    pub const fn epoch_ns(&self) -> i64 {
        self.epoch
    }
}

/// Two sinks fed at once.
#[derive(Debug)]
pub struct Both<'a, A, B>(pub &'a mut A, pub &'a mut B);

impl<A: Sink, B: Sink> Sink for Both<'_, A, B> {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.0.open(flow, key);
        self.1.open(flow, key);
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        self.0.accept(flow, event);
        self.1.accept(flow, event);
    }

    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        self.0.close(flow, end);
        self.1.close(flow, end);
    }
}

/// The end that `end` of one recording's flow is in the other's.
pub(super) fn mirrored(end: End, swapped: bool) -> End {
    if swapped { !end } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::{Endpoint, StreamOffset};

    fn key() -> FlowKey {
        let end = |n: u8| Endpoint { address: std::net::Ipv4Addr::new(192, 0, 2, n).into(), port: 1 };
        FlowKey { a: end(1), b: end(2), occurrence: 0 }
    }

    #[test]
    fn thinned_flow_keeps_the_same_stretches_whenever_thinned() {
        let kept = |most_per_flow: usize| {
            let mut collector = Collector::new(CollectorOptions { most_per_flow, ..Default::default() });
            collector.open(FlowId(1), &key());
            for n in 0..40_000 {
                let segment = Segment::new(End::A, Flags::ACK, StreamOffset(1 + n * 1448), 1448);
                collector
                    .accept(FlowId(1), &Event { at: Instant::from_nanos(n), kind: EventKind::Seen(segment) });
            }
            assert_eq!(collector.kept, collector.flows[0].as_ref().unwrap().len());
            collector.finish(0).flows.remove(0)
        };
        let (whole, thin) = (kept(100_000), kept(5_000));
        assert_eq!(whole.len(), 40_000);
        assert!(thin.stripes.halvings >= 3 && thin.len() <= 5_000);
        let again: Vec<_> =
            whole.ends[0].iter().filter(|record| thin.stripes.touches(record)).copied().collect();
        assert_eq!(again, thin.ends[0]);
    }

    #[test]
    fn collector_memory_is_bounded_over_all_flows() {
        let mut collector = Collector::new(CollectorOptions { most: 500, ..Default::default() });
        for flow in 1..=300 {
            collector.open(FlowId(flow), &key());
            for n in 0..10 {
                let segment = Segment::new(End::A, Flags::ACK, StreamOffset(n), 1);
                collector.accept(FlowId(flow), &Event { at: Instant::START, kind: EventKind::Seen(segment) });
                assert!(collector.kept <= 500);
            }
        }
        let tap = collector.finish(0);
        assert_eq!(tap.flows.len() as u64 + tap.not_kept, 300);
    }
}
