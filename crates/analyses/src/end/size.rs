//! How long a full segment of an end is.

use super::EndState;
use crate::flow::ETHERNET_MSS;
use crate::label::Label;
use crate::limits::thresholds;

/// The length of the timestamps option (RFC 7323, section 3.2) with its padding.
const STAMPS: u32 = 12;

/// Payload of a segment of the MSS that every host accepts, 536 (RFC 9293, section 3.7.1), with timestamps (RFC 7323,
/// section 3.2).
const LEAST_FULL: u32 = 536 - STAMPS;

/// Payload of a full segment on Ethernet, by IPv4 and IPv6, with timestamps and without.
const OF_ETHERNET: [u32; 4] =
    [ETHERNET_MSS - STAMPS, ETHERNET_MSS, ETHERNET_MSS - 20 - STAMPS, ETHERNET_MSS - 20];

/// The size of full segments on Ethernet of which a super-packet of this length may consist. Without the SYNs, super-packets of two
/// segments each would look like jumbo frames of that odd size.
fn of_ethernet(len: u32) -> Option<u32> {
    OF_ETHERNET.into_iter().find(|full| len > *full && len.is_multiple_of(*full))
}

impl EndState {
    /// Payload of a full segment, as far as known.
    pub const fn full_size(&self) -> u32 {
        self.full_size
    }

    /// Sets the payload of a full segment, as the SYNs, a router or a segment of that size show it.
    pub fn set_mss(&mut self, mss: Option<u32>) {
        self.mss = mss;
        self.find_full_size();
    }

    /// Works out [`Self::full_size`], which is kept because each segment asks for it and few change it.
    pub(super) fn find_full_size(&mut self) {
        self.full_size = match self.mss {
            Some(_) if self.has_shrunk => self.smaller,
            Some(mss) if self.is_in_units(mss) => self.unit,
            Some(mss) if self.sends_no_fuller(mss) => self.mss_seen,
            Some(mss) => mss,
            None => self.full_size_seen(),
        };
        self.outstanding.set_full_size(self.full_size_at_first());
    }

    /// Whether nearly all segments of an end that may send jumbo frames, with more to send behind them, are multiples of a
    /// size that fits Ethernet: on the path it sends no larger ones, and the tap sees several at once.
    fn is_in_units(&self, mss: u32) -> bool {
        mss > ETHERNET_MSS
            && (LEAST_FULL..=ETHERNET_MSS).contains(&self.unit)
            && self.unit_votes >= thresholds::LEAST_UNPUSHED
    }

    /// The full size of an end whose SYN was not captured.
    fn full_size_seen(&self) -> u32 {
        let seen = self.mss_seen.max(LEAST_FULL);
        if self.unit >= LEAST_FULL {
            self.unit
        } else if self.largest_unpushed > 0 || self.is_repeated {
            seen
        } else {
            // Each segment of that size may be all that a program wrote.
            seen + 1
        }
    }

    /// The largest payload of a segment. Without the SYNs, that of a super-packet is not known to be one.
    pub fn largest(&self) -> u32 {
        let is_guessed = self.mss.is_none() && self.unit >= LEAST_FULL;
        if is_guessed { self.unit.min(self.mss_seen) } else { self.mss_seen }
    }

    /// Payload of a full segment before the path turned out to be narrower.
    pub fn full_size_at_first(&self) -> u32 {
        let is_narrower = self.has_shrunk || self.mss.is_some_and(|mss| self.is_in_units(mss));
        if is_narrower { self.mss_seen } else { self.full_size() }
    }

    /// Notes the size of a segment that is no super-packet, `silence` nanoseconds after the last one with data.
    #[inline]
    pub(super) fn note_size(&mut self, len: u32, pushed: bool, label: Label, silence: i64) {
        let is_told = self.mss.is_some() || self.is_repeated && len <= ETHERNET_MSS;
        let shows_nothing =
            len == self.mss_seen && self.largest_unpushed == u8::MAX && self.smaller_count == 0;
        // Nearly every segment of an end with more to send.
        if !(shows_nothing && is_told) {
            self.note_telling_size(len, pushed, label, silence);
            self.find_full_size();
        }
    }

    /// Notes the size of a segment that may show something new.
    #[inline(never)]
    fn note_telling_size(&mut self, len: u32, pushed: bool, label: Label, silence: i64) {
        self.pushes |= pushed;
        if len > self.mss_seen {
            (self.mss_seen, self.largest_unpushed, self.is_repeated) = (len, 0, false);
        } else if len == self.mss_seen && self.mss.is_none() {
            self.is_repeated |= self.is_one_of_many(silence);
        }
        if len == self.mss_seen {
            self.largest_unpushed =
                self.largest_unpushed.saturating_add(u8::from(!pushed && label == Label::New));
        }
        // No write ended in a segment that was not pushed.
        let has_more_behind = !pushed && label == Label::New;
        let may_be_whole = match self.mss {
            None => len > ETHERNET_MSS || self.unit > 0 && has_more_behind,
            Some(mss) => mss > ETHERNET_MSS && has_more_behind,
        };
        if may_be_whole {
            self.note_unit(len);
        }
        if len < self.mss_seen || self.smaller_count > 0 {
            self.note_smaller(len, pushed, label, silence);
        }
    }

