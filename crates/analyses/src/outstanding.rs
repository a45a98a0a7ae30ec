//! One direction's data from passing the tap to its acknowledgment.
//!
//! Every segment of data is labelled here, at once where the evidence is there and corrected later where it comes
//! later (DSACK, RFC 2883; the timestamp of an ACK, RFC 3522).

use crate::label::Label;
use crate::lateness::is_before;
use crate::limits::thresholds;
use crate::loss_pattern::{Beyond, Delivered, LossPattern};
use crate::order::SendOrder;
use crate::overview::CapturedLate;
use crate::ranges::RangeSet;
use crate::token_bucket::{Nth, Tap, TokenBucket, Transmissions};
use apart::SAME_RETRANSMISSION_WITHIN;
use hole::{Hole, MOST_HOLES};
use record::Record;
use retransmission::{Replaced, Retransmission};
use slowpath_model::{Flags, Instant, Segment, StreamOffset};
use std::collections::VecDeque;
use unseen::Unseen;

mod apart;
mod hole;
mod outcome;
mod record;
mod retransmission;
mod spurious;
mod unseen;
pub use apart::{SAME_FRAME_WITHIN, Times};
pub use outcome::{Acked, Missing, Placed};
pub use retransmission::SpuriousRetransmission;

/// One direction's outstanding data.
#[derive(Clone, Debug, Default)]
pub struct Outstanding {
    records: VecDeque<Record>,
    holes: Vec<Hole>,
    sacked: RangeSet,
    retransmissions: VecDeque<Retransmission>,
    /// Those of them that the current segment shows to have been spurious.
    spurious: Vec<SpuriousRetransmission>,
    una: StreamOffset,
    nxt: StreamOffset,
    started: bool,
    /// The hole below the first data that passed, as long as none of that was acknowledged.
    before_first: Option<Hole>,
    /// Segments behind a retransmission that were lost with it, unseen: the next ones are retransmitted too.
    lost_unseen: u16,
    /// The last segment was a retransmission.
    retransmitting: bool,
    /// Data was acknowledged that did not pass, and none has passed since.
    missed: bool,
    /// The byte at `nxt` was sent against a closed window, as a probe.
    probed: bool,
    /// Allocated when data that did not pass is first acknowledged.
    unseen: Option<Box<Unseen>>,
    /// Where the last frame ended that passed a second time; at first, where the first data begins. At a tap that
    /// captures each frame twice, the copies follow each other as the frames do.
    repeated_to: StreamOffset,
    /// That frame was a copy, or there was none.
    copied: bool,
    /// The window field of the last ACK with SACK blocks, or that came while data was SACKed.
    last_window: u16,
    /// Whether what is sent now reaches beyond the unscaled window.
    beyond: Beyond,
    /// Payload of a full segment, before a path turned out to be narrower: more is a super-packet.
    full: u32,
    pattern: LossPattern,
    /// From the first retransmission on.
    transmissions: Option<Box<Transmissions>>,
}

/// Segments that may be lost before a tail loss probe that is recognised by its identification: an initial window (RFC
/// 6928).
const PROBED_FLIGHT: i64 = 10;

/// Records kept where no ACK is ever seen: 4 MiB.
const MOST_RECORDS: usize = 1 << 17;
/// Retransmissions not yet known to be needed: a DSACK comes within an RTT or two.
const MOST_RETRANSMISSIONS: usize = 1 << 12;

impl Outstanding {
    /// Whether a segment that is not acknowledged begins at `at`.
    pub fn begins_at(&self, at: StreamOffset) -> bool {
        self.records.binary_search_by_key(&at, |record| record.start).is_ok()
    }

    /// The lowest offset not acknowledged.
    pub const fn una(&self) -> StreamOffset {
        self.una
    }

    /// The offset after the highest seen.
    pub const fn nxt(&self) -> StreamOffset {
        self.nxt
    }

