//! Flights through buckets, queues and random losses.

use super::*;

const MSS: u32 = 1448;

/// What a flight of some segments meets.
trait Path {
    /// By how many microseconds a segment is delayed that comes at `at`; `None` if it is dropped.
    fn take(&mut self, at: f64) -> Option<f64>;
}

/// A bucket, or a queue, of `depth` bytes that fills, or drains, at `rate` bytes per microsecond.
struct Limited {
    rate: f64,
    depth: f64,
    used: f64,
    at: f64,
    queues: bool,
}

impl Limited {
    fn of(mbit: f64, depth: f64, queues: bool) -> Self {
        Self { rate: mbit / 8.0, depth, used: 0.0, at: 0.0, queues }
    }
}

impl Path for Limited {
    fn take(&mut self, at: f64) -> Option<f64> {
        self.used = (self.used - self.rate * (at - self.at)).max(0.0);
        self.at = at;
        let delay = if self.queues { self.used / self.rate } else { 0.0 };
        (self.used + f64::from(MSS) <= self.depth).then(|| {
            self.used += f64::from(MSS);
            delay
        })
    }
}

/// Drops one segment of so many, in no order.
struct Chance(u32, u32);

impl Path for Chance {
    fn take(&mut self, _: f64) -> Option<f64> {
        self.1 = self.1.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.1 >> 8).is_multiple_of(self.0).then_some(()).map_or(Some(0.0), |()| None)
    }
}

/// An RTT, in microseconds.
const RTT: f64 = 80_000.0;

/// When the bursts begin, in microseconds, and how many segments each has.
fn bursts() -> impl Iterator<Item = (f64, i64)> {
    let pauses = [8_000.0, 20_000.0, 9_000.0, 14_000.0, 40_000.0];
    let begin = (0..200).scan(0.0, move |at, nth| {
        *at += pauses[nth % pauses.len()];
        Some(*at)
    });
    begin.zip((0..8).cycle().map(|more| 6 + more))
}

/// Bursts of segments 10 µs apart.
fn flights(path: &mut dyn Path) -> Transmissions {
    let mut kept = Transmissions::default();
    for (begin, segments) in bursts() {
        for nth in 0..segments {
            let at = begin + nth as f64 * 10.0;
            let sent = kept.sent(Instant::START.plus_nanos((at * 1e3) as i64), MSS.into(), 0);
            match path.take(at) {
                Some(delay) => kept.acknowledged(sent, ((RTT + delay) * 1e3) as i64),
                None => kept.lost(sent, 0),
            }
        }
    }
    kept
}

#[test]
fn losses_at_the_end_of_bursts_show_the_bucket() {
    let found =
        flights(&mut Limited::of(8.0, 15_000.0, false)).token_bucket(MSS, Tap::Before).expect("a bucket");
    assert!((13_000..=15_000).contains(&found.depth), "{found:?}");
    assert!((found.rate() / 8e6 - 1.0).abs() < 0.1, "{found:?}");
    assert_eq!(found.lost[0], found.lost[1], "all of them above");
    assert_eq!(found.delivered[1], 0, "{found:?}");
    assert!(found.longer < Duration::from_millis(1), "{found:?}");
}

#[test]
fn a_queue_of_that_size_delays_before_it_drops() {
    let found =
        flights(&mut Limited::of(8.0, 15_000.0, true)).token_bucket(MSS, Tap::Before).expect("a queue");
    assert!(!found.is_policer && (13_000..=15_000).contains(&found.depth), "{found:?}");
}

/// What is sent at these times as it passes behind the path.
fn behind(path: &mut dyn Path, sent: impl Iterator<Item = f64>) -> Option<TokenBucket> {
    let mut kept = Transmissions::default();
    let mut holes = Vec::new();
    let mut missing = false;
    for at in sent {
        let Some(delay) = path.take(at) else {
            missing = true;
            continue;
        };
        let passes = Instant::START.plus_nanos(((RTT / 2.0 + at + delay) * 1e3) as i64);
        if std::mem::take(&mut missing) {
            holes.push(kept.missed(passes, MSS.into()));
        }
        kept.sent(passes, MSS.into(), (at / 1e3) as u32);
    }
    holes.into_iter().for_each(|hole| kept.lost(hole, 0));
    kept.token_bucket(MSS, Tap::Behind { rtt: RTT as u32 })
}

/// The bursts, over a link on which a segment takes 100 µs.
fn flights_behind(path: &mut dyn Path) -> Option<TokenBucket> {
    behind(
        path,
        bursts().flat_map(|(begin, segments)| (0..segments).map(move |nth| begin + nth as f64 * 100.0)),
    )
}

