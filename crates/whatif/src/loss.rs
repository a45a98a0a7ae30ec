//! Why data was lost: a full queue, a policer, or chance.

use crate::fitted::{Basis, Known, LossProcess};
use crate::refusal::Refusal;
use crate::seen::Seen;
use crate::trace::Loss;
use slowpath_model::{Bytes, Rate};
use std::time::Duration;

/// Losses further apart than this many RTTs are of different times.
const APART_RTTS: f64 = 1.5;

/// A queue that drops is full, and what is sent just before waits for all of it, less this part, or these packets, that left
/// since the last RTT was measured.
const FULL_LESS_PART: u32 = 10;
const FULL_LESS_PACKETS: u32 = 3;

/// With fewer packets in a queue, its delay cannot be distinguished from jitter.
const LEAST_QUEUE_PACKETS: u32 = 2;

/// The share of the times of loss that one process has to have to be the only one.
const NEARLY_ALL: f64 = 0.8;

/// Packets that a full queue drops in slow start, at least; chance seldom loses as many within an RTT.
const SEVERAL: usize = 4;

/// A policer's bucket, of which a capture shows only the first losses (crates/scenario: the default of a scenario).
const USUAL_BURST: Bytes = Bytes::kib(64);

/// How far the chance of a loss may be from the counted share, in standard deviations of a binomial count: 95 %.
const DEVIATIONS: f64 = 1.96;

/// Times of loss: losses of one time are repaired together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Time {
    /// The first and the number of its losses.
    first: usize,
    count: usize,
    /// How long the queue was just before.
    delay: Option<Duration>,
}

fn times(losses: &[Loss], base: Duration) -> Vec<Time> {
    let mut times: Vec<Time> = Vec::new();
    for (place, loss) in losses.iter().enumerate() {
        let before = place.checked_sub(1).map(|before| &losses[before]);
        let rtt = loss.rtt.unwrap_or(base).max(base);
        let is_one = before.is_some_and(|before| {
            loss.at.since(before.at).unwrap_or_default().as_secs_f64() < APART_RTTS * rtt.as_secs_f64()
        });
        match times.last_mut().filter(|_| is_one) {
            Some(time) => time.count += 1,
            None => {
                let delay = loss.rtt.map(|rtt| rtt.saturating_sub(base));
                times.push(Time { first: place, count: 1, delay });
            }
        }
    }
    times
}

/// How long the fitted path takes for the bits of one packet.
fn packet_time(rate: Rate, packet: Bytes) -> Duration {
    rate.time_for(packet).unwrap_or_default()
}

/// The longest queueing delay, if it is more than jitter.
fn longest_delay(seen: &Seen, rate: Rate, packet: Bytes, base: Duration) -> Duration {
    let longest = seen.longest_rtt.unwrap_or(base).saturating_sub(base);
    longest.max(packet_time(rate, packet))
}

fn is_full(time: &Time, longest: Duration, rate: Rate, packet: Bytes) -> bool {
    let packet = packet_time(rate, packet);
    let less = (longest / FULL_LESS_PART).max(packet * FULL_LESS_PACKETS);
    time.delay.is_some_and(|delay| delay >= packet * LEAST_QUEUE_PACKETS && delay + less >= longest)
}

/// The times of loss at which the queue was full; none if that does not show. A loss by chance ends the growth of the window,
/// so that a single one is at the longest RTT too. A full queue drops several packets, or at the same length again.
fn full_times(all: &[Time], longest: Duration, rate: Rate, packet: Bytes) -> Vec<&Time> {
    let full: Vec<&Time> = all.iter().filter(|time| is_full(time, longest, rate, packet)).collect();
    let nearly_all = full.len() as f64 >= NEARLY_ALL * all.len() as f64 && full.len() > 1;
    let full = full.into_iter().filter(|time| nearly_all || time.count >= SEVERAL);
    full.collect()
}