    /// Data from `start` on passes first: whether earlier data was acknowledged, which the capture began too late for.
    pub fn began_before(&mut self, start: StreamOffset) -> bool {
        let is_first = self.started && self.records.is_empty() && self.holes.is_empty() && start > self.nxt;
        if is_first {
            self.nxt = start;
        }
        is_first
    }

    /// Sets whether the segment that passes next reaches beyond the unscaled window.
    #[inline]
    pub const fn reaches_beyond(&mut self, beyond: Beyond) {
        self.beyond = beyond;
    }

    /// Sets the payload of a full segment.
    pub const fn set_full_size(&mut self, full: u32) {
        self.full = full;
    }

    /// The byte at `nxt` was sent against a closed window (RFC 9293, section 3.8.6.1). It is outstanding only if the
    /// receiver takes it.
    pub const fn probe(&mut self) {
        self.probed = true;
    }

    /// Whether anything of this direction was seen or acknowledged.
    pub const fn started(&self) -> bool {
        self.started
    }

    /// Bytes outstanding, without SACKed ones and holes at the tap.
    pub fn flight(&self) -> i64 {
        self.nxt.distance_from(self.una) - self.sacked.total()
    }

    /// Bytes selectively acknowledged above `una`.
    pub const fn sacked_total(&self) -> i64 {
        self.sacked.total()
    }

    /// Whether selectively acknowledged data waits for something below it.
    pub const fn has_sacked(&self) -> bool {
        !self.sacked.is_empty()
    }

    /// Whether the other end is known to miss the byte at `at`: it is the next that it acknowledges, or it has what lies above.
    pub fn is_missing(&self, at: StreamOffset) -> bool {
        at == self.una || !self.sacked.contains(at) && self.sacked.end().is_some_and(|end| at < end)
    }

    /// When the oldest unacknowledged segment last passed.
    pub fn oldest_sent(&self) -> Option<Instant> {
        self.records.front().map(|record| record.at)
    }

    /// How often the oldest unacknowledged segment was retransmitted.
    pub fn oldest_again(&self) -> u8 {
        self.records.front().map_or(0, |record| record.again)
    }

    /// Whether a segment that starts at `start` follows the last one, and nothing contradicts its being new: nearly
    /// every segment of nearly every flow. Then [`next`](Self::next) is all there is to do.
    #[inline]
    pub fn is_next(&self, start: StreamOffset) -> bool {
        self.started && start == self.nxt && self.lost_unseen == 0
    }

    /// A segment passed for which [`is_next`](Self::is_next) holds.
    #[inline]
    pub fn next(&mut self, at: Instant, segment: &Segment) -> Placed {
        let record = self.kept(Record { beyond: self.beyond, ..Record::of(at, segment) });
        self.nxt = record.end;
        (self.retransmitting, self.missed) = (false, false);
        self.push(record);
        Placed::next(record.end.distance_from(record.start) as u32, record.end)
    }

