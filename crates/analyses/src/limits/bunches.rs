//! Bunches at one pace: what pacing or a shaper on the sending host lets out.
//!
//! Linux paces super-packets: one of `n` bytes is followed by a pause of `n` bytes at the pacing rate
//! (`tcp_update_skb_after_send`, 6.18), and fq, tbf and htb do the same. So the time from the start of one bunch to the
//! start of the next is in proportion to its size, whatever ACKs do, and all its segments are full. On a path whose RTT
//! is shorter than such a pause, all is acknowledged before the next bunch, as if nothing was left to send. But a
//! program's writes end in a short segment, and a congestion window's bursts start with an ACK. A writer that an ACK lets
//! continue takes its time, far less than that between ACKs: a clock keeps another distance from them, but by chance.
//!
//! BBR paces too, and a full send buffer or a window makes it pause. So bunches at one pace must come without pauses, or
//! something else is the limit.
//!
//! Bunches of one size at equal intervals may also be what a program writes by a timer, if that happens to be full
//! segments. Fast timers are rare, and so are programs that write two segments.

use super::stretch::Prompt;
use super::thresholds;
use slowpath_model::Instant;

/// A longer gap between two segments ends a bunch, in nanoseconds: a super-packet of 64 KiB at 5 Gbit/s.
const PAUSE: i64 = 100_000;

/// The largest super-packet of most devices (`GSO_LEGACY_MAX_SIZE`, 6.18). A program that limits itself sends more at a
/// time.
const LARGEST: u64 = 65_536;

/// Linux paces two segments at least (`tcp_min_tso_segs`, 6.18).
const LEAST_SEGMENTS: u64 = 2;

/// Few programs write more often, in nanoseconds: a tick of most kernels (`CONFIG_HZ`).
const TIMER: i64 = 4_000_000;

/// The bytes of the smallest and the largest of some bunches.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    smallest: u64,
    largest: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { smallest: u64::MAX, largest: 0 }
    }
}

impl Sizes {
    fn add(&mut self, bytes: u64) {
        (self.smallest, self.largest) = (self.smallest.min(bytes), self.largest.max(bytes));
    }

    /// Whether a program's timer may have sent them: they are of one size, and no more frequent than that.
    fn may_be_of_a_timer(&self, lasted: i64, bunches: i64, mss: u32) -> bool {
        let (part, of) = thresholds::PACE_SIZES;
        lasted >= TIMER * bunches
            && self.smallest / part > self.largest / of
            && self.largest > LEAST_SEGMENTS * u64::from(mss)
    }
}

/// A rate that nearly all of a series have, one after the other, in bit/s.
#[derive(Clone, Copy, Debug, Default)]
struct OneRate {
    rate: f64,
    /// Since when, and how many had it since; how many did not, and how many of them in a row.
    since: Instant,
    run: u32,
    missed: u32,
    off: u32,
    /// See [`Self::take_since`].
    is_told: bool,
}

/// How alike they have to be: within this part, for so many before one that is not may be passed over, and for so many in a
/// row that are not.
struct Alike {
    within: f64,
    least: u32,
    off: u32,
}

/// What the next rate of a series was.
enum Next {
    Same,
    Another,
    /// The first of another series.
    First,
}

impl OneRate {
    /// Takes the next rate, which may `count` or not. A series that begins with it begins at `since`.
    fn take(&mut self, rate: f64, count: bool, since: Instant, alike: &Alike) -> Next {
        if count && (rate - self.rate).abs() <= alike.within * self.rate {
            self.run = self.run.saturating_add(1);
            self.rate += (rate - self.rate) / 8.0;
            self.off = 0;
            return Next::Same;
        }
        self.missed = self.missed.saturating_add(1);
        self.off += 1;
        if self.off > alike.off || self.run < alike.least {
            *self = Self { rate, since, ..Self::default() };
            return Next::First;
        }
        Next::Another
    }

    /// When the series began; `None` if that was asked before.
    fn take_since(&mut self) -> Option<Instant> {
        (!std::mem::replace(&mut self.is_told, true)).then_some(self.since)
    }
}

/// A segment of new data.
#[derive(Clone, Copy, Debug)]
pub struct New {
    /// Its payload in bytes.
    pub len: u32,
    /// It is no full segment.
    pub is_short: bool,
    /// It has the push flag.
    pub is_pushed: bool,
}

/// What may have triggered a bunch.
#[derive(Clone, Copy, Debug)]
pub struct Trigger {
    /// What the sender learnt right before it.
    pub prompt: Prompt,
    /// When the last ACK came.
    pub acked: Instant,
}

