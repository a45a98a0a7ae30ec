//! Round-trip times in a capture at the sender, as tcptrace measures them.

use slowpath_model::{End, Flags, Instant, Segment, StreamOffset};
use std::collections::VecDeque;
use std::time::Duration;

/// The RTTs of segments that are acknowledged without any retransmission since they were sent.
#[derive(Debug, Default)]
pub struct Rtts {
    /// Where segments end, and when they were sent.
    sent: VecDeque<(StreamOffset, Instant)>,
    highest: Option<StreamOffset>,
    /// The longest RTT.
    pub longest: Duration,
}

impl Rtts {
    /// A segment passes the sender, whose end is `from`.
    pub fn see(&mut self, at: Instant, segment: &Segment, from: End) {
        if segment.from != from {
            if let Some(ack) = segment.ack.filter(|_| !segment.flags.has(Flags::SYN)) {
                self.acknowledge(at, ack);
            }
        } else if segment.len > 0 {
            if self.highest.is_some_and(|highest| segment.seq < highest) {
                // Later ACKs may be for either copy, or wait for it.
                self.sent.clear();
            } else {
                self.sent.push_back((segment.end(), at));
            }
            self.highest = self.highest.max(Some(segment.end()));
        }
    }

    fn acknowledge(&mut self, at: Instant, ack: StreamOffset) {
        let covered = self.sent.partition_point(|(end, _)| *end <= ack);
        // Of all that an ACK covers, the last segment caused it.
        if let Some((_, sent)) = self.sent.drain(..covered).next_back() {
            self.longest = self.longest.max(at.since(sent).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    fn data(seq: i64) -> Segment {
        Segment::new(End::A, Flags::ACK, StreamOffset(seq), 100)
    }

    fn ack(ack: i64) -> Segment {
        Segment { ack: Some(StreamOffset(ack)), ..Segment::new(End::B, Flags::ACK, StreamOffset(0), 0) }
    }

    #[test]
    fn ack_measures_the_last_segment_that_it_covers() {
        let mut rtts = Rtts::default();
        for (time, segment) in [(0, data(0)), (30, data(100)), (70, ack(200))] {
            rtts.see(at(time), &segment, End::A);
        }
        assert_eq!(rtts.longest, Duration::from_millis(40));
    }

    #[test]
    fn segments_before_a_retransmission_are_not_measured() {
        let mut rtts = Rtts::default();
        for (time, segment) in
            [(0, data(0)), (1, data(100)), (300, data(0)), (340, ack(200)), (350, data(200)), (390, ack(300))]
        {
            rtts.see(at(time), &segment, End::A);
        }
        assert_eq!(rtts.longest, Duration::from_millis(40));
    }
}
