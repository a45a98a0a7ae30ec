//! Whether a simulated transfer is the captured one.

use crate::refusal::Difference;
use crate::seen::Seen;
use slowpath_analyses::Limit;
use std::time::Duration;

/// The rate may differ by this part: what a transfer's own rate differs by from one run to the next on a quiet path.
pub const RATE: f64 = 0.05;

/// The time under a limit may differ by this share of the transfer: what the analyses themselves are off by on captures with
/// a known truth (`xtask/tests/score.rs`).
pub const LIMIT: f64 = 0.05;

/// The mean RTT may differ by this part ...
pub const MEAN_RTT: f64 = 0.10;

/// ... or by this much, which a host's timers and interrupts add.
pub const MEAN_RTT_LEAST: Duration = Duration::from_millis(1);

/// The share of retransmitted segments may differ by half of itself: one loss more in slow start makes tens of them ...
pub const RETRANSMITTED_PART: f64 = 0.5;

/// ... or by this share.
pub const RETRANSMITTED_LEAST: f64 = 0.005;

/// SACK blocks may differ by half, as retransmissions may ...
pub const SACKED_PART: f64 = 0.5;

/// ... or by this part of the segments. Reordering causes SACK blocks that no loss explains.
pub const SACKED_LEAST: f64 = 0.01;

/// The pace of ACKs may differ by this factor, less 1, on average: half the rate or twice is far from it.
pub const PACE: f64 = 0.25;

/// What differs by more than its tolerance.
pub fn differences(captured: &Seen, simulated: &Seen) -> Vec<Difference> {
    let mut found = Vec::new();
    if rate_off(captured, simulated) > RATE {
        found.push(Difference::Rate { captured: captured.rate, simulated: simulated.rate });
    }
    if let (Some(a), Some(b)) = (captured.mean_rtt, simulated.mean_rtt) {
        let off = a.abs_diff(b);
        if off > MEAN_RTT_LEAST && off.as_secs_f64() > MEAN_RTT * a.as_secs_f64() {
            found.push(Difference::MeanRtt { captured: a, simulated: b });
        }
    }
    let (a, b) = (captured.retransmitted, simulated.retransmitted);
    if (a - b).abs() > RETRANSMITTED_LEAST.max(RETRANSMITTED_PART * a) {
        found.push(Difference::Retransmitted { captured: a, simulated: b });
    }
    let (a, b) = (captured.sacked as f64, simulated.sacked as f64);
    if (a - b).abs() > (SACKED_LEAST * captured.segments as f64).max(SACKED_PART * a) {
        found.push(Difference::Sacked { captured: captured.sacked, simulated: simulated.sacked });
    }
    if let Some(off) =
        captured.pace.zip(simulated.pace).map(|(a, b)| a.distance(&b)).filter(|off| *off > PACE)
    {
        found.push(Difference::Pace { off });
    }
    for limit in Limit::ALL {
        let (a, b) = (captured.of_limit(limit), simulated.of_limit(limit));
        if (a - b).abs() > LIMIT {
            found.push(Difference::Limit { limit, captured: a, simulated: b });
        }
    }
    found
}

/// By how much the rates differ, as a part of the captured one.
pub fn rate_off(captured: &Seen, simulated: &Seen) -> f64 {
    let [a, b] = [captured, simulated].map(|seen| seen.rate.get() as f64);
    (a - b).abs() / a.max(1.0)
}
