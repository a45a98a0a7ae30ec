//! Whether a token bucket on the path would have dropped what was lost, and little else.
//!
//! A policer with a bucket of a few packets is full again long before the next flight. It drops the end of each burst that
//! is longer than the bucket, so that losses follow the bursts and not the amount delivered in between. Replaying the
//! transmissions through a bucket shows that: the right one is emptiest at those that were lost. A queue with a limit
//! drops in the same places (a token is a byte of free room), but first delays what it lets through.

#[cfg(test)]
mod tests;

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

/// Rates tried, as multiples of the one at which segments passed from the first loss to the last.
const EMPTIED_RATES: [f64; 5] = [0.99, 0.995, 1.0, 1.005, 1.01];

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
    /// What came late in a burst waited as long as a queue of that rate makes it wait: that queue dropped what was lost.
    pub is_queue: bool,
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
    /// Whether what dropped packets is no policer of `rate` bit/s: it fills far sooner, or is a queue.
    pub fn refutes(&self, rate: f64) -> bool {
        self.is_queue
            || tells_apart(self.delivered[1], self.lost[1])
                && self.rates[0] > thresholds::BUCKET_REFUTES * rate
    }

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
        let fit = |rate: f64| self.fit(&events, rate, 0.0, mss, self.known(tap, rate, base));
        let mut fits: Vec<Fit> =
            (0..RATES).filter_map(|nth| fit(mean * LEAST_RATE * STEP.powi(nth))).collect();
        // From one loss to the next, a bucket that never fills up lets through what flows into it.
        let emptied = self.between_losses(&events);
        let at_emptied = emptied.into_iter().flat_map(|rate| EMPTIED_RATES.map(|part| rate * part));
        let never_full = |rate: f64| self.fit(&events, rate, self.fullest(rate), mss, 0);
        fits.extend(at_emptied.flat_map(|rate| [fit(rate), never_full(rate)]).flatten());
        // Over a long time between two losses, a bucket of a slightly different rate holds something else.
        let best = *fits.iter().max_by(|a, b| a.evidence.total_cmp(&b.evidence))?;
        let is_emptied = emptied.is_some_and(|rate| (best.rate / rate - 1.0).abs() < STEP - 1.0);
        if best.evidence >= thresholds::BUCKET_WORTH
            && (is_emptied || !(best.is_of_most() && best.tells_apart()))
        {
            let finer = (-FINER..=FINER).filter(|nth| *nth != 0);
            let finer = finer.map(|nth| best.rate * STEP.powf(f64::from(nth) / f64::from(FINER + 1)));
            fits.extend(finer.filter_map(fit));
        }
        fits.sort_by(|a, b| a.rate.total_cmp(&b.rate));
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
        // Behind it, the clock of the stamps hides less, and a bucket of a segment or two lets nothing through in which the sender could
        // exceed its rate.
        let (shows, is_seen) = match tap {
            Tap::Before => (thresholds::BUCKET_QUEUE_US, true),
            Tap::Behind { .. } => {
                let segments = best.depth >= f64::from(thresholds::BUCKET_SEGMENTS * mss);
                (thresholds::BUCKET_STAMPED_US, best.tells_apart() && segments)
            }
        };
        let is_measured = queue >= shows;
        let is_credible = best.depth / best.rate < thresholds::BUCKET_RTTS * base
            || most >= thresholds::BUCKET_SURE && best.tells_apart();
        // How full one was at first is not known to a few percent, nor by how much it would have delayed them.
        let is_flat =
            fits.iter().all(|fit| fit.at_first == 0.0) || longer * thresholds::BUCKET_FLAT_PART < base;
        let micros = |time: f64| Duration::from_secs_f64(time * 1e-6);
        Some(TokenBucket {
            is_policer: is_measured
                && is_seen
                && is_credible
                && is_flat
                && longer * thresholds::BUCKET_DELAYS_LESS < queue,
            is_queue: is_measured
                && best.tells_apart()
                && longer * thresholds::BUCKET_DELAYS_AS_MUCH >= queue,
            rates: [slowest, fastest].map(|fit| fit.rate * 8e6),
            depth: best.depth as u32,
            lost: [best.lost, best.lost_above],
            delivered: [best.delivered, best.delivered_above],
            longer: micros(longer),
            queue: micros(queue),
        })
    }

    /// The rate, in bytes per microsecond, at which segments passed from the first loss to the last.
    fn between_losses(&self, events: &[Event]) -> Option<f64> {
        let is_lost = |event: &Event| *event == Event::Lost;
        let between = events.iter().position(is_lost)?..events.iter().rposition(is_lost)?;
        let time = f64::from(self.sent[between.end].at - self.sent[between.start].at);
        let passed = self.sent[between].iter().filter(|sent| sent.lost == 0).map(|sent| f64::from(sent.len));
        (time > 0.0).then(|| passed.sum::<f64>() / time)
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
        let late =
            self.used(fit.rate, fit.at_first, mss).filter(|(sent, used)| sent.rtt > 0 && *used >= late);
        let (longer, queue): (Vec<f64>, Vec<f64>) =
            late.map(|(sent, used)| (f64::from(sent.rtt) * RTT_UNIT as f64 - base, used / fit.rate)).unzip();
        Some((median(longer)?, median(queue)?))
    }

    /// As [`Self::delays`], compared with segments early in a burst, by their timestamps.
    fn delays_by_stamps(&self, fit: &Fit, mss: u32) -> Option<(f64, f64)> {
        let zero = self.sent.iter().find(|sent| !sent.missed)?.late;
        let passed = |is_such: &dyn Fn(f64) -> bool| {
            let such =
                self.used(fit.rate, fit.at_first, mss).filter(|(sent, used)| !sent.missed && is_such(*used));
            let (late, used): (Vec<f64>, Vec<f64>) = such
                .map(|(sent, used)| (f64::from(sent.late.wrapping_sub(zero) as i32), used / fit.rate))
                .unzip();
            Some((median(late)?, median(used)?))
        };
        let early = passed(&|used| used <= fit.depth * thresholds::BUCKET_EARLY_PART)?;
        let late = passed(&|used| used >= fit.depth * thresholds::BUCKET_LATE_PART)?;
        Some(((late.0 - early.0).max(0.0), (late.1 - early.1).max(0.0)))
    }

    /// By how much a bucket of `rate` bytes per microsecond was short of full at first, in bytes, if it was full only at its fullest.
    fn fullest(&self, rate: f64) -> f64 {
        let (mut balance, mut least) = (0.0, 0.0_f64);
        let mut before = 0;
        for sent in &self.sent {
            balance -= rate * f64::from(sent.at.saturating_sub(before));
            least = least.min(balance);
            before = sent.at;
            balance += if sent.lost > 0 { 0.0 } else { f64::from(sent.len) };
        }
        -least
    }

    /// Each transmission with the bytes by which a bucket of `rate` bytes per microsecond was short of full before its last
    /// segment, or the first one that was lost. At first it was so by `used`. What is lost takes no tokens.
    fn used(&self, rate: f64, mut used: f64, mss: u32) -> impl Iterator<Item = (&Sent, f64)> {
        let mut before = 0;
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

    /// The depth that tells the lost transmissions from the delivered ones best at `rate`, if the bucket was short of full by
    /// `at_first`.
    fn fit(&self, events: &[Event], rate: f64, at_first: f64, mss: u32, since: usize) -> Option<Fit> {
        let used: Vec<f64> = self.used(rate, at_first, mss).map(|(_, used)| used).collect();
        let most = used.iter().copied().fold(0.0, f64::max);
        let width = (most / DEPTHS as f64).max(1.0);
        let mut at = [[0_u32; 2]; DEPTHS + 1];
        for (used, event) in used.iter().zip(events).skip(since) {
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
                at_first,
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
    /// By how many bytes it was short of full at first.
    at_first: f64,
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
        tells_apart(self.delivered_above, self.lost_above)
    }
}

/// Whether few transmissions were delivered that a bucket would have dropped, beside those that were lost.
const fn tells_apart(delivered_above: u32, lost_above: u32) -> bool {
    delivered_above <= 2 * lost_above
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
