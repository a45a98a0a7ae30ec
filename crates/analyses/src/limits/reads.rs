//! ACKs that come when a program has dealt with what it read before.
//!
//! Linux delays its ACKs while the window cannot open any further (`__tcp_ack_snd_check`, 6.18). A reader that is slow, but empties
//! its buffer each time, then answers at each read. It reads again when it has dealt with what it had read, so that the time
//! to the next ACK grows with what the *last* one acknowledged. What a path holds up takes the longer, the more of it there
//! is: there, that time grows with what the next ACK acknowledges itself. Whenever the two amounts differ, one of them is
//! refuted, from wherever the ACKs are seen.

use super::thresholds;

/// The last ACK, and which of the two amounts explained the times between ACKs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reads {
    /// Bytes that the last ACK acknowledged; 0 if they were few.
    last: i64,
    /// The time until it came, in nanoseconds for each byte of the ACK before it, and for each of its own.
    took: Option<[f64; 2]>,
    /// How often only the ACK before explained the time, and how often only the own amount did.
    explained: [u16; 2],
}

impl Reads {
    /// An ACK of `bytes` comes `gap` nanoseconds after the one before.
    #[inline]
    pub fn acknowledged(&mut self, bytes: i64, gap: i64, mss: u32) {
        if bytes < thresholds::READ_SEGMENTS * i64::from(mss) {
            (self.last, self.took) = (0, None);
            return;
        }
        self.compare(bytes, gap);
    }

    #[inline(never)]
    fn compare(&mut self, bytes: i64, gap: i64) {
        let last = std::mem::replace(&mut self.last, bytes);
        if last == 0 || gap < thresholds::READ_GAP_NS {
            self.took = None;
            return;
        }
        let took = [last, bytes].map(|amount| gap as f64 / amount as f64);
        let Some(before) = self.took.replace(took) else { return };
        let [by_last, by_own] = [0, 1].map(|which| (took[which] / before[which] - 1.0).abs());
        let only = |one: f64, other: f64| {
            other >= thresholds::READ_DIFFERS && one * thresholds::READ_EXPLAINS <= other
        };
        self.explained[0] = self.explained[0].saturating_add(only(by_last, by_own).into());
        self.explained[1] = self.explained[1].saturating_add(only(by_own, by_last).into());
    }

    /// How often the times between ACKs showed a reader, if hardly anything speaks against one.
    pub fn times(&self) -> Option<u16> {
        let [by_last, by_own] = self.explained;
        let is_one = by_last >= thresholds::READ_TIMES && by_own * thresholds::READ_EXCEPTIONS <= by_last;
        is_one.then_some(by_last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: i64 = 1_448;

    /// ACKs of so many segments; `takes` is the time to each in nanoseconds, given the segments of the ACK before and its own.
    fn acks(takes: impl Fn(i64, i64) -> i64) -> Reads {
        let amounts = || (0..60).map(|nth| 20 + nth / 2 % 7);
        let mut reads = Reads::default();
        for (last, own) in amounts().zip(amounts().skip(1)) {
            reads.acknowledged(own * MSS, takes(last, own), MSS as u32);
        }
        reads
    }

    #[test]
    fn time_that_grows_with_what_was_read_before_shows_a_reader() {
        assert!(acks(|last, _| last * 1_200_000).times().is_some());
        assert!(acks(|last, own| last * 1_200_000 + own % 3 * 20_000).times().is_some());
    }

    #[test]
    fn neither_a_queue_nor_a_constant_delay_is_a_reader() {
        assert_eq!(acks(|_, own| own * 1_200_000).times(), None);
        assert_eq!(acks(|_, _| 30_000_000).times(), None);
        assert_eq!(acks(|last, own| (last * 7_919 + own * 104_729) % 31 * 1_000_000).times(), None);
        assert_eq!(acks(|last, _| last * 10_000).times(), None, "too soon for a program");
    }
}
