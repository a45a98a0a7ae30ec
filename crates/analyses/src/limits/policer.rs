//! Whether a policer dropped the lost packets: a token bucket that drops packets when it is empty, and delays none
//! (Flach et al., *An Internet-wide analysis of traffic policing*, SIGCOMM 2016).

use super::episodes::{Arrived, Episodes};
use super::queue;
use super::stretch::{Hold, Marks, Part, Stretch};
use super::thresholds;
use crate::cause::Cause;
use crate::report::Overview;
use crate::token_bucket::TokenBucket;
use slowpath_model::Instant;

/// What delivers at one rate between losses, in bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OneRate {
    /// A policer.
    Policer(f64),
    /// A link that is always full, with a queue too short to show in the RTTs.
    Link(f64),
}

impl OneRate {
    /// Whether the token bucket that explains the losses best shows that this is no policer.
    pub fn is_refuted(self, bucket: Option<TokenBucket>) -> bool {
        let Self::Policer(rate) = self else { return false };
        bucket.is_some_and(|bucket| bucket.refutes(rate))
    }
}

/// What delivers at one rate between losses that come without a queue. From one loss to the next, a bucket lets through what
/// flows into it. Random losses come after any amount. A link has one rate as well, but lets no burst through faster.
pub fn one_rate(stretches: &[Stretch], episodes: &Episodes, overview: &Overview) -> Option<OneRate> {
    // In other times, neither a policer nor a queue can hold the sender.
    let elsewhere = |stretch: &Stretch| stretch.under(Hold::Window) + stretch.under(Hold::Idle);
    let under = |of: &dyn Fn(&Stretch) -> i64| stretches.iter().map(of).sum::<i64>();
    let lasted = under(&Stretch::lasted);
    if overview.queued > (lasted - under(&elsewhere)) / thresholds::POLICER_QUEUED_PART {
        return None;
    }
    // The losses of a sender that pauses depend on what it had to send.
    let sending = |stretch: &Stretch| stretch.under(Hold::Open) + stretch.under(Hold::Recovery);
    if under(&sending) * 2 < lasted {
        return None;
    }
    // A buffer or a program that keeps the same amount in flight has one rate by itself.
    let flights = queue::between(stretches, |stretch| sending(stretch) > 0, |stretch| stretch.flight_max);
    if flights.is_some_and(|(least, most)| least == most) {
        return None;
    }
    let cycles = cycles(stretches, &losses(episodes, overview));
    // The first loss is slow start's, which had a full bucket.
    let cycles = cycles.get(1..).filter(|cycles| cycles.len() >= thresholds::POLICER_CYCLES)?;
    let sum = |of: fn(&Cycle) -> f64| cycles.iter().map(of).sum::<f64>();
    let (delivered, time) = (sum(|cycle| cycle.delivered), sum(|cycle| cycle.time));
    let rate = delivered / time;
    let many = (cycles.len() as f64 / thresholds::POLICER_MANY_CYCLES).min(1.0).sqrt();
    let deviation: f64 = cycles.iter().map(|cycle| (cycle.delivered - rate * cycle.time).abs()).sum();
    let alike = |spread: f64| deviation < spread * many * delivered;
    if !alike(thresholds::POLICER_CYCLE_SPREAD) {
        return None;
    }
    let rate = rate * 8e9;
    let above = |peak: f64| peak > thresholds::POLICER_ABOVE_RATE * rate;
    let exceeded = above(overview.peak_rate);
    let paused = cycles.iter().filter(|cycle| cycle.paused).count();
    let paused = paused as f64 >= thresholds::POLICER_PAUSED * cycles.len() as f64;
    let many = cycles.len() >= thresholds::POLICER_ROOM_CYCLES;
    let had_burst = || alike(thresholds::POLICER_EVEN_SPREAD) && above(fastest_at_first(stretches, overview));
    let has_room = paused && (many || exceeded) || many && had_burst();
    if has_room {
        Some(OneRate::Policer(rate))
    } else {
        (many && !exceeded && alike(thresholds::POLICER_EVEN_SPREAD)).then_some(OneRate::Link(rate))
    }
}

/// Whether time with this cause may have been spent at a policer, or on a full link: losses were repaired in it.
pub const fn may_be_one(cause: Cause) -> bool {
    matches!(cause, Cause::AfterLoss | Cause::FastRecovery | Cause::LostRetransmission | Cause::Timeout)
}

