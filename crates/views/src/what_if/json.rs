//! The JSON of `slowpath what-if`.

use super::words::{difference, record, refusal};
use crate::kernels::Change;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::{Cause, Limit};
use slowpath_model::{Bytes, End, Rate, nanos};
use slowpath_runs::what_if::{Answer, Predictions};
use slowpath_whatif::scenario::settings;
use slowpath_whatif::{Basis, Control, Known, LossProcess, Predicted, ReceiveBuffer, Refusal, Remedy, Seen};

/// What came of a transfer (schema slowpath/what-if/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/what-if/1")]
pub struct WhatIfDocument {
    /// `slowpath/what-if/1`.
    schema: &'static str,
    /// The flow's number in the capture.
    flow: u32,
    /// The sender's address and port.
    from: String,
    /// The receiver's address and port.
    to: String,
    /// The captured transfer; null if it has too little data.
    captured: Option<Transfer>,
    /// Why nothing is predicted; null if something is.
    refused: Option<WhyRefused>,
    /// The fitted values; empty if refused.
    fitted: Vec<FittedValue>,
    /// Congestion controls that reproduce the capture; empty if refused.
    congestion_controls: Vec<&'static str>,
    /// Whether other controls were tried and do not reproduce it.
    congestion_control_shows: bool,
    /// The simulated transfer that was compared with the captured one; null if refused.
    simulated: Option<Transfer>,
    /// The fitted scenario's settings; empty if refused.
    scenario: Vec<ScenarioSetting>,
    /// The kernel that both hosts have in the fit, which no capture shows; null if refused.
    kernel: Option<&'static str>,
    /// The transfer as it is, with the range of its fit; null if refused.
    unchanged: Option<Prediction>,
    /// The transfer with each remedy and with pairs of them, the best first.
    tried: Vec<Prediction>,
}

/// A transfer, captured or simulated.
#[derive(Serialize, JsonSchema)]
struct Transfer {
    /// Unique payload.
    bytes: u64,
    /// From the first data to the last, and an RTT.
    lasted_ns: u64,
    /// In bit/s.
    rate: u64,
    /// Shortest RTT; null if unknown.
    least_rtt_ns: Option<u64>,
    /// Mean RTT over ACKs; null if unknown.
    mean_rtt_ns: Option<u64>,
    /// The share of segments with data that were retransmitted, 0 to 1.
    retransmitted: f64,
    /// The share of its time by cause, most first.
    causes: Vec<CauseShare>,
}

/// A cause and its share of the time.
#[derive(Serialize, JsonSchema)]
struct CauseShare {
    /// The limit, such as `receive-window`.
    limit: &'static str,
    /// The cause below it, such as `buffer-too-small`.
    cause: &'static str,
    /// 0 to 1.
    share: f64,
}

/// Why nothing is predicted.
#[derive(Serialize, JsonSchema)]
struct WhyRefused {
    /// Its name, such as `not-at-sender`.
    reason: &'static str,
    /// In words.
    text: String,
    /// What to record; null if that would not help.
    record: Option<&'static str>,
    /// What differs between the simulated and the captured transfer, if that is the reason.
    differences: Vec<String>,
}

/// A fitted value.
#[derive(Serialize, JsonSchema)]
struct FittedValue {
    /// What it is, with its unit: `rate_bit_per_s`, `rtt_ns`, `queue_packets`, `loss`, `so_rcvbuf_bytes`.
    name: &'static str,
    /// The value used.
    value: f64,
    /// The least that fits too.
    low: f64,
    /// The most that fits too.
    high: f64,
    /// What it was read from, such as `ack-pace`; `assumed` if it does not show.
    basis: &'static str,
    /// It was adjusted until the simulated transfer showed what the capture shows.
    adjusted: bool,
}

/// A setting of the fitted scenario.
#[derive(Serialize, JsonSchema)]
struct ScenarioSetting {
    /// Its key, as `--set` takes it.
    key: String,
    /// Its value.
    value: String,
}

/// The transfer with remedies.
#[derive(Serialize, JsonSchema)]
struct Prediction {
    /// The remedies, as `--try` takes them.
    remedies: Vec<String>,
    /// The lowest rate of its range, in bit/s.
    low_bit_per_s: u64,
    /// The middle one.
    middle_bit_per_s: u64,
    /// The highest one.
    high_bit_per_s: u64,
    /// The change of the middle rate, as a part of the captured one.
    gain: f64,
    /// Mean RTT; null if unknown.
    mean_rtt_ns: Option<u64>,
    /// What would take most of the time; null if nothing is known.
    next: Option<CauseShare>,
    /// How many simulated runs it rests on.
    runs: u64,
    /// For a change of another kernel, what made it, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<Change>,
}

fn cause_share(limit: Limit, cause: Cause, share: f64) -> CauseShare {
    CauseShare { limit: limit.slug(), cause: cause.slug(), share }
}