impl Trigger {
    /// Whether no ACK triggered the bunch at `at`, which began `waited` nanoseconds after the one before.
    fn is_no_ack(self, at: Instant, waited: i64) -> bool {
        let late = at.nanos_since(self.acked).saturating_mul(thresholds::LET_IN_PART);
        matches!(self.prompt, Prompt::Nothing | Prompt::Soon if late > waited)
    }
}

/// The bunches of one direction, next to its sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bunches {
    /// The current bunch: its first and last segment, its bytes, and whether no segment was short, or one pushed.
    first: Instant,
    last: Instant,
    bytes: u64,
    is_full: bool,
    is_pushed: bool,
    /// The pace of the last bunches; the bytes sent since then, in all bunches; and the time before those at that pace,
    /// and before those of them that no ACK triggered, in nanoseconds.
    pace: OneRate,
    sent: u64,
    waited: i64,
    waited_alone: i64,
    /// The bytes of the smallest and the largest of them.
    sizes: Sizes,
    blocks: Blocks,
}

impl Bunches {
    /// New data was sent in full segments of `mss` or with a short one. Returns whether a bunch began.
    #[inline]
    pub fn on_segment(&mut self, at: Instant, new: New, mss: u32, trigger: Trigger) -> bool {
        let New { len, is_short, is_pushed } = new;
        let begins = at.nanos_since(self.last) > PAUSE;
        if begins {
            self.end(at, mss, trigger);
            (self.first, self.bytes, self.is_full, self.is_pushed) = (at, 0, true, false);
        }
        self.bytes += u64::from(len);
        self.is_full &= !is_short;
        self.is_pushed |= is_pushed;
        self.last = at;
        begins
    }

    /// The next bunch begins at `at`.
    fn end(&mut self, at: Instant, mss: u32, trigger: Trigger) {
        const ALIKE: Alike = Alike {
            within: thresholds::PACE_SPREAD,
            least: thresholds::PACE_BUNCHES,
            off: thresholds::PACE_MISSES,
        };
        let waited = at.nanos_since(self.first).max(1);
        let rate = self.bytes as f64 * 8e9 / waited as f64;
        self.sent += self.bytes;
        let alone = if trigger.is_no_ack(at, waited) { waited } else { 0 };
        let is_bunch = self.is_full && (LEAST_SEGMENTS * u64::from(mss)..=LARGEST).contains(&self.bytes);
        // What a shaper takes apart is pushed at the end of a super-packet only, and what a program writes each time.
        let is_single = self.is_full && self.bytes == u64::from(mss);
        let is_other = !(is_bunch || is_single);
        self.blocks.on_bunch(at, self.bytes, alone, [is_other, is_single && self.is_pushed]);
        let rate = if is_bunch { rate } else { 0.0 };
        match self.pace.take(rate, is_bunch, at, &ALIKE) {
            Next::Same => {
                self.waited = self.waited.saturating_add(waited);
                self.waited_alone = self.waited_alone.saturating_add(alone);
                self.sizes.add(self.bytes);
            }
            Next::Another => {}
            Next::First => {
                (self.sent, self.waited, self.waited_alone) = (0, 0, 0);
                self.sizes = Sizes { smallest: self.bytes, largest: self.bytes };
            }
        }
    }

    /// Whether the last bunches had one pace for many RTTs of `rtt` nanoseconds, and neither ACKs nor, most likely, a timer
    /// caused it.
    pub fn have_one_pace(&self, mss: u32, rtt: i64) -> bool {
        let OneRate { rate, since, run, missed, .. } = self.pace;
        let lasted = self.last.nanos_since(since);
        let is_exact = run >= thresholds::PACE_MANY_BUNCHES && self.keep_pace();
        let rtts = if is_exact { thresholds::PACE_FEW_ROUND_TRIPS } else { thresholds::PACE_ROUND_TRIPS };
        run >= thresholds::PACE_BUNCHES
            && lasted >= rtts.saturating_mul(rtt)
            && f64::from(missed) <= (1.0 - thresholds::PACE_SHARE) * f64::from(run)
            && self.sent as f64 * 8e9 >= thresholds::PACE_KEPT * rate * lasted as f64
            && !self.sizes.may_be_of_a_timer(lasted, run.into(), mss)
            && self.waited_alone as f64 >= thresholds::SET_OFF * self.waited as f64
    }

    /// Whether nearly all of them had that pace: BBR's changes in two RTTs of eight (`bbr_pacing_gain`, 6.18).
    pub fn keep_pace(&self) -> bool {
        self.pace.missed * thresholds::PACE_CHANGED_PART <= self.pace.run
    }

