//! In which order one end sent its segments, as far as its IP identifications show.
//!
//! Linux increments the IPv4 identification once per packet of a connection. It therefore distinguishes a
//! retransmission from a reordered segment, distinguishes a captured copy from both, and shows what was lost before the
//! tap. This module learns whether an end counts that way, and trusts it no further. A counter shared by several
//! connections gives their order, but its gaps mean nothing. Load balancers that reuse an identification are recognised
//! by time. IPv6 has no identification: there timestamps decide, and after them time.

/// Learns whether an end counts its IP identifications up, and then gives the order of any two of its packets.
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
    /// Steps without a gap, and all others: of the last few hundred.
    exact: u16,
    inexact: u16,
}

impl SendOrder {
    /// As many packets as one step may leave out: a super-packet of 64 KB holds 45, BIG TCP more.
    const LONGEST_STEP: i16 = 400;

    /// As many packets as the step of a known counter may leave out, where all that was in flight was lost: 29 MB, and a third
    /// of the way round.
    const LONGEST_LOSS: i16 = 20_000;

    /// The end's next segment carries `id` and stands for `packets` on the wire (a super-packet for several). Returns
    /// how many packets between it and the one before did not pass, if that is known.
    #[inline]
    pub fn saw(&mut self, id: u16, packets: u16) -> u16 {
        let Some(last) = &mut self.last else {
            (self.last, self.last_packets) = (Some(id), packets);
            return 0;
        };
        let step = id.wrapping_sub(*last) as i16;
        if (1..=Self::LONGEST_STEP).contains(&step) && step.unsigned_abs() == self.last_packets {
            // Nearly every step of nearly every sender.
            (*last, self.last_packets) = (id, packets);
            Self::note(&mut self.exact, &mut self.inexact);
            self.note_counted();
            return 0;
        }
        self.saw_step(step, id, packets)
    }

    /// Processes a step that leaves numbers out, or is none; returns how many packets are missing.
    #[inline(never)]
    fn saw_step(&mut self, step: i16, id: u16, packets: u16) -> u16 {
        let mut missing = 0;
        // A frame captured twice shows nothing.
        if step == 0 {
            return 0;
        }
        if (1..=Self::LONGEST_STEP).contains(&step) {
            Self::note(&mut self.inexact, &mut self.exact);
            if self.counts_nothing_else() {
                missing = step.unsigned_abs().saturating_sub(self.last_packets);
            }
            self.note_counted();
        } else if (1..=Self::LONGEST_LOSS).contains(&step) && self.counts_nothing_else() {
            missing = step.unsigned_abs().saturating_sub(self.last_packets);
            Self::note(&mut self.inexact, &mut self.exact);
        } else {
            self.strayed = if self.strayed >= 512 { 256 } else { self.strayed + 1 };
            if self.counted == 256 {
                self.strayed /= 2;
            }
        }
        // A reordered segment does not move the counter back.
        if step > 0 || !self.is_counted() {
            (self.last, self.last_packets) = (Some(id), packets);
        }
        missing
    }

    /// Counts a step of one kind. Old ones fade, so that a verdict follows the last few hundred.
    const fn note(kind: &mut u16, other: &mut u16) {
        *kind += 1;
        if *kind == 512 {
            *kind /= 2;
            *other /= 2;
        }
    }

    const fn note_counted(&mut self) {
        self.counted += 1;
        if self.counted == 256 || self.counted > 512 {
            self.counted = 256;
            self.strayed /= 2;
        }
    }

    /// Whether identifications give the order: at least 8 steps, 3 in 4 of them a count up. (Real reordering makes a
    /// few steps stray.)
    pub const fn is_counted(&self) -> bool {
        self.counted >= 8 && self.counted >= 3 * self.strayed
    }

    /// Whether identifications change at all.
    pub const fn has_moved(&self) -> bool {
        self.counted > 0 || self.strayed > 0
    }

    /// Whether the counter is this connection's own: nearly every step is by as many packets as passed. A counter
    /// shared with other connections orders the packets, but its gaps mean nothing.
    pub const fn counts_nothing_else(&self) -> bool {
        self.is_counted() && self.exact >= 8 && self.exact / 4 >= self.inexact
    }

    /// Whether a packet sent after the one with `id` has passed already. False if unknown.
    pub fn is_behind(&self, id: u16) -> bool {
        self.last.and_then(|last| self.is_after(last, id)).unwrap_or(false)
    }

    /// Whether the packet with `id` was sent after the one with `other`; `None` if unknown.
    pub fn is_after(&self, id: u16, other: u16) -> Option<bool> {
        let step = id.wrapping_sub(other) as i16;
        (self.is_counted() && step != 0 && step.unsigned_abs() < Self::LONGEST_LOSS.unsigned_abs())
            .then_some(step > 0)
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
    fn ip_id_counter_is_trusted_across_its_wrap() {
        let order = learnt((65_500..=65_535).chain(0..100));
        assert_eq!(order.is_after(3, 65_530), Some(true));
        assert_eq!(order.is_after(65_530, 3), Some(false));
    }

    #[test]
    fn ip_id_gap_counts_lost_packets_not_super_packets() {
        let mut order = learnt(0..40);
        assert_eq!(order.saw(40, 3), 0);
        assert_eq!(order.saw(43, 1), 0);
        assert_eq!(order.saw(46, 1), 2);
    }

    #[test]
    fn ip_id_gap_of_a_whole_flight_is_counted_if_the_counter_is_known() {
        let mut order = learnt(0..40);
        assert_eq!(order.saw(640, 1), 600);
        assert_eq!(order.saw(641, 1), 0);
        let mut order = learnt((0..40).map(|n| n * 3));
        assert_eq!(order.saw(720, 1), 0, "a shared counter");
        let mut order = learnt([0, 30_000, 5, 1_000]);
        assert_eq!(order.saw(1_600, 1), 0, "random");
    }

    #[test]
    fn ip_id_gaps_of_shared_counter_mean_nothing() {
        let mut order = learnt((0..100).map(|n| n * 3));
        assert_eq!(order.is_after(9, 6), Some(true));
        assert_eq!(order.saw(310, 1), 0);
    }

    #[test]
    fn zero_or_random_ip_ids_are_not_a_counter() {
        assert!(!learnt([0; 100]).is_counted());
        let random = (0..200u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 7) as u16);
        assert!(!learnt(random).is_counted());
    }
}
