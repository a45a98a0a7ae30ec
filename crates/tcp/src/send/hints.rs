//! Positions in the write queue where searches ended, so that the next ones start there.

use super::skb::SkbId;

/// Positions in the queue; `None` is its head.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hints {
    /// Where the search for the next retransmission starts (`retransmit_skb_hint`).
    pub retransmit: Option<SkbId>,
    /// The last buffer counted for loss marking (`lost_skb_hint`).
    pub lost: Option<SkbId>,
    /// The last buffer of the last ACK's first block (`fastpath_skb_hint`).
    pub block: Option<SkbId>,
    /// The last buffer that a duplicate was found for.
    pub duplicate: Option<SkbId>,
}

impl Hints {
    /// A buffer leaves the queue.
    pub fn forget(&mut self, id: SkbId) {
        for hint in [&mut self.retransmit, &mut self.lost, &mut self.block, &mut self.duplicate] {
            if *hint == Some(id) {
                *hint = None;
            }
        }
    }
}
