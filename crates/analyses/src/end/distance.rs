//! How far an end is from the tap.

use super::EndState;
use crate::outstanding::Placed;
use crate::rtt::Distance;
use slowpath_model::{Instant, Segment};

impl EndState {
    /// A packet of this end passes with `ttl` hops left.
    #[inline]
    pub fn note_ttl(&mut self, ttl: u8) {
        if ttl != self.ttl_max || ttl != self.ttl_min {
            self.ttl_min = if self.ttl_max == 0 { ttl } else { self.ttl_min.min(ttl) };
            self.ttl_max = self.ttl_max.max(ttl);
        }
    }

    /// The TTL that packets of this end start with, if any passed: the next from the largest seen on that hosts start with.
    #[inline]
    pub const fn initial_ttl(&self) -> Option<u8> {
        match self.ttl_max {
            0 => None,
            1..=64 => Some(64),
            65..=128 => Some(128),
            129.. => Some(255),
        }
    }

    /// This end retransmits `segment`. What never passed before was lost on the way to the tap, so that this is not at the
    /// end, unless the other end is far away: then its own host lost it.
    #[inline]
    pub(super) fn fills_hole(&mut self, segment: &Segment, placed: &Placed, peer: &Self) {
        if placed.unique == segment.len && segment.len > 0 && !peer.distance.is_farther() {
            self.distance.lost_before_tap();
        }
    }
}

/// One end answers after `nanos`.
#[inline]
pub fn note_distance(nanos: i64, one: &mut Distance, other: &mut Distance) {
    let before = one.min();
    one.sample(nanos);
    if one.min() != before {
        one.compare(other);
        other.compare(one);
    }
}

/// Measures how far `me` is from the tap by what it echoes in `segment`, which `takes` this much sequence space; starts
/// the watch for `peer`'s echo.
#[inline]
pub fn measure_distance(at: Instant, segment: &Segment, takes: u32, me: &mut EndState, peer: &mut EndState) {
    let Some(stamps) = segment.timestamps else { return };
    if segment.ack.is_some()
        && let Some(echo) = me.echo.echoed(stamps.ecr, at, || dated(stamps.ecr, at, &me.distance, peer))
    {
        let nanos = echo.after;
        me.distance.note_beyond(echo.more_than);
        // The first segment after a pause echoes what came before it (RFC 7323, section 4): not an RTT, unless what came
        // next had not arrived either.
        let pause = me.last_stamped.map_or(0, |last| at.nanos_since(last));
        let is_rtt = pause * 2 < nanos || me.distance.beyond() * 2 >= nanos;
        if is_rtt || me.distance.min().is_none_or(|least| nanos <= 2 * least) {
            note_distance(nanos, &mut me.distance, &mut peer.distance);
            peer.rtt_by_timestamp.sample(nanos);
        }
    }
    me.last_stamped = Some(at);
    me.lateness.saw(stamps.val, at);
    // Only an end that has more to send answers a pure ACK at once.
    if takes > 0 || peer.outstanding.flight() > 0 {
        peer.echo.on_timestamp_sent(stamps.val, takes == 0, at);
    }
}

/// How long a timestamp of `peer`, next to the tap, has been under way, in nanoseconds, if that is less than the last samples
/// were: its echo waited until the end had data to send, so the time to it and back is no longer. Far from `peer`, a queue may
/// have stood before the tap.
fn dated(tsval: u32, at: Instant, far: &Distance, peer: &EndState) -> Option<i64> {
    let passed = if peer.distance.answering().is_here() { peer.lateness.passed(tsval, at) } else { None };
    passed.filter(|passed| *passed < far.recent())
}
