//! Whether a queue made RTTs long, or the path itself.

use super::stretch::{DataLate, Hold, Marks, Stretch, rate, usual};
use super::thresholds;
use crate::cause::Cause;
use crate::overview::{AckQueue, AnsweredAtOnce, LongerRtt};
use crate::report::Overview;
use slowpath_model::statistics::median;
use std::ops::Div;

/// The cause of a queue that lengthens RTTs by `queue` beyond `base`, in microseconds; `None` if it is no queue.
pub fn cause(queue: u32, base: u32) -> Option<Cause> {
    let is_one = queue > (base / thresholds::QUEUE_RTT_PART).max(thresholds::QUEUE_LEAST_US);
    is_one.then(|| name(queue, base))
}

/// The cause of `stretch`, if a queue was in it.
pub fn of_stretch(overview: &Overview, stretch: &Stretch) -> Option<Cause> {
    let base = overview.base_rtt.unwrap_or(0);
    let found = cause(excess(overview, stretch), base)?;
    Some(if is_of_acks(overview, stretch) { Cause::AckPathQueue } else { found })
}

/// Its name: whether it is longer than the path itself.
pub fn name(queue: u32, base: u32) -> Cause {
    let stands = f64::from(queue) > thresholds::STANDING_RTTS * f64::from(base)
        && queue > thresholds::STANDING_LEAST_US;
    if stands { Cause::StandingQueue } else { Cause::BottleneckFull }
}

/// Next to the sender: whether ACKs came evenly and at the peak rate while it paused between its bursts: its queue on the
/// path never ran dry, or just so after a long pause. Behind the queue of another flow, a pause stays one.
pub fn outlasts_pauses(overview: &Overview, stretch: &Stretch) -> bool {
    let at_peak = |rate| overview.is_at_peak(rate, thresholds::AT_PEAK);
    let paused_long = || {
        stretch.send_gap_max >= overview.base_rtt.unwrap_or(u32::MAX) / thresholds::QUEUE_RTT_PART
            && stretch.send_gap_max / thresholds::OUTLASTED_BY_FAR >= stretch.gap_max
    };
    (stood_throughout(overview, stretch) || paused_long())
        && stretch.gap_max < stretch.rtt_min / 2
        && stretch.send_gap_max >= stretch.gap_max.saturating_mul(thresholds::OUTLASTED)
        && stretch.rate().is_some_and(at_peak)
}

/// By how much the shortest RTT of `stretch` exceeds the path's, in microseconds.
fn excess(overview: &Overview, stretch: &Stretch) -> u32 {
    stretch.rtt_min.saturating_sub(overview.base_rtt.unwrap_or(0))
}

/// Whether ACKs that are so late are why RTTs are longer by `queue`.
pub fn is_all_acks<T: Copy + PartialOrd + Div<u32, Output = T>>(acks: T, queue: T) -> bool {
    let (part, of) = thresholds::ACKS_WAY_PART;
    acks / part >= queue / of
}

/// Whether data that is so late has no part in why RTTs are longer by `queue`.
pub const fn is_no_data(data: u32, queue: u32) -> bool {
    data < queue / thresholds::PUNCTUAL_SURELY_PART
}

/// Whether most of the queue that `stretch` shows stood on the way of the ACKs.
pub fn is_of_acks(overview: &Overview, stretch: &Stretch) -> bool {
    let queue = excess(overview, stretch);
    // Next to the receiver, ACKs have their way before them. Data echoes the last timestamp that reached its sender, so that
    // segments which come often leave only that way.
    let by_data = |data: DataLate| is_no_data(data.late, queue) && data.pause < queue / 2;
    stretch.acks_late.is_some_and(|late| is_all_acks(late, queue)) || stretch.data_late.is_some_and(by_data)
}

/// Whether data hardly waited in most of the time in which its timestamps show how late it was. Bursts an RTT apart, as in slow
/// start, are no pauses here.
pub fn is_mostly_of_acks(overview: &Overview, stretches: &[Stretch]) -> bool {
    let (mut of_acks, mut all) = (0, 0);
    for stretch in stretches {
        if let Some(data) = stretch.data_late.filter(|_| stretch.rtt_min != u32::MAX) {
            all += stretch.lasted();
            of_acks += if is_no_data(data.late, excess(overview, stretch)) { stretch.lasted() } else { 0 };
        }
    }
    of_acks * 2 > all
}

