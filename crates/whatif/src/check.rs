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

/// ... and by this share where slow start begins again with each response: HyStart ends it by delays of microseconds
/// (`hystart_update`, 6.18), so that one response in some is slower by an RTT.
pub const LIMIT_OF_REQUESTS: f64 = 0.10;

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

/// A window that stays far below what the path holds comes back in a few parts, and how it is divided over its RTT is chance: a
/// packet late by some microseconds divides it otherwise. A part without a pause of a quarter of an RTT next to it
/// (`trace::PAUSE_PART`) has at most this many times the pace of the transfer. Such trains show that window, not the path.
const OWN_PACE: f64 = 2.0;

/// A path has to be this many times quicker than such trains, or they may be the path's own.
const FAR_QUICKER: f64 = 2.0;

/// From this share of the time on, buffers bound the window.
const BY_BUFFER: f64 = 0.5;

/// Up to this pace, trains show a transfer's own window, in bits of payload per second; 0 if any may show the path.
fn own_pace(seen: &Seen) -> f64 {
    let own = OWN_PACE * seen.rate.get() as f64;
    let is_far =
        seen.pace.as_ref().and_then(|pace| pace.quickest).is_some_and(|pace| pace > FAR_QUICKER * own);
    let by_buffer = seen.of_limit(Limit::ReceiveWindow) + seen.of_limit(Limit::SendBuffer);
    if is_far && by_buffer >= BY_BUFFER { own } else { 0.0 }
}

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
    let paces = captured.pace.as_ref().zip(simulated.pace.as_ref());
    let off = paces.map(|(a, b)| a.distance(b, own_pace(captured)));
    if let Some(off) = off.filter(|off| *off > PACE) {
        found.push(Difference::Pace { off });
    }
    let tolerated = if captured.requests.is_some() { LIMIT_OF_REQUESTS } else { LIMIT };
    for limit in Limit::ALL {
        let (a, b) = (captured.of_limit(limit), simulated.of_limit(limit));
        if (a - b).abs() > tolerated {
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
