//! What a plan is predicted to give, in words and as JSON, and what was measured next to it.

use super::gain::{change, percent, reading};
use crate::what_if::{limited_by, refusal, stage};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::Rate;
use slowpath_model::units::range;
use slowpath_runs::planning::{NotPredicted, Told};
use slowpath_runs::what_if::Stage;
use slowpath_tune::gain::{Gain, Measure, ReadingUnit};
use slowpath_tune::journal::Measured;
use slowpath_tune::plan::Prediction;
use slowpath_tune::{Forecast, Plan};

/// A prediction, or why there is none.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TunePrediction")]
pub(super) struct Predicted {
    /// The rate of the captured transfer, in bit/s; null if nothing is predicted.
    now_bit_per_s: Option<u64>,
    /// The lowest rate with the change; null if nothing is predicted.
    low_bit_per_s: Option<u64>,
    /// The highest rate with the change; null if nothing is predicted.
    high_bit_per_s: Option<u64>,
    /// What would take most of the time then; null if that is not known, or nothing is predicted.
    next: Option<NextLimit>,
    /// Why nothing is predicted; null if something is.
    not_predicted: Option<String>,
}

/// What limits a transfer next.
#[derive(Serialize, JsonSchema)]
struct NextLimit {
    /// The limit, such as `path`.
    limit: &'static str,
    /// Its largest cause, such as `bottleneck-full`.
    cause: &'static str,
    /// The limit's share of the time, 0 to 1.
    share: f64,
}

impl Predicted {
    pub(super) fn of(said: &Result<Forecast, String>) -> Self {
        let forecast = said.as_ref().ok();
        let rate = |of: fn(&Forecast) -> Rate| forecast.map(|forecast| of(forecast).get());
        let next = forecast.and_then(Forecast::next);
        Self {
            now_bit_per_s: rate(Forecast::now),
            low_bit_per_s: rate(|forecast| forecast.then()[0]),
            high_bit_per_s: rate(|forecast| forecast.then()[1]),
            next: next.map(|(cause, share)| NextLimit {
                limit: cause.limit().slug(),
                cause: cause.slug(),
                share,
            }),
            not_predicted: said.as_ref().err().cloned(),
        }
    }
}

/// What is going on while a plan is predicted.
pub const PREDICTING: &str = "predicting (--no-predict leaves this out)";

/// What is going on, for a progress bar.
pub fn predicting(at: Stage) -> String {
    format!("{PREDICTING}: {}", stage(at))
}

/// The predictions of a plan, as it keeps them.
pub fn predictions(plan: &Plan, told: &[Told]) -> Vec<Prediction> {
    let of = |told: &Told| {
        let changes = told.changes.iter().map(|place| &plan.changes[*place]);
        let outcome = match &told.result {
            Ok((now, predicted)) => {
                let [low, _, high] = predicted.rates;
                let next = predicted.next.map(|(_, cause, share)| (cause, share));
                Forecast::of(*now, [low, high], next).ok_or_else(|| reason(&NotPredicted::NoRun))
            }
            Err(why) => Err(reason(why)),
        };
        Prediction { changes: Plan::named_in_prediction(changes), outcome }
    };
    told.iter().map(of).collect()
}

/// Why nothing is predicted, without a full stop.
fn reason(why: &NotPredicted) -> String {
    match why {
        NotPredicted::NoPackets => {
            "what `slowpath diagnose --json` prints has no packets to simulate; plan from the capture itself"
                .to_owned()
        }
        NotPredicted::Transfer(why) => refusal(why),
        NotPredicted::NotSimulated => "a simulated transfer does not have this setting".to_owned(),
        NotPredicted::NotTheLimit { shown, allowed } => format!(
            "the capture shows a buffer of {shown}, and this setting allows {allowed} already: something else limits it, such as \
             a program that sets its buffer itself"
        ),
        NotPredicted::OtherEnd => {
            "the capture does not show that the other end would scale its window".to_owned()
        }
        NotPredicted::With(setting) => format!("it has an effect only together with {setting}"),
        NotPredicted::Parts => "not all of its changes are predicted".to_owned(),
        NotPredicted::NoRun => "no simulated transfer came to its end".to_owned(),
    }
}

