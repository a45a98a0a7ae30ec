//! ACKs that a receiver next to the tap held back.

use super::EndState;
use crate::limits::thresholds;
use crate::outstanding::Acked;
use crate::rtt::micros;
use slowpath_model::{Instant, Segment};

/// ACKs less than this after each other, in nanoseconds, are one bunch.
const IN_A_BUNCH: i64 = 1_000_000;

impl EndState {
    /// How long this end delays the ACK of one segment at most, beyond an RTT, in nanoseconds. Linux, BSD and macOS start with a
    /// TTL of 64 and use timestamps.
    #[inline]
    pub(super) const fn longest_delayed_ack(&self, segment: &Segment) -> i64 {
        if matches!(self.initial_ttl(), Some(64)) && segment.timestamps.is_some() {
            thresholds::DELAYED_ACK_OF_UNIX_NS
        } else {
            thresholds::DELAYED_ACK_NS
        }
    }

    /// Data of this end is acknowledged.
    #[inline]
    pub(super) fn note_acked(&mut self, at: Instant) {
        if let Some(last) = self.last_acked.replace(at) {
            let silence = at.nanos_since(last);
            if silence > IN_A_BUNCH {
                self.ack_silence = micros(silence);
            }
        }
    }
}

/// Since when the receiver `me` had the oldest data that it acknowledges at `at`, if it held that ACK back: next to it, an ACK of
/// several segments is later than any delayed ACK. `mss` is what the largest segment has, and `silence` how long no ACK had come,
/// in microseconds; until `last_copy` passed, on a later interface of a host on the path, the data was not at the receiver.
#[inline(always)]
pub(super) fn held_back_since(
    at: Instant,
    acked: &Acked,
    me: &EndState,
    [mss, silence]: [u32; 2],
    last_copy: Option<Instant>,
) -> Option<Instant> {
    let waited = acked.waited.filter(|waited| *waited > thresholds::LATE_ACK_NS)?;
    let distance = me.distance.answering();
    let is_late = distance.is_here()
        && acked.unseen == 0
        && acked.round_trip.is_some()
        && acked.advanced > thresholds::LATE_ACK_SEGMENTS * i64::from(mss.max(1))
        && last_copy.is_none_or(|copy| at.nanos_since(copy) > thresholds::LATE_ACK_NS);
    // Behind a link of a local network, ACKs that come one after the other are those of a queue in front of it.
    let is_own_tap = distance.min().is_some_and(|min| min <= thresholds::OWN_TAP_NS);
    let was_silent = i64::from(silence) * 1000 >= waited / thresholds::HELD_SILENCE_PART;
    (is_late && (is_own_tap || was_silent)).then(|| at.plus_nanos(-waited))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACK of six segments, 30 ms after them, `silence` microseconds after the ACK before, by a receiver that is so many away.
    fn since(silence: u32, micros: i64) -> Option<i64> {
        let mut me = EndState::new(None);
        me.distance.sample(micros * 1_000);
        let acked = Acked {
            advanced: 6 * 1_448,
            waited: Some(30_000_000),
            round_trip: Some(29_000_000),
            ..Acked::default()
        };
        let at = Instant::from_nanos(1_000_000_000);
        held_back_since(at, &acked, &me, [1_448, silence], None).map(|since| at.nanos_since(since))
    }

    #[test]
    fn acks_one_after_the_other_behind_a_link_are_not_held_back() {
        assert_eq!(since(400, 280), None);
        assert_eq!(since(20_000, 280), Some(30_000_000), "nothing came for long");
        assert_eq!(since(400, 20), Some(30_000_000), "right at the receiver");
    }
}
