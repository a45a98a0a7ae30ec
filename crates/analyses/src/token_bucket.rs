//! Whether a token bucket on the path would have dropped what was lost, and little else.
//!
//! A policer with a bucket of a few packets is full again long before the next flight. It drops the end of each burst that
//! is longer than the bucket, so that losses follow the bursts and not the amount delivered in between. Replaying the
//! transmissions through a bucket shows that: the right one is emptiest at those that were lost. A queue with a limit
//! drops in the same places (a token is a byte of free room), but first delays what it lets through.

use crate::evidence::Evidence;
use crate::lateness::unplaced;
use crate::limits::thresholds;
use slowpath_model::statistics::median;
use slowpath_model::{Bytes, Instant, Rate};
use std::time::Duration;

/// Transmissions kept, from the first hole or retransmission on: 64 KiB.
const MOST: usize = 1 << 12;

/// The unit of an RTT that is kept, in microseconds: up to 2 s.
const RTT_UNIT: i64 = 32;

/// Rates tried, as multiples of the mean rate, each higher than the one before by [`STEP`].
const RATES: i32 = 22;
const LEAST_RATE: f64 = 1.1;
const STEP: f64 = 1.21;

/// Rates tried between the best of these and each of the two next to it.
const FINER: i32 = 9;

/// Depths tried.
const DEPTHS: usize = 256;

/// One transmission that passed the tap.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// When, in microseconds since the first one.
    at: u32,
    /// Its payload.
    len: u16,
    /// How long its ACK took; 0 if that is not known.
    rtt: u16,
    /// The first byte of it that was lost, plus 1; 0 if none was.
    lost: u16,
    /// It did not pass: what lies behind it did.
    missed: bool,
    /// How late it was by its timestamp, from a zero that is not known ([`unplaced`]).
    late: u32,
}

/// Where the transmissions passed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tap {
    /// In front of what dropped some of them: these passed, and the ACKs of the others show how long they took.
    Before,
    /// Behind it: lost ones left holes, and by the timestamps of their sender, which ticks once in a millisecond, the others were
    /// late or not.
    Behind {
        /// The shortest RTT, in microseconds.
        rtt: u32,
    },
}

/// The transmissions of one direction.
#[derive(Clone, Debug, Default)]
pub struct Transmissions {
    first: Instant,
    sent: Vec<Sent>,
}

/// One of the transmissions: none where it was not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nth(u16);

/// A token bucket that explains the losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenBucket {
    /// The rates at which it may fill, from the lowest to the highest, in bit/s of payload.
    pub rates: [f64; 2],
    /// How many bytes it holds.
    pub depth: u32,
    /// Nothing waited where a queue would have made it wait: a policer. Otherwise a queue may have dropped what was lost.
    pub is_policer: bool,
    /// Lost transmissions, several in a row counted once, and those of them that found it empty.
    pub lost: [u32; 2],
    /// Delivered transmissions, and those of them that it would have dropped.
    pub delivered: [u32; 2],
    /// By how much the RTTs of segments late in a burst were longer than the shortest.
    pub longer: Duration,
    /// By how much a queue of the highest of these rates would have delayed them.
    pub queue: Duration,
}

impl TokenBucket {
    /// The middle of its rates.
    pub fn rate(&self) -> f64 {
        let [lowest, highest] = self.rates;
        (lowest * highest).sqrt()
    }

    /// That losses followed bursts, and that no queue dropped them.
    pub fn evidence(&self) -> [Evidence; 2] {
        let [lowest, highest] = self.rates.map(|rate| Rate::bits_per_second(rate as u64));
        let [lost, lost_above] = self.lost.map(u64::from);
        let [delivered, delivered_above] = self.delivered.map(u64::from);
        let depth = Bytes::new(self.depth.into());
        [
            Evidence::LostInBursts { lowest, highest, depth, lost, lost_above, delivered, delivered_above },
            Evidence::BurstsNotDelayed { longer: self.longer, queue: self.queue },
        ]
    }
}

impl Transmissions {
    /// A segment of `len` bytes passed.
    #[inline]
    pub fn sent(&mut self, at: Instant, len: i64, tsval: u32) -> Nth {
        self.keep(at, len, false, unplaced(tsval, at))
    }

    /// So many bytes are missing when the segment behind them passes.
    pub fn missed(&mut self, at: Instant, len: i64) -> Nth {
        self.keep(at, len, true, 0)
    }