/// A window that grows until something is lost, at ten segments in each of the bursts of an RTT, and is then a third less: the
/// losses are two seconds apart.
fn sawtooth(mbit: f64) -> impl Iterator<Item = f64> {
    let rate = move |at: f64| mbit / 8.0 * (0.8 + 0.4 * (at / 2e6).fract());
    let bursts = (0..).scan(0.0, move |at, nth| {
        let begin = *at + f64::from(nth % 7) * 300.0;
        *at += 10.0 * f64::from(MSS) / rate(*at);
        Some(begin)
    });
    bursts.take(400).flat_map(|begin| (0..10).map(move |nth| begin + f64::from(nth) * 100.0))
}

/// In two seconds, a bucket of 20 kB tells rates 4 % apart.
#[test]
fn losses_far_apart_show_the_rate_to_a_few_percent() {
    for mbit in [1.9, 2.0, 2.1] {
        let found = behind(&mut Limited::of(mbit, 20_000.0, false), sawtooth(2.0)).expect("a bucket");
        assert!((found.rate() / mbit / 1e6 - 1.0).abs() < 0.04, "{mbit}: {found:?}");
        assert!(found.is_policer, "{mbit}: {found:?}");
        let queue = behind(&mut Limited::of(mbit, 20_000.0, true), sawtooth(2.0));
        assert!(queue.is_none_or(|found| !found.is_policer), "{queue:?}");
    }
}

#[test]
fn holes_at_the_end_of_bursts_show_the_bucket_behind_it() {
    let found = flights_behind(&mut Limited::of(8.0, 15_000.0, false)).expect("a bucket");
    assert!(found.is_policer && (12_000..=16_000).contains(&found.depth), "{found:?}");
    assert!((found.rate() / 8e6 - 1.0).abs() < 0.15, "{found:?}");
    assert!(found.longer < Duration::from_millis(2), "{found:?}");
}

#[test]
fn stamps_show_the_delay_of_a_queue_behind_it() {
    let found = flights_behind(&mut Limited::of(8.0, 15_000.0, true));
    assert!(found.is_none_or(|found| !found.is_policer), "{found:?}");
}

#[test]
fn chance_leaves_holes_anywhere() {
    for seed in 0..20 {
        let found = flights_behind(&mut Chance(40, seed));
        assert_eq!(found, None, "seed {seed}");
    }
}

#[test]
fn chance_loses_anywhere_in_a_burst() {
    for seed in 0..20 {
        let found = flights(&mut Chance(40, seed)).token_bucket(MSS, Tap::Before);
        assert_eq!(found, None, "seed {seed}");
    }
}

/// Drops all segments for a while, after so many that got through.
struct Spells {
    every: u32,
    left: u32,
    seed: u32,
}

impl Path for Spells {
    fn take(&mut self, _: f64) -> Option<f64> {
        if self.left == 0 && Chance(self.every, self.seed).take(0.0).is_none() {
            self.left = 5;
        }
        self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.left = self.left.saturating_sub(1);
        (self.left == 0).then_some(0.0)
    }
}

#[test]
fn losses_in_a_row_are_one_event() {
    for seed in 0..20 {
        let found = flights(&mut Spells { every: 60, left: 0, seed }).token_bucket(MSS, Tap::Before);
        assert_eq!(found, None, "seed {seed}");
    }
}

#[test]
fn what_is_lost_at_the_end_of_all_data_shows_nothing() {
    let lost = |pause: i64| {
        let mut kept = Transmissions::default();
        for nth in 0..120 {
            let at = Instant::START.plus_nanos(nth / 12 * pause + nth % 12 * 10_000);
            let sent = kept.sent(at, MSS.into(), 0);
            if nth % 12 >= 10 {
                kept.lost(sent, 0);
            }
        }
        let events = kept.events(1.5 * RTT);
        events.into_iter().filter(|event| *event == Event::Lost).count()
    };
    assert_eq!(lost(20_000_000), 9, "one a burst, but for the last burst");
    assert_eq!(lost(300_000_000), 0);
}

/// Half of what is sent: the bucket is empty all the time after its first 20 RTTs.
#[test]
fn what_passes_between_losses_shows_the_rate_of_a_bucket_that_never_fills_up() {
    let found = flights(&mut Limited::of(0.5, 100_000.0, false)).token_bucket(MSS, Tap::Before);
    let found = found.expect("a bucket");
    assert!(found.is_policer && (found.rate() / 0.5e6 - 1.0).abs() < 0.02, "{found:?}");
    let queue = flights(&mut Limited::of(0.5, 100_000.0, true)).token_bucket(MSS, Tap::Before);
    assert!(queue.is_none_or(|found| !found.is_policer), "{queue:?}");
}

