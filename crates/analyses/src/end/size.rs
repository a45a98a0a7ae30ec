//! How long a full segment of an end is.

use super::EndState;
use crate::label::Label;
use crate::limits::thresholds;

impl EndState {
    /// Payload of a full segment, as far as known.
    pub fn full_size(&self) -> u32 {
        match self.mss {
            Some(_) if self.has_shrunk => self.smaller,
            Some(mss) if self.sends_no_fuller(mss) => self.mss_seen,
            Some(mss) => mss,
            // RFC 9293, section 3.7.1: every host accepts this much, so less is no full segment.
            None => self.mss_seen.max(536),
        }
    }

    /// Payload of a full segment before the path turned out to be narrower.
    pub fn full_size_at_first(&self) -> u32 {
        if self.has_shrunk { self.mss_seen } else { self.full_size() }
    }

    /// Notes the size of a segment that is no super-packet, `silence` nanoseconds after the last one with data.
    #[inline]
    pub(super) fn note_size(&mut self, len: u32, pushed: bool, label: Label, silence: i64) {
        if len > self.mss_seen {
            (self.mss_seen, self.largest_unpushed) = (len, 0);
        }
        if len == self.mss_seen {
            self.largest_unpushed =
                self.largest_unpushed.saturating_add(u8::from(!pushed && label == Label::New));
        }
        if len < self.mss_seen || self.smaller_count > 0 {
            self.note_smaller(len, pushed, label, silence);
        }
    }

    /// Notes the size of a segment where some are smaller than the largest seen. If most are of just one size with more to
    /// send behind them, and none but a few are larger, that is full for a path whose MTU turned out to be smaller. The few
    /// are probes (RFC 4821). Once found, as many larger ones as it took to find it end it.
    #[inline(never)]
    fn note_smaller(&mut self, len: u32, pushed: bool, label: Label, silence: i64) {
        const ENOUGH: u8 = thresholds::LEAST_UNPUSHED;
        if label != Label::New || len < self.smaller {
            return;
        }
        if len == self.smaller {
            // One in an RTT may be all that the program wrote.
            let is_one_of_many = silence < self.rto.srtt_nanos().map_or(10_000_000, |srtt| srtt / 2);
            self.smaller_count = (self.smaller_count + u8::from(!pushed && is_one_of_many)).min(2 * ENOUGH);
        } else if self.smaller_count == 0 {
            self.smaller = if len < self.mss_seen { len } else { 0 };
        } else {
            self.smaller_count -= 1;
        }
        let is_nearly_full = f64::from(self.smaller) >= thresholds::NEARLY_FULL * f64::from(self.mss_seen);
        match self.smaller_count {
            0 => self.has_shrunk = false,
            ENOUGH.. if is_nearly_full => self.has_shrunk = true,
            _ => {}
        }
    }

    /// Whether this end's full segments are shorter than `mss`: it keeps room for more options than it sends, or its
    /// path has a smaller MTU. It sent nothing longer, and often had more to send behind a segment of exactly that
    /// size: the last segment of a queue has a push flag (RFC 9293, section 3.9.1).
    fn sends_no_fuller(&self, mss: u32) -> bool {
        self.mss_seen < mss
            && self.largest_unpushed >= thresholds::LEAST_UNPUSHED
            && f64::from(self.mss_seen) >= thresholds::NEARLY_FULL * f64::from(mss)
    }

    /// Whether a segment of `len` bytes, longer than a full one, shows that this end does not subtract the timestamps
    /// from the MSS; that is then its full segment.
    #[cold]
    pub(super) fn keeps_no_room_for_options(&mut self, len: u32) -> bool {
        // An end that sent segments of exactly that size does subtract them. Options take 40 bytes at most (RFC 9293,
        // section 3.1): anything longer is a super-packet.
        let shows =
            len <= self.mss_allowed && self.mss.is_some_and(|mss| self.mss_seen < mss && len <= mss + 40);
        if shows {
            self.mss = Some(len);
        }
        shows
    }
}