    /// Notes the size of a jumbo frame, a super-packet, or another segment of their sender. Each holds a whole number of full
    /// segments, unless a write ended in it.
    #[cold]
    fn note_unit(&mut self, len: u32) {
        let len = if self.mss.is_none() { of_ethernet(len).unwrap_or(len) } else { len };
        let common = common_divisor(self.unit, len);
        if common >= LEAST_FULL {
            self.unit = common;
            self.unit_votes = self.unit_votes.saturating_add(1);
        } else if self.unit_votes > 1 {
            self.unit_votes -= 1;
        } else {
            // The unit so far came from a segment in which a write ended.
            (self.unit, self.unit_votes) = (len, 1);
        }
    }

    /// Whether a segment `silence` nanoseconds after the last one with data has others in its RTT: one may be all that the
    /// program wrote.
    fn is_one_of_many(&self, silence: i64) -> bool {
        silence < self.rto.srtt_nanos().map_or(10_000_000, |srtt| srtt / 2)
    }

    /// Notes the size of a segment where some are smaller than the largest seen. If most are of just one size with more to
    /// send behind them, and none but a few are larger, that is full for a path whose MTU turned out to be smaller. The few
    /// are probes (RFC 4821). Once found, as many larger ones as it took to find it end it.
    fn note_smaller(&mut self, len: u32, pushed: bool, label: Label, silence: i64) {
        const ENOUGH: u8 = thresholds::LEAST_UNPUSHED;
        if label != Label::New || len < self.smaller {
            return;
        }
        if len == self.smaller {
            let shows = !pushed && self.is_one_of_many(silence);
            self.smaller_count = (self.smaller_count + u8::from(shows)).min(2 * ENOUGH);
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
        let is_nearly_full = f64::from(self.mss_seen) >= thresholds::NEARLY_FULL * f64::from(mss);
        let enough = if is_nearly_full { thresholds::LEAST_UNPUSHED } else { thresholds::MANY_UNPUSHED };
        // A stack without push flags may send what programs write as it is.
        let may_be = is_nearly_full || self.pushes;
        self.mss_seen < mss && may_be && self.largest_unpushed >= enough
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
            self.set_mss(Some(len));
        }
        shows
    }

    /// Whether an unpushed segment of `len` bytes, longer than a full one, shows that a device on the path changed this end's own
    /// MSS option before the tap: what the peer offered binds it (RFC 9293, section 3.7.1), and its option binds the peer alone.
    /// The smaller of both is the first guess, since a host with a smaller MTU offers that too.
    #[cold]
    pub(super) fn keeps_to_the_peers_mss(&mut self, len: u32) -> bool {
        let Some(mss) = self.mss else { return false };
        // With the timestamps or without them.
        let of_peer = [self.mss_allowed.saturating_sub(STAMPS), self.mss_allowed];
        // What offload merges has a whole number of full segments; a write ends in a pushed one.
        let is_whole = |full: u32| full > mss && len.is_multiple_of(full) && !len.is_multiple_of(mss);
        let Some(full) = of_peer.into_iter().find(|full| is_whole(*full)) else { return false };
        self.set_mss(Some(full));
        len == full
    }
}

/// Euclid's algorithm.
const fn common_divisor(mut one: u32, mut other: u32) -> u32 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an end that agreed on 1448 bytes and sends only segments of `len` seems to fill.
    fn full(len: u32, is_pushed: impl Fn(u32) -> bool) -> u32 {
        let mut end = EndState::new(None);
        end.set_mss(Some(1448));
        (0..200).for_each(|nth| end.note_size(len, is_pushed(nth), Label::New, 1000));
        end.full_size()
    }

    /// What an end that offered 536 to one that offered 1460 seems to fill, if it sends segments of `len`.
    fn full_of_unequal(len: u32, pushed: bool) -> u32 {
        let mut end = EndState::new(None);
        end.set_mss(Some(536 - STAMPS));
        end.mss_allowed = 1460;
        if !pushed {
            end.keeps_to_the_peers_mss(len);
        }
        end.full_size()
    }

    #[test]
    fn mss_is_what_the_receiver_offered_if_the_senders_own_option_was_changed() {
        assert_eq!(full_of_unequal(1448, false), 1448);
        assert_eq!(full_of_unequal(1460, false), 1460, "no timestamps");
        assert_eq!(full_of_unequal(4 * 1448, false), 1448, "merged by offload");
        assert_eq!(full_of_unequal(2 * 524, false), 524, "a small MTU of its own, and merged by offload");
        assert_eq!(full_of_unequal(131 * 1448, false), 524, "a multiple of both");
        assert_eq!(full_of_unequal(1448, true), 524, "a write of that length, merged by offload");
    }

    #[test]
    fn super_packets_of_two_segments_are_no_jumbo_frames() {
        let full = |len: u32| {
            let mut end = EndState::new(None);
            (0..200).for_each(|_| end.note_size(len, true, Label::New, 1000));
            end.full_size()
        };
        assert_eq!([full(2 * 1448), full(2 * 1460), full(4 * 1428)], [1448, 1460, 1428]);
        assert_eq!(full(8948), 8948, "jumbo frames");
    }

    #[test]
    fn segments_that_end_no_write_are_full() {
        assert_eq!(full(1400, |_| false), 1400);
        assert_eq!(full(488, |nth| nth % 2 == 1), 488, "an MSS that was lowered behind the tap");
        assert_eq!(full(488, |_| true), 1448, "each is what the program wrote");
        assert_eq!(full(488, |_| false), 1448, "the stack sets no push flags");
    }
}
