//! The scale of a window whose handshake was not captured, where segments end to the byte at the window's end.
//!
//! A sender that uses up the window cuts its last segment where the window ends (`tcp_mss_split_point`, 6.18). Short
//! segments that end a program's writes end elsewhere.

use super::thresholds;
use crate::report::ScaleKnown;
use slowpath_model::{Instant, StreamOffset};
use std::collections::VecDeque;

/// Answers kept: as many as come in a long RTT.
const MOST_ANSWERS: usize = 256;

/// A kernel that waited for a window uses it within this time, in nanoseconds.
const AT_ONCE: i64 = 1_000_000;

/// Short segments looked at: what they have not shown by then, they will not.
const MOST_SHORT: u32 = 1 << 16;

/// The windows of the receiver, and the short segments that ended at them.
#[derive(Clone, Debug, Default)]
pub struct WindowEnds {
    answers: VecDeque<Advertised>,
    short: u32,
    at_scale: [AtScale; ScaleKnown::MOST as usize + 1],
}

/// A window field as it was sent.
#[derive(Clone, Copy, Debug)]
struct Advertised {
    at: Instant,
    ack: StreamOffset,
    field: u16,
}

/// Short segments that ended at the end of a window of one scale.
#[derive(Clone, Copy, Debug, Default)]
struct AtScale {
    segments: u32,
    /// The shortest time since that window passed the tap, in nanoseconds.
    soonest: Option<i64>,
}

/// The scale under which short segments end where the window ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScaleFound {
    pub shift: u8,
    /// How soon the sender used such a window after it had passed the tap, in nanoseconds.
    pub soonest: i64,
}

impl WindowEnds {
    /// The receiver acknowledged up to `ack` and advertised `field`.
    pub fn advertised(&mut self, at: Instant, ack: StreamOffset, field: u16) {
        if self.answers.len() == MOST_ANSWERS {
            self.answers.pop_front();
        }
        self.answers.push_back(Advertised { at, ack, field });
    }

    /// A segment shorter than an MSS ended at `end`; `is_here` if its sender is next to the tap. Returns the scale once that is
    /// certain.
    pub fn short_segment(&mut self, at: Instant, end: StreamOffset, is_here: bool) -> Option<ScaleFound> {
        if self.short == MOST_SHORT {
            return None;
        }
        self.short += 1;
        let mut seen = 0_u32;
        // The oldest first: while nothing is read, later windows end where it ends.
        for answer in &self.answers {
            let Some(shift) = shift_to(end.distance_from(answer.ack), answer.field) else { continue };
            if seen & 1 << shift == 0 {
                seen |= 1 << shift;
                let known = &mut self.at_scale[usize::from(shift)];
                known.segments += 1;
                let age = at.nanos_since(answer.at);
                known.soonest = Some(known.soonest.map_or(age, |soonest| soonest.min(age)));
            }
        }
        self.found(is_here)
    }

    fn found(&self, is_here: bool) -> Option<ScaleFound> {
        let (part, of) = thresholds::OTHER_SCALE_PART;
        let is_certain = |one: &AtScale| {
            one.segments >= thresholds::OTHER_SCALE_SEGMENTS && one.segments * of >= self.short * part
        };
        let scales = || self.at_scale.iter().enumerate();
        let (shift, most) = scales().max_by_key(|(_, one)| one.segments)?;
        // If each answer acknowledges half a window, half the newest one ends where all of the one before does. Next to the
        // sender, what let a segment out came just before it: any other window had been open for long.
        let others = scales().filter(|(other, _)| *other != shift);
        let is_only = others.map(|(_, one)| one.segments).max().is_none_or(|next| next * 2 <= most.segments);
        let at_once = |one: &AtScale| one.soonest.is_some_and(|soonest| soonest <= AT_ONCE);
        let mut prompt = scales().filter(|(_, one)| is_here && is_certain(one) && at_once(one));
        let (shift, found) = match (is_only, prompt.next(), prompt.next()) {
            (true, ..) => (shift, most),
            (false, Some(only), None) => only,
            _ => return None,
        };
        let soonest = found.soonest.filter(|_| is_certain(found))?;
        Some(ScaleFound { shift: shift as u8, soonest })
    }
}

/// The shift under which a window `field` has room for exactly `outstanding` bytes, if there is one. Programs write
/// powers of two and round numbers, which show nothing.
pub fn shift_to(outstanding: i64, field: u16) -> Option<u8> {
    let is_round = outstanding.count_ones() == 1 || outstanding % 1000 == 0;
    if outstanding < i64::from(field) || field == 0 || is_round {
        return None;
    }
    let shift = outstanding.trailing_zeros().checked_sub(field.trailing_zeros())?;
    let fits = shift <= u32::from(ScaleKnown::MOST) && i64::from(field) << shift == outstanding;
    fits.then_some(shift as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Bursts that each end `outstanding` bytes above the ACK before the last, every second one `elsewhere` bytes farther.
    /// Each ACK of `acked` bytes advertises `field`.
    fn ends_at(field: u16, outstanding: i64, acked: i64, elsewhere: i64) -> Option<ScaleFound> {
        let mut ends = WindowEnds::default();
        let mut found = None;
        for burst in 1..20_i64 {
            let at = |ms: i64| Instant::from_nanos((burst * 20 + ms) * MS);
            let ack = StreamOffset(0).plus(burst * acked);
            ends.advertised(at(0), ack, field);
            let end = ack.plus(outstanding - acked + elsewhere * (burst % 2));
            found = found.or(ends.short_segment(at(5), end, false));
        }
        found
    }

    #[test]
    fn segments_that_end_where_the_window_ends_show_its_scale() {
        assert_eq!(ends_at(135, 135 << 7, 8760, 0), Some(ScaleFound { shift: 7, soonest: 25 * MS }));
    }

    #[test]
    fn segments_that_end_elsewhere_show_nothing() {
        assert_eq!(ends_at(135, 135 * 131, 8760, 0), None);
        assert_eq!(ends_at(135, 135 << 7, 8760, 1), None);
    }

    /// The newest window at half the scale ends there as well.
    #[test]
    fn two_scales_that_fit_show_nothing() {
        assert_eq!(ends_at(135, 135 << 7, 135 << 6, 0), None);
    }

    /// A window without a scale is acknowledged as a whole in each RTT, so that twice as much ends where two of them do.
    #[test]
    fn window_used_at_once_next_to_the_sender_is_the_right_one() {
        let found = |is_here| {
            let mut ends = WindowEnds::default();
            let mut found = None;
            for burst in 1..20_i64 {
                let at = |micros: i64| Instant::from_nanos((burst * 20_000 + micros) * 1_000);
                let ack = StreamOffset(0).plus(burst * 65_535);
                ends.advertised(at(0), ack, 65_535);
                found = found.or(ends.short_segment(at(20), ack.plus(65_535), is_here));
            }
            found
        };
        assert_eq!(found(true), Some(ScaleFound { shift: 0, soonest: 20_000 }));
        assert_eq!(found(false), None, "far away, either may be");
    }

    /// 64 KiB above an ACK: as much as a program writes.
    #[test]
    fn round_numbers_show_nothing() {
        assert_eq!(ends_at(512, 512 << 7, 8760, 0), None);
        assert_eq!(ends_at(500, 500 << 7, 8760, 0), None);
    }
}