/// What the stretches with a queue on the way of the ACKs show of it.
pub fn of_acks<'a>(overview: &Overview, stretches: impl Iterator<Item = &'a Stretch>) -> Option<AckQueue> {
    let mut sums = [(0i64, 0i64); 3];
    for stretch in stretches {
        let lasted = stretch.lasted() / 1000;
        let data = stretch.data_late.map(|data| data.late);
        for (sum, value) in sums.iter_mut().zip([Some(excess(overview, stretch)), stretch.acks_late, data]) {
            if let Some(value) = value {
                *sum = (sum.0 + lasted.saturating_mul(value.into()), sum.1 + lasted);
            }
        }
    }
    let mean = |(sum, lasted): (i64, i64)| u32::try_from(sum.checked_div(lasted)?).ok();
    let [queue, acks, data] = sums.map(mean);
    Some(AckQueue { queue: queue?, acks, data })
}

/// Whether data arrived at the receiver's tap as punctually as ever, so that it had not waited in a queue.
fn is_punctual(overview: &Overview, stretch: &Stretch) -> bool {
    let queue = excess(overview, stretch);
    stretch.data_late.is_some_and(|data| data.late < queue / thresholds::PUNCTUAL_PART)
}

/// Whether a queue stood somewhere throughout `stretch`: not even its shortest RTT was short.
pub fn stood_throughout(overview: &Overview, stretch: &Stretch) -> bool {
    is_longer(overview, stretch)
        && (!is_punctual(overview, stretch) || is_of_acks(overview, stretch))
        && !may_be_waits(overview, stretch)
        && !overview.rare().jitter
        && overview.rare().answered_at_once.is_none()
        && !overview.rare().longer_rtt.is_some_and(|rtt| {
            let LongerRtt { rtt, whatever_flight } = rtt;
            is_at(stretch, rtt)
                && (whatever_flight || comes_in_bursts(overview, stretch, thresholds::STILL_GAP_PART))
        })
}

/// Whether RTTs may be long since the sender had nothing to send, far from it: an echo of its timestamps comes with the next
/// data. A queue as long as that would have delivered data meanwhile.
fn may_be_waits(overview: &Overview, stretch: &Stretch) -> bool {
    let longer = excess(overview, stretch);
    let by_writes = overview.unclocked
        && overview.short_writes
        && stretch.send_gap_max > longer
        && stretch.send_gap_max > stretch.rtt_min / thresholds::EVEN_GAP_PART;
    // Next to the receiver, a queue leaves no pauses, except between the packets of other flows: those fill it until packets are
    // lost. An outage leaves one that is longer than what waits behind it. The burst behind a pause takes its time, too.
    let pause = stretch.send_gap_max;
    let pauses = stretch.lasted() / 1000 / i64::from(pause.max(1));
    let is_paced =
        stretch.marks.has(Marks::BEFORE_LOSS) && pauses > 1 && stretch.acks > 1 && pause / 2 <= longer;
    let is_written = stretch.emptied_short > 0 && pauses > 0;
    let (part, of) = thresholds::PAUSE_OF_WAIT;
    by_writes || overview.at_receiver && (is_written || is_paced) && pause / part >= longer / of
}

/// Whether one ACK after a long RTT was for everything in flight, of many segments, for nearly all of the time with a long RTT. What
/// leaves a queue one after the other is acknowledged one after the other, unless it is so close together that a receiver takes
/// several for one (GRO). So the receiver waited, or something on the path that then let all of it through at once.
pub fn answered_at_once(overview: &Overview, stretches: &[Stretch], mss: u32) -> Option<AnsweredAtOnce> {
    let mss = i64::from(mss.max(1));
    let many = thresholds::ANSWERED_SEGMENTS * mss;
    let is_long = |stretch: &&Stretch| stretch.delivered >= many && is_longer(overview, stretch);
    let is_at_once = |stretch: &&Stretch| {
        let apart = i64::from(excess(overview, stretch)) / (stretch.delivered / mss).max(1);
        stretch.acks == 1 && apart >= thresholds::APART_US
    };
    let all: i64 = stretches.iter().filter(is_long).map(Stretch::lasted).sum();
    let found: Vec<&Stretch> = stretches.iter().filter(is_long).filter(is_at_once).collect();
    let lasted: i64 = found.iter().map(|stretch| stretch.lasted()).sum();
    let is_usual =
        found.len() >= thresholds::ANSWERED_TIMES && lasted as f64 >= thresholds::ANSWERED_SHARE * all as f64;
    let of = |value: &dyn Fn(&Stretch) -> f64| median(found.iter().map(|stretch| value(stretch)));
    let data = of(&|stretch| stretch.delivered as f64)? as u32;
    let late = of(&|stretch| excess(overview, stretch).into())? as u32;
    is_usual.then_some(AnsweredAtOnce { data, late })
}

