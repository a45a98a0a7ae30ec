//! Trains: bursts that the sender released at once, as they arrive far from it.
//!
//! A burst after a pause (the initial window, a round of slow start, what an ACK of much let out) leaves back to back, so
//! its segments arrive at the rate of the slowest link: its dispersion is the path's capacity (Jain and Dovrolis,
//! SIGCOMM 2002; Dovrolis, Ramanathan and Moore, INFOCOM 2001). What later arrives without a pause at that rate fills the
//! path, whether or not RTTs show a queue. A sender that paces spreads its bursts, in pieces; such are no trains. A shaper
//! on the sending host shows the same: from afar, it is a part of the path.

use slowpath_model::Instant;

/// Segments of the shortest train: an initial window of today's has ten (RFC 6928), and several trains are compared.
const LEAST_SEGMENTS: u32 = 5;

/// Segments of the first burst that leave at once, whatever follows (RFC 6928, section 2).
const INITIAL_WINDOW: u32 = 10;

/// Closer than this part of the mean gap, and the part of a train that may be so: the bursts of a paced sender are of a
/// few segments each (two at least, `tcp_min_tso_segs`, 6.18), with gaps in between. A link delivers evenly.
const CLOSE_PART: i64 = 2;
const MOST_CLOSE_PART: u32 = 4;

/// From so many full segments on, and this part of them with a push flag, pushing is a habit: of waiting data, Linux
/// pushes at most every second segment (`tcp_min_tso_segs`, 6.18).
const LEAST_FULL: u32 = 10;
const HABIT: f64 = 0.6;

/// A pause before and behind a train, and the longest within it, as a part of the shortest RTT.
pub const PAUSE_PART: i64 = 4;

/// The trains of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trains {
    /// The current one: its first and last segment, its segments, and bytes behind the first.
    first: Instant,
    last: Instant,
    segments: u32,
    bytes: u64,
    follows_pause: bool,
    /// Its segments that came far closer behind the one before than the others.
    close: u32,
    /// It is not the first.
    follows_train: bool,
    /// The fastest and the next, in bit/s, of those of 5 to 8, 9 to 16, 17 to 32 and more segments.
    fastest: [[f64; 2]; 4],
    /// Single full segments of the direction, and those with a push flag.
    full: u32,
    full_pushed: u32,
}

impl Trains {
    /// A new segment of `len` bytes arrived, with or without a push flag; `rtt` is the shortest RTT in nanoseconds.
    pub fn on_segment(&mut self, at: Instant, len: u32, pushed: bool, mss: u32, rtt: i64) {
        let pause = rtt / PAUSE_PART;
        let gap = at.nanos_since(self.last);
        // Most are of one MSS, and a division costs more than the rest.
        let is_full = len == mss || len.is_multiple_of(mss.max(1));
        if self.segments > 0 && gap <= pause && is_full {
            let evenly = gap.saturating_mul(CLOSE_PART * i64::from(self.segments));
            self.close += u32::from(evenly < at.nanos_since(self.first));
            self.segments += 1;
            self.bytes += u64::from(len);
            // A program that writes a segment at a time pushes each.
            if self.segments == INITIAL_WINDOW && !self.follows_train && self.full_pushed * 2 < self.full {
                self.note(at.nanos_since(self.first));
            }
        } else {
            if gap > pause {
                self.end(rtt);
            }
            self.follows_pause = gap > pause || self.segments == 0;
            self.follows_train |= self.segments > 0;
            (self.first, self.segments, self.bytes, self.close) = (at, u32::from(is_full), 0, 0);
        }
        self.last = at;
        // The flag of a super-packet is that of its last segment.
        let is_one = len == mss;
        self.full = self.full.saturating_add(is_one.into());
        self.full_pushed = self.full_pushed.saturating_add((is_one && pushed).into());
    }

    /// A pause ended the current train. What takes longer than an RTT was not released at once.
    fn end(&mut self, rtt: i64) {
        let lasted = self.last.nanos_since(self.first);
        if self.follows_pause && self.segments >= LEAST_SEGMENTS && lasted <= rtt {
            self.note(lasted);
        }
    }

    /// The current train, as far as it came, took `lasted` nanoseconds.
    fn note(&mut self, lasted: i64) {
        if lasted <= 0 || self.close > self.segments / MOST_CLOSE_PART {
            return;
        }
        let size = ((self.segments - 1) / 8).checked_ilog2().map_or(0, |size| size as usize + 1);
        let [fastest, next] = &mut self.fastest[size.min(3)];
        let rate = self.bytes as f64 * 8e9 / lasted as f64;
        *next = next.max(rate.min(*fastest));
        *fastest = fastest.max(rate);
    }

    /// The path's capacity as the trains show it, in bit/s of payload: the longest ones, to which a late segment matters
    /// least. Where there were several, a single one may have had a late beginning. `None` without a train.
    pub fn capacity(&self) -> Option<f64> {
        let [fastest, next] = self.fastest.into_iter().rev().find(|[fastest, _]| *fastest > 0.0)?;
        Some(if next > 0.0 { next } else { fastest })
    }

    /// Whether most full segments have a push flag: a stack's habit (lwIP, smoltcp) or a program that writes
    /// segments. The flags then do not show where writes end.
    pub fn are_pushed(&self) -> bool {
        self.full >= LEAST_FULL && f64::from(self.full_pushed) >= HABIT * f64::from(self.full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    const MS: i64 = 1_000_000;

    /// Trains of ten segments each RTT of 40 ms, `spacing` nanoseconds apart.
    fn trains(pushed: bool, spacing: i64) -> Trains {
        let mut trains = Trains::default();
        for round in 0..5 {
            for n in 0..10 {
                let at = Instant::from_nanos((1 + round) * 40 * MS + n * spacing);
                trains.on_segment(at, 1000, pushed, 1000, 40 * MS);
            }
        }
        trains
    }

    #[test]
    fn dispersion_of_a_train_is_the_capacity() {
        let capacity = trains(false, MS).capacity().expect("trains");
        assert!((capacity - 8e6).abs() < 1e3, "{capacity}");
    }

    #[test]
    fn one_train_whose_first_segment_is_late_is_not_the_capacity() {
        let mut trains = trains(false, MS);
        for n in 0..10 {
            let at = 400 * MS + (n * MS).max(3 * MS);
            trains.on_segment(Instant::from_nanos(at), 1000, false, 1000, 40 * MS);
        }
        trains.on_segment(Instant::from_nanos(500 * MS), 1000, false, 1000, 40 * MS);
        let capacity = trains.capacity().expect("trains");
        assert!((capacity - 8e6).abs() < 1e3, "{capacity}");
    }

    #[test]
    fn what_arrives_without_a_pause_is_a_train_only_as_the_first_window() {
        let capacity = trains(false, 4 * MS).capacity().expect("the first window");
        assert!((capacity - 2e6).abs() < 1e3, "{capacity}");
        assert_eq!(trains(true, 4 * MS).capacity(), None);
    }

    #[test]
    fn bursts_with_gaps_between_them_are_no_train() {
        let mut trains = Trains::default();
        for n in 0..40 {
            trains.on_segment(
                Instant::from_nanos((n / 2) * 4 * MS + n % 2 * 1000),
                1000,
                false,
                1000,
                100 * MS,
            );
        }
        trains.on_segment(Instant::from_nanos(1000 * MS), 1000, false, 1000, 100 * MS);
        assert_eq!(trains.capacity(), None);
    }

    #[test]
    fn push_flag_of_every_segment_is_a_habit() {
        assert!(trains(true, MS).are_pushed());
        assert!(!trains(false, MS).are_pushed());
    }
}