    /// A segment with payload, SYN or FIN passed. `missing` packets of its sender before it did not.
    pub fn data(
        &mut self,
        at: Instant,
        segment: &Segment,
        missing: Missing,
        order: &SendOrder,
        times: Times,
    ) -> Placed {
        let record = Record { beyond: self.beyond, ..Record::of(at, segment) };
        let Record { start, end, .. } = record;
        if !self.started {
            self.started = true;
            self.una = start;
            self.nxt = start;
            // The copy of a SYN is recognised as a frame.
            self.copied = true;
            self.repeated_to = if segment.flags.has(Flags::SYN) { end } else { start };
            self.before_first = Some(Hole::before(&record, start));
        }
        if start >= self.nxt {
            let hole = start.distance_from(self.nxt);
            if hole > 0 {
                self.open_hole(start, &record);
            }
            self.nxt = end;
            let unique = end.distance_from(start) as u32;
            // More was lost before it than the hole it leaves can account for: it was sent before, and lost. Unless
            // the capture missed what lies before the hole as well. A tail loss probe leaves a small hole, and one
            // packet too many was lost; in a large hole, short segments explain more.
            let in_hole = (hole + i64::from(missing.mss) - 1) / i64::from(missing.mss);
            let missed = std::mem::take(&mut self.missed);
            let unaccounted = if missed { 0 } else { i64::from(missing.packets) - in_hole };
            let is_probe = unaccounted == 1 && in_hole < PROBED_FLIGHT;
            let again = if missing.timer_ran_out && unaccounted > 0 && (hole == 0 || is_probe) {
                self.lost_unseen = (unaccounted - 1) as u16;
                true
            } else {
                let left = self.lost_unseen;
                self.lost_unseen = if hole == 0 { left.saturating_sub(1) } else { 0 };
                left > 0 && hole == 0
            };
            self.retransmitting = again;
            let record = self.kept(Record { again: u8::from(again), ..record });
            self.push(record);
            let label = if again { Label::Retransmission } else { Label::New };
            if again {
                self.remember(&record, segment, None);
            }
            // Where a whole flight was lost that is retransmitted behind it, it is not the tail.
            let tail = !again || u32::from(self.lost_unseen) < thresholds::TAIL_SEGMENTS;
            return Placed { label, tail, left_hole: hole > 0, ..Placed::next(unique, end) };
        }
        self.below(record, segment, missing, order, times)
    }

    /// A segment that starts below what was seen.
    fn below(
        &mut self,
        new: Record,
        segment: &Segment,
        missing: Missing,
        order: &SendOrder,
        times: Times,
    ) -> Placed {
        let tail = new.end >= self.nxt;
        // Payload only: a FIN takes a sequence number as well.
        let fin = i64::from(segment.flags.has(Flags::FIN));
        let beyond = (new.end.distance_from(self.nxt) - fin).max(0);
        self.open_below_first(new.start);
        if let Some((filled, hole)) = self.fill(new.start, new.end) {
            self.nxt = self.nxt.max(new.end);
            let is_reordered = apart::is_reordered(&new, &hole, segment, order, times.nearest);
            let place = self.records.partition_point(|record| record.start < new.start);
            let new = self.kept(Record { again: u8::from(!is_reordered), ..new });
            self.records.insert(place, new);
            let label = if is_reordered { Label::OutOfOrder } else { Label::Retransmission };
            if !is_reordered {
                self.remember(&new, segment, None);
                if let Some(last) = self.retransmissions.back_mut() {
                    last.fills = hole.nth;
                }
                // Before the first retransmission, only the top of the data can be missing.
                if !self.retransmitting && missing.only_data {
                    self.lost_unseen = missing.packets;
                }
                self.retransmitting = true;
            }
            let unique = (filled + beyond) as u32;
            return Placed { label, tail, ..Placed::next(unique, new.end) };
        }
        if self.unseen.as_mut().is_some_and(|unseen| unseen.takes(&new)) {
            // Acknowledged first and seen then: the capture has them in the wrong order.
            let unique = new.end.distance_from(new.start) as u32;
            return Placed { tail: false, ..Placed::next(unique, new.end) };
        }
        let answered = new.end <= self.una || self.sacked.contains(new.start);
        let first = self.records.partition_point(|record| record.end <= new.start);
        let before = self.records.get(first).filter(|record| record.start < new.end).copied();
        // A retransmission may follow closely on the data sent last: a timer expired.
        let first_time = !self.retransmitting && before.is_none_or(|before| before.again == 0);
        let in_turn = std::mem::replace(&mut self.repeated_to, new.end) == new.start;
        let follows_a_copy = in_turn && self.copied || times.twice;
        let soon = if first_time && follows_a_copy {
            times.soon
        } else {
            times.soon.min(SAME_RETRANSMISSION_WITHIN)
        };
        // A timer retransmits everything outstanding in a burst, including data sent just now.
        let of_a_burst = in_turn && self.retransmitting && !self.copied;
        let alike = times.alike.is_some_and(|apart| apart < soon);
        let nearest = times.nearest.unwrap_or(0).clamp(50_000, SAME_RETRANSMISSION_WITHIN).max(soon);
        self.copied = !of_a_burst
            && (alike
                || before.is_some_and(|before| apart::same_frame(&before, &new, segment, order, nearest)));
        if self.copied {
            return Placed { label: Label::Duplicate, tail, ..Placed::next(0, new.end) };
        }
        let resent =
            self.retransmission_before(new.start, before.as_ref()).map(|retransmission| retransmission.at);
        if apart::is_late_original(before.as_ref(), resent, &new, segment, order, times.nearest) {
            // The original comes after its retransmission, which was spurious.
            let retransmissions = self.retransmissions.iter_mut().rev();
            let original =
                retransmissions.into_iter().find(|r| r.start < new.end && new.start < r.end && !r.spurious);
            let shows_spurious = original.map(|found| self.spurious.push(found.mark_spurious())).is_some();
            let label = Label::OutOfOrder;
            return Placed { label, tail, shows_spurious, ..Placed::next(0, new.end) };
        }
        self.transmissions.get_or_insert_default();
        let new = self.kept(new);
        // Of a super-packet, another part may have been retransmitted before.
        let repeated = resent.is_some() && before.is_some_and(|before| before.again > 0);
        for record in self.records.range_mut(first..) {
            if record.start >= new.end {
                break;
            }
            record.again = record.again.saturating_add(1);
            (record.at, record.tsval, record.id) = (new.at, new.tsval, new.id);
        }
        if new.end > self.nxt {
            self.push(Record { start: self.nxt, again: 1, ..new });
            self.nxt = new.end;
        }
        self.retransmitting = true;
        let label = if answered { Label::Spurious } else { Label::Retransmission };
        if !answered {
            self.remember(&new, segment, before.as_ref());
        }
        Placed { label, repeated, tail, ..Placed::next(beyond as u32, new.end) }
    }

