//! Flow control of the application protocol, where the flow as a whole shows it: each burst begins with a few bytes of
//! the other end, and what is in flight has a ceiling. In a single RTT, in particular far from the sender, the same data
//! may look like a program's or a congestion window's.

use super::context::Context;
use super::send_buffer::is_part_of_a_segment;
use super::stretch::{Hold, Part, Stretch, around};
use super::thresholds;
use crate::cause::Cause;
use crate::flow::ETHERNET_MSS;
use crate::report::Overview;

/// Names it where the flow runs on credit and nothing else is certain.
pub fn take_over(stretches: &[Stretch], overview: &Overview, context: &Context, parts: &mut [Part]) {
    let grown = stretches.get(thresholds::STUCK_AFTER..).unwrap_or_default();
    let exact = exact_ceiling(grown, context.mss);
    let is_likely = exact.is_some() || !context.at_sender;
    let Some(flight) = ceiling(grown).or(exact).filter(|_| is_waited_for(overview, is_likely)) else {
        return;
    };
    if !Turns::of_all(grown, flight).are_on_credit(context.mss, overview.base_rtt.unwrap_or(0)) {
        return;
    }
    for Part { cause, stretch: at, .. } in parts {
        let may_be = match cause {
            Cause::SlowStart => *at >= thresholds::STUCK_AFTER,
            Cause::SenderIdle => stretches[*at].held_most() != Hold::Idle || is_granted(stretches, *at),
            Cause::EarlyExit | Cause::SendBufferFull | Cause::Undetermined | Cause::ThinkTime => true,
            _ => false,
        };
        if may_be && Turns::around(stretches, *at).bursts > 0 {
            *cause = Cause::ProtocolWindow;
        }
    }
}

/// Payload of the other end, and the bursts that it let out.
pub struct Turns {
    bursts: i64,
    /// Bytes that they sent.
    sent: i64,
    /// Bytes of the payload.
    payload: i64,
    /// The most bytes in flight.
    flight: i64,
    /// For how long the other end had everything before its payload came, in nanoseconds.
    idle: i64,
}

impl Turns {
    /// Those of the stretch at `at` and its neighbours: payload may end one stretch, and its burst begin the next.
    pub fn around(stretches: &[Stretch], at: usize) -> Self {
        let near = around(stretches, at, 1);
        Self::of_all(near, near.iter().map(|stretch| stretch.flight_max).max().unwrap_or(0))
    }

    /// Those of many stretches, in which `flight` bytes were in flight.
    fn of_all(stretches: &[Stretch], flight: u32) -> Self {
        let sum = |what: &dyn Fn(&Stretch) -> i64| stretches.iter().map(what).sum::<i64>();
        // A wait may end in one stretch, and its burst be sent in the next.
        let ended = sum(&|stretch| stretch.prompted.into());
        Self {
            bursts: ended.max(sum(&|stretch| stretch.bursts_after_payload.into())),
            sent: sum(&|stretch| stretch.delivered),
            payload: sum(&|stretch| stretch.prompts.into()),
            flight: flight.into(),
            idle: sum(&|stretch| stretch.under(Hold::Idle)),
        }
    }

    /// Whether the payload is credit: a few bytes, which let out much data each time, or a part of what is in flight all the
    /// time. A request is answered by all that is in flight; and a program that has had all for a good part of the RTT answers.
    pub fn are_on_credit(&self, mss: u32, rtt: u32) -> bool {
        let Self { bursts, sent, payload, flight, idle } = *self;
        let grant = i64::from(thresholds::CREDIT_SEGMENTS * mss.min(ETHERNET_MSS));
        let slides =
            flight >= grant && flight.saturating_mul(bursts) >= sent.saturating_mul(thresholds::SLIDING_PART);
        let (part, of) = thresholds::CEILING_SPREAD;
        let alone = flight.saturating_mul(bursts) / i64::from(part) <= sent / i64::from(of);
        let least = if alone { grant.max(thresholds::CREDIT_ALONE_BYTES) } else { grant };
        let bulk = sent >= bursts.saturating_mul(least);
        let answer = i64::from((rtt / thresholds::ANSWER_PART).max(thresholds::ANSWER_LEAST_US)) * 1000;
        let is_answer = alone && idle > bursts.saturating_mul(answer);
        let most = if alone { thresholds::CREDIT_ALONE_MESSAGE } else { thresholds::CREDIT_BYTES };
        // Several may come before the next burst.
        let grants = if alone { bursts } else { bursts.max(sent / grant) };
        bursts > 0 && !is_answer && (bulk || slides) && payload <= grants.saturating_mul(i64::from(most))
    }
}