    /// When the bunches of that pace began; `None` if that was asked before.
    pub fn take_since(&mut self) -> Option<Instant> {
        self.pace.take_since()
    }

    /// What a clock of the host shows in the long run.
    pub const fn blocks(&mut self) -> &mut Blocks {
        &mut self.blocks
    }
}

/// Blocks of bunches, and the rate of each. One timer is late and the next one makes up for it, so that the rate of many
/// bunches is exact though no pause is. The pace of a congestion control is not: BBR probes for more in one RTT of eight
/// (`bbr_cycle_rand`, 6.18).
#[derive(Clone, Copy, Debug, Default)]
pub struct Blocks {
    current: Block,
    /// The rate of the last blocks, and the bytes of their smallest and largest bunch.
    one: OneRate,
    sizes: Sizes,
}

/// A block: when it began, its bunches with the one before it, the time before those that no ACK triggered, in nanoseconds, the
/// bunches that a clock does not send and that a program may have written, and its bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    from: Instant,
    bunches: u32,
    waited_alone: i64,
    others: u32,
    written: u32,
    bytes: u64,
}

impl Blocks {
    /// A bunch of `bytes` was sent, and the next one begins at `at`, `alone` nanoseconds later if no ACK triggered that:
    /// whether a clock does not send such a bunch, and whether a program may have written it.
    #[inline]
    fn on_bunch(&mut self, at: Instant, bytes: u64, alone: i64, [is_other, is_written]: [bool; 2]) {
        let block = &mut self.current;
        if block.bunches == 0 {
            // Its first bunch is that of the block before: a block begins with a bunch.
            block.from = at;
        } else {
            block.bytes += bytes;
            self.sizes.add(bytes);
            block.waited_alone = block.waited_alone.saturating_add(alone);
            block.others += u32::from(is_other);
            block.written += u32::from(is_written);
        }
        block.bunches += 1;
        if block.bunches > thresholds::BLOCK_BUNCHES {
            self.end(at);
            self.current = Block { from: at, bunches: 1, ..Block::default() };
        }
    }

    fn end(&mut self, at: Instant) {
        const ALIKE: Alike = Alike {
            within: thresholds::BLOCK_SPREAD,
            least: thresholds::BLOCKS,
            off: thresholds::BLOCKS_OFF,
        };
        let Block { from, waited_alone, others, written, bytes, .. } = self.current;
        let lasted = at.nanos_since(from).max(1) as f64;
        let rate = bytes as f64 * 8e9 / lasted;
        if rate < thresholds::BLOCK_PAUSED * self.one.rate {
            // Nothing was sent for a while, in which no clock is seen.
            (self.one, self.sizes) = Default::default();
            return;
        }
        let is_own = others == 0
            && written * 2 <= thresholds::BLOCK_BUNCHES
            && waited_alone as f64 >= thresholds::SET_OFF * lasted;
        if matches!(self.one.take(rate, is_own, from, &ALIKE), Next::First) {
            self.sizes = Sizes::default();
        }
    }

    /// Whether those that have ended had one rate for many RTTs of `rtt` nanoseconds, and most likely not by a program's timer.
    pub fn have_one_rate(&self, mss: u32, rtt: i64) -> bool {
        let OneRate { since, run, missed, .. } = self.one;
        let lasted = self.current.from.nanos_since(since);
        let [run, missed, each] = [run, missed, thresholds::BLOCK_BUNCHES].map(i64::from);
        run >= i64::from(thresholds::BLOCKS)
            && missed * i64::from(thresholds::BLOCKS_MISSED_PART) <= run
            && lasted >= thresholds::PACE_ROUND_TRIPS.saturating_mul(rtt)
            && !self.sizes.may_be_of_a_timer(lasted, (run + missed) * each, mss)
    }