/// The losses that a full queue does not explain: those that a check replays.
pub fn by_chance(seen: &Seen, rate: Rate, packet: Bytes, base: Duration) -> Vec<Loss> {
    let longest = longest_delay(seen, rate, packet, base);
    let times = times(&seen.losses, base);
    other_than(&full_times(&times, longest, rate, packet), &times, &seen.losses)
}

/// The losses of the times that are not `full`.
fn other_than(full: &[&Time], times: &[Time], losses: &[Loss]) -> Vec<Loss> {
    let chance = times.iter().filter(|time| !full.contains(time));
    chance.flat_map(|time| losses[time.first..time.first + time.count].to_vec()).collect()
}

/// The loss process, and what the queue holds.
pub(crate) fn fit(
    seen: &Seen,
    rate: Rate,
    packet: Bytes,
    base: Duration,
    on_wire: impl Fn(f64) -> f64,
) -> Result<(LossProcess, Known<u32>), Refusal> {
    let longest = longest_delay(seen, rate, packet, base);
    let holds = |delay: Duration| {
        let packets = rate.amount_in(delay).get() / packet.get().max(1);
        u32::try_from(packets).unwrap_or(u32::MAX).saturating_add(1)
    };
    // At most one BDP or what was seen, whichever is more: a capture does not show it.
    let most = holds(base.max(longest)).max(100);
    let never_full =
        Known::between(most, holds(longest).min(most), most, Basis::NeverFull { delay: longest });
    if let Some(policed) = seen.policed {
        let policed = Rate::bits_per_second(on_wire(policed.get() as f64) as u64);
        let rate = Known::exact(policed, Basis::RateAtLoss);
        let burst = Known::exact(USUAL_BURST, Basis::Assumed);
        return Ok((LossProcess::Policer { rate, burst }, never_full));
    }
    if seen.losses.is_empty() {
        return Ok((LossProcess::None, never_full));
    }
    let times = times(&seen.losses, base);
    let full = full_times(&times, longest, rate, packet);
    if let ([time], true) = (times.as_slice(), full.is_empty())
        && is_full(time, longest, rate, packet)
    {
        return Err(Refusal::LossUnclear);
    }
    let part = full.len() as f64 / times.len() as f64;
    let queue = full.iter().filter_map(|time| time.delay).max().map(|delay| {
        let basis = Basis::DelayAtLoss { times: full.len() as u64, delay };
        let least = full.iter().filter_map(|time| time.delay).min().unwrap_or(delay);
        Known::between(holds(delay), holds(least), holds(longest), basis)
    });
    if part >= NEARLY_ALL {
        return Ok((LossProcess::None, queue.unwrap_or(never_full)));
    }
    let chance = other_than(&full, &times, &seen.losses);
    let lost = chance.len() as u64;
    refuse_bursts(&chance, lost, seen.segments)?;
    let ppm = |lost: f64| (lost / seen.segments.max(1) as f64 * 1e6).clamp(0.0, 1e6);
    let deviation = DEVIATIONS * (lost as f64).sqrt();
    let known = Known::between(
        ppm(lost as f64),
        ppm((lost as f64 - deviation).max(0.5)),
        ppm(lost as f64 + deviation),
        Basis::LossesCounted { lost, of: seen.segments },
    );
    Ok((LossProcess::Chance(known), queue.unwrap_or(never_full)))
}

/// Losses by chance are seldom next to each other.
fn refuse_bursts(chance: &[Loss], lost: u64, segments: u64) -> Result<(), Refusal> {
    let mut places: Vec<(u64, u64)> = chance.iter().map(|loss| (loss.from, loss.to)).collect();
    places.sort_unstable();
    places.dedup();
    let adjacent = places.windows(2).filter(|pair| pair[0].1 == pair[1].0).count() as u64;
    let expected = lost as f64 * lost as f64 / segments.max(1) as f64;
    // Three standard deviations of a count that is nearly Poisson, and one more.
    if adjacent as f64 > expected + 3.0 * expected.sqrt() + 1.0 {
        return Err(Refusal::BurstyLoss { adjacent, lost });
    }
    Ok(())
}
