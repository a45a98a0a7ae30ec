//! Whether the delays of a stream grow, which means that it exceeds the available bandwidth.
//!
//! The two tests of Jain and Dovrolis, "End-to-End Available Bandwidth: Measurement Methodology, Dynamics, and Relation
//! With TCP Throughput", IEEE/ACM Transactions on Networking 11(4), 2003, section IV-A (their PAM 2002 paper has the
//! tool). Both test the medians of groups of delays, which single late packets do not move.

use super::channel::Passed;
use slowpath_model::statistics::lower_median;

/// Groups of consecutive packets: √K of the paper's streams of K = 100. Here streams are longer, and groups with them:
/// packets that an end delivers together should be a small part of a group.
const GROUPS: usize = 10;
/// Medians that grow, in thousandths of all: above, there is a trend (pathload 1.3's 0.66).
const PCT_GROWS: i64 = 660;
/// Below, there is none (its 0.54).
const PCT_STAYS: i64 = 540;
/// From the first median to the last, in thousandths of the sum of all steps between medians: above, there is a trend
/// (its 0.55).
const PDT_GROWS: i64 = 550;
/// Below, there is none (its 0.45).
const PDT_STAYS: i64 = 450;
/// Growth below a thousandth of the stream's duration does not count: two clocks that are being slewed, by 500 ppm at
/// most (`MAXFREQ`, kernel/time/ntp.c), diverge by that much.
const CLOCKS: i64 = 1000;
/// Nor does growth within the lateness of an end: twice the 50 us of interrupt moderation, which is also roughly the
/// delay on a host with other work. A stream of 20 ms that is a twentieth too fast grows by 1 ms.
const LATE_NS: i64 = 100_000;

/// The trend of a stream's delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trend {
    /// They grew.
    Grows,
    /// They did not grow.
    Stays,
    /// The two tests do not agree, or neither is conclusive.
    Unclear,
}

/// Judges a stream by the packets that arrived; `None` if there are too few.
pub fn of(passed: &Passed) -> Option<Trend> {
    let delays: Vec<i64> = passed.flights.iter().filter_map(super::channel::Flight::delay_ns).collect();
    let sent = || passed.flights.iter().filter_map(|flight| flight.sent_ns);
    let lasted = sent().max()?.saturating_sub(sent().min()?);
    if delays.len() < 2 * GROUPS {
        return None;
    }
    // Clocks may be years apart, which would overflow sums.
    let first = delays[0];
    let delays: Vec<i64> = delays.iter().map(|delay| delay.wrapping_sub(first)).collect();
    let bounds = |n: usize| n * delays.len() / GROUPS;
    let medians: Vec<i64> =
        (0..GROUPS).filter_map(|n| lower_median(&delays[bounds(n)..bounds(n + 1)])).collect();
    Some(judged(&medians, i64::try_from(lasted).unwrap_or(i64::MAX)))
}

fn judged(medians: &[i64], lasted_ns: i64) -> Trend {
    let steps: Vec<i64> = medians.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    let growth = medians[medians.len() - 1].saturating_sub(medians[0]);
    if growth <= (lasted_ns / CLOCKS).max(LATE_NS) {
        return Trend::Stays;
    }
    let growing = steps.iter().filter(|step| **step > 0).count() as i64;
    let pct = growing * 1000 / steps.len() as i64;
    let ways: i128 = steps.iter().map(|step| i128::from(step.unsigned_abs())).sum();
    let pdt = i64::try_from(i128::from(growth) * 1000 / ways.max(1)).unwrap_or(0);
    both(test(pct, PCT_GROWS, PCT_STAYS), test(pdt, PDT_GROWS, PDT_STAYS))
}

fn test(permille: i64, grows: i64, stays: i64) -> Trend {
    match permille {
        _ if permille > grows => Trend::Grows,
        _ if permille < stays => Trend::Stays,
        _ => Trend::Unclear,
    }
}

/// One conclusive test decides, unless the other contradicts it.
fn both(pct: Trend, pdt: Trend) -> Trend {
    match (pct, pdt) {
        (one, other) if one == other => one,
        (one, Trend::Unclear) | (Trend::Unclear, one) => one,
        _ => Trend::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::super::channel::Flight;
    use super::*;

    const US: i64 = 1000;

    /// A stream of one packet every 10 us with these delays, in nanoseconds, by clocks that are far apart.
    fn stream(delays: impl Iterator<Item = i64>) -> Passed {
        let flights = (0..).zip(delays).map(|(n, delay)| {
            let sent = 5_000_000_000 + n * 10_000_u64;
            Flight {
                sent_ns: Some(sent),
                arrived_ns: Some(sent.wrapping_add_signed(delay).wrapping_sub(1 << 62)),
            }
        });
        Passed { flights: flights.collect(), ..Passed::default() }
    }

    #[test]
    fn growing_delays_are_seen_despite_coalescing() {
        // 5 % too fast: 500 ns a packet, visible only at the end of each 50 us.
        let waits = |n: i64| {
            let at = n * (10 * US + 500);
            at.div_euclid(50 * US) * 50 * US + 50 * US - at
        };
        assert_eq!(of(&stream((0..1000).map(|n| n * 500 + waits(n)))), Some(Trend::Grows));
        assert_eq!(of(&stream((0..1000).map(waits))), Some(Trend::Stays));
    }

    #[test]
    fn single_delay_spike_and_clock_drift_are_not_a_trend() {
        let late = |n: i64| if (300..340).contains(&n) { (340 - n) * 10 * US } else { 0 };
        assert_eq!(of(&stream((0..1000).map(late))), Some(Trend::Stays));
        // 500 ppm.
        assert_eq!(of(&stream((0..1000).map(|n| n * 5))), Some(Trend::Stays));
        assert_eq!(of(&stream((0..1000).map(|n| -n * 500))), Some(Trend::Stays));
    }

    #[test]
    fn too_few_packets_give_no_trend() {
        assert_eq!(of(&stream(0..19)), None);
        assert_eq!(of(&Passed::default()), None);
    }

    #[test]
    fn pct_and_pdt_must_not_contradict() {
        use Trend::{Grows, Stays, Unclear};
        assert_eq!(both(Grows, Unclear), Grows);
        assert_eq!(both(Unclear, Stays), Stays);
        assert_eq!(both(Grows, Stays), Unclear);
        assert_eq!(both(Unclear, Unclear), Unclear);
    }
}
