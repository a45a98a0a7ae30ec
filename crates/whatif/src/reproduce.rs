//! The fit, adjusted within its ranges and checked, for each congestion control.
//!
//! Some values cannot be read from a capture directly: a buffer shows by the window or the flight that it allows, a queue by
//! its delay. They are adjusted until the simulated transfer shows the captured window, flight or delay. Nothing is adjusted
//! to make the rate fit, but the rate of a bottleneck that was full, within the range that its ACKs allow.

use crate::check::{RETRANSMITTED_LEAST, differences, rate_off};
use crate::fitted::{Basis, Control, Fitted, Known, LossProcess, ReceiveBuffer};
use crate::loss::by_chance;
use crate::refusal::{Difference, Refusal};
use crate::scenario::{replay, scenario, settings};
use crate::seen::Seen;
use crate::simulate::simulate;
use crate::trace::Loss;
use slowpath_analyses::{Cause, Limit};
use slowpath_model::{Bytes, Rate};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Rounds of adjustment: each value is proportional to what it shows, so that two suffice, and a third confirms.
const ROUNDS: usize = 4;

/// What a send buffer holds changes in steps of a write, so that its size takes more rounds.
const BUFFER_ROUNDS: usize = 8;

/// A transfer of more segments is adjusted once: a run of it takes a second.
const LONG: u64 = 500_000;

/// A value that shows within this part of the captured one is not adjusted.
const CLOSE: f64 = 0.01;

/// The seed of the runs that are compared with the capture. With replayed losses, nothing is random but the hosts' clocks.
pub const FIRST_SEED: u64 = 1;

/// Seeds with which losses by chance are drawn, to compare the capture's rate with theirs.
const CHANCE_SEEDS: u64 = 8;

/// A fit that reproduces the capture, with one congestion control.
#[derive(Clone, Debug)]
pub struct Model {
    /// The congestion control.
    pub control: Control,
    /// The adjusted fit.
    pub fitted: Fitted,
    /// The simulated transfer that was compared with the capture.
    pub simulated: Seen,
    /// By how much its rate differs, as a part.
    pub off: f64,
}

/// What reproduces a capture.
#[derive(Clone, Debug)]
pub struct Reproduced {
    /// At least one; the one to use first.
    pub models: Vec<Model>,
}

/// Adjusts and checks a fit with one congestion control: the model, or what differs.
///
/// # Errors
///
/// If it was interrupted, or the fit is not a scenario.
pub fn with_control(
    captured: &Seen,
    fitted: &Fitted,
    control: Control,
    stop: &AtomicBool,
) -> Result<Result<Model, Vec<Difference>>, Refusal> {
    let losses = by_chance(captured, fitted.rate.value, fitted.mtu, fitted.rtt.value);
    let (fitted, simulated) = adjusted(captured, fitted, control, &losses, stop)?;
    let mut differences = differences(captured, &simulated);
    if differences.is_empty() {
        differences.extend(by_seeds(captured, &fitted, control, stop)?);
    }
    let off = rate_off(captured, &simulated);
    let model = Model { control, fitted, simulated, off };
    Ok(if differences.is_empty() { Ok(model) } else { Err(differences) })
}

/// The models of all controls that were tried, in their order.
///
/// # Errors
///
/// What differs with the closest control, if none reproduces the capture.
pub fn together(tried: Vec<Result<Model, Vec<Difference>>>) -> Result<Reproduced, Refusal> {
    let closest =
        tried.iter().filter_map(|one| one.as_ref().err()).min_by_key(|differences| differences.len());
    let refusal = Refusal::Differs(closest.cloned().unwrap_or_default());
    let mut models: Vec<Model> = tried.into_iter().flatten().collect();
    if models.is_empty() {
        return Err(refusal);
    }
    // Of each control's models, the one that is closest comes first.
    models.sort_by(|a, b| a.control.cmp(&b.control).then(a.off.total_cmp(&b.off)));
    let mut controls: Vec<Control> = models.iter().map(|model| model.control).collect();
    controls.dedup();
    let basis = if controls.len() < Control::ALL.len() { Basis::Reproduces } else { Basis::Assumed };
    for model in &mut models {
        model.fitted.controls.clone_from(&controls);
        model.fitted.control_basis = basis;
    }
    Ok(Reproduced { models })
}

