//! Whether a policer dropped the lost packets: a token bucket that drops packets when it is empty, and delays none
//! (Flach et al., *An Internet-wide analysis of traffic policing*, SIGCOMM 2016).

use super::episodes::{Arrived, Episodes};
use super::queue;
use super::stretch::{Hold, Marks, Part, Stretch};
use super::thresholds;
use crate::cause::Cause;
use crate::report::Overview;
use slowpath_model::Instant;

/// What delivers at one rate between losses, in bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OneRate {
    /// A policer.
    Policer(f64),
    /// A link that is always full, with a queue too short to show in the RTTs.
    Link(f64),
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
    let cycles = cycles(stretches, &losses(episodes, overview));
    // The first loss is slow start's, which had a full bucket.
    let cycles = cycles.get(1..).filter(|cycles| cycles.len() >= thresholds::POLICER_CYCLES)?;
    let sum = |of: fn(&Cycle) -> f64| cycles.iter().map(of).sum::<f64>();
    let (delivered, time) = (sum(|cycle| cycle.delivered), sum(|cycle| cycle.time));
    let rate = delivered / time;
    let many = (cycles.len() as f64 / thresholds::POLICER_MANY_CYCLES).min(1.0).sqrt();
    let deviation: f64 = cycles.iter().map(|cycle| (cycle.delivered - rate * cycle.time).abs()).sum();
    if deviation >= thresholds::POLICER_CYCLE_SPREAD * many * delivered {
        return None;
    }
    let rate = rate * 8e9;
    let above = |peak: f64| peak > thresholds::POLICER_ABOVE_RATE * rate;
    let exceeded = above(overview.peak_rate);
    let paused = cycles.iter().filter(|cycle| cycle.paused).count();
    let paused = paused as f64 >= thresholds::POLICER_PAUSED * cycles.len() as f64;
    let many = cycles.len() >= thresholds::POLICER_ROOM_CYCLES;
    let has_room = paused && (many || exceeded) || many && above(fastest_before_loss(stretches, overview));
    if has_room {
        Some(OneRate::Policer(rate))
    } else {
        (many && !exceeded).then_some(OneRate::Link(rate))
    }
}

/// Whether time with this cause may have been spent at a policer, or on a full link: losses were repaired in it.
pub const fn may_be_one(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::AfterLoss | Cause::FastRecovery | Cause::LostRetransmission | Cause::Timeout
    )
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
        let now = Lost { after: episode.after, waited: episode.timeout || episode.tail };
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

/// The rate, in bit/s, of the fastest RTT without a queue before anything was lost.
fn fastest_before_loss(stretches: &[Stretch], overview: &Overview) -> f64 {
    let least = i64::from(overview.base_rtt.unwrap_or(0)) * 1000 / 10 * 9;
    let before = stretches.iter().take_while(|stretch| stretch.marks.has(Marks::BEFORE_LOSS));
    let whole = before.filter(|stretch| stretch.lasted() >= least && !queue::is_longer(overview, stretch));
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
    use slowpath_model::Instant;

    /// Stretches of 20 ms, with these bytes delivered in each; a loss after each cycle.
    fn cycles(of: &[&[i64]]) -> Vec<Stretch> {
        let mut at = Instant::START;
        let mut stretches = Vec::new();
        for cycle in of {
            for (nth, delivered) in cycle.iter().enumerate() {
                let mut stretch = Stretch::at(at);
                at = at.plus_nanos(20_000_000);
                stretch.extend(at, Hold::Open);
                (stretch.delivered, stretch.flight_max) = (*delivered, 3 * *delivered as u32);
                if nth == 0 {
                    stretch.marks.set(Marks::RETRANSMITTED);
                }
                stretches.push(stretch);
            }
        }
        stretches
    }

    fn overview(peak_rate: f64, queued: i64) -> Overview {
        Overview { peak_rate, queued, ..Overview::default() }
    }

    /// Cycles of different lengths and heights, with 20,000 bytes a stretch in each: 8 Mbit/s.
    const EMPTIED: [&[i64]; 6] = [
        &[60_000, 90_000],
        &[10_000, 20_000, 30_000],
        &[18_000, 20_000, 22_000],
        &[5_000, 10_000, 25_000, 40_000],
        &[20_000, 20_000, 20_000],
        &[8_000, 20_000, 20_000, 32_000],
    ];

    #[test]
    fn equal_rates_between_losses_are_a_policer() {
        let stretches = cycles(&EMPTIED);
        let found = rate(&stretches, &overview(12e6, 0)).expect("a policer");
        assert!((found / 8e6 - 1.0).abs() < 0.03, "{found}");
    }

    #[test]
    fn full_link_or_queue_is_not_a_policer() {
        let stretches = cycles(&EMPTIED);
        assert_eq!(rate(&stretches, &overview(8.4e6, 0)), None, "never more than that rate");
        let life = 20_000_000 * stretches.len() as i64;
        assert_eq!(rate(&stretches, &overview(12e6, life / 2)), None, "behind a queue");
    }

    #[test]
    fn losses_on_a_link_with_room_are_a_policer_even_without_a_burst() {
        let paused = |pause: u32, times: usize| {
            let of: Vec<&[i64]> = EMPTIED[1..].iter().copied().cycle().take(times).collect();
            let mut stretches = cycles(&of);
            stretches.iter_mut().for_each(|stretch| (stretch.rtt_min, stretch.gap_max) = (20_000, pause));
            rate(&stretches, &overview(8.4e6, 0))
        };
        assert!(paused(12_000, 18).is_some());
        assert_eq!(paused(2_000, 18), None, "as a full link delivers");
        assert_eq!(paused(12_000, 6), None, "few losses");
    }

    #[test]
    fn time_of_a_closed_window_is_none_without_a_queue() {
        let mut stretches = cycles(&EMPTIED);
        let queued = 20_000_000 * stretches.len() as i64 / 4;
        assert!(rate(&stretches, &overview(12e6, queued / 2)).is_some());
        // As long again: a queue stood in a smaller part of all time.
        let last = stretches.last().expect("stretches").to;
        let mut closed = Stretch::at(last);
        closed.extend(last.plus_nanos(last.nanos_since(Instant::START)), Hold::Window);
        stretches.push(closed);
        assert_eq!(rate(&stretches, &overview(12e6, queued)), None);
    }

    #[test]
    fn kept_rate_is_policed_if_more_was_let_through_once() {
        let stretches = cycles(&[&[30_000], &[20_000, 20_000]]);
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
        let chance: [&[i64]; 6] = [
            &[60_000, 90_000],
            &[10_000, 20_000],
            &[12_000, 20_000, 28_000, 36_000, 44_000],
            &[22_000],
            &[10_000, 18_000, 26_000],
            &[12_000, 20_000, 28_000, 36_000, 44_000, 52_000],
        ];
        assert_eq!(rate(&cycles(&chance), &overview(24e6, 0)), None);
    }
}
