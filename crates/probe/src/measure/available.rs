//! Available bandwidth: the lowest rate at which a stream of packets makes its own delays grow.
//!
//! Self-loading periodic streams (Jain and Dovrolis, "Pathload: A Measurement Tool for End-to-End Available Bandwidth",
//! PAM 2002; IEEE/ACM Transactions on Networking 11(4), 2003). A fleet of streams at one rate shows whether that
//! exceeds the available bandwidth, and a binary search continues from there; rates at which some streams grow and some
//! do not are the grey region.
//!
//! Ubik (section V) found pathload wrong in two ways besides its constants. It lost packets in slow streams and then
//! reported far too little: here, loss that already occurs at a gentle rate is no sign of too high a rate. And it saw
//! no growing delay in fast streams and then reported the whole link: here a stream lasts some milliseconds, however
//! fast it is, so packets that an end delivers together are a small part of it, and it counts only at the rate that its
//! sender reached.

use super::channel::{Channel, Passed, Train};
use super::trend::{self, Trend};
use super::{OnProgress, Progress, Setting};
use slowpath_model::statistics::lower_median;

/// Streams of a fleet (PAM 2002, section 3; N = 12).
const STREAMS: u32 = 12;
/// The share of a fleet's streams that has to agree, in thousandths (f = 0.7).
const AGREE_PERMILLE: u32 = 700;
/// The least number of packets in a stream (K = 100).
const LEAST_PACKETS: u32 = 100;
/// The least duration of a stream: at a twentieth too fast, its delays grow by twenty times the 50 us of interrupt
/// moderation, and bursts of other flows are short compared with it.
const STREAM_NS: u64 = 20_000_000;
/// Packets of a stream if that many fit in [`WANTED_NS`]: with fewer, the random number of other flows' packets among
/// them weighs too much.
const WANTED_PACKETS: u32 = 250;
/// A slow stream lasts no longer than this for more than [`LEAST_PACKETS`].
const WANTED_NS: u64 = 50_000_000;
/// A fleet's average rate is at most a tenth of its streams' (section 3): after each stream, a pause nine times as
/// long.
const REST: u64 = 9;
/// Loss of a stream that shows too high a rate, in thousandths (section 3: 10 %), beyond the loss at a gentle rate.
const LOSSY_PERMILLE: u32 = 100;
/// The search ends when its range is this share of its upper end, in thousandths: the resolution of a trend.
const RESOLUTION_PERMILLE: u64 = 40;
/// Maximum number of fleets: each halves the range, down to a twenty-fifth, on both sides of a grey region, plus those
/// for a wrong first guess.
const MOST_FLEETS: usize = 16;
/// The rate at which loss independent of the rate is measured: this part of the first guess.
const GENTLE: u64 = 10;
/// How much slower than asked a stream's sender may be, in thousandths.
const LATE_PERMILLE: u64 = 30;

/// The meaning of the upper end of the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Above it, the delays of streams grew: the path's limit.
    Path,
    /// The sender could send no faster, and its packets passed: there may be more.
    Sender,
    /// Nothing faster was allowed, and the packets passed: there may be more.
    Cap,
    /// The receiver's socket had no room for faster streams: there may be more.
    Receiver,
}

/// The result of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// More is available.
    Below,
    /// Less is available.
    Above,
    /// Sometimes more is available, and sometimes less.
    Grey,
    /// The receiver's socket lost so many packets that they show nothing.
    Overflowed,
}

/// Streams of one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// The median rate that its sender reached, in bit/s.
    pub rate: u64,
    /// Streams whose delays grew, or that lost too much.
    pub growing: u32,
    /// Streams whose delays did not grow.
    pub staying: u32,
    /// Streams with an unclear trend.
    pub unclear: u32,
    /// The verdict on the rate.
    pub verdict: Verdict,
}

/// The result of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    /// This much is available, in bit/s.
    pub low: u64,
    /// And no more than this, in bit/s, or nothing higher was tried, as `bound` says.
    pub high: u64,
    /// The meaning of the upper end.
    pub bound: Bound,
    /// Rates that were available at some times and not at others, in bit/s; `None` if there are none.
    pub grey: Option<[u64; 2]>,
    /// The loss at a low rate, in thousandths.
    pub lost_anyway_permille: u32,
    /// The fleets, in the order in which they were sent.
    pub fleets: Vec<Fleet>,
}

impl Available {
    /// One number for the range: its middle, or its upper end if that is what was reached.
    pub fn estimate(&self) -> u64 {
        if self.bound == Bound::Path { u64::midpoint(self.low, self.high) } else { self.high }
    }
}

/// The state of the search.
#[derive(Debug)]
struct Search {
    low: u64,
    high: u64,
    /// Whether a fleet has shown that the upper end is too high.
    high_is_seen: bool,
    grey: Option<[u64; 2]>,
    /// No rate above it can be sent.
    most: u64,
    bound: Bound,
}

impl Search {
    fn new(guess: u64, most: u64) -> Self {
        Self { low: 0, high: guess.clamp(1, most), high_is_seen: false, grey: None, most, bound: Bound::Cap }
    }