    #[inline]
    fn keep(&mut self, at: Instant, len: i64, missed: bool, late: u32) -> Nth {
        if self.sent.len() == MOST {
            return Nth::default();
        }
        if self.sent.is_empty() {
            self.first = at;
        }
        let at = (at.nanos_since(self.first) / 1000).clamp(0, u32::MAX.into()) as u32;
        self.sent.push(Sent {
            at,
            len: u16::try_from(len).unwrap_or(u16::MAX),
            rtt: 0,
            lost: 0,
            missed,
            late,
        });
        Nth(self.sent.len() as u16)
    }

    fn of(&mut self, nth: Nth) -> Option<&mut Sent> {
        self.sent.get_mut(usize::from(nth.0).checked_sub(1)?)
    }

    /// The ACK of a transmission took `rtt` nanoseconds.
    #[inline]
    pub fn acknowledged(&mut self, nth: Nth, rtt: i64) {
        if let Some(sent) = self.of(nth) {
            sent.rtt = u16::try_from(rtt / 1000 / RTT_UNIT).unwrap_or(u16::MAX).max(1);
        }
    }

    /// A transmission was lost from the byte `from` on.
    pub fn lost(&mut self, nth: Nth, from: i64) {
        if let Some(sent) = self.of(nth) {
            let from = u16::try_from(from + 1).unwrap_or(u16::MAX);
            sent.lost = if sent.lost == 0 { from } else { sent.lost.min(from) };
        }
    }

    /// The token bucket that explains the losses, if one does. A full segment has `mss` bytes.
    pub fn token_bucket(mut self, mss: u32, tap: Tap) -> Option<TokenBucket> {
        // In front of what drops packets, a hole is what the capture missed; behind it, what passed had arrived.
        self.sent
            .retain(|sent| if tap == Tap::Before { !sent.missed } else { !sent.missed || sent.lost > 0 });
        if tap != Tap::Before {
            self.sent.iter_mut().filter(|sent| !sent.missed).for_each(|sent| sent.lost = 0);
        }
        if let Tap::Behind { rtt } = tap {
            self.date_holes(rtt);
        }
        let (first, last) = (self.sent.first()?, self.sent.last()?);
        let base = match tap {
            Tap::Before => {
                let least = self.sent.iter().map(|sent| sent.rtt).filter(|rtt| *rtt > 0).min()?;
                f64::from(least) * RTT_UNIT as f64
            }
            Tap::Behind { rtt } => rtt.into(),
        };
        let events = self.events(base * thresholds::BUCKET_GOES_ON);
        let lost = events.iter().filter(|event| **event == Event::Lost).count();
        let time = f64::from(last.at.saturating_sub(first.at));
        if lost < thresholds::BUCKET_LOSSES || time <= 0.0 {
            return None;
        }
        let mean = self.sent.iter().map(|sent| f64::from(sent.len)).sum::<f64>() / time;
        let fit = |rate: f64| self.fit(&events, rate, mss, self.known(tap, rate, base));
        let mut fits: Vec<Fit> =
            (0..RATES).filter_map(|nth| fit(mean * LEAST_RATE * STEP.powi(nth))).collect();
        // Over a long time between two losses, a bucket of a slightly different rate holds something else.
        let best = *fits.iter().max_by(|a, b| a.evidence.total_cmp(&b.evidence))?;
        if best.evidence >= thresholds::BUCKET_WORTH && !(best.is_of_most() && best.tells_apart()) {
            let finer = (-FINER..=FINER).filter(|nth| *nth != 0);
            let finer = finer.map(|nth| best.rate * STEP.powf(f64::from(nth) / f64::from(FINER + 1)));
            fits.extend(finer.filter_map(fit));
            fits.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        }
        let most = fits.iter().map(|fit| fit.evidence).fold(0.0, f64::max);
        fits.retain(|fit| fit.evidence >= most - thresholds::BUCKET_AS_GOOD);
        let (slowest, fastest) = (fits.first()?, fits.last()?);
        let best = fits[fits.len() / 2];
        if most < thresholds::BUCKET_EVIDENCE || !best.is_of_most() {
            return None;
        }
        let (longer, queue) = match tap {
            Tap::Before => self.delays(fastest, mss, base),
            Tap::Behind { .. } => self.delays_by_stamps(fastest, mss),
        }?;
        // The clock of the stamps hides less, and a bucket of a segment or two lets nothing through in which the sender could exceed its
        // rate.
        let is_seen = tap == Tap::Before
            || queue >= thresholds::BUCKET_STAMPED_US
                && best.tells_apart()
                && best.depth >= f64::from(thresholds::BUCKET_SEGMENTS * mss);
        let is_credible = best.depth / best.rate < thresholds::BUCKET_RTTS * base
            || most >= thresholds::BUCKET_SURE && best.tells_apart();
        let had_no_queue =
            queue >= thresholds::BUCKET_QUEUE_US && longer * thresholds::BUCKET_DELAYS_LESS < queue;
        let micros = |time: f64| Duration::from_secs_f64(time * 1e-6);
        Some(TokenBucket {
            is_policer: is_seen && is_credible && had_no_queue,
            rates: [slowest, fastest].map(|fit| fit.rate * 8e6),
            depth: best.depth as u32,
            lost: [best.lost, best.lost_above],
            delivered: [best.delivered, best.delivered_above],
            longer: micros(longer),
            queue: micros(queue),
        })
    }