/// A run that replays the captured losses.
fn run(fitted: &Fitted, control: Control, losses: &[Loss], stop: &AtomicBool) -> Result<Seen, Refusal> {
    let mut scenario = scenario(&settings(fitted, control), FIRST_SEED).map_err(Refusal::NoScenario)?;
    if matches!(fitted.loss, LossProcess::Chance(_)) {
        replay(&mut scenario, losses);
    }
    simulate(&scenario, stop).ok_or(Refusal::Interrupted)
}

fn adjusted(
    captured: &Seen,
    fitted: &Fitted,
    control: Control,
    losses: &[Loss],
    stop: &AtomicBool,
) -> Result<(Fitted, Seen), Refusal> {
    let mut fitted = fitted.clone();
    let mut simulated = run(&fitted, control, losses, stop)?;
    let mut best = (distance(captured, &simulated), fitted.clone(), simulated.clone());
    let rounds = match () {
        () if captured.segments > LONG => 1,
        () if fitted.send.is_some() => BUFFER_ROUNDS,
        () => ROUNDS,
    };
    for _ in 0..rounds {
        let before = fitted.clone();
        adjust(&mut fitted, captured, &simulated);
        if fitted == before {
            break;
        }
        simulated = run(&fitted, control, losses, stop)?;
        let now = distance(captured, &simulated);
        if now < best.0 {
            best = (now, fitted.clone(), simulated.clone());
        }
    }
    Ok((best.1, best.2))
}

/// How far a run is from the capture: what differs beyond its tolerance, then the rate.
fn distance(captured: &Seen, simulated: &Seen) -> (usize, f64) {
    (differences(captured, simulated).len(), rate_off(captured, simulated))
}

/// The factor by which a value has to change; `None` if it is close enough.
fn factor(captured: f64, simulated: f64) -> Option<f64> {
    let factor = captured / simulated;
    (factor.is_finite() && factor > 0.0 && (factor - 1.0).abs() > CLOSE).then_some(factor.clamp(0.25, 4.0))
}

fn scale_bytes(known: &mut Known<Bytes>, factor: f64) {
    known.value = Bytes::new((known.value.get() as f64 * factor) as u64);
    (known.low, known.high) = (known.low.min(known.value), known.high.max(known.value));
    known.is_adjusted = true;
}

fn adjust(fitted: &mut Fitted, captured: &Seen, simulated: &Seen) {
    adjust_rtt(fitted, captured, simulated);
    adjust_window(fitted, captured, simulated);
    adjust_requests(fitted, captured, simulated);
    if let Some(size) = &mut fitted.send
        && let Some(factor) = factor(captured.mean_flight.get() as f64, simulated.mean_flight.get() as f64)
    {
        scale_bytes(size, factor);
    }
    adjust_queue(fitted, captured, simulated);
    if let LossProcess::Policer { burst, .. } = &mut fitted.loss
        && let Some(factor) = factor(simulated.retransmitted, captured.retransmitted)
    {
        // The larger the bucket, the later slow start runs into the rate, and with fewer packets.
        scale_bytes(burst, factor);
    }
    let was_full =
        captured.of_limit(Limit::Path) > 0.5 && !matches!(fitted.loss, LossProcess::Policer { .. });
    if was_full && let Some(factor) = factor(captured.rate.get() as f64, simulated.rate.get() as f64) {
        let rate = Rate::bits_per_second((fitted.rate.value.get() as f64 * factor) as u64);
        fitted.rate.value = rate.clamp(fitted.rate.low, fitted.rate.high);
        fitted.rate.is_adjusted = true;
    }
}

fn adjust_rtt(fitted: &mut Fitted, captured: &Seen, simulated: &Seen) {
    let (Some(a), Some(b)) = (captured.least_rtt, simulated.least_rtt) else { return };
    if factor(a.as_secs_f64(), b.as_secs_f64()).is_some() {
        let rtt = (fitted.rtt.value + a).saturating_sub(b);
        fitted.rtt.is_adjusted |= rtt != fitted.rtt.value;
        fitted.rtt.value = rtt;
        fitted.rtt.low = fitted.rtt.low.min(rtt);
    }
}