/// Whether payload of the other end ended nearly all waits; from afar, or where something else shows credit, most of them.
fn is_waited_for(overview: &Overview, is_likely: bool) -> bool {
    let waits = &overview.waits;
    let part = if is_likely { thresholds::GRANTED_MOSTLY } else { thresholds::EXCLUDES };
    waits.prompted >= thresholds::TELLING_GRANTS
        && waits.prompted as f64 >= part * (waits.prompted + waits.clocked) as f64
}

/// Whether payload of the other end, and nothing else, ended the waits of the stretch at `at`.
fn is_granted(stretches: &[Stretch], at: usize) -> bool {
    let stretch = &stretches[at];
    let goes_on = stretches.get(at + 1).is_some_and(|next| next.bursts_after_payload > 0);
    (stretch.prompted > 0 || goes_on) && stretch.dry_free + stretch.dry_clocked == 0
}

/// What is in flight to the byte again and again, though it is no whole number of segments, as a congestion window is: the most that
/// a program may have under way. From afar, more or less seems to be in flight in many RTTs.
fn exact_ceiling(stretches: &[Stretch], mss: u32) -> Option<u32> {
    if stretches.len() < thresholds::CEILING_RTTS {
        return None;
    }
    let mut flights: Vec<u32> = stretches.iter().map(|stretch| stretch.flight_max).collect();
    flights.retain(|flight| is_part_of_a_segment(*flight, mss));
    flights.sort_unstable();
    let most = flights.chunk_by(|one, other| one == other).max_by_key(|alike| alike.len())?;
    let is_often = most.len() >= thresholds::CEILING_RTTS
        && most.len() * thresholds::EXACT_CEILING_PART >= stretches.len();
    is_often.then_some(most[0])
}

/// What is in flight usually, if it hardly ever is more.
fn ceiling(stretches: &[Stretch]) -> Option<u32> {
    let mut flights: Vec<u32> = stretches.iter().map(|stretch| stretch.flight_max).collect();
    flights.sort_unstable();
    let usual = *flights.get(flights.len() / 2)?;
    let most = flights[(flights.len() - 1) * 19 / 20];
    let (part, of) = thresholds::CEILING_SPREAD;
    (most / part <= usual / of).then_some(usual)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::Instant;

    /// Each third RTT has `most` in flight, and the others a segment less, or two.
    fn ceiling_of(most: u32) -> Option<u32> {
        let flight_max = |nth: u32| most - nth % 3 * 1_448 - if nth.is_multiple_of(3) { 0 } else { nth };
        let stretch = |nth| Stretch { flight_max: flight_max(nth), ..Stretch::at(Instant::START) };
        let stretches: Vec<Stretch> = (0..60).map(stretch).collect();
        exact_ceiling(&stretches, 1_448)
    }

    #[test]
    fn what_is_in_flight_to_the_byte_again_and_again_is_a_programs_ceiling() {
        assert_eq!(ceiling_of(103_572), Some(103_572));
        assert_eq!(ceiling_of(72 * 1_448), None, "a congestion window");
    }

    #[test]
    fn several_grants_before_a_burst_may_have_more_bytes_than_one() {
        let turns = |payload| Turns { bursts: 100, sent: 8_000_000, payload, flight: 186_779, idle: 0 };
        assert!(turns(300 * 33).are_on_credit(1_448, 5_000));
        assert!(!turns(8_000_000 / 100).are_on_credit(1_448, 5_000), "data both ways");
    }
}
