//! Capacity of the bottleneck link, by the distances that it gives to packets sent back to back (Dovrolis, Ramanathan
//! and Moore, "Packet-Dispersion Techniques and a Capacity-Estimation Methodology", IEEE/ACM Transactions on Networking
//! 12(6), 2004).
//!
//! Pairs show the capacity by the mode of their distances, though other flows' packets between the two make modes below
//! it, and queues behind the narrow link some above (section III). Long trains show a rate lowered by many packets of
//! other flows, the asymptotic dispersion rate; it is no more than the capacity (section IV), so the mode is searched
//! from there up.
//!
//! A card with interrupt moderation delivers packets together, and then a pair has no distance of its own (Prasad, Jain
//! and Dovrolis, "Effects of Interrupt Coalescence on Network Measurements", PAM 2004). Trains therefore last as long
//! as many such waits, their slope is used instead of the distance of their ends, and pairs are believed only while
//! they do not show several times the rate of trains.

use super::channel::{Channel, Passed, Train, nanos_for};
use super::statistics::{mode, slope_ps};
use super::{OnProgress, Progress, Setting};
use slowpath_model::statistics::{lower_median, nearest_rank};

/// Pairs. pathrate sends a thousand for modes that are hard to distinguish (section VI); here trains show where to
/// look.
const PAIRS: u32 = 60;
/// The time between pairs: far more than the interrupt moderation delay, so that no two pairs share a wait.
const PAIRS_APART_NS: u64 = 2_000_000;
/// Trains of the length found.
const TRAINS: u32 = 12;
/// The first length of a train to try.
const SHORTEST_TRAIN: u32 = 32;
/// How long a train should take to arrive: 40 times the usual 50 us of interrupt moderation, so that one wait more or
/// less is a fortieth at its ends, and less in its slope.
const LONG_ENOUGH_NS: u64 = 2_000_000;
/// How close pairs have to be to each other for one mode, in thousandths of their rates.
const MODE_PERMILLE: u64 = 50;
/// The share of pairs that has to be in the mode, in thousandths, for it not to be a product of the ends' lateness.
/// Over a link half filled by other flows, three in five pairs have no packet between them (a Poisson process:
/// exp(-0.5)).
const MODE_SHARE_PERMILLE: usize = 400;
/// The least distance of a pair for its mode to be believed above the trains' rate: twice the 50 us of interrupt
/// moderation, which is also how late a busy host is.
const PAIR_NS: u64 = 100_000;
/// Pairs with more than this many times the trains' rate were delivered together, not sent together by the link.
const TOGETHER: u64 = 2;
/// The share of pairs above that from which on none is believed, in thousandths. Queues behind the narrow link press a
/// few together on any path (section III).
const TOGETHER_PERMILLE: usize = 250;
/// The share of trains with a lower rate, in thousandths: other flows' packets only ever make a train slower, but the
/// noise of the slowest and the fastest should not decide.
const TRAINS_PERMILLE: usize = 750;

/// How the capacity was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Pairs and trains, which agree: then trains are more precise.
    Both,
    /// The mode of pairs, above the trains' rate: packets of other flows were between theirs.
    Pairs,
    /// Trains, since pairs were delivered together, do not agree with each other, or are too close together.
    Trains,
}

/// The result of pairs and trains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// The capacity of the bottleneck link, in bit/s of IP packets; `None` if too little arrived. The sender's own rate
    /// is a link of the path too.
    pub rate: Option<u64>,
    /// How it was measured.
    pub method: Method,
    /// The mode of pairs at or above the trains' rate, in bit/s; `None` if there is none, or pairs were delivered
    /// together.
    pub pairs: Option<u64>,
    /// The asymptotic dispersion rate: the median of the trains' rates, in bit/s. It is between the available bandwidth
    /// and the capacity.
    pub trains: Option<u64>,
    /// Packets in a train.
    pub train_packets: u32,
    /// Whether packets were delivered several at a time, so that pairs show nothing.
    pub handed_over_together: bool,
}

/// Sends trains until they are long enough, then trains and pairs.
///
/// # Errors
/// If the channel cannot continue.
pub fn measure<C: Channel>(
    channel: &mut C,
    setting: &Setting,
    on_progress: OnProgress<'_>,
) -> Result<Capacity, C::Error> {
    on_progress(Progress::Trains);
    let train_packets = long_enough(channel, setting)?;
    let mut trains = Vec::new();
    for _ in 0..TRAINS {
        let passed = channel.pass(&bursts(setting, train_packets, 1))?;
        trains.extend(train_rate(&passed, setting.packet_bytes));
        rest_after(channel, setting, &passed)?;
    }
    // A slow far end serves pairs at its own rate, and perhaps not as many.
    let limits = channel.limits();
    let gap_ns = PAIRS_APART_NS.max(nanos_for(2 * u64::from(setting.packet_bytes), limits.rate_bit_per_s));
    let in_time = u32::try_from(limits.duration_ns / gap_ns).map_or(PAIRS, |gaps| gaps.saturating_add(1));
    let passed = channel.pass(&Train { gap_ns, ..bursts(setting, 2, PAIRS.min(in_time)) })?;
    rest_after(channel, setting, &passed)?;
    let pairs = pair_rates(&passed, setting.packet_bytes);
    Ok(judged(&trains, &pairs, train_packets, setting.packet_bytes))
}

/// `count` bursts of `burst` packets.
fn bursts(setting: &Setting, burst: u32, count: u32) -> Train {
    Train {
        direction: setting.direction,
        packets: burst * count,
        bytes: setting.packet_bytes,
        burst,
        gap_ns: PAIRS_APART_NS,
    }
}

