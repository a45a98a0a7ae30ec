//! What a plan is predicted to give: rates of the captured transfer, simulated with the plan's changes.
//!
//! A prediction names the changes that it is about, with their new values. So one that was made before somebody edited the plan
//! is not taken for one of the plan as it is now.

use super::{Plan, Planned};
use crate::gain::Measure;
use serde::{Deserialize, Serialize};
use slowpath_analyses::Cause;
use slowpath_model::Rate;
use slowpath_model::units::range;

/// What is predicted of one change of a plan, or of all together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// The changes: `sysctl net.ipv4.tcp_sack = 1`, several with semicolons.
    pub changes: String,
    /// The prediction, or why there is none.
    pub outcome: Result<Forecast, String>,
}

/// A predicted rate, each number to three figures, as a plan has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Text", into = "Text")]
pub struct Forecast {
    now: Rate,
    low: Rate,
    high: Rate,
    next: Option<(Cause, u8)>,
}

/// A prediction as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Text {
    /// `14.2 Mbit/s`
    pub(super) now: String,
    /// `44.1 to 47.3 Mbit/s`
    pub(super) then: String,
    /// `path/bottleneck-full, 83 %`; empty if it is not known.
    pub(super) limit: String,
}

/// A text of a prediction that cannot be read: its key in a plan, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {why}")]
pub(super) struct BadText {
    pub(super) key: &'static str,
    pub(super) why: String,
}

/// The keys of the texts in a plan.
pub(super) const NOW: &str = "rate-now";
pub(super) const THEN: &str = "rate-then";
pub(super) const LIMIT: &str = "limit-then";
/// The key of the reason, where there is no prediction.
pub(super) const NOT: &str = "not-predicted";

impl Forecast {
    /// A prediction: the captured rate, the lowest and the highest predicted one, and the cause that takes most of the time then,
    /// with its limit's share of it. `None` if a rate is zero, or the lowest is above the highest.
    pub fn of(now: Rate, [low, high]: [Rate; 2], next: Option<(Cause, f64)>) -> Option<Self> {
        let [now, low, high] = [now, low, high].map(|rate| rate.to_string().parse().unwrap_or(rate));
        let next = next.map(|(cause, share)| (cause, (share * 100.0).round().clamp(0.0, 100.0) as u8));
        (now.get() > 0 && low.get() > 0 && low <= high).then_some(Self { now, low, high, next })
    }

    /// The rate of the captured transfer.
    pub const fn now(&self) -> Rate {
        self.now
    }

    /// The lowest and the highest predicted rate.
    pub const fn then(&self) -> [Rate; 2] {
        [self.low, self.high]
    }

    /// The cause that takes most of the time then, and its limit's share of it, 0 to 1.
    pub fn next(&self) -> Option<(Cause, f64)> {
        self.next.map(|(cause, percent)| (cause, f64::from(percent) / 100.0))
    }

    /// The predicted gain, from the lowest to the highest: the share of rate gained, or of time saved.
    pub fn gains(&self, measure: Measure) -> [f64; 2] {
        self.factors().map(|factor| measure.of_factor(factor))
    }

    /// The lowest and the highest predicted rate, as factors of the captured one.
    fn factors(&self) -> [f64; 2] {
        self.then().map(|rate| rate.get() as f64 / self.now.get() as f64)
    }

    /// How far a measured gain lies outside of the predicted ones, as a share of the nearer one's rate: 0 within them, negative
    /// below.
    pub fn error(&self, measure: Measure, gain: f64) -> f64 {
        let [low, high] = self.factors();
        let measured = measure.factor(gain);
        if measured < low {
            measured / low - 1.0
        } else if measured > high {
            measured / high - 1.0
        } else {
            0.0
        }
    }

    pub(super) fn text(&self) -> Text {
        let limit = self.next.map_or_else(String::new, |(cause, percent)| format!("{cause}, {percent} %"));
        Text { now: self.now.to_string(), then: range(&self.low, &self.high), limit }
    }

    pub(super) fn parse(text: &Text) -> Result<Self, BadText> {
        let bad = |key, why: String| BadText { key, why };
        let no_rate = |key| move |error: slowpath_model::units::UnitError| bad(key, error.to_string());
        let now: Rate = text.now.parse().map_err(no_rate(NOW))?;
        let (low, high) = text.then.split_once(" to ").unwrap_or((&text.then, &text.then));
        let high: Rate = high.parse().map_err(no_rate(THEN))?;
        // The unit is written once where both have it.
        let low = match text.then.rsplit_once(' ') {
            Some((_, unit)) if !low.contains(' ') => format!("{low} {unit}"),
            _ => low.to_owned(),
        };
        let low: Rate = low.parse().map_err(no_rate(THEN))?;
        let next = (!text.limit.is_empty()).then(|| limit(&text.limit)).transpose()?;
        let next = next.map(|(cause, percent)| (cause, f64::from(percent) / 100.0));
        let order = || bad(THEN, "write two rates above zero, the lower one first".to_owned());
        if now.get() == 0 {
            return Err(bad(NOW, "write a rate above zero".to_owned()));
        }
        Self::of(now, [low, high], next).ok_or_else(order)
    }
}

/// A cause and its share in percent.
fn limit(text: &str) -> Result<(Cause, u8), BadText> {
    let why = || format!("\"{text}\" is not a cause and its share, such as path/bottleneck-full, 83 %");
    let bad = || BadText { key: LIMIT, why: why() };
    let (name, share) = text.split_once(", ").ok_or_else(bad)?;
    let cause = Cause::named(name).ok_or_else(bad)?;
    let percent = share.strip_suffix(" %").and_then(|number| number.parse().ok());
    Ok((cause, percent.filter(|percent| *percent <= 100).ok_or_else(bad)?))
}