/// Whether a queue stood that makes RTTs several times as long, throughout `stretch`, and ACKs came: a link behind which so much
/// waits is busy, whatever it delivered at other times.
pub fn is_long(overview: &Overview, stretch: &Stretch) -> bool {
    let base = overview.base_rtt.unwrap_or(0);
    stood_throughout(overview, stretch)
        && stretch.rtt_min > base.saturating_mul(thresholds::LONG_QUEUE_RTTS)
        && stretch.gap_max < stretch.rtt_min - base
}

/// The new RTT of the path, if RTTs were long without a queue. They then stayed constant, unlike those of a queue filled by
/// others. And anywhere but next to the receiver, data arrived with pauses, which a queue of this flow does not leave; or the RTTs did not
/// change with what was in flight, as those of a queue do. A path becomes longer at once; a queue grows.
pub fn longer_rtt(
    overview: &Overview,
    stretches: &[Stretch],
    mss: u32,
    at_receiver: bool,
) -> Option<LongerRtt> {
    let in_bursts = |stretch: &Stretch, gap_part| {
        // Of few segments, each leaves a pause.
        stretch.flight_max >= thresholds::TELLING_FLIGHT * mss
            && is_longer(overview, stretch)
            && comes_in_bursts(overview, stretch, gap_part)
    };
    let by_bursts = |gap_part| {
        let of_bursts = |stretch: &Stretch| in_bursts(stretch, gap_part);
        let rtt = if at_receiver { None } else { constant(stretches, of_bursts) }?;
        Some(LongerRtt { rtt, whatever_flight: false })
    };
    let by_flight = || {
        let rtt = constant(stretches, |stretch| is_longer(overview, stretch))?;
        does_not_depend_on_flight(stretches, rtt).then_some(LongerRtt { rtt, whatever_flight: true })
    };
    // Shorter pauses tell as much if the RTT hardly varied.
    let by_short_pauses = || {
        by_bursts(thresholds::STILL_GAP_PART)
            .filter(|longer| hardly_varies(stretches, longer.rtt, thresholds::RTT_VARIES_PART))
    };
    // Where few RTTs are known, each stands for several stretches.
    let by_floor = || {
        let rtt = if overview.queue_shows { floor(overview, stretches) } else { None }?;
        Some(LongerRtt { rtt, whatever_flight: true })
    };
    let by_few = || {
        let rtt = of_few_segments(overview, stretches, mss)?;
        Some(LongerRtt { rtt, whatever_flight: true })
    };
    let by_pauses = || {
        let rtt = if overview.queue_shows { with_pauses(overview, stretches, mss) } else { None }?;
        Some(LongerRtt { rtt, whatever_flight: true })
    };
    let by_data = || {
        let late = if at_receiver { constantly_late(overview, stretches) } else { None }?;
        Some(LongerRtt { rtt: overview.base_rtt?.saturating_add(late), whatever_flight: true })
    };
    by_flight()
        .or_else(|| by_bursts(thresholds::QUEUE_GAP_PART))
        .or_else(by_short_pauses)
        .or_else(by_floor)
        .or_else(by_few)
        .or_else(by_pauses)
        .or_else(by_data)
}

