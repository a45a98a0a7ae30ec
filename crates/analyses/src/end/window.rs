//! The windows that one end advertises.

use super::EndState;
use crate::limits::thresholds;
use crate::overview::ScaleChanged;
use slowpath_model::{Flags, Instant, Segment, StreamOffset};

/// The windows one end advertised.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowStats {
    pub current: u32,
    pub min: Option<u32>,
    pub max: u32,
    pub sum: u64,
    pub count: u64,
    pub zero_count: u64,
    /// In nanoseconds.
    pub zero_time: i64,
    zero_since: Option<Instant>,
}

impl WindowStats {
    #[inline(always)]
    pub fn saw(&mut self, at: Instant, window: u32) {
        self.sum += u64::from(window);
        self.count += 1;
        if window > 0 && window == self.current {
            return;
        }
        self.changes(at, window);
    }

    /// The window is another one, or closed.
    #[inline(never)]
    fn changes(&mut self, at: Instant, window: u32) {
        self.current = window;
        if window > 0 {
            self.min = Some(self.min.map_or(window, |min| min.min(window)));
            self.close(at);
        } else if self.zero_since.is_none() {
            self.zero_since = Some(at);
            self.zero_count += 1;
        }
        self.max = self.max.max(window);
    }

    /// What was advertised so far does not count any more but for its number: another window follows, of `window` bytes.
    fn starts_anew(&mut self, window: u32) {
        (self.min, self.max, self.sum) = (None, window, window.into());
    }

    /// Ends a period of zero window, if there is one.
    pub fn close(&mut self, at: Instant) {
        if let Some(since) = self.zero_since.take() {
            self.zero_time += at.nanos_since(since);
        }
    }
}

impl EndState {
    /// Notes whether `window`, the second of this end, fits the window of its SYN, which is not scaled (RFC 7323, section 2.2). It
    /// does not if its edge is short of the first one's by more than rounding: no unread data explains that, since a receiver does
    /// not take back what it offered (RFC 9293, section 3.8.6.2.1; RFC 7323, section 2.4). If the window is far smaller, a device
    /// changed the scale; returns whether it is another one for another reason, such as a device that answered the SYN itself.
    #[cold]
    pub(super) fn opens_anew(&mut self, ack: StreamOffset, segment: &Segment, window: u32) -> bool {
        if segment.flags.has(Flags::SYN) || window == 0 || self.options.is_none() {
            return false;
        }
        let opened = self.window.current;
        // The sequence number after the SYN is 1.
        let offered = u32::try_from(ack.0 - 1).unwrap_or(0).saturating_add(window);
        let is_back = opened.saturating_sub(offered) >= 1 << self.scale.shift();
        let is_changed = is_back && opened / thresholds::SAME_SCALE > window;
        self.scale_changed = is_changed.then_some(ScaleChanged::FirstWindow { opened, next: window });
        let is_other = is_back && !is_changed;
        if is_other {
            self.window.starts_anew(window);
        }
        is_other
    }
}