    /// When the blocks of that rate began; `None` if that was asked before.
    pub fn take_since(&mut self) -> Option<Instant> {
        self.one.take_since()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    const US: i64 = 1000;
    const MS: i64 = 1_000_000;

    /// Long after an ACK.
    fn after(prompt: Prompt) -> Trigger {
        Trigger { prompt, acked: Instant::START }
    }

    /// A hundred bunches of so many segments of 1000 bytes each, with the last one that long, each followed by the pause
    /// that `pause` has it of its bytes.
    fn of(sizes: [i64; 2], tail: u32, prompt: Prompt, pause: impl Fn(i64) -> i64) -> Bunches {
        let mut bunches = Bunches::default();
        let mut at = Instant::from_nanos(MS);
        for n in 0..100 {
            let segments = sizes[n % 2];
            for nth in 0..segments {
                let len = if nth + 1 == segments { tail } else { 1000 };
                let new = New { len, is_short: len < 1000, is_pushed: false };
                bunches.on_segment(at.plus_nanos(nth * US), new, 1000, after(prompt));
            }
            at = at.plus_nanos(pause((segments - 1) * 1000 + i64::from(tail)));
        }
        bunches
    }

    /// With three bunches in an RTT, BBR probes with every seventh three.
    #[test]
    fn clock_of_a_host_keeps_its_pace_and_bbr_does_not() {
        let probing = |probes: bool| {
            let bunch = Cell::new(0);
            of([2, 2], 1000, Prompt::Nothing, move |bytes| {
                bunch.set(bunch.get() + 1);
                bytes * if probes && bunch.get() % 21 >= 18 { 160 } else { 200 }
            })
        };
        assert!(probing(false).have_one_pace(1000, MS) && probing(false).keep_pace());
        assert!(probing(true).have_one_pace(1000, MS) && !probing(true).keep_pace());
    }

    #[test]
    fn pauses_in_proportion_to_bunches_of_full_segments_are_one_pace() {
        assert!(of([8, 13], 1000, Prompt::Nothing, |bytes| bytes * 200).have_one_pace(1000, MS));
        assert!(!of([8, 13], 1000, Prompt::Nothing, |_| 2 * MS).have_one_pace(1000, MS), "equal pauses");
        assert!(!of([8, 8], 1000, Prompt::Nothing, |_| 5 * MS).have_one_pace(1000, MS), "a timer");
        assert!(of([2, 2], 1000, Prompt::Nothing, |_| 5 * MS).have_one_pace(1000, MS), "the least of Linux");
        assert!(
            !of([8, 13], 600, Prompt::Nothing, |bytes| bytes * 200).have_one_pace(1000, MS),
            "a program's writes"
        );
        assert!(
            !of([8, 13], 1000, Prompt::Ack, |bytes| bytes * 200).have_one_pace(1000, MS),
            "ACKs of a full path"
        );
        assert!(
            !of([80, 90], 1000, Prompt::Nothing, |bytes| bytes * 200).have_one_pace(1000, MS),
            "no super-packets"
        );
    }

    /// A writer that each ACK lets continue: its bunches follow the ACKs by 0.1 ms.
    #[test]
    fn bunches_right_after_acks_have_no_pace() {
        let bunches = |late: i64| {
            let mut bunches = Bunches::default();
            for at in (1..300).map(|nth| Instant::from_nanos(nth * 20 * MS)) {
                let trigger = Trigger { prompt: Prompt::Soon, acked: at.plus_nanos(-late) };
                for nth in 0..2 {
                    let new = New { len: 1000, is_short: false, is_pushed: false };
                    bunches.on_segment(at.plus_nanos(nth * US), new, 1000, trigger);
                }
            }
            [bunches.have_one_pace(1000, MS), bunches.blocks().have_one_rate(1000, MS)]
        };
        assert_eq!(bunches(5 * MS), [true; 2]);
        assert_eq!(bunches(MS / 10), [false; 2]);
    }

    #[test]
    fn pace_must_be_that_of_nearly_all_bunches() {
        // Every third, or every twentieth, comes after half the pause: BBR probes for more in an RTT of eight.
        for (every, is_one) in [(3, false), (20, true)] {
            let nth = Cell::new(0);
            let pause = |bytes: i64| {
                nth.set(nth.get() + 1);
                bytes * if nth.get() % every == 0 { 100 } else { 200 }
            };
            let bunches = of([4, 4], 1000, Prompt::Nothing, pause);
            assert_eq!(bunches.have_one_pace(1000, MS), is_one, "{every}");
        }
    }

    #[test]
    fn pace_with_pauses_is_that_of_a_sender_held_by_something_else() {
        // BBR with a full send buffer: each twentieth bunch comes after a pause as long as all of theirs.
        let nth = Cell::new(0);
        let pause = |bytes: i64| {
            nth.set(nth.get() + 1);
            bytes * if nth.get() % 20 == 0 { 4_000 } else { 200 }
        };
        assert!(!of([4, 4], 1000, Prompt::Nothing, pause).have_one_pace(1000, MS));
    }

    #[test]
    fn pace_must_last_for_many_round_trips() {
        let bunches = of([8, 8], 1000, Prompt::Nothing, |bytes| bytes * 200);
        assert!(bunches.have_one_pace(1000, 8 * MS) && !bunches.have_one_pace(1000, 20 * MS));
    }

    /// Four hundred single segments, pushed or not, each followed by a millisecond.
    fn singles_have_one_rate(is_pushed: impl Fn(i64) -> bool) -> bool {
        let (mut bunches, mut at) = (Bunches::default(), Instant::START.plus_nanos(MS));
        for nth in 0..400 {
            let new = New { len: 1000, is_short: false, is_pushed: is_pushed(nth) };
            bunches.on_segment(at, new, 1000, after(Prompt::Nothing));
            at = at.plus_nanos(MS);
        }
        bunches.blocks().have_one_rate(1000, 2 * MS)
    }

    #[test]
    fn equal_bunches_by_a_slow_clock_may_be_a_programs() {
        let of = |segments: i64| {
            let (mut bunches, mut at) = (Bunches::default(), Instant::START.plus_nanos(MS));
            for _ in 0..200 {
                for _ in 0..segments {
                    let new = New { len: 1000, is_short: false, is_pushed: false };
                    bunches.on_segment(at, new, 1000, after(Prompt::Nothing));
                }
                at = at.plus_nanos(10 * MS);
            }
            bunches.blocks().have_one_rate(1000, MS)
        };
        assert!(of(2) && !of(20));
    }

    #[test]
    fn segments_of_a_program_are_pushed_one_by_one() {
        assert!(singles_have_one_rate(|nth| nth % 4 == 0), "ends of super-packets");
        assert!(!singles_have_one_rate(|_| true));
    }

    /// Four hundred bunches of two segments, each followed by the pause that `pause` has it of its number.
    fn have_one_rate(prompt: Prompt, tail: u32, pause: impl Fn(i64) -> i64, rtt: i64) -> bool {
        let (mut bunches, mut at) = (Bunches::default(), Instant::START.plus_nanos(MS));
        for nth in 0..400 {
            for len in [1000, tail] {
                bunches.on_segment(
                    at,
                    New { len, is_short: len < 1000, is_pushed: false },
                    1000,
                    after(prompt),
                );
            }
            at = at.plus_nanos(pause(nth));
        }
        bunches.blocks().have_one_rate(1000, rtt)
    }

    #[test]
    fn late_timers_of_a_clock_make_up_for_each_other() {
        // Each second timer is late by a tenth, so that no two pauses are alike.
        let late = |nth: i64| if nth % 2 == 0 { 1_100 * US } else { 900 * US };
        assert!(have_one_rate(Prompt::Nothing, 1000, late, 2 * MS));
        assert!(!have_one_rate(Prompt::Ack, 1000, late, 2 * MS), "ACKs of a full path");
        assert!(!have_one_rate(Prompt::Nothing, 600, late, 2 * MS), "a program's writes");
        assert!(!have_one_rate(Prompt::Nothing, 1000, late, 40 * MS), "not for many RTTs");
    }

    #[test]
    fn pace_that_probes_for_more_is_no_clock() {
        // BBR: in an RTT of 20 ms in eight by a quarter more, and in the next one by a quarter less.
        let probes = |nth: i64| match nth / 20 % 8 {
            0 => 800 * US,
            1 => 1_333 * US,
            _ => 1_000 * US,
        };
        assert!(!have_one_rate(Prompt::Nothing, 1000, probes, 20 * MS));
        // A rate that grows by a hundredth in an RTT is a congestion window's.
        assert!(!have_one_rate(Prompt::Nothing, 1000, |nth| (1_000 - nth / 2) * US, 10 * MS));
    }

    /// A program that sends for 150 ms each time, and a congestion control that paces it.
    #[test]
    fn pauses_between_chunks_are_no_time_of_a_clock() {
        let have = |chunks: i64, bunches: i64| {
            let mut all = Bunches::default();
            let mut at = Instant::from_nanos(MS);
            for _ in 0..chunks {
                for nth in 0..bunches * 2 {
                    let new = New { len: 1000, is_short: false, is_pushed: false };
                    all.on_segment(at.plus_nanos(nth % 2 * US), new, 1000, after(Prompt::Nothing));
                    at = at.plus_nanos(nth % 2 * MS);
                }
                at = at.plus_nanos(1_700 * MS);
            }
            // A bunch after the last pause.
            all.on_segment(
                at,
                New { len: 1000, is_short: false, is_pushed: false },
                1000,
                after(Prompt::Nothing),
            );
            all.blocks().have_one_rate(1000, 10 * MS)
        };
        assert!(!have(1, 150) && !have(10, 150));
        assert!(have(1, 300));
    }
}