/// How late data arrived next to the receiver, by its timestamps, in microseconds, if that came at once and stayed, though more and more
/// was in flight: a queue would have become longer by the time that the rest of it takes.
fn constantly_late(overview: &Overview, stretches: &[Stretch]) -> Option<u32> {
    let least = (overview.base_rtt? / thresholds::QUEUE_RTT_PART).max(thresholds::LATE_LEAST_US);
    if !stretches.iter().any(|stretch| stretch.data_late.is_some_and(|data| data.late > least)) {
        return None;
    }
    // As the rules for RTTs have it: in place of those.
    let of_data = |stretch: &Stretch| stretch.data_late.map_or(u32::MAX, |data| data.late);
    let by_data: Vec<Stretch> =
        stretches.iter().map(|stretch| Stretch { rtt_min: of_data(stretch), ..*stretch }).collect();
    let late = constant(&by_data, |stretch| stretch.rtt_min != u32::MAX && stretch.rtt_min > least)?;
    let at = || by_data.iter().filter(|stretch| is_at(stretch, late));
    let (least, most) = between(&by_data, |stretch| is_at(stretch, late), |stretch| stretch.flight_max)?;
    let (soonest, latest) = between(&by_data, |stretch| is_at(stretch, late), |stretch| stretch.rtt_min)?;
    let queued = f64::from(most - least) * 8e6 / rate(at())?.max(1.0);
    let varied = (latest - soonest).max(thresholds::LATE_TICK_US);
    (queued >= thresholds::QUEUED_BY_FLIGHT * f64::from(varied)).then_some(late)
}

/// The constant RTT of stretches with a few segments in flight, if many of these left the link idle: each segment had its own
/// ACK, and one came long after the others. In a queue, they wait for each other and leave it at even intervals.
fn of_few_segments(overview: &Overview, stretches: &[Stretch], mss: u32) -> Option<u32> {
    let few = || {
        stretches.iter().filter(|stretch| stretch.flight_max <= mss.saturating_mul(thresholds::FEW_IN_FLIGHT))
    };
    let longer: Vec<&Stretch> = few().filter(|stretch| is_longer(overview, stretch)).collect();
    let rtt = middle(&longer)?;
    let at = || longer.iter().filter(|stretch| is_at(stretch, rtt));
    let is_uneven = |stretch: &Stretch| {
        let each = stretch.lasted() / 1000 / i64::from(stretch.acks.max(1));
        let (part, of) = thresholds::UNEVEN_PART;
        stretch.delivered <= i64::from(stretch.acks) * i64::from(mss)
            && i64::from(stretch.gap_max) / part > each / of
    };
    let uneven = at().filter(|stretch| is_uneven(stretch)).map(|stretch| stretch.lasted()).sum::<i64>();
    let all = at().map(|stretch| stretch.lasted()).sum::<i64>();
    let sending = few().filter(|stretch| stretch.delivered > 0).map(Stretch::lasted).sum::<i64>();
    let lasted = thresholds::STILL_RTTS * i64::from(rtt) * 1000;
    (uneven > lasted
        && uneven >= all / thresholds::UNEVEN_SHARE_PART
        && all >= sending / thresholds::FEW_MEASURED_PART)
        .then_some(rtt)
}

/// The constant RTT of stretches far below the peak rate, if what it is longer by hardly varied, though what was in flight did, and
/// there were pauses in which nothing came: a queue of this flow would have run dry in them, and one of others varies. A path that lets
/// packets through in slots is longer by as much each time.
fn with_pauses(overview: &Overview, stretches: &[Stretch], mss: u32) -> Option<u32> {
    let longer: Vec<&Stretch> = stretches.iter().filter(|stretch| is_longer(overview, stretch)).collect();
    let rtt = middle(&longer)?;
    let spread = (rtt - overview.base_rtt?) / thresholds::EXCESS_VARIES_PART;
    let is_one = |stretch: &&&Stretch| {
        stretch.rtt_min.abs_diff(rtt) <= spread
            && stretch.gap_max > stretch.rtt_min / thresholds::EVEN_GAP_PART
            && stretch.flight_max >= thresholds::PAUSED_FLIGHT * mss
    };
    let found: Vec<&Stretch> = longer.iter().filter(is_one).copied().collect();
    let lasted = |of: &[&Stretch]| of.iter().map(|stretch| stretch.lasted()).sum::<i64>() as f64;
    let flights =
        but_for_a_few(found.iter().map(|stretch| stretch.flight_max).collect(), thresholds::FLOOR_FEW)?;
    (rtt - overview.base_rtt? >= thresholds::EXCESS_LEAST_US
        && lasted(&found) >= thresholds::PAUSED_SHARE * lasted(&longer)
        && rate(found.iter().copied())? < thresholds::BELOW_PEAK * overview.peak_rate
        && vary(flights, thresholds::FLIGHT_VARIES))
    .then_some(rtt)
}

/// The usual RTT of `stretches`.
fn middle(stretches: &[&Stretch]) -> Option<u32> {
    usual(stretches.iter().map(|stretch| (stretch.rtt_min, stretch.lasted())).collect())
}