impl TryFrom<Text> for Forecast {
    type Error = String;

    fn try_from(text: Text) -> Result<Self, String> {
        Self::parse(&text).map_err(|error| error.to_string())
    }
}

impl From<Forecast> for Text {
    fn from(forecast: Forecast) -> Self {
        forecast.text()
    }
}

impl Plan {
    /// Changes as a prediction names them.
    pub fn named_in_prediction<'a>(changes: impl IntoIterator<Item = &'a Planned>) -> String {
        let name = |planned: &Planned| format!("{} = {}", planned.setting, planned.then);
        let mut names: Vec<String> = changes.into_iter().map(name).collect();
        names.sort();
        names.join("; ")
    }

    /// What is predicted of one change; `None` if nothing is said about it as it is now.
    pub fn predicted_of(&self, planned: &Planned) -> Option<&Result<Forecast, String>> {
        self.predicted_as(&Self::named_in_prediction([planned]))
    }

    /// What is predicted of the whole plan; `None` if it has no predictions. A plan that was edited since has none of itself.
    pub fn predicted(&self) -> Option<Result<Forecast, String>> {
        let edited = || Err("the plan was edited since its prediction; make it again".to_owned());
        let whole = self.predicted_as(&Self::named_in_prediction(&self.changes)).cloned();
        (!self.predictions.is_empty()).then(|| whole.unwrap_or_else(edited))
    }

    fn predicted_as(&self, changes: &str) -> Option<&Result<Forecast, String>> {
        let found = self.predictions.iter().find(|prediction| prediction.changes == changes);
        found.map(|prediction| &prediction.outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast() -> Forecast {
        let rates = [44_140_000, 47_260_000].map(Rate::bits_per_second);
        Forecast::of(Rate::bits_per_second(14_199_999), rates, Some((Cause::SlowStart, 0.6249)))
            .expect("rates")
    }

    fn text(now: &str, then: &str, limit: &str) -> Text {
        let [now, then, limit] = [now, then, limit].map(str::to_owned);
        Text { now, then, limit }
    }

    #[test]
    fn rates_have_three_figures_and_their_unit_once() {
        let written = text("14.2 Mbit/s", "44.1 to 47.3 Mbit/s", "congestion-window/slow-start, 62 %");
        assert_eq!(forecast().text(), written);
        assert_eq!(Forecast::parse(&written), Ok(forecast()));
        let two = text("1 Gbit/s", "900 Mbit/s to 1.1 Gbit/s", "");
        assert_eq!(Forecast::parse(&two).expect("rates").text(), two);
        let one = text("1 Gbit/s", "1.1 Gbit/s", "");
        assert_eq!(Forecast::parse(&one).expect("rates").text(), one);
    }

    #[test]
    fn what_is_no_prediction_names_its_key() {
        for (now, then, limit, says) in [
            ("14", "1 to 2 Mbit/s", "", "rate-now: \"14\" is not a rate"),
            ("0 bit/s", "1 to 2 Mbit/s", "", "rate-now: write a rate above zero"),
            ("1 Mbit/s", "2 to 1 Mbit/s", "", "rate-then: write two rates above zero, the lower one first"),
            ("1 Mbit/s", "0 to 1 Mbit/s", "", "rate-then: write two rates above zero"),
            ("1 Mbit/s", "fast", "", "rate-then: \"fast\" is not a rate"),
            ("1 Mbit/s", "1 to 2 to 3 Mbit/s", "", "rate-then: "),
            ("1 Mbit/s", "1 to 1e30 Tbit/s", "", "rate-then: "),
            ("1 Mbit/s", "NaN to 2 Mbit/s", "", "rate-then: "),
            ("1 Mbit/s", "1 to 2 Mbit/s", "luck, 3 %", "limit-then: \"luck, 3 %\" is not a cause"),
            ("1 Mbit/s", "1 to 2 Mbit/s", "path/bottleneck-full, 101 %", "limit-then: "),
            ("1 Mbit/s", "1 to 2 Mbit/s", "path/bottleneck-full", "limit-then: "),
        ] {
            let error = Forecast::parse(&text(now, then, limit)).expect_err(says).to_string();
            assert!(error.starts_with(says), "{error}");
        }
    }

    #[test]
    fn the_error_is_how_far_a_gain_lies_outside_of_the_range() {
        let rates = [20, 25].map(Rate::mbit);
        let forecast = Forecast::of(Rate::mbit(10), rates, None).expect("rates");
        let error = |measure, gain| (forecast.error(measure, gain) * 1000.0).round() / 1000.0;
        assert_eq!(forecast.gains(Measure::Rate), [1.0, 1.5]);
        assert_eq!(
            [1.0, 1.2, 1.5, 0.8, 2.0].map(|gain| error(Measure::Rate, gain)),
            [0.0, 0.0, 0.0, -0.1, 0.2]
        );
        // Half the time is twice the rate.
        let saved = forecast.gains(Measure::Time).map(|share| (share * 1000.0).round());
        assert_eq!(saved, [500.0, 600.0]);
        assert_eq!([0.5, 0.55, 0.0].map(|gain| error(Measure::Time, gain)), [0.0, 0.0, -0.5]);
    }
}