/// Names the policer of `policed` bit/s where it held the sender.
pub fn take_over(policed: f64, stretches: &[Stretch], overview: &Overview, parts: &mut [Part]) {
    let fastest = fastest(stretches);
    for Part { cause, stretch, .. } in parts {
        // BBR learns a policer's rate and keeps to it (`bbr_lt_bw_sampling`, 6.18), as to that of a full path.
        let kept = *cause == Cause::LocalRateLimit
            || *cause == Cause::BottleneckFull
                && lets_through(policed, &stretches[*stretch], fastest, overview);
        if kept || may_be_one(*cause) {
            *cause = Cause::Policer;
        }
    }
}

/// The rate of the fastest stretch, in bit/s.
fn fastest(stretches: &[Stretch]) -> f64 {
    let long = stretches.iter().filter(|stretch| stretch.lasted() >= thresholds::LEAST_RATE_NS);
    long.filter_map(Stretch::rate).fold(0.0, f64::max)
}

/// Whether a policer of `policed` bit/s let `stretch` through, and no full link did: without a queue, and with pauses, or at that
/// rate though a full bucket let the `fastest` through with more.
fn lets_through(policed: f64, stretch: &Stretch, fastest: f64, overview: &Overview) -> bool {
    let is_policed = |rate: f64| {
        (rate - policed).abs() <= thresholds::STEADY_SPREAD * policed
            && fastest > thresholds::POLICER_ABOVE_RATE * rate
    };
    let had_room = queue::pauses(stretch, thresholds::QUEUE_GAP_PART);
    (had_room || stretch.rate().is_some_and(is_policed)) && !queue::stood_throughout(overview, stretch)
}

/// A loss that a policer may have caused.
#[derive(Clone, Copy)]
struct Lost {
    /// What had arrived before, if that is known.
    after: Option<Arrived>,
    /// The sender waited for a timer, while a bucket fills up.
    waited: bool,
}

/// The losses, those of one flight as one. Next to the receiver, what was lost of a flight shows over an RTT.
fn losses(episodes: &Episodes, overview: &Overview) -> Vec<Lost> {
    let (part, of) = thresholds::POLICER_ONE_FLIGHT;
    let apart = i64::from(overview.base_rtt.unwrap_or(0)) * 1000 * part / of;
    let mut losses: Vec<Lost> = Vec::new();
    for episode in episodes.all().filter(|episode| !episode.is_spurious()) {
        let now = Lost { after: episode.after, waited: episode.is_timeout() || episode.tail };
        let begun = losses.last_mut().filter(|last| {
            let times = last.after.zip(now.after);
            times.is_some_and(|(last, now)| now.at.nanos_since(last.at) < apart)
        });
        match begun {
            Some(last) => last.waited |= now.waited,
            None => losses.push(now),
        }
    }
    losses
}

/// The rate, in bit/s, of the fastest RTT without a queue until the first loss was repaired.
fn fastest_at_first(stretches: &[Stretch], overview: &Overview) -> f64 {
    let least = i64::from(overview.base_rtt.unwrap_or(0)) * 1000 / 10 * 9;
    let before = stretches.partition_point(|stretch| stretch.marks.has(Marks::BEFORE_LOSS));
    // A capture that begins later does not show the first loss.
    let until = stretches.iter().take(if before > 0 { before + 1 } else { 0 });
    let whole = until.filter(|stretch| stretch.lasted() >= least && !queue::is_longer(overview, stretch));
    whole.filter_map(Stretch::rate).fold(0.0, f64::max)
}

/// From one loss to the next.
#[derive(Clone, Copy)]
struct Cycle {
    /// In bytes.
    delivered: f64,
    /// In nanoseconds.
    time: f64,
    /// Whether what was in flight before the second loss left a pause in its RTT: the link had room.
    paused: bool,
}