/// The shortest RTT since the last one that was as short as the path's at first, if RTTs came back to it again and again, with
/// much in flight and with little, and data arrived with pauses: the path became longer. What stands in a queue changes from RTT to
/// RTT, and is delivered without a pause.
fn floor(overview: &Overview, stretches: &[Stretch]) -> Option<u32> {
    let was_short = |stretch: &Stretch| stretch.rtt_min != u32::MAX && !is_longer(overview, stretch);
    let since = &stretches[stretches.iter().rposition(was_short)? + 1..];
    let rtt = since.iter().map(|stretch| stretch.rtt_min).min().filter(|rtt| *rtt != u32::MAX)?;
    let is_back = |stretch: &&Stretch| {
        stretch.rtt_min - rtt <= rtt / thresholds::RTT_VARIES_PART
            && pauses(stretch, thresholds::STILL_GAP_PART)
    };
    let flights: Vec<u32> = since.iter().filter(is_back).map(|stretch| stretch.flight_max).collect();
    let flights = but_for_a_few(flights, thresholds::FLOOR_FEW)?;
    vary(flights, thresholds::FLIGHT_VARIES).then_some(rtt)
}

/// Whether the RTT stayed at `rtt` while what was in flight did not: a queue of this flow would have grown and shrunk with it.
fn does_not_depend_on_flight(stretches: &[Stretch], rtt: u32) -> bool {
    let flights = between(stretches, |stretch| is_at(stretch, rtt), |stretch| stretch.flight_max);
    flights.is_some_and(|flights| {
        let hardly = |part| hardly_varies(stretches, rtt, part);
        vary(flights, thresholds::FLIGHT_VARIES) && hardly(thresholds::RTT_VARIES_PART)
            // Of few segments, one more or less has an RTT of its own.
            || vary(flights, thresholds::FLIGHT_VARIES_MUCH) && hardly(thresholds::STILL_PART)
    })
}

/// Whether the smallest and the largest flight differ by this much.
const fn vary((least, most): (u32, u32), (more, than): (u32, u32)) -> bool {
    most / more >= least / than
}

/// Whether the RTTs that stayed at `rtt` differ by no more than this part of it.
fn hardly_varies(stretches: &[Stretch], rtt: u32, part: u32) -> bool {
    let rtts = between(stretches, |stretch| is_at(stretch, rtt), |stretch| stretch.rtt_min);
    rtts.is_some_and(|(least, most)| most - least <= rtt / part)
}

/// The smallest and the largest value of the chosen stretches with data in flight, but for a few.
pub fn between(
    stretches: &[Stretch],
    is_chosen: impl Fn(&Stretch) -> bool,
    of: fn(&Stretch) -> u32,
) -> Option<(u32, u32)> {
    let chosen = stretches.iter().filter(|stretch| stretch.flight_max > 0 && is_chosen(stretch));
    but_for_a_few(chosen.map(of).collect(), 1)
}

/// The smallest and the largest value, but for a few at either end, so many at least.
fn but_for_a_few(mut values: Vec<u32>, least: usize) -> Option<(u32, u32)> {
    values.sort_unstable();
    let few = values.len() / thresholds::FLIGHTS_PART;
    (few >= least).then(|| (values[few], values[values.len() - 1 - few]))
}

/// The RTT of those stretches that are `long`, if it was constant for long and came at once.
fn constant(stretches: &[Stretch], long: impl Fn(&Stretch) -> bool) -> Option<u32> {
    let longer: Vec<&Stretch> = stretches.iter().filter(|stretch| long(stretch)).collect();
    let rtt = middle(&longer)?;
    // Before the path changed, it may have had a queue.
    let (first, last) = (longer.iter().find(|stretch| is_at(stretch, rtt))?, longer.last()?);
    let before = stretches.iter().rev().skip_while(|stretch| stretch.from >= first.from);
    let before = before.map(|stretch| stretch.rtt_min).filter(|before| *before != u32::MAX);
    let shortest = before.take(thresholds::ABRUPT_STRETCHES).min()?;
    let (part, of) = thresholds::ABRUPT_PART;
    if shortest / part > rtt / of {
        return None;
    }
    let since = last.to.nanos_since(first.from);
    let during = stretches.iter().filter(|stretch| stretch.from >= first.from && stretch.to <= last.to);
    let still: i64 = during.filter(|stretch| is_at(stretch, rtt)).map(Stretch::lasted).sum();
    let is_still = still as f64 >= thresholds::STILL_SHARE * since as f64;
    (is_still && since > thresholds::STILL_RTTS * i64::from(rtt) * 1000).then_some(rtt)
}

