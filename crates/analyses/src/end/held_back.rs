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

/// What the time of an ACK says of the receiver, next to it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeldBack {
    /// Since when it had the oldest data that it acknowledges, if it held that ACK back: an ACK of several segments is later than
    /// any delayed ACK.
    pub since: Option<Instant>,
    /// How long after the last arrival it answered, in microseconds, if nothing but the read of its program explains when: three
    /// segments or more had waited, nothing else arrived, and no timer is as short. Else zero.
    pub read_after: u32,
}

impl HeldBack {
    /// What an ACK of `me` at `at` says, which acknowledges data of `sender`.
    #[inline(always)]
    pub fn at(at: Instant, acked: &Acked, me: &EndState, sender: &EndState) -> Self {
        let distance = me.distance.answering();
        let (Some(waited), Some(last)) = (acked.waited, acked.round_trip) else { return Self::default() };
        if waited < thresholds::READ_AFTER_NS.start || !distance.is_here() || acked.unseen != 0 {
            return Self::default();
        }
        let mss = i64::from(sender.mss_seen.max(1));
        // Until the copy passed, on a later interface of a host on the path, the data was not at the receiver.
        let is_late = waited > thresholds::LATE_ACK_NS
            && acked.advanced > thresholds::LATE_ACK_SEGMENTS * mss
            && sender.last_copy.is_none_or(|copy| at.nanos_since(copy) > thresholds::LATE_ACK_NS);
        // Behind a link of a local network, ACKs that come one after the other are those of a queue in front of it.
        let is_own_tap = distance.min().is_some_and(|min| min <= thresholds::OWN_TAP_NS);
        let was_silent = i64::from(sender.ack_silence) * 1000 >= waited / thresholds::HELD_SILENCE_PART;
        let is_read = is_own_tap
            && was_silent
            && acked.advanced > thresholds::READ_AFTER_SEGMENTS * mss
            && sender.outstanding.una() >= sender.outstanding.nxt()
            && thresholds::READ_AFTER_NS.contains(&last)
            && sender.last_copy.is_none();
        Self {
            since: (is_late && (is_own_tap || was_silent)).then(|| at.plus_nanos(-waited)),
            read_after: if is_read { micros(last) } else { 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACK of six segments, 30 ms after them, `silence` microseconds after the ACK before, by a receiver that is so many away.
    fn since(silence: u32, micros: i64) -> Option<i64> {
        let at = Instant::from_nanos(1_000_000_000);
        ack(silence, micros, 29_000_000).since.map(|since| at.nanos_since(since))
    }

    fn ack(silence: u32, micros: i64, last: i64) -> HeldBack {
        let (mut me, mut sender) = (EndState::new(None), EndState::new(None));
        me.distance.sample(micros * 1_000);
        (sender.mss_seen, sender.ack_silence) = (1_448, silence);
        let acked = Acked {
            advanced: 6 * 1_448,
            waited: Some(30_000_000),
            round_trip: Some(last),
            ..Acked::default()
        };
        let at = Instant::from_nanos(1_000_000_000);
        HeldBack::at(at, &acked, &me, &sender)
    }

    #[test]
    fn acks_one_after_the_other_behind_a_link_are_not_held_back() {
        assert_eq!(since(400, 280), None);
        assert_eq!(since(20_000, 280), Some(30_000_000), "nothing came for long");
        assert_eq!(since(400, 20), Some(30_000_000), "right at the receiver");
    }

    #[test]
    fn ack_that_no_arrival_and_no_timer_explains_is_of_a_read() {
        assert_eq!(ack(30_000, 20, 4_000_000).read_after, 4_000);
        assert_eq!(ack(30_000, 20, 2_000).read_after, 0, "it answers an arrival");
        assert_eq!(ack(30_000, 20, 40_000_000).read_after, 0, "a timer may be as short");
        assert_eq!(ack(400, 20, 4_000_000).read_after, 0, "one of several");
        assert_eq!(ack(30_000, 280, 4_000_000).read_after, 0, "another device may wait");
    }
}