    /// The data that passed after its acknowledgment.
    pub fn captured_late(&self) -> &CapturedLate {
        self.unseen.as_ref().map_or(&CapturedLate::NONE, |unseen| unseen.late())
    }

    /// `record`, with its place among the transmissions, where these are kept.
    #[inline]
    fn kept(&mut self, record: Record) -> Record {
        let sent = |kept: &mut Box<Transmissions>| kept.sent(record.at, record.len().into(), record.tsval);
        Record { nth: self.transmissions.as_mut().map_or(Nth::default(), sent), ..record }
    }

    #[inline]
    fn push(&mut self, record: Record) {
        if self.records.len() == MOST_RECORDS {
            self.records.pop_front();
        }
        self.records.push_back(record);
    }

    /// Data that starts at `start` passes. If that is below the first data that passed, and nothing was acknowledged so
    /// far, everything in between is missing as well.
    fn open_below_first(&mut self, start: StreamOffset) {
        let Some(first) = self.before_first else { return };
        if self.una != first.end {
            self.before_first = None;
        } else if start < first.end && self.holes.len() < MOST_HOLES {
            self.holes.insert(0, Hole { start, ..first });
            self.before_first = Some(Hole { start, end: start, ..first });
            self.una = start;
        }
    }

    fn remember(&mut self, new: &Record, segment: &Segment, before: Option<&Record>) {
        let last = self.retransmission_before(new.start, before).map(Replaced::from);
        let replaced = last.or(before.map(Replaced::from));
        if self.retransmissions.len() == MOST_RETRANSMISSIONS
            && let Some(oldest) = self.retransmissions.pop_front()
        {
            oldest.count_lost(&mut self.pattern, self.full);
            self.transmissions.iter_mut().for_each(|kept| oldest.mark_lost(kept));
        }
        self.retransmissions.push_back(Retransmission {
            start: new.start,
            end: new.end,
            at: new.at,
            frame: segment.frame,
            tsval: new.tsval,
            beyond: self.beyond,
            nth: new.nth,
            replaced,
            fills: Nth::default(),
            spurious: false,
            reported: false,
        });
    }