/// A window that grows until something is lost, and is then smaller by a third, or by two thirds each fourth time; kept from the
/// first loss on. Bursts of ten segments, 100 µs apart.
fn grows_until_loss(path: &mut dyn Path) -> Transmissions {
    let mut kept = Transmissions::default();
    let (mut rate, mut at, mut losses) = (0.6, 0.0, 0);
    while kept.sent.len() < MOST {
        let mut is_lost = false;
        for nth in 0..10 {
            let passed = at + f64::from(nth) * 100.0;
            let delay = path.take(passed);
            is_lost |= delay.is_none();
            if losses > 0 || is_lost {
                let sent = kept.sent(Instant::START.plus_nanos((passed * 1e3) as i64), MSS.into(), 0);
                match delay {
                    Some(delay) => kept.acknowledged(sent, ((RTT + delay) * 1e3) as i64),
                    None => kept.lost(sent, 0),
                }
            }
        }
        at += 10.0 * f64::from(MSS) / rate;
        rate = if is_lost { rate * if losses % 4 == 3 { 0.33 } else { 0.67 } } else { rate + 0.02 };
        losses += i32::from(is_lost);
    }
    kept
}

#[test]
fn bucket_that_was_empty_at_first_and_never_fills_up_is_found() {
    let bucket = grows_until_loss(&mut Limited::of(8.0, 600_000.0, false)).token_bucket(MSS, Tap::Before);
    let bucket = bucket.expect("a bucket");
    assert!(bucket.is_policer && (bucket.rate() / 8e6 - 1.0).abs() < 0.02, "{bucket:?}");
    for depth in [4_000.0, 15_000.0, 60_000.0] {
        let queue = grows_until_loss(&mut Limited::of(8.0, depth, true)).token_bucket(MSS, Tap::Before);
        assert!(queue.is_none_or(|found| !found.is_policer), "{depth}: {queue:?}");
    }
}

#[test]
fn a_super_packet_is_cut_where_its_first_segment_was_lost() {
    let mut kept = Transmissions::default();
    let mut path = Limited::of(8.0, 15_000.0, false);
    for (begin, segments) in bursts() {
        let sent = kept.sent(Instant::START.plus_nanos((begin * 1e3) as i64), segments * i64::from(MSS), 0);
        match (0..segments).find(|_| path.take(begin).is_none()) {
            Some(lost) => kept.lost(sent, lost * i64::from(MSS)),
            None => kept.acknowledged(sent, (RTT * 1e3) as i64),
        }
    }
    let found = kept.token_bucket(MSS, Tap::Before).expect("a bucket");
    assert!((13_000..=15_000).contains(&found.depth), "{found:?}");
}

#[test]
fn few_losses_show_nothing() {
    let mut kept = flights(&mut Limited::of(8.0, 15_000.0, false));
    let mut left = thresholds::BUCKET_LOSSES - 1;
    for sent in kept.sent.iter_mut().filter(|sent| sent.lost > 0) {
        sent.lost = if left > 0 { sent.lost } else { 0 };
        left = left.saturating_sub(1);
    }
    assert_eq!(kept.token_bucket(MSS, Tap::Before), None);
}

#[test]
fn hostile_times_and_sizes_are_borne() {
    let mut kept = Transmissions::default();
    for nth in 0..3000_i64 {
        let sent = kept.sent(
            Instant::START.plus_nanos(nth * (i64::MAX / 3000) * (nth % 3 - 1)),
            i64::MAX,
            nth as u32,
        );
        kept.missed(Instant::from_nanos(nth), i64::MIN);
        kept.lost(sent, nth * i64::from(u16::MAX));
        kept.acknowledged(sent, i64::MIN);
    }
    assert_eq!(kept.sent.len(), MOST);
    kept.clone().token_bucket(0, Tap::Before);
    kept.token_bucket(0, Tap::Behind { rtt: 0 });
}

#[test]
fn a_queue_that_delays_as_it_would_is_no_policer_of_another_rate() {
    let found = flights(&mut Limited::of(8.0, 15_000.0, true)).token_bucket(MSS, Tap::Before);
    let queue = found.expect("a bucket");
    assert!(queue.is_queue && !queue.is_policer && queue.refutes(4e6), "{queue:?}");
    let found = flights(&mut Limited::of(8.0, 15_000.0, false)).token_bucket(MSS, Tap::Before);
    let policer = found.expect("a bucket");
    assert!(!policer.is_queue && policer.refutes(4e6) && !policer.refutes(7e6), "{policer:?}");
    let vague = TokenBucket { delivered: [2_000, 1_000], lost: [60, 60], ..policer };
    assert!(!vague.refutes(4e6), "one that would have dropped half of all");
}