    /// What was lost would have passed as soon behind the segment before it as others do in a burst.
    fn date_holes(&mut self, rtt: u32) {
        let gap = |two: &[Sent]| two[1].at.saturating_sub(two[0].at);
        let in_bursts = self.sent.windows(2).filter(|two| !two[0].missed && !two[1].missed).map(gap);
        let in_bursts = in_bursts.filter(|gap| *gap <= rtt / thresholds::BUCKET_BURST_PART).map(f64::from);
        let Some(usual) = median(in_bursts) else { return };
        for nth in 1..self.sent.len() {
            if self.sent[nth].missed {
                self.sent[nth].at = self.sent[nth].at.min(self.sent[nth - 1].at.saturating_add(usual as u32));
            }
        }
    }

    /// By how much segments late in a burst were delayed, and by how much a queue that is as `fit` would have: the medians, in
    /// microseconds.
    fn delays(&self, fit: &Fit, mss: u32, base: f64) -> Option<(f64, f64)> {
        let late = fit.depth * thresholds::BUCKET_LATE_PART;
        let late = self.used(fit.rate, mss).filter(|(sent, used)| sent.rtt > 0 && *used >= late);
        let (longer, queue): (Vec<f64>, Vec<f64>) =
            late.map(|(sent, used)| (f64::from(sent.rtt) * RTT_UNIT as f64 - base, used / fit.rate)).unzip();
        Some((median(longer)?, median(queue)?))
    }

    /// As [`Self::delays`], compared with segments early in a burst, by their timestamps.
    fn delays_by_stamps(&self, fit: &Fit, mss: u32) -> Option<(f64, f64)> {
        let zero = self.sent.iter().find(|sent| !sent.missed)?.late;
        let passed = |is_such: &dyn Fn(f64) -> bool| {
            let such = self.used(fit.rate, mss).filter(|(sent, used)| !sent.missed && is_such(*used));
            let (late, used): (Vec<f64>, Vec<f64>) = such
                .map(|(sent, used)| (f64::from(sent.late.wrapping_sub(zero) as i32), used / fit.rate))
                .unzip();
            Some((median(late)?, median(used)?))
        };
        let early = passed(&|used| used <= fit.depth * thresholds::BUCKET_EARLY_PART)?;
        let late = passed(&|used| used >= fit.depth * thresholds::BUCKET_LATE_PART)?;
        Some(((late.0 - early.0).max(0.0), (late.1 - early.1).max(0.0)))
    }

    /// Each transmission with the bytes by which a bucket of `rate` bytes per microsecond was short of full before its last
    /// segment, or the first one that was lost. What is lost takes no tokens.
    fn used(&self, rate: f64, mss: u32) -> impl Iterator<Item = (&Sent, f64)> {
        let (mut used, mut before) = (0.0_f64, 0);
        self.sent.iter().map(move |sent| {
            used = (used - rate * f64::from(sent.at.saturating_sub(before))).max(0.0);
            before = sent.at;
            let len = f64::from(sent.len);
            if sent.lost > 0 {
                return (sent, used + f64::from(sent.lost - 1));
            }
            used += len;
            (sent, used - len.min(mss.into()))
        })
    }

    /// From which transmission on it is known how much a bucket of `rate` holds: behind it, the first hole shows it empty, until
    /// little enough has passed for the largest one that shows ([`thresholds::BUCKET_RTTS`]) to be full.
    fn known(&self, tap: Tap, rate: f64, base: f64) -> usize {
        if tap == Tap::Before {
            return 0;
        }
        let (mut used, mut before) = (rate * thresholds::BUCKET_RTTS * base, 0);
        let is_full = |sent: &Sent| {
            used -= rate * f64::from(sent.at.saturating_sub(before));
            before = sent.at;
            let is_full = used <= 0.0;
            used += if sent.missed { 0.0 } else { f64::from(sent.len) };
            is_full
        };
        self.sent.iter().position(is_full).unwrap_or(self.sent.len())
    }