    fn is_narrow(&self, low: u64, high: u64) -> bool {
        high.saturating_sub(low) <= self.high / 1000 * RESOLUTION_PERMILLE
    }

    /// The next rate to try; `None` if the range is narrow enough (2003, section IV-B). The rate believed to be too
    /// high is tried first, since everything else depends on it.
    fn next(&self) -> Option<u64> {
        if !self.high_is_seen {
            return (self.low < self.high).then_some(self.high);
        }
        let [least, most] = self.grey.unwrap_or([self.high, self.low]);
        if self.grey.is_none() {
            return (!self.is_narrow(most, least)).then_some(u64::midpoint(most, least));
        }
        if !self.is_narrow(most, self.high) {
            return Some(u64::midpoint(most, self.high));
        }
        (!self.is_narrow(self.low, least)).then_some(u64::midpoint(self.low, least))
    }

    fn learn(&mut self, rate: u64, verdict: Verdict) {
        match verdict {
            Verdict::Below => self.low = self.low.max(rate),
            Verdict::Above => {
                self.high = rate.min(self.high);
                self.high_is_seen = true;
                self.bound = Bound::Path;
            }
            Verdict::Grey => {
                let [least, most] = self.grey.unwrap_or([rate, rate]);
                self.grey = Some([least.min(rate), most.max(rate)]);
            }
            Verdict::Overflowed => {
                self.high = rate.min(self.high);
                self.high_is_seen = true;
                self.bound = Bound::Receiver;
            }
        }
        // A contradiction of earlier results is believed: the path has changed.
        self.low = self.low.min(self.high);
        self.grey = self.grey.and_then(|[least, most]| {
            (least <= self.high && most >= self.low).then_some([least.max(self.low), most.min(self.high)])
        });
        self.look_higher(rate);
    }

    /// The rate believed to be too high was not.
    fn look_higher(&mut self, rate: u64) {
        if self.high_is_seen || rate < self.high / 1000 * (1000 - LATE_PERMILLE) {
            return;
        }
        if self.high < self.most {
            self.high = (self.high / 2 * 3).min(self.most);
        } else {
            // Nothing higher can be tried.
            self.high_is_seen = true;
        }
    }

    /// If a sender cannot send that fast, the rate it reached becomes the maximum.
    fn sender_reached(&mut self, rate: u64) {
        self.most = self.most.min(rate);
        if self.high >= self.most && self.bound != Bound::Path {
            self.high = self.most.max(self.low);
            self.high_is_seen = true;
            self.bound = Bound::Sender;
        }
    }
}

/// Searches for the available bandwidth, starting with a guess that is certainly too high.
///
/// # Errors
/// If the channel cannot continue.
pub fn measure<C: Channel>(
    channel: &mut C,
    setting: &Setting,
    guess: u64,
    on_progress: OnProgress<'_>,
) -> Result<Available, C::Error> {
    let most = channel.limits().rate_bit_per_s;
    let lost_anyway_permille = lost_anyway(channel, setting, (guess / GENTLE).clamp(1, most))?;
    let mut search = Search::new(guess, most);
    let mut fleets = Vec::new();
    while let Some(rate) = search.next().filter(|_| fleets.len() < MOST_FLEETS) {
        on_progress(Progress::Available(rate));
        let fleet = fleet(channel, setting, rate, lost_anyway_permille)?;
        let is_late = fleet.rate < rate / 1000 * (1000 - LATE_PERMILLE);
        search.learn(fleet.rate, fleet.verdict);
        if is_late {
            search.sender_reached(fleet.rate);
        }
        fleets.push(fleet);
        if is_late && fleet.verdict == Verdict::Below {
            break;
        }
    }
    let Search { low, high, bound, grey, .. } = search;
    Ok(Available { low, high, bound, grey, lost_anyway_permille, fleets })
}

/// The loss at a rate that fills no path.
fn lost_anyway<C: Channel>(channel: &mut C, setting: &Setting, rate: u64) -> Result<u32, C::Error> {
    let mut lost = Vec::new();
    for _ in 0..3 {
        let train = Train::stream(setting.direction, LEAST_PACKETS, setting.packet_bytes, rate);
        let passed = channel.pass(&within(train, channel))?;
        lost.push(passed.loss_permille());
        channel.rest(setting.round_trip_ns)?;
    }
    Ok(lower_median(&lost).unwrap_or(0))
}

/// Limits a train to what the channel carries.
fn within<C: Channel>(train: Train, channel: &C) -> Train {
    let limits = channel.limits();
    let by_time = limits.duration_ns / train.gap_ns.max(1);
    let packets = train.packets.min(limits.packets).min(u32::try_from(by_time).unwrap_or(u32::MAX));
    Train { packets: packets.max(2), ..train }
}