fn cycles(stretches: &[Stretch], losses: &[Lost]) -> Vec<Cycle> {
    let pauses = |at: Instant| {
        let next = stretches.partition_point(|stretch| stretch.to < at);
        stretches.get(next).is_some_and(|stretch| queue::pauses(stretch, thresholds::QUEUE_GAP_PART))
    };
    let cycle = |pair: &[Lost]| {
        let (from, to) = (pair[0].after?, pair[1].after?);
        (!pair[0].waited && to.at > from.at).then(|| Cycle {
            delivered: (to.bytes - from.bytes) as f64,
            time: to.at.nanos_since(from.at) as f64,
            paused: pauses(to.at),
        })
    };
    losses.windows(2).filter_map(cycle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::Label;
    use crate::limits::episodes::Loss;
    use crate::outstanding::Placed;
    use slowpath_model::{End, Flags, Segment, StreamOffset};

    /// Stretches of 20 ms, with these bytes delivered in each and a pause of so many microseconds; a loss after each cycle.
    fn cycles_of(of: &[&[i64]], pause: u32) -> (Vec<Stretch>, Episodes) {
        let (mut at, mut bytes) = (Instant::START, 0);
        let (mut stretches, mut episodes) = (Vec::new(), Episodes::default());
        for (nth, cycle) in of.iter().enumerate() {
            if nth > 0 {
                let after = Some(Arrived { at, bytes });
                let loss =
                    Loss { since: at, after, timeout: false, probes: false, dry: false, needless: false };
                let segment = Segment::new(End::A, Flags::ACK, StreamOffset(bytes), 1_000);
                let placed =
                    Placed { label: Label::Retransmission, tail: false, ..Placed::next(0, segment.end()) };
                episodes.on_retransmission(at, &segment, &placed, &loss, segment.end());
                episodes.reached(at.plus_nanos(5_000_000), segment.end());
            }
            for delivered in *cycle {
                let (rtt_min, gap_max) = (20_000, pause);
                let mut stretch = Stretch { rtt_min, gap_max, delivered: *delivered, ..Stretch::at(at) };
                at = at.plus_nanos(20_000_000);
                bytes += delivered;
                stretch.extend(at, Hold::Open);
                if nth == 0 {
                    stretch.marks.set(Marks::BEFORE_LOSS);
                }
                stretches.push(stretch);
            }
        }
        (stretches, episodes)
    }

    fn found(of: &[&[i64]], pause: u32, overview: &Overview) -> Option<OneRate> {
        let (stretches, episodes) = cycles_of(of, pause);
        one_rate(&stretches, &episodes, overview)
    }

    fn overview(peak_rate: f64, queued: i64) -> Overview {
        Overview { peak_rate, queued, ..Overview::default() }
    }

    fn is_policer(found: Option<OneRate>) -> bool {
        matches!(found, Some(OneRate::Policer(rate)) if (rate / 8e6 - 1.0).abs() < 0.03)
    }

    /// Cycles of different lengths and heights, with 20,000 bytes a stretch in each: 8 Mbit/s. The first one ends in a burst of
    /// 36 Mbit/s.
    const EMPTIED: [&[i64]; 9] = [
        &[60_000, 90_000],
        &[10_000, 20_000, 30_000],
        &[10_000, 20_000, 30_000],
        &[18_000, 20_000, 22_000],
        &[5_000, 10_000, 25_000, 40_000],
        &[20_000, 20_000, 20_000],
        &[8_000, 20_000, 20_000, 32_000],
        &[20_000, 20_000],
        &[20_000, 20_000],
    ];

    /// As [`EMPTIED`], without the burst.
    fn without_a_burst() -> Vec<&'static [i64]> {
        std::iter::once(&[10_000, 20_000][..]).chain(EMPTIED[1..].iter().copied()).collect()
    }

    const PAUSE: u32 = 12_000;

    #[test]
    fn equal_rates_between_losses_are_a_policer_if_the_link_has_room() {
        assert!(is_policer(found(&EMPTIED, PAUSE, &overview(12e6, 0))));
        assert!(is_policer(found(&without_a_burst(), PAUSE, &overview(8.4e6, 0))), "by its pauses");
        assert!(is_policer(found(&EMPTIED, 1_000, &overview(8.4e6, 0))), "by its first burst");
    }

    #[test]
    fn equal_rates_between_losses_are_a_full_link_if_nothing_was_faster() {
        let link = found(&without_a_burst(), 1_000, &overview(8.4e6, 0));
        assert!(matches!(link, Some(OneRate::Link(rate)) if (rate / 8e6 - 1.0).abs() < 0.03), "{link:?}");
    }

    #[test]
    fn sawtooth_on_a_link_with_a_short_queue_is_neither() {
        assert_eq!(found(&without_a_burst(), 1_000, &overview(12e6, 0)), None);
    }

    #[test]
    fn losses_behind_a_queue_are_not_a_policers() {
        let life = 20_000_000 * EMPTIED.concat().len() as i64;
        assert_eq!(found(&EMPTIED, PAUSE, &overview(12e6, life / 2)), None);
    }

    #[test]
    fn same_amount_in_flight_has_one_rate_without_a_policer() {
        let (mut stretches, episodes) = cycles_of(&EMPTIED, PAUSE);
        stretches.iter_mut().for_each(|stretch| stretch.flight_max = 6_515);
        assert_eq!(one_rate(&stretches, &episodes, &overview(12e6, 0)), None);
        (0u32..).zip(&mut stretches).for_each(|(nth, stretch)| stretch.flight_max += nth % 5 * 1_448);
        assert!(is_policer(one_rate(&stretches, &episodes, &overview(12e6, 0))));
    }

    #[test]
    fn few_losses_need_both_signs_of_room() {
        assert_eq!(found(&EMPTIED[1..7], PAUSE, &overview(8.4e6, 0)), None);
        assert!(is_policer(found(&EMPTIED[1..7], PAUSE, &overview(12e6, 0))));
        assert_eq!(found(&EMPTIED[1..7], 1_000, &overview(12e6, 0)), None);
    }

    #[test]
    fn losses_of_one_flight_are_one() {
        let mut of = without_a_burst();
        // The second loss of a flight shows an RTT after the first.
        let pair: [&[i64]; 2] = [&[2_000], &[38_000, 20_000, 20_000]];
        of.extend([pair; 4].concat());
        let with = |base_rtt| Overview { base_rtt, ..overview(8.4e6, 0) };
        assert_eq!(found(&of, PAUSE, &with(None)), None);
        assert!(found(&of, PAUSE, &with(Some(20_000))).is_some());
    }

    #[test]
    fn time_of_a_closed_window_is_none_without_a_queue() {
        let (mut stretches, episodes) = cycles_of(&EMPTIED, PAUSE);
        let queued = 20_000_000 * stretches.len() as i64 / 4;
        assert!(is_policer(one_rate(&stretches, &episodes, &overview(12e6, queued / 2))));
        // As long again, but for a moment: a queue stood in a smaller part of all time.
        let last = stretches.last().expect("stretches").to;
        let mut closed = Stretch::at(last);
        closed.extend(last.plus_nanos(last.nanos_since(Instant::START) - 1_000_000), Hold::Window);
        stretches.push(closed);
        assert_eq!(one_rate(&stretches, &episodes, &overview(12e6, queued)), None);
    }

    #[test]
    fn kept_rate_is_policed_if_more_was_let_through_once() {
        let (stretches, _) = cycles_of(&[&[30_000], &[20_000, 20_000]], 1_000);
        let (fastest, kept) = (fastest(&stretches), &stretches[1]);
        assert!((fastest - 12e6).abs() < 1.0, "{fastest}");
        assert!(lets_through(8e6, kept, fastest, &overview(12e6, 0)));
        assert!(!lets_through(8e6, kept, 8.4e6, &overview(8.4e6, 0)), "a full link");
        assert!(!lets_through(5e6, kept, fastest, &overview(12e6, 0)), "another rate");
        let behind_a_queue = Stretch { rtt_min: 60_000, ..*kept };
        let queued = Overview { base_rtt: Some(20_000), ..overview(12e6, 0) };
        assert!(!lets_through(8e6, &behind_a_queue, fastest, &queued), "behind a queue");
    }

    #[test]
    fn varying_rates_between_losses_are_not_a_policer() {
        let chance: [&[i64]; 8] = [
            &[60_000, 90_000],
            &[10_000, 20_000],
            &[12_000, 20_000, 28_000, 36_000, 44_000],
            &[22_000],
            &[10_000, 18_000, 26_000],
            &[12_000, 20_000, 28_000, 36_000, 44_000, 52_000],
            &[10_000],
            &[30_000, 40_000, 50_000],
        ];
        assert_eq!(found(&chance, PAUSE, &overview(24e6, 0)), None);
    }
}