/// A client may wait from the last of a response on, whose ACK comes later.
fn adjust_requests(fitted: &mut Fitted, captured: &Seen, simulated: &Seen) {
    if let (Some(requests), Some(a), Some(b)) = (&mut fitted.requests, captured.requests, simulated.requests)
        && factor(a.client_time.as_secs_f64(), b.client_time.as_secs_f64()).is_some()
    {
        requests.client_time = (requests.client_time + a.client_time).saturating_sub(b.client_time);
    }
}

fn adjust_window(fitted: &mut Fitted, captured: &Seen, simulated: &Seen) {
    let (Some((largest, first)), Some((now, now_first))) = (captured.window, simulated.window) else {
        return;
    };
    let factor_of = |a: Bytes, b: Bytes| factor(a.get() as f64, b.get() as f64);
    match &mut fitted.receive {
        ReceiveBuffer::Fixed { size, least } => {
            if let Some(factor) = factor_of(largest, now) {
                scale_bytes(size, factor);
                // A smaller one would have had another window scale.
                size.value = size.value.max(*least);
            }
        }
        ReceiveBuffer::Tuned(most) if matches!(most.basis, Basis::LargestWindow { .. }) => {
            if let Some(factor) = factor_of(largest, now) {
                scale_bytes(most, factor);
            }
        }
        ReceiveBuffer::Untuned { size, .. } => {
            if let Some(factor) = factor_of(largest, now) {
                scale_bytes(size, factor);
            }
        }
        ReceiveBuffer::Tuned(_) => {}
    }
    if captured.of_cause(Cause::AutotuningLag) > 0.0
        && matches!(fitted.first_buffer.basis, Basis::LargestWindow { .. })
        && let Some(factor) = factor_of(first, now_first)
    {
        scale_bytes(&mut fitted.first_buffer, factor);
    }
}

fn adjust_queue(fitted: &mut Fitted, captured: &Seen, simulated: &Seen) {
    if !matches!(fitted.queue.basis, Basis::DelayAtLoss { .. }) {
        // It was never full, so it is longer than one that overflows.
        if simulated.retransmitted > captured.retransmitted + RETRANSMITTED_LEAST {
            fitted.queue.value = fitted.queue.value.saturating_mul(2);
            fitted.queue.high = fitted.queue.high.max(fitted.queue.value);
            fitted.queue.is_adjusted = true;
        }
        return;
    }
    let delay = |seen: &Seen| {
        let (longest, least) = (seen.longest_rtt?, seen.least_rtt?);
        Some(longest.saturating_sub(least)).filter(|delay| *delay > Duration::ZERO)
    };
    let (Some(a), Some(b)) = (delay(captured), delay(simulated)) else { return };
    if let Some(factor) = factor(a.as_secs_f64(), b.as_secs_f64()) {
        let queue = (f64::from(fitted.queue.value) * factor).round().max(1.0) as u32;
        fitted.queue.is_adjusted |= queue != fitted.queue.value;
        fitted.queue.value = queue;
        fitted.queue.low = fitted.queue.low.min(queue);
        fitted.queue.high = fitted.queue.high.max(queue);
    }
}

/// With losses drawn by chance, the capture's rate has to be among those of the seeds.
fn by_seeds(
    captured: &Seen,
    fitted: &Fitted,
    control: Control,
    stop: &AtomicBool,
) -> Result<Option<Difference>, Refusal> {
    if !matches!(fitted.loss, LossProcess::Chance(_)) {
        return Ok(None);
    }
    let mut rates = Vec::new();
    for seed in FIRST_SEED..FIRST_SEED + CHANCE_SEEDS {
        let scenario = scenario(&settings(fitted, control), seed).map_err(Refusal::NoScenario)?;
        rates.push(simulate(&scenario, stop).ok_or(Refusal::Interrupted)?.rate);
    }
    let (low, high) = (rates.iter().min().copied(), rates.iter().max().copied());
    let (Some(low), Some(high)) = (low, high) else { return Ok(None) };
    let rate = captured.rate.get() as f64;
    let is_among = rate >= low.get() as f64 * (1.0 - crate::check::RATE)
        && rate <= high.get() as f64 * (1.0 + crate::check::RATE);
    Ok((!is_among).then_some(Difference::Chance { captured: captured.rate, low, high }))
}
