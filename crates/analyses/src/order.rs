//! In which order one end sent its segments, as far as its IP identifications tell.

/// Learns whether an end counts its IP identifications up, and then tells the order of any two of its packets.
///
/// Linux counts them per connected socket, by one per packet on the wire, retransmissions included
/// (`ip_select_ident_segs`, 6.18). Others use zero, a counter shared by all connections, or random numbers: those
/// are recognised by their steps and not trusted.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendOrder {
    last: Option<u16>,
    counted: u16,
    strayed: u16,
}

impl SendOrder {
    /// As many packets as one step may leave out: a super-packet of 64 KB holds 45, BIG TCP more.
    const LONGEST_STEP: i16 = 400;

    /// The end's next packet carries `id`.
    pub fn saw(&mut self, id: u16) {
        if let Some(last) = self.last {
            let step = id.wrapping_sub(last) as i16;
            // A frame captured twice says nothing.
            if step == 0 {
                return;
            }
            let steady = step > 0 && step <= Self::LONGEST_STEP;
            // Old steps fade, so that a verdict follows the last few hundred.
            if steady {
                self.counted = if self.counted >= 512 { 256 } else { self.counted + 1 };
            } else {
                self.strayed = if self.strayed >= 512 { 256 } else { self.strayed + 1 };
            }
            if self.counted == 256 {
                self.strayed /= 2;
            }
        }
        self.last = Some(id);
    }

    /// Whether identifications tell the order: at least 8 steps, 3 in 4 of them a count up. (Real reordering
    /// makes a few steps stray.)
    pub const fn is_counted(&self) -> bool {
        self.counted >= 8 && self.counted >= 3 * self.strayed
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
            order.saw(id);
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
    fn zeros_and_random_numbers_are_not() {
        assert!(!learnt([0; 100]).is_counted());
        let random = (0..200u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 7) as u16);
        assert!(!learnt(random).is_counted());
    }
}