    /// The retransmissions found spurious since the last call.
    pub fn take_spurious(&mut self) -> impl Iterator<Item = SpuriousRetransmission> {
        self.spurious.drain(..)
    }

    /// The retransmissions found spurious since they were last taken.
    pub fn found_spurious(&self) -> &[SpuriousRetransmission] {
        &self.spurious
    }

    /// Whether an acknowledgment up to `ack`, with the blocks of `segment`, changes nothing here.
    #[inline]
    pub fn has_nothing_for(&self, ack: StreamOffset, segment: &Segment) -> bool {
        self.started && ack <= self.una && segment.sack.is_empty() && !self.has_sacked()
    }

    /// Whether an acknowledgment up to `ack`, with the blocks of `segment`, is for data that passed once and in order,
    /// and carries nothing else. Then [`retire`](Self::retire) is all there is to do.
    #[inline]
    pub fn is_plain(&self, ack: StreamOffset, segment: &Segment) -> bool {
        self.started
            && ack > self.una
            && ack <= self.nxt
            && segment.sack.is_empty()
            && !self.has_sacked()
            && self.holes.is_empty()
            && self.records.front().is_none_or(|front| front.again == 0)
    }

    /// The peer acknowledged up to `ack`, with the blocks of `segment`. `soonest` is the shortest time in nanoseconds, so far,
    /// in which an answer of it came.
    pub fn ack(&mut self, at: Instant, ack: StreamOffset, segment: &Segment, soonest: Option<i64>) -> Acked {
        let mut result = Acked::default();
        if !self.started {
            self.started = true;
            self.una = ack;
            self.nxt = ack;
            return result;
        }
        let blocks = segment.sack.as_slice();
        let una = self.una;
        if ack > una {
            self.advance(at, ack, segment, &mut result);
            result.spurious += self.judge_by_time(at, [una, ack], segment, soonest);
        } else if ack == una
            && blocks.is_empty()
            && !segment.options_cut
            && self.has_sacked()
            && segment.len == 0
            && segment.window <= self.last_window
        {
            // RFC 2018, section 3: while data is held above the ACK, every ACK reports it. Some stacks do not in an
            // update of the window.
            result.reneged = true;
            self.sacked.clear();
        }
        self.last_window = segment.window;
        if !blocks.is_empty() {
            self.sack(at, ack, segment, soonest, &mut result);
        }
        result
    }

    fn advance(&mut self, at: Instant, ack: StreamOffset, segment: &Segment, result: &mut Acked) {
        if self.probed && ack == self.nxt + 1 {
            result.probed = true;
            self.nxt = ack;
        }
        if ack > self.nxt {
            self.unseen.get_or_insert_default().acknowledged(self.nxt, ack, at);
            result.unseen += ack.distance_from(self.nxt);
            self.nxt = ack;
            self.missed = true;
        }
        if !self.retransmissions.is_empty() {
            result.spurious += self.judge_by_timestamp(ack, segment);
        }
        // RFC 7323, section 4.1: an echoed timestamp tells which transmission was acknowledged.
        let front = self.records.front().filter(|front| front.again > 0 && front.tsval != 0);
        let echoed = segment
            .timestamps
            .zip(front)
            .filter(|(stamps, front)| stamps.ecr == front.tsval && self.is_first_with_tsval(front));
        let echoed = echoed.map(|(_, front)| at.nanos_since(front.at));
        self.retire(at, ack, result);
        result.round_trip = result.round_trip.or(echoed);
        if self.sacked.contains(ack) {
            // An ACK covers all that is held without a hole; it stops short of what was held before
            // (`tcp_check_sack_reneging`, 6.18).
            result.reneged = true;
            self.sacked.clear();
        } else if !self.sacked.is_empty() {
            // Data that was SACKed before is not newly delivered.
            self.sacked.remove_below(ack);
        }
        while self.holes.first().is_some_and(|hole| hole.start < ack) {
            let hole = &mut self.holes[0];
            result.unseen += hole.end.min(ack).distance_from(hole.start);
            if hole.end > ack {
                hole.start = ack;
                break;
            }
            self.holes.remove(0);
        }
    }