    /// What each transmission shows. Several losses in a row are one: whatever loses packets may lose the next as well. The end
    /// of what the sender had to send, after which nothing follows for `pause` microseconds, may be lost for other reasons.
    fn events(&self, pause: f64) -> Vec<Event> {
        let mut events = vec![Event::Delivered; self.sent.len()];
        let runs = self.sent.chunk_by(|one, next| (one.lost > 0) == (next.lost > 0));
        let mut begin = 0;
        for run in runs {
            let end = begin + run.len();
            if run[0].lost > 0 {
                let last = f64::from(self.sent[end - 1].at);
                let goes_on = self.sent.get(end).is_some_and(|next| f64::from(next.at) - last < pause);
                events[begin..end].fill(Event::Nothing);
                if goes_on {
                    events[begin] = Event::Lost;
                }
            }
            begin = end;
        }
        events
    }

    /// The depth that tells the lost transmissions from the delivered ones best at `rate`.
    fn fit(&self, events: &[Event], rate: f64, mss: u32, since: usize) -> Option<Fit> {
        let most = self.used(rate, mss).map(|(_, used)| used).fold(0.0, f64::max);
        let width = (most / DEPTHS as f64).max(1.0);
        let mut at = [[0_u32; 2]; DEPTHS + 1];
        for ((_, used), event) in self.used(rate, mss).zip(events).skip(since) {
            match event {
                Event::Delivered => at[(used / width) as usize][0] += 1,
                Event::Lost => at[(used / width) as usize][1] += 1,
                Event::Nothing => {}
            }
        }
        let sum = |of: usize| at.iter().map(|both| both[of]).sum::<u32>();
        let (delivered, lost) = (sum(0), sum(1));
        if lost < thresholds::BUCKET_LOSSES as u32 {
            return None;
        }
        let (mut delivered_above, mut lost_above) = (0, 0);
        let fits = at.iter().enumerate().rev().filter_map(|(nth, both)| {
            delivered_above += both[0];
            lost_above += both[1];
            (both[1] > 0).then(|| Fit {
                evidence: evidence([delivered_above, lost_above], [delivered, lost]),
                rate,
                depth: nth as f64 * width,
                delivered,
                delivered_above,
                lost,
                lost_above,
            })
        });
        fits.max_by(|a, b| a.evidence.total_cmp(&b.evidence))
    }
}

/// What a transmission shows of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Delivered,
    Lost,
    Nothing,
}

/// A bucket, and how well it explains the losses.
#[derive(Clone, Copy, Debug)]
struct Fit {
    evidence: f64,
    /// In bytes per microsecond.
    rate: f64,
    /// In bytes.
    depth: f64,
    delivered: u32,
    delivered_above: u32,
    lost: u32,
    lost_above: u32,
}

impl Fit {
    /// Whether it would have dropped two thirds of what was lost.
    const fn is_of_most(&self) -> bool {
        self.lost_above * 3 >= self.lost * 2
    }

    /// Whether few transmissions were delivered that it would have dropped.
    const fn tells_apart(&self) -> bool {
        self.delivered_above <= 2 * self.lost_above
    }
}

/// How improbable it is that so many of all losses are among these transmissions by chance: the negative logarithm
/// (Chernoff's bound of the binomial distribution). Of `above` and `all`, the first are delivered, the second lost.
fn evidence(above: [u32; 2], all: [u32; 2]) -> f64 {
    let [above, all] = [above, all].map(|[delivered, lost]| (f64::from(delivered), f64::from(lost)));
    let chance = (above.0 + above.1) / (all.0 + all.1);
    let share = above.1 / all.1;
    if share <= chance || chance <= 0.0 {
        return 0.0;
    }
    let part = |share: f64, chance: f64| if share > 0.0 { share * (share / chance).ln() } else { 0.0 };
    all.1 * (part(share, chance) + part(1.0 - share, 1.0 - chance))
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_bucket_of_many_rtts_is_not_judged_by_bursts() {
        // Half of what is sent: the bucket is empty all the time after its first 20 RTTs.
        let found = flights(&mut Limited::of(0.5, 100_000.0, false)).token_bucket(MSS, Tap::Before);
        assert!(found.is_none_or(|found| !found.is_policer), "{found:?}");
    }

    #[test]
    fn a_super_packet_is_cut_where_its_first_segment_was_lost() {
        let mut kept = Transmissions::default();
        let mut path = Limited::of(8.0, 15_000.0, false);
        for (begin, segments) in bursts() {
            let sent =
                kept.sent(Instant::START.plus_nanos((begin * 1e3) as i64), segments * i64::from(MSS), 0);
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
}