/// A prediction, or why there is none.
pub(super) fn said_of(said: &Result<Forecast, String>) -> String {
    match said {
        Ok(forecast) => {
            let next = forecast.next().map(|(cause, share)| limited_by((cause.limit(), cause, share)));
            let next = next.map_or_else(String::new, |next| format!("; next limit: {next} of the time"));
            format!("predicted: {}{next}", rates(forecast))
        }
        Err(why) => format!("not predicted: {why}"),
    }
}

fn rates(forecast: &Forecast) -> String {
    let [low, high] = forecast.then();
    format!("{} instead of {}", range(&low, &high), forecast.now())
}

/// A measured gain next to the predicted one, with how far it is off.
pub(super) fn held_against(said: &Result<Forecast, String>, measured: &Measured) -> String {
    let Measured { measure, unit, old, new, gain, .. } = *measured;
    let forecast = match said {
        Ok(forecast) => forecast,
        Err(why) => return format!("Not predicted: {why}."),
    };
    let [low, high] = forecast.gains(measure).map(|gain| change(gain, measure));
    let measured = match unit {
        ReadingUnit::BitsPerSecond => {
            format!(
                "{} instead of {} ({})",
                reading(new, unit),
                reading(old, unit),
                change(gain.estimate, measure)
            )
        }
        ReadingUnit::Seconds | ReadingUnit::Plain => change(gain.estimate, measure),
    };
    let error = forecast.error(measure, gain.estimate);
    let off = match percent(error.abs()) {
        none if none == percent(0.0) => "within the prediction".to_owned(),
        off => format!("{off} {} the prediction", if error > 0.0 { "above" } else { "below" }),
    };
    format!("Predicted {} ({}); measured {measured}: {off}.", rates(forecast), range(&low, &high))
}

/// How far a measured gain lies outside of the predicted ones; `None` without a prediction.
pub(super) fn error(said: Option<&Result<Forecast, String>>, measure: Measure, gain: &Gain) -> Option<f64> {
    Some(said?.as_ref().ok()?.error(measure, gain.estimate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast() -> Result<Forecast, String> {
        Forecast::of(Rate::mbit(84), [410, 440].map(Rate::mbit), None).ok_or_else(String::new)
    }

    fn measured(measure: Measure, unit: ReadingUnit, [old, new]: [f64; 2], estimate: f64) -> Measured {
        let gain = Gain { estimate, lower: None, upper: None };
        Measured { measure, unit, runs: 6, old, new, gain }
    }

    fn held(measure: Measure, unit: ReadingUnit, sides: [f64; 2], estimate: f64) -> String {
        held_against(&forecast(), &measured(measure, unit, sides, estimate))
    }

    #[test]
    fn a_measured_rate_stands_next_to_the_predicted_one() {
        assert_eq!(
            held(Measure::Rate, ReadingUnit::BitsPerSecond, [84e6, 428e6], 428.0 / 84.0 - 1.0),
            "Predicted 410 to 440 Mbit/s instead of 84 Mbit/s (388 % to 424 % more); measured 428 Mbit/s instead of 84 Mbit/s \
             (410 % more): within the prediction."
        );
    }

    #[test]
    fn what_is_outside_of_the_range_is_said_to_be() {
        let text = held(Measure::Rate, ReadingUnit::BitsPerSecond, [84e6, 369e6], 369.0 / 84.0 - 1.0);
        assert!(text.ends_with(": 10 % below the prediction."), "{text}");
        let text = held(Measure::Time, ReadingUnit::Seconds, [10.0, 1.0], 0.9);
        assert!(
            text.contains("(80 % less to 81 % less time); measured 90 % less time: 91 % above"),
            "{text}"
        );
        let none = Err("nobody knows".to_owned());
        let measured = measured(Measure::Time, ReadingUnit::Seconds, [2.0, 1.0], 0.5);
        assert_eq!(held_against(&none, &measured), "Not predicted: nobody knows.");
        assert_eq!(error(Some(&none), Measure::Time, &measured.gain), None);
    }
}
