//! Whether a change helped by more than the noise: measurements with the old and the new values, taken in turn.
//!
//! One measurement of each side is a pair, and a pair is judged by the logarithm of its ratio: pairs are close in time, so a
//! drift of the machine or the path is nearly the same for both sides. The test is Wilcoxon's signed-rank test with its exact
//! distribution. It assumes only that a change without effect makes either side of a pair better equally often and equally far,
//! and that is so where chance decides which side of a pair is measured first, whatever the noise and the drift. The estimate and the interval belong to the test: the median of all means of two pairs, and
//! the range of effects that the test does not reject.
//!
//! Pure: measurements in, verdict out.
//!
//! References: Wilcoxon, Individual comparisons by ranking methods, Biometrics Bulletin 1 (1945); Hodges and Lehmann,
//! Estimates of location based on rank tests (1963); Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd
//! edition, 3.1 (test, table A.4), 3.2 (estimate), 3.3 (interval, after Tukey).

use serde::{Deserialize, Serialize};
use slowpath_model::statistics::median;

/// The chance that is left on each side of the interval: a change that does nothing is kept at most once in 40 times.
const LEFT_OUT: f64 = 0.025;
/// The confidence of the interval.
pub const CONFIDENCE: f64 = 1.0 - 2.0 * LEFT_OUT;
/// The fewest pairs that can decide: six of six in favour have a chance of 1/64, five of five of 1/32.
pub const FEWEST_PAIRS: u32 = 6;
/// The most pairs: their means of two are all computed.
pub const MOST_PAIRS: u32 = 200;

/// The unit of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadingUnit {
    /// Seconds.
    Seconds,
    /// bit/s.
    BitsPerSecond,
    /// A number without a unit, of which more is better.
    Plain,
}

/// How a measurement is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// A time: less is better.
    Time,
    /// A rate: more is better.
    Rate,
}

/// By how much a change helped, as a share of the old value: of time saved, or of rate gained. Below zero it harmed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gain {
    /// The estimate.
    pub estimate: f64,
    /// The lower end of the interval; `None` with fewer than [`FEWEST_PAIRS`].
    pub lower: Option<f64>,
    /// Its upper end.
    pub upper: Option<f64>,
}

/// What the measurements say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It helped by more than the noise, and by as much as was asked for.
    Helped,
    /// It helped less than was asked for, or not at all.
    TooLittle,
    /// It made things worse by more than the noise.
    Harmed,
    /// The noise is larger than the effect.
    CannotTell,
}

impl Measure {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Time, Self::Rate];

    /// Its name, in JSON and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Rate => "rate",
        }
    }

    /// The share that a logarithm of a ratio (better over worse) stands for.
    fn share(self, log: f64) -> f64 {
        match self {
            Self::Time => 1.0 - (-log).exp(),
            Self::Rate => log.exp() - 1.0,
        }
    }

    /// The gain of a rate that is higher by this factor.
    pub fn of_factor(self, factor: f64) -> f64 {
        self.share(factor.ln())
    }

    /// The factor by which the rate is higher with this gain.
    pub fn factor(self, gain: f64) -> f64 {
        match self {
            Self::Time => 1.0 / (1.0 - gain),
            Self::Rate => 1.0 + gain,
        }
    }
}

impl Gain {
    /// The gain of pairs of positive measurements, the old one first; `None` without pairs.
    pub fn of(measure: Measure, pairs: &[(f64, f64)]) -> Option<Self> {
        let logs: Vec<f64> = pairs
            .iter()
            .map(|(old, new)| match measure {
                Measure::Time => (old / new).ln(),
                Measure::Rate => (new / old).ln(),
            })
            .collect();
        let mut means: Vec<f64> = Vec::with_capacity(logs.len() * (logs.len() + 1) / 2);
        for (at, one) in logs.iter().enumerate() {
            means.extend(logs[..=at].iter().map(|other| f64::midpoint(*one, *other)));
        }
        means.sort_by(f64::total_cmp);
        let estimate = median(means.iter().copied())?;
        let ends = most_against(logs.len()).map(|against| (means[against], means[means.len() - 1 - against]));
        Some(Self {
            estimate: measure.share(estimate),
            lower: ends.map(|(lower, _)| measure.share(lower)),
            upper: ends.map(|(_, upper)| measure.share(upper)),
        })
    }

    /// The verdict, where a gain of at least the share `wanted` is asked for.
    pub fn verdict(&self, wanted: f64) -> Verdict {
        let (Some(lower), Some(upper)) = (self.lower, self.upper) else { return Verdict::CannotTell };
        if lower > 0.0 && self.estimate >= wanted {
            Verdict::Helped
        } else if upper < 0.0 {
            Verdict::Harmed
        } else if lower > 0.0 || upper <= wanted {
            Verdict::TooLittle
        } else {
            Verdict::CannotTell
        }
    }
}

/// The largest sum of the ranks of pairs against a change that is still significant; `None` if there is none.
///
/// Without an effect, each of the 2^n ways to give the ranks 1 to n a sign is as likely. `ways[w]` is how many of them have the
/// sum `w`.
fn most_against(pairs: usize) -> Option<usize> {
    let most = pairs * (pairs + 1) / 2;
    let mut ways = vec![0.0; most + 1];
    ways[0] = 1.0;
    for rank in 1..=pairs {
        for sum in (rank..=most).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let all = 2.0_f64.powi(i32::try_from(pairs).ok()?);
    let mut so_far = 0.0;
    ways.iter()
        .take_while(|ways| {
            so_far += **ways;
            so_far / all <= LEFT_OUT
        })
        .count()
        .checked_sub(1)
}

#[cfg(test)]
mod tests;