/// A stream of this rate.
fn stream<C: Channel>(channel: &C, setting: &Setting, rate: u64) -> Train {
    let train = Train::stream(setting.direction, LEAST_PACKETS, setting.packet_bytes, rate);
    let lasting = |ns: u64| u32::try_from(ns / train.gap_ns.max(1)).unwrap_or(u32::MAX);
    let packets = lasting(STREAM_NS).max(lasting(WANTED_NS).min(WANTED_PACKETS)).max(LEAST_PACKETS);
    within(Train { packets, ..train }, channel)
}

fn fleet<C: Channel>(
    channel: &mut C,
    setting: &Setting,
    rate: u64,
    lost_anyway_permille: u32,
) -> Result<Fleet, C::Error> {
    let train = stream(channel, setting, rate);
    let needed = (STREAMS * AGREE_PERMILLE).div_ceil(1000);
    let (mut growing, mut staying, mut overflowed) = (0, 0, 0);
    let (mut reached, mut sent) = (Vec::new(), 0);
    while sent < STREAMS && growing < needed && staying < needed {
        let passed = channel.pass(&train)?;
        sent += 1;
        reached.extend(passed.sent_rate(setting.packet_bytes));
        match judged(&passed, lost_anyway_permille) {
            Judged::Grows => growing += 1,
            Judged::Stays => staying += 1,
            Judged::Unclear => {}
            Judged::Overflowed => overflowed += 1,
        }
        channel.rest((REST * train.duration_ns()).max(setting.round_trip_ns))?;
    }
    let verdict = match () {
        () if overflowed * 2 > sent => Verdict::Overflowed,
        // Unclear streams are not counted (2003, section IV-A), as long as most were clear.
        () if (growing + staying) * 2 < sent => Verdict::Grey,
        () if growing * 1000 >= (growing + staying) * AGREE_PERMILLE => Verdict::Above,
        () if staying * 1000 >= (growing + staying) * AGREE_PERMILLE => Verdict::Below,
        () => Verdict::Grey,
    };
    let rate = lower_median(&reached).unwrap_or(rate);
    Ok(Fleet { rate, growing, staying, unclear: sent - growing - staying, verdict })
}

/// The result of a stream.
enum Judged {
    Grows,
    Stays,
    Unclear,
    Overflowed,
}

fn judged(passed: &Passed, lost_anyway_permille: u32) -> Judged {
    let is_lossy = passed.loss_permille() >= lost_anyway_permille * 2 + LOSSY_PERMILLE;
    let is_overflow = passed.overflowed.is_some_and(|count| count > passed.lost() / 2);
    match trend::of(passed) {
        _ if is_lossy && is_overflow => Judged::Overflowed,
        // If the sender's own queue refuses packets, the rate exceeds the first link.
        _ if is_lossy || passed.refused() * 1000 > passed.flights.len() as u32 * LOSSY_PERMILLE => {
            Judged::Grows
        }
        Some(Trend::Grows) => Judged::Grows,
        Some(Trend::Stays) => Judged::Stays,
        Some(Trend::Unclear) | None => Judged::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBIT: u64 = 1_000_000;

    /// A search in which this rate is available and, up to the second one, sometimes.
    fn search(available: u64, sometimes: u64, guess: u64, most: u64) -> Search {
        let mut search = Search::new(guess, most);
        for _ in 0..MOST_FLEETS {
            let Some(rate) = search.next() else { return search };
            let verdict = match rate {
                _ if rate <= available => Verdict::Below,
                _ if rate > sometimes => Verdict::Above,
                _ => Verdict::Grey,
            };
            search.learn(rate, verdict);
        }
        panic!("the search does not end: {search:?}");
    }

    #[test]
    fn search_converges_on_the_available_bandwidth() {
        for available in [3, 10, 47, 90, 99] {
            let found = search(available * MBIT, available * MBIT, 100 * MBIT, 1000 * MBIT);
            assert!((found.low..=found.high).contains(&(available * MBIT)), "{available}: {found:?}");
            assert!(found.is_narrow(found.low, found.high), "{available}: {found:?}");
            assert_eq!(found.bound, Bound::Path);
        }
    }

    #[test]
    fn grey_region_is_within_the_range_and_widens_it() {
        let found = search(40 * MBIT, 60 * MBIT, 100 * MBIT, 1000 * MBIT);
        let [least, most] = found.grey.expect("a grey region");
        assert!(found.low <= 40 * MBIT && 60 * MBIT <= found.high, "{found:?}");
        assert!(
            (40 * MBIT..=60 * MBIT).contains(&least) && (40 * MBIT..=60 * MBIT).contains(&most),
            "{found:?}"
        );
        assert!(found.low >= 35 * MBIT && found.high <= 65 * MBIT, "{found:?}");
    }

    #[test]
    fn search_recovers_from_a_guess_too_low() {
        let found = search(500 * MBIT, 500 * MBIT, 100 * MBIT, 1000 * MBIT);
        assert!((found.low..=found.high).contains(&(500 * MBIT)), "{found:?}");
        let capped = search(500 * MBIT, 500 * MBIT, 100 * MBIT, 200 * MBIT);
        assert_eq!((capped.high, capped.bound), (200 * MBIT, Bound::Cap));
    }
}