/// Whether the RTT of `stretch` is that one.
const fn is_at(stretch: &Stretch, rtt: u32) -> bool {
    stretch.rtt_min.abs_diff(rtt) <= rtt / thresholds::STILL_PART
}

/// Whether not even the shortest RTT of `stretch` was near the shortest of all.
pub fn is_longer(overview: &Overview, stretch: &Stretch) -> bool {
    let Some(base) = overview.base_rtt else { return false };
    // Of full segments.
    let base = base + overview.segment_time;
    stretch.rtt_min != u32::MAX && cause(stretch.rtt_min.saturating_sub(base), base).is_some()
}

/// Whether data arrived with pauses of a `gap_part` of the RTT, far below the rate of the path. A queue of this flow alone
/// delivers without pauses.
fn comes_in_bursts(overview: &Overview, stretch: &Stretch, gap_part: u32) -> bool {
    let is_below_peak = stretch.rate().unwrap_or(0.0) < thresholds::BELOW_PEAK * overview.peak_rate;
    is_below_peak && pauses(stretch, gap_part)
}

/// Whether data arrived with a pause of more than a `gap_part` of the RTT.
pub const fn pauses(stretch: &Stretch, gap_part: u32) -> bool {
    stretch.gap_max > stretch.rtt_min / gap_part
}

