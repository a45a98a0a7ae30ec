//! Whether a sender far from the tap takes the window to be a part of what it is, as one does to which a device on the path
//! has shown another window scale.
//!
//! Such a sender has more to send, and ends its segments where it believes the window to end: at 2^-n of it, to the byte.

use super::thresholds;
use slowpath_model::Instant;

/// Short segments that ended where a part of the window ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct OtherScale {
    /// By how much the scale is less.
    less: u8,
    /// How many segments ended just there, and how many short ones elsewhere since.
    segments: u32,
    elsewhere: u32,
    /// When what the first was sent into was known, and how much it made outstanding.
    since: Option<Instant>,
    outstanding: i64,
}

/// What the sender makes of the window, where it shows.
#[derive(Clone, Copy, Debug)]
pub struct ScaledOtherwise {
    /// The scale is that of the receiver, less this.
    pub less: u8,
    /// So many segments show it.
    pub segments: u32,
    /// Since when.
    pub since: Instant,
}

impl OtherScale {
    /// A segment with less than an MSS made so much outstanding, with a window of `window` that is known since `since`.
    #[inline(never)]
    pub fn short_segment(&mut self, since: Instant, outstanding: i64, window: u32) {
        let window = i64::from(window);
        // Programs write powers of two.
        let is_part = outstanding > 0
            && outstanding < window
            && window % outstanding == 0
            && (window / outstanding).count_ones() == 1
            && outstanding.count_ones() > 1;
        let less = if is_part { (window / outstanding).trailing_zeros() as u8 } else { 0 };
        if is_part && (self.since.is_none() || less == self.less) {
            (self.less, self.segments) = (less, self.segments + 1);
            if self.since.is_none() {
                (self.since, self.outstanding) = (Some(since), outstanding);
            }
        } else if self.since.is_some() {
            self.elsewhere += 1;
        }
    }

    /// What the sender makes of the window, if that is certain. At first it went by the window of the SYN, which nobody
    /// scales, and had much more in flight than later: `flight_max` at most.
    pub fn found(&self, flight_max: i64) -> Option<ScaledOtherwise> {
        let (part, of) = thresholds::OTHER_SCALE_PART;
        let most = self.segments >= thresholds::OTHER_SCALE_SEGMENTS
            && self.segments * of >= (self.segments + self.elsewhere) * part;
        let since = self.since.filter(|_| most && flight_max > 2 * self.outstanding)?;
        Some(ScaledOtherwise { less: self.less, segments: self.segments, since })
    }
}