    /// Whether the last transmission of `record` was the first segment with its timestamp: several segments carry the same
    /// one within a tick of the clock, also parts of one super-packet.
    #[cold]
    fn is_first_with_tsval(&self, record: &Record) -> bool {
        let Record { at, tsval, .. } = *record;
        let is_later = |other: &u32| !is_before(*other, tsval);
        let again = self.retransmissions.iter().rev().map(|last| (last.at, last.tsval));
        let new = self.records.iter().rev().map(|last| (last.at, last.tsval));
        let mut earlier = again
            .take_while(|(_, other)| is_later(other))
            .chain(new.take_while(|(_, other)| is_later(other)));
        !earlier.any(|(before, other)| other == tsval && before < at)
    }

    /// What is below `ack` is no longer outstanding.
    #[inline(always)]
    pub fn retire(&mut self, at: Instant, ack: StreamOffset, result: &mut Acked) {
        let mut newest = None;
        let mut again = false;
        let mut once = Delivered::default();
        result.alone = self.records.len() == 1 && ack == self.nxt;
        while let Some(front) = self.records.front_mut() {
            if front.start >= ack {
                break;
            }
            if result.waited.is_none() {
                result.waited = Some(at.nanos_since(front.at));
            }
            if front.end > ack {
                // The rest of it is still under way: its ACK does not show when it arrived.
                front.start = ack;
                break;
            }
            newest = Some((front.at, front.nth));
            if front.again == 0 {
                once.add(front.end.distance_from(front.start), front.beyond, self.full.into());
            } else {
                again = true;
                let front = *front;
                self.count_delivered(&front);
            }
            self.records.pop_front();
        }
        self.pattern.delivered_once(&once);
        // RFC 6298, section 3: an ACK that covers anything retransmitted may have waited for that
        // (`FLAG_RETRANS_DATA_ACKED` in `tcp_clean_rtx_queue`, 6.18).
        let sampled = newest.filter(|_| !again && self.sacked.is_empty());
        result.round_trip = sampled.map(|(passed, _)| at.nanos_since(passed));
        if let Some((kept, (passed, nth))) = self.transmissions.as_mut().zip(sampled) {
            kept.acknowledged(nth, at.nanos_since(passed));
        }
        result.advanced = ack.distance_from(self.una);
        self.una = ack;
        self.probed = false;
    }

    /// A segment that was retransmitted was delivered: the last of its transmissions, or the first one if the
    /// retransmission was spurious.
    #[cold]
    fn count_delivered(&mut self, record: &Record) {
        let last = self.transmitted_before(record.start).filter(|last| !last.spurious);
        let (len, beyond) = last.map_or((record.len(), record.beyond), |last| (last.len(), last.beyond));
        self.pattern.delivered(len, beyond, self.full);
    }

    /// The last retransmission that covers `at`; `before` is the outstanding record, if there is one. Most data is lost
    /// once: then there is none to look for.
    fn retransmission_before(&self, at: StreamOffset, before: Option<&Record>) -> Option<&Retransmission> {
        let is_first = before.is_some_and(|before| before.again == 0 && before.start <= at);
        (!is_first).then(|| self.transmitted_before(at)).flatten()
    }