/// The least data in flight with which the peak rate was delivered over an RTT, while nothing but the path or the
/// congestion window held the sender.
pub fn least_flight_at_peak(stretches: &[Stretch], base: u32, peak: f64) -> Option<u32> {
    let at_peak = |stretch: &&Stretch| {
        stretch.held_most() == Hold::Open
            && stretch.lasted() >= i64::from(base) * 1000
            && stretch.rate().is_some_and(|rate| rate >= thresholds::AT_PEAK * peak)
    };
    stretches.iter().filter(at_peak).map(|stretch| stretch.flight_max).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::Instant;

    #[test]
    fn time_that_a_segment_takes_to_send_is_no_queue() {
        let overview = Overview { base_rtt: Some(9_425), segment_time: 1_500, ..Overview::default() };
        let with = |rtt_min| Stretch { rtt_min, ..Stretch::at(Instant::START) };
        assert!(!is_longer(&overview, &with(11_200)));
        assert!(is_longer(&overview, &with(14_000)));
        assert!(is_longer(&Overview { segment_time: 0, ..overview }, &with(11_200)));
    }

    #[test]
    fn path_that_delivers_through_a_long_pause_had_a_queue() {
        let overview = Overview { base_rtt: Some(200_000), peak_rate: 80e6, ..Overview::default() };
        let with = |gap_max, send_gap_max| {
            let mut stretch = Stretch {
                rtt_min: 200_100,
                gap_max,
                send_gap_max,
                delivered: 2_000_000,
                ..Stretch::at(Instant::START)
            };
            stretch.extend(Instant::from_nanos(200_000_000), Hold::Open);
            outlasts_pauses(&overview, &stretch)
        };
        assert!(with(2_000, 50_000), "25 times as long");
        assert!(!with(10_000, 50_000), "its ACKs paused, too");
        assert!(!with(1_000, 20_000), "less than a queue shows");
    }

    #[test]
    fn long_queue_is_several_rtts_and_lets_acks_through() {
        let overview = Overview { base_rtt: Some(16_000), ..Overview::default() };
        let with = |rtt_min, gap_max| Stretch { rtt_min, gap_max, ..Stretch::at(Instant::START) };
        assert!(is_long(&overview, &with(120_000, 15_000)));
        assert!(!is_long(&overview, &with(30_000, 1_000)), "an RTT as long again");
        assert!(!is_long(&overview, &with(120_000, 110_000)), "nothing came: the timer's wait");
        assert!(!is_long(&overview, &with(u32::MAX, 1_000)), "no RTT");
    }

    /// An ACK of two segments comes 2 % later than one of one.
    #[test]
    fn rtt_of_few_segments_is_constant_if_it_does_not_grow_with_their_number() {
        let with = |most: u32| -> Vec<Stretch> {
            let stretch = |nth: u32| Stretch {
                rtt_min: 102_200 + nth % 2 * 2_400,
                flight_max: if nth % 4 < 2 { 8_688 } else { most },
                ..Stretch::at(Instant::START)
            };
            (0..40).map(stretch).collect()
        };
        assert!(does_not_depend_on_flight(&with(18_824), 103_000));
        assert!(
            !does_not_depend_on_flight(&with(13_032), 103_000),
            "a full queue of few packets looks alike"
        );
    }

    /// Data that is late by 120 ms from one RTT to the next, with so many more segments in flight in each, and what is `added` to its
    /// lateness for each of those.
    fn later_at_once(more: u32, added: u32, at_once: bool) -> Option<u32> {
        let overview = Overview { base_rtt: Some(40_000), peak_rate: 6e7, ..Overview::default() };
        let stretch = |nth: u32| {
            let from = Instant::from_nanos(i64::from(nth) * 160_000_000);
            let segments = nth.saturating_sub(10) * more;
            let late = match nth {
                0..10 if at_once => 5_000,
                0..10 => 95_000 + 2_000 * nth,
                _ => 120_000 + segments * added,
            };
            let flight_max = (240 + segments) * 1_448;
            let mut stretch = Stretch {
                rtt_min: 40_000 + late,
                data_late: Some(DataLate { late, pause: 0 }),
                delivered: flight_max.into(),
                flight_max,
                ..Stretch::at(from)
            };
            stretch.extend(from.plus_nanos(160_000_000), Hold::Open);
            stretch
        };
        constantly_late(&overview, &(0..50).map(stretch).collect::<Vec<_>>())
    }

    #[test]
    fn data_that_is_as_late_with_more_in_flight_has_a_longer_way() {
        assert_eq!(later_at_once(1, 0, true), Some(120_000));
        assert_eq!(later_at_once(1, 580, true), None, "a queue");
        assert_eq!(later_at_once(0, 0, true), None, "as much in flight: a queue is as long, too");
        assert_eq!(later_at_once(1, 0, false), None, "it grew");
    }

    #[test]
    fn wait_of_a_program_far_from_the_tap_is_no_queue() {
        let overview = |unclocked, short_writes| Overview {
            base_rtt: Some(30_000),
            unclocked,
            short_writes,
            ..Overview::default()
        };
        let with = |rtt_min, send_gap_max| Stretch { rtt_min, send_gap_max, ..Stretch::at(Instant::START) };
        let waits = overview(true, true);
        assert!(!stood_throughout(&waits, &with(38_000, 20_000)));
        assert!(stood_throughout(&waits, &with(58_000, 20_000)), "a queue that is longer than the pause");
        assert!(stood_throughout(&waits, &with(38_000, 5_000)), "no pause");
        assert!(stood_throughout(&overview(false, true), &with(38_000, 20_000)), "ACKs trigger the sender");
        assert!(stood_throughout(&overview(true, false), &with(38_000, 20_000)), "long writes");
    }

    #[test]
    fn way_of_a_queue_shows_in_the_timestamps_of_either_end() {
        let overview = Overview { base_rtt: Some(30_000), ..Overview::default() };
        let with = |acks_late, late, pause| Stretch {
            rtt_min: 130_000,
            acks_late,
            data_late: Option::map(late, |late| DataLate { late, pause }),
            ..Stretch::at(Instant::START)
        };
        let seen =
            |stretch: Stretch| (stood_throughout(&overview, &stretch), is_of_acks(&overview, &stretch));
        assert_eq!(seen(with(None, None, 0)), (true, false), "no timestamps");
        assert_eq!(seen(with(Some(95_000), None, 0)), (true, true));
        assert_eq!(seen(with(Some(60_000), None, 0)), (true, false), "both ways");
        assert_eq!(
            seen(with(Some(0), Some(2_000), 3_000)),
            (true, true),
            "data was punctual, and came often"
        );
        assert_eq!(seen(with(Some(0), Some(2_000), 80_000)), (false, false), "the sender paused");
        assert_eq!(seen(with(Some(0), Some(90_000), 3_000)), (true, false), "data waited");
    }

    /// The RTT becomes six times as long, and afterwards `rtt` of what is in flight.
    fn longer(rtt: impl Fn(u32) -> u32) -> Option<u32> {
        let overview = Overview { base_rtt: Some(20_000), peak_rate: 1e9, ..Overview::default() };
        let mut stretches = Vec::new();
        for nth in 0..80u32 {
            let flight_max = 200_000 + 2_000 * nth;
            let rtt_min = if nth < 10 { 20_000 } else { rtt(flight_max) };
            let from = Instant::from_nanos(i64::from(nth) * 120_000_000);
            let mut stretch = Stretch { rtt_min, flight_max, gap_max: 1_000, ..Stretch::at(from) };
            stretch.extend(from.plus_nanos(120_000_000), Hold::Open);
            stretches.push(stretch);
        }
        longer_rtt(&overview, &stretches, 1448, false).map(|longer| longer.rtt)
    }

    #[test]
    fn rtt_that_does_not_follow_what_is_in_flight_is_the_paths() {
        assert_eq!(longer(|_| 120_000), Some(120_000));
        assert_eq!(longer(|flight| flight * 2 / 5), None, "a queue");
    }

    /// RTTs of `rtt` microseconds where the shortest is 24 ms, with `segments` in flight and so many ACKs, `gap` after each other at
    /// most.
    fn few_or_many(segments: u32, rtt: u32, acks: u32, gap: u32) -> (Overview, Vec<Stretch>) {
        let overview = Overview { base_rtt: Some(24_000), peak_rate: 1e8, ..Overview::default() };
        let lasted = i64::from(rtt) * 1_000;
        let stretch = |nth: i64| {
            let from = Instant::from_nanos(nth * lasted);
            let mut stretch = Stretch {
                rtt_min: rtt,
                flight_max: segments * 1_000,
                acks,
                gap_max: gap,
                delivered: i64::from(segments) * 1_000,
                ..Stretch::at(from)
            };
            stretch.extend(from.plus_nanos(lasted), Hold::Open);
            stretch
        };
        let stretches = (0..40).map(stretch).collect();
        (overview, stretches)
    }

    #[test]
    fn two_segments_with_a_pause_between_their_acks_are_no_queue() {
        let longer = |segments, acks, gap| {
            let (overview, stretches) = few_or_many(segments, 46_000, acks, gap);
            of_few_segments(&overview, &stretches, 1_000)
        };
        assert_eq!(longer(2, 2, 35_000), Some(46_000));
        assert_eq!(longer(2, 2, 24_000), None, "at equal intervals: a link of that rate");
        assert_eq!(longer(2, 1, 46_000), None, "one ACK for both");
        assert_eq!(longer(8, 8, 35_000), None, "enough to fill a queue");
    }

    #[test]
    fn one_ack_for_all_in_flight_is_no_queue() {
        let found = |rtt, acks| {
            let (overview, stretches) = few_or_many(16, rtt, acks, rtt);
            answered_at_once(&overview, &stretches, 1_000).map(|found| (found.data, found.late))
        };
        assert_eq!(found(428_000, 1), Some((16_000, 404_000)));
        assert_eq!(found(428_000, 8), None, "one for each two segments");
        assert_eq!(found(34_000, 1), None, "so fast that the receiver takes several for one");
    }

    /// RTTs that are longer by 6 ms, or by up to `varies` microseconds more, with 20 to 40 segments in flight and pauses of `gap`.
    fn in_slots(varies: u32, gap: u32) -> Option<u32> {
        let overview = Overview { base_rtt: Some(36_000), peak_rate: 17e6, ..Overview::default() };
        let stretch = |nth: u32| {
            let from = Instant::from_nanos(i64::from(nth) * 42_000_000);
            let flight_max = (20 + nth * 7 % 20) * 1_448;
            let mut stretch = Stretch {
                rtt_min: 42_000 + nth * nth * 31 % 41 * varies / 41,
                flight_max,
                delivered: flight_max.into(),
                gap_max: gap,
                ..Stretch::at(from)
            };
            stretch.extend(from.plus_nanos(42_000_000), Hold::Open);
            stretch
        };
        with_pauses(&overview, &(0..60).map(stretch).collect::<Vec<_>>(), 1_448)
    }

    #[test]
    fn rtt_longer_by_as_much_each_time_with_pauses_is_the_paths() {
        assert!(in_slots(500, 18_000).is_some_and(|rtt| rtt.abs_diff(42_250) < 500));
        assert_eq!(in_slots(6_000, 18_000), None, "a queue of others");
        assert_eq!(in_slots(500, 4_000), None, "no pauses");
    }
}
