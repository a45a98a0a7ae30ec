//! What is counted of data segments besides their labels.

use super::EndState;
use crate::label::Label;
use crate::limits::thresholds;
use crate::outstanding::Placed;
use slowpath_model::{Instant, Segment};

impl EndState {
    /// The first data passes. Where the capture began amid a transfer, what lies before that had been sent before: it is not
    /// missing, though its ACKs are there.
    pub(super) fn note_beginning(&mut self, at: Instant, segment: &Segment, begin: Instant) {
        let is_first = self.first_data.is_none() && self.options.is_none() && segment.len > 0;
        let is_early = at.nanos_since(begin) <= thresholds::BEGAN_AMID_NS;
        if is_first && is_early && self.outstanding.began_before(segment.seq) {
            (self.unseen_bytes, self.unseen_gaps) = (0, 0);
        }
    }

    /// A data segment that was not simply the next one.
    pub(super) fn note_repeated(&mut self, segment: &Segment, placed: &Placed) {
        let full = self.full_size().max(1);
        if segment.len > full && matches!(placed.label, Label::Retransmission | Label::Spurious) {
            let repeated = segment.len.saturating_sub(placed.unique).div_ceil(full);
            self.unusual.get_or_insert_default().retransmitted_merged +=
                u64::from(repeated.saturating_sub(1));
        }
    }

    /// A data segment is stamped earlier than one that was recorded before it. The sequence numbers show which is right: the
    /// stamps, or the order.
    #[cold]
    pub fn note_step_back(&mut self, segment: &Segment) {
        let unusual = self.unusual.get_or_insert_default();
        if segment.seq < self.outstanding.nxt() {
            unusual.written_late += 1;
        } else if self.outstanding.is_next(segment.seq) {
            unusual.stamped_early += 1;
        }
    }
}
