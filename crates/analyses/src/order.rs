//! In which order one end sent its segments, as far as its IP identifications tell.

/// Learns whether an end counts its IP identifications up, and then tells the order of any two of its packets.
///
/// Linux counts them per connected socket, by one per packet on the wire, retransmissions included
/// (`ip_select_ident_segs`, 6.18). Others use zero, a counter shared by all connections, or random numbers: those
/// are recognised by their steps and not trusted.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendOrder {
    last: Option<u16>,
    /// Packets on the wire that the last segment stands for.
    last_packets: u16,
    counted: u16,
    strayed: u16,
    /// Steps that leave nothing out, and all others: of the last few hundred.
    exact: u16,
    inexact: u16,
}

impl SendOrder {
    /// As many packets as one step may leave out: a super-packet of 64 KB holds 45, BIG TCP more.
    const LONGEST_STEP: i16 = 400;

    /// The end's next segment carries `id` and stands for `packets` on the wire (a super-packet for several).
    /// Returns how many packets between it and the one before did not pass, where that can be told.
    pub fn saw(&mut self, id: u16, packets: u16) -> u16 {
        let mut missing = 0;
        if let Some(last) = self.last {
            let step = id.wrapping_sub(last) as i16;
            // A frame captured twice says nothing.
            if step == 0 {
                return 0;
            }
            let steady = step > 0 && step <= Self::LONGEST_STEP;
            // Old steps fade, so that a verdict follows the last few hundred.
            if steady {
                let exact = step.unsigned_abs() == self.last_packets;
                let kind = if exact { &mut self.exact } else { &mut self.inexact };
                *kind += 1;
                if *kind == 512 {
                    self.exact /= 2;
                    self.inexact /= 2;
                }
                if self.counts_nothing_else() {
                    missing = (step.unsigned_abs()).saturating_sub(self.last_packets);
                }
                self.counted = if self.counted >= 512 { 256 } else { self.counted + 1 };
            } else {
                self.strayed = if self.strayed >= 512 { 256 } else { self.strayed + 1 };
            }
            if self.counted == 256 {
                self.strayed /= 2;
            }
        }
        // What was overtaken does not move the counter back.
        if self.last.is_none_or(|last| id.wrapping_sub(last) as i16 > 0) || !self.is_counted() {
            self.last = Some(id);
            self.last_packets = packets;
        }
        missing
    }

    /// Whether identifications tell the order: at least 8 steps, 3 in 4 of them a count up. (Real reordering
    /// makes a few steps stray.)
    pub const fn is_counted(&self) -> bool {
        self.counted >= 8 && self.counted >= 3 * self.strayed
    }

    /// Whether the counter is this connection's own: nearly every step is by as many packets as passed. A counter
    /// shared with other connections orders the packets, but its gaps mean nothing.
    const fn counts_nothing_else(&self) -> bool {
        self.is_counted() && self.exact >= 8 && self.exact / 4 >= self.inexact
    }

    /// Whether a packet sent after the one with `id` has passed already. False where that cannot be told.
    pub fn is_behind(&self, id: u16) -> bool {
        self.last.and_then(|last| self.is_after(last, id)).unwrap_or(false)
    }

    /// Whether the packet with `id` was sent after the one with `other`; `None` where that cannot be told.
    pub fn is_after(&self, id: u16, other: u16) -> Option<bool> {
        let step = id.wrapping_sub(other) as i16;
        (self.is_counted() && step != 0 && step.unsigned_abs() < 20_000).then_some(step > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(ids: impl IntoIterator<Item = u16>) -> SendOrder {
        ids.into_iter().fold(SendOrder::default(), |mut order, id| {
            order.saw(id, 1);
            order
        })
    }

    #[test]
    fn a_counter_is_trusted_across_its_wrap() {
        let order = learnt((65_500..=65_535).chain(0..100));
        assert_eq!(order.is_after(3, 65_530), Some(true));
        assert_eq!(order.is_after(65_530, 3), Some(false));
    }

    #[test]
    fn a_lost_packet_leaves_a_gap_and_a_super_packet_does_not() {
        let mut order = learnt(0..40);
        assert_eq!(order.saw(40, 3), 0);
        assert_eq!(order.saw(43, 1), 0);
        assert_eq!(order.saw(46, 1), 2);
    }

    #[test]
    fn gaps_in_a_counter_shared_with_other_connections_mean_nothing() {
        let mut order = learnt((0..100).map(|n| n * 3));
        assert_eq!(order.is_after(9, 6), Some(true));
        assert_eq!(order.saw(310, 1), 0);
    }

    #[test]
    fn zeros_and_random_numbers_are_not() {
        assert!(!learnt([0; 100]).is_counted());
        let random = (0..200u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 7) as u16);
        assert!(!learnt(random).is_counted());
    }
}
