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
        while let Some((_, sent)) = self.sent.pop_front_if(|(end, _)| *end <= ack) {
            // Of all that an ACK covers, the last segment caused it.
            if self.sent.front().is_none_or(|(end, _)| *end > ack) {
                self.longest = self.longest.max(at.since(sent).unwrap_or_default());
            }
        }
    }
}