impl Transfer {
    fn of(seen: &Seen) -> Self {
        Self {
            bytes: seen.amount.get(),
            lasted_ns: nanos(seen.lasted),
            rate: seen.rate.get(),
            least_rtt_ns: seen.least_rtt.map(nanos),
            mean_rtt_ns: seen.mean_rtt.map(nanos),
            retransmitted: seen.retransmitted,
            causes: seen
                .causes
                .iter()
                .map(|(cause, share)| cause_share(cause.limit(), *cause, *share))
                .collect(),
        }
    }
}

impl WhyRefused {
    fn of(why: &Refusal) -> Self {
        let differences = match why {
            Refusal::Differs(differences) => differences.iter().map(difference).collect(),
            _ => Vec::new(),
        };
        Self { reason: why.slug(), text: refusal(why), record: record(why), differences }
    }
}

impl Prediction {
    fn of(predicted: &Predicted, captured: Rate) -> Self {
        let [low, middle, high] = predicted.rates.map(Rate::get);
        Self {
            remedies: predicted.remedies.iter().map(ToString::to_string).collect(),
            low_bit_per_s: low,
            middle_bit_per_s: middle,
            high_bit_per_s: high,
            gain: predicted.gain(captured),
            mean_rtt_ns: predicted.mean_rtt.map(nanos),
            next: predicted.next.map(|(limit, cause, share)| cause_share(limit, cause, share)),
            runs: predicted.runs as u64,
            changes: match predicted.remedies[..] {
                [Remedy::Changed(changed)] => changed.changes().into_iter().map(Change::of).collect(),
                _ => Vec::new(),
            },
        }
    }
}

/// The fitted values of the model that is used first.
fn fitted(found: &Predictions) -> Vec<FittedValue> {
    fn put<T: Copy>(
        all: &mut Vec<FittedValue>,
        name: &'static str,
        known: &Known<T>,
        number: impl Fn(T) -> f64,
    ) {
        let [value, low, high] = [known.value, known.low, known.high].map(number);
        all.push(FittedValue {
            name,
            value,
            low,
            high,
            basis: known.basis.slug(),
            adjusted: known.is_adjusted,
        });
    }
    let bytes = |amount: Bytes| amount.get() as f64;
    let bits = |rate: Rate| rate.get() as f64;
    let fitted = &found.found.models[0].fitted;
    let mut all = Vec::new();
    put(&mut all, "rate_bit_per_s", &fitted.rate, bits);
    put(&mut all, "rtt_ns", &fitted.rtt, |rtt| nanos(rtt) as f64);
    put(&mut all, "queue_packets", &fitted.queue, f64::from);
    match &fitted.loss {
        LossProcess::None => {}
        LossProcess::Chance(ppm) => put(&mut all, "loss", ppm, |ppm| ppm / 1e6),
        LossProcess::Policer { rate, burst } => {
            put(&mut all, "policer_bit_per_s", rate, bits);
            put(&mut all, "policer_burst_bytes", burst, bytes);
        }
    }
    match &fitted.receive {
        ReceiveBuffer::Fixed { size, .. } => put(&mut all, "so_rcvbuf_bytes", size, bytes),
        ReceiveBuffer::Tuned(most) => put(&mut all, "tcp_rmem_max_bytes", most, bytes),
        ReceiveBuffer::Untuned { size, .. } => put(&mut all, "tcp_rmem_default_bytes", size, bytes),
    }
    if let Some(size) = &fitted.send {
        put(&mut all, "so_sndbuf_bytes", size, bytes);
    }
    put(&mut all, "initial_window_segments", &fitted.initial_window, f64::from);
    all
}

impl WhatIfDocument {
    /// The document of an answer.
    pub fn new(answer: &Answer) -> Self {
        let captured = answer.captured.as_ref();
        let sender = captured.map_or(End::A, |seen| seen.sender);
        let rate = captured.map_or(Rate::bits_per_second(0), |seen| seen.rate);
        let found = answer.result.as_ref().ok();
        let model = found.map(|found| &found.found.models[0]);
        let setting = |key, value| ScenarioSetting { key, value };
        let settings = model.map(|model| settings(&model.fitted, model.control)).unwrap_or_default();
        Self {
            schema: "slowpath/what-if/1",
            flow: answer.flow.0,
            from: answer.key.endpoint(sender).to_string(),
            to: answer.key.endpoint(!sender).to_string(),
            captured: captured.map(Transfer::of),
            refused: answer.result.as_ref().err().map(WhyRefused::of),
            fitted: found.map(fitted).unwrap_or_default(),
            congestion_controls: model
                .map(|model| model.fitted.controls.iter().copied().map(Control::name).collect())
                .unwrap_or_default(),
            congestion_control_shows: model
                .is_some_and(|model| model.fitted.control_basis == Basis::Reproduces),
            simulated: model.map(|model| Transfer::of(&model.simulated)),
            scenario: settings.into_iter().map(|one| setting(one.key.into_owned(), one.value)).collect(),
            kernel: model.map(|model| model.fitted.kernel.name()),
            unchanged: found.and_then(|found| found.unchanged.as_ref()).map(|one| Prediction::of(one, rate)),
            tried: found
                .map(|found| found.tried.iter().map(|one| Prediction::of(one, rate)).collect())
                .unwrap_or_default(),
        }
    }
}