/// Doubles a train until it takes long enough to arrive, as far as queues hold it and the channel carries it.
fn long_enough<C: Channel>(channel: &mut C, setting: &Setting) -> Result<u32, C::Error> {
    let limits = channel.limits();
    let most = limits.packets.min(limits.burst).max(2);
    let mut length = SHORTEST_TRAIN.min(most);
    loop {
        let passed = channel.pass(&bursts(setting, length, 1))?;
        rest_after(channel, setting, &passed)?;
        if passed.arrived() < length {
            // The part that was held is at least half of it, unless packets were lost at random.
            return Ok((length / 2).max(2));
        }
        if spread_ns(&passed) >= LONG_ENOUGH_NS || length == most {
            return Ok(length);
        }
        length = (length * 2).min(most);
    }
}

/// From the first arrival to the last.
fn spread_ns(passed: &Passed) -> u64 {
    let times = || passed.flights.iter().filter_map(|flight| flight.arrived_ns);
    times().max().unwrap_or(0).saturating_sub(times().min().unwrap_or(0))
}

/// Lets queues empty: as long again as they took to pass the train, plus an RTT.
fn rest_after<C: Channel>(channel: &mut C, setting: &Setting, passed: &Passed) -> Result<(), C::Error> {
    channel.rest(spread_ns(passed).saturating_add(setting.round_trip_ns))
}

/// The rate of one train.
fn train_rate(passed: &Passed, bytes: u32) -> Option<u64> {
    let mut times: Vec<u64> = passed.flights.iter().filter_map(|flight| flight.arrived_ns).collect();
    times.sort_unstable();
    rate_of_slope(slope_ps(&times)?, bytes)
}

fn rate_of_slope(picoseconds: u64, bytes: u32) -> Option<u64> {
    let bits = u128::from(bytes) * 8 * 1_000_000_000_000;
    bits.checked_div(u128::from(picoseconds)).and_then(|rate| u64::try_from(rate).ok())
}

/// The rate of each pair of which both packets arrived. Two that arrived together give the maximum.
fn pair_rates(passed: &Passed, bytes: u32) -> Vec<u64> {
    let pairs = passed.flights.chunks_exact(2).filter_map(|pair| {
        let apart_ns = pair[1].arrived_ns?.saturating_sub(pair[0].arrived_ns?);
        Some(rate_of_slope(apart_ns.saturating_mul(1000), bytes).unwrap_or(u64::MAX))
    });
    pairs.collect()
}

fn judged(trains: &[u64], pairs: &[u64], train_packets: u32, bytes: u32) -> Capacity {
    let dispersion = lower_median(trains);
    let fast_trains = nearest_rank(&mut trains.to_vec(), TRAINS_PERMILLE);
    let fast_pairs = nearest_rank(&mut pairs.to_vec(), 1000 - TOGETHER_PERMILLE);
    let handed_over_together = match (fast_pairs, fast_trains) {
        (Some(pairs), Some(trains)) => pairs > trains.saturating_mul(TOGETHER),
        _ => false,
    };
    let floor = dispersion.unwrap_or(0) / 1000 * (1000 - MODE_PERMILLE);
    let above: Vec<u64> = pairs.iter().copied().filter(|rate| (floor..u64::MAX).contains(rate)).collect();
    let is_mode = |count: usize| count * 1000 >= pairs.len() * MODE_SHARE_PERMILLE;
    let mode = mode(&above, MODE_PERMILLE).filter(|(_, count)| is_mode(*count)).map(|(rate, _)| rate);
    let believed = mode.filter(|_| !handed_over_together);
    let agrees =
        |mode: u64| fast_trains.is_some_and(|trains| mode.abs_diff(trains) <= trains / 1000 * MODE_PERMILLE);
    let (rate, method) = match believed {
        Some(mode) if agrees(mode) => (fast_trains, Method::Both),
        Some(mode) if nanos_for(bytes.into(), mode) >= PAIR_NS => (Some(mode), Method::Pairs),
        _ => (fast_trains, Method::Trains),
    };
    Capacity { rate, method, pairs: believed, trains: dispersion, train_packets, handed_over_together }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pair_mode_is_searched_above_the_dispersion_rate() {
        // Most pairs have a packet of another flow between them; the trains show that there is more.
        let pairs = [[47; 30], [95; 30]].concat().iter().map(|mbit| mbit * 1_000_000).collect::<Vec<u64>>();
        let capacity = judged(&[80_000_000; 5], &pairs, 64, 1500);
        assert_eq!((capacity.rate, capacity.method), (Some(95_000_000), Method::Pairs));
    }

    #[test]
    fn scattered_pairs_have_no_mode() {
        let pairs: Vec<u64> = (0..60).map(|n| 300_000_000 + n * 2_000_000).collect();
        let capacity = judged(&[300_000_000; 5], &pairs, 64, 1500);
        assert_eq!(
            (capacity.rate, capacity.method, capacity.pairs),
            (Some(300_000_000), Method::Trains, None)
        );
    }

    #[test]
    fn coalesced_pairs_are_not_believed() {
        let pairs = [vec![u64::MAX; 40], vec![30_000_000; 20]].concat();
        let capacity = judged(&[600_000_000, 610_000_000, 622_000_000], &pairs, 256, 1500);
        assert_eq!((capacity.rate, capacity.method), (Some(610_000_000), Method::Trains));
        assert!(capacity.handed_over_together && capacity.pairs.is_none());
        let nothing = judged(&[], &[], 2, 1500);
        assert_eq!((nothing.rate, nothing.trains), (None, None));
    }
}
