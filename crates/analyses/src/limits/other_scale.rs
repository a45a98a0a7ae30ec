//! Whether a sender far from the tap uses only a fraction of the window, because a device on the path showed it another
//! window scale.
//!
//! Such a sender has more to send, and ends its segments where it believes the window ends: at 2^-n of it, to the byte.

use super::thresholds;
use slowpath_model::Instant;

/// Short segments that ended at a fraction of the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct OtherScale {
    /// How much smaller the scale is.
    less: u8,
    /// How many segments ended exactly there, and how many short ones elsewhere since.
    segments: u32,
    elsewhere: u32,
    /// Since when the window of the first one was known, and how much that one made outstanding.
    since: Option<Instant>,
    outstanding: i64,
}

/// The sender's view of the window, where it shows.
#[derive(Clone, Copy, Debug)]
pub struct ScaledOtherwise {
    /// The scale is the receiver's, less this.
    pub less: u8,
    /// How many segments show it.
    pub segments: u32,
    /// Since when.
    pub since: Instant,
}

impl OtherScale {
    /// A segment shorter than an MSS made so much outstanding, with a window of `window` known since `since`.
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

    /// The sender's view of the window, if that is certain. At first it used the SYN's window, which is never scaled,
    /// and had much more in flight than later: `flight_max` at most.
    pub fn found(&self, flight_max: i64) -> Option<ScaledOtherwise> {
        let (part, of) = thresholds::OTHER_SCALE_PART;
        let most = self.segments >= thresholds::OTHER_SCALE_SEGMENTS
            && self.segments * of >= (self.segments + self.elsewhere) * part;
        let since = self.since.filter(|_| most && flight_max > 2 * self.outstanding)?;
        Some(ScaledOtherwise { less: self.less, segments: self.segments, since })
    }
}