    /// The last retransmission that covers `at`.
    fn transmitted_before(&self, at: StreamOffset) -> Option<&Retransmission> {
        // More are not sent within a few RTTs.
        const NEWEST: usize = 512;
        self.retransmissions
            .iter()
            .rev()
            .take(NEWEST)
            .find(|retransmission| retransmission.start <= at && at < retransmission.end)
    }

    /// What the transmissions that a retransmission replaced, as lost, and the delivered ones have in common so far.
    pub fn replaced_as_lost(&self) -> LossPattern {
        let mut pattern = self.pattern;
        for retransmission in &self.retransmissions {
            retransmission.count_lost(&mut pattern, self.full);
        }
        pattern
    }

    /// What the lost and the delivered transmissions have in common, at the end: data that was retransmitted and not
    /// acknowledged was lost each time. If nothing came back for the oldest however often, so was all behind it.
    pub fn loss_pattern(&self) -> LossPattern {
        let mut pattern = self.replaced_as_lost();
        let Some(left) = self.records.front().filter(|left| left.again > 0) else { return pattern };
        let is_over = u32::from(left.again) >= thresholds::LEAST_TRIES;
        let behind = if is_over { self.records.len() } else { 1 };
        let before = pattern.lost;
        for record in self.records.range(..behind).filter(|record| !self.sacked.contains(record.start)) {
            let last = self.retransmission_before(record.start, Some(record));
            let (len, beyond) = last.map_or((record.len(), record.beyond), |last| (last.len(), last.beyond));
            pattern.lost(record.at, len, beyond, self.full);
        }
        // Those of the oldest, one after the other, were lost for one reason, too.
        let again = if is_over { left.again.into() } else { 0 };
        pattern.left = (pattern.lost - before).saturating_sub(1) + again;
        pattern.left = pattern.left.min(pattern.lost.saturating_sub(1));
        pattern
    }

    /// The token bucket that would have dropped what was lost, if there is one ([`Transmissions::token_bucket`]).
    pub fn token_bucket(&self, mss: u32, tap: Tap) -> Option<TokenBucket> {
        let mut kept = self.transmissions.as_deref().cloned()?;
        self.retransmissions.iter().for_each(|retransmission| retransmission.mark_lost(&mut kept));
        kept.token_bucket(mss, tap)
    }

    /// How long ago the segment that ends at `end` passed, where it was not retransmitted.
    fn since_sacked(&self, at: Instant, end: StreamOffset) -> Option<i64> {
        let last = self.records.partition_point(|record| record.end < end);
        let record = self.records.get(last).filter(|record| record.end == end && record.again == 0)?;
        Some(at.nanos_since(record.at))
    }

    fn sack(
        &mut self,
        at: Instant,
        ack: StreamOffset,
        segment: &Segment,
        soonest: Option<i64>,
        result: &mut Acked,
    ) {
        let blocks = segment.sack.as_slice();
        for (nth, block) in blocks.iter().enumerate() {
            let (start, end) = (block.start, block.end);
            if start >= end {
                continue;
            }
            // RFC 2883, section 4: the first block, below the ACK or inside the second.
            let inside_second =
                nth == 0 && blocks.get(1).is_some_and(|outer| outer.start <= start && end <= outer.end);
            if nth == 0 && (end <= ack || inside_second) {
                result.dsacks += 1;
                let judged = self.judge_by_dsack(start, end);
                // A receiver reports the byte of a probe, too.
                let is_copy = judged.is_none() && end.distance_from(start) > 1;
                result.dsacks_of_copies += u32::from(is_copy);
                result.spurious += judged.unwrap_or(0);
            } else if start >= self.una && end <= self.nxt {
                let sacked = self.sacked.insert(start, end);
                if sacked > 0 && result.round_trip.is_none() {
                    result.round_trip = self.since_sacked(at, end);
                }
                if sacked > 0 {
                    result.spurious += self.judge_by_time(at, [start, end], segment, soonest);
                }
                result.sacked += sacked;
            }
        }
    }
}

#[cfg(test)]
mod tests;
