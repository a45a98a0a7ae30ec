//! Whether two counts differ significantly.

use std::f64::consts::{PI, SQRT_2};

/// The standard deviation of a count, in samples, above which there are too many divisions to add up for each of
/// thousands of functions. There the normal distribution's probability is equal within 10⁻⁵.
const LARGE: f64 = 2_000.0;

/// The probability that chance alone divides samples as unevenly: `first.0` of `first.1` samples in one profile belong
/// to a function, `second.0` of `second.1` in another. `None` if one has no samples, or more of the function than in
/// total.
///
/// Fisher's exact test, two-sided: of all ways to divide the function's samples between the two profiles, those no more
/// likely than this one. It also holds for a function with three samples, unlike tests that assume normally distributed
/// counts. If the counts' standard deviation is above 2,000, as when "samples" are nanoseconds, they are normally
/// distributed, and the normal distribution is used (with Yates' correction). Below about 10⁻³⁰⁰ it is zero.
pub fn by_chance(first: (u64, u64), second: (u64, u64)) -> Option<f64> {
    if first.1 == 0 || second.1 == 0 || first.0 > first.1 || second.0 > second.1 {
        return None;
    }
    let division = Division {
        first: first.1,
        second: second.1,
        // Sums of samples are far below 2⁶⁴; otherwise the profile is invalid.
        of: first.0.checked_add(second.0)?,
    };
    if division.deviation() > LARGE {
        return Some(division.normal(first.0));
    }
    Some(division.exact(first.0))
}

/// The samples of a function, drawn from two profiles: the hypergeometric distribution.
#[derive(Clone, Copy)]
struct Division {
    first: u64,
    second: u64,
    of: u64,
}

impl Division {
    /// The total probability of the divisions that are no likelier than this one.
    fn exact(self, seen_in_first: u64) -> f64 {
        let (least, most) = self.range();
        let mode = self.mode().clamp(least, most);
        // Relative to the likeliest, from which each is a product of ratios: no factorials, and only non-zero terms.
        let seen = self.relative(mode, seen_in_first);
        let enough = seen * (1.0 + 1e-9);
        let (mut all, mut as_uneven) = (0.0, 0.0);
        let mut add = |likelihood: f64| {
            all += likelihood;
            if likelihood <= enough {
                as_uneven += likelihood;
            }
        };
        add(1.0);
        let mut likelihood = 1.0;
        for at in mode..most {
            likelihood *= self.ratio(at);
            if likelihood == 0.0 {
                break;
            }
            add(likelihood);
        }
        likelihood = 1.0;
        for at in (least..mode).rev() {
            likelihood /= self.ratio(at);
            if likelihood == 0.0 {
                break;
            }
            add(likelihood);
        }
        f64::min(as_uneven / all, 1.0)
    }

    /// The probability of such a difference by the normal distribution with this mean and deviation; half a sample
    /// nearer, since counts are whole.
    fn normal(self, seen_in_first: u64) -> f64 {
        let mean = self.of as f64 * self.first_part();
        let apart = ((seen_in_first as f64 - mean).abs() - 0.5).max(0.0);
        erfc(apart / self.deviation() / SQRT_2)
    }

    fn first_part(self) -> f64 {
        self.first as f64 / (self.first as f64 + self.second as f64)
    }

    /// The standard deviation of the first profile's count.
    fn deviation(self) -> f64 {
        let all = self.first as f64 + self.second as f64;
        let others = (all - self.of as f64) / (all - 1.0).max(1.0);
        (self.of as f64 * self.first_part() * (1.0 - self.first_part()) * others).max(0.0).sqrt()
    }

    /// The range of the first profile's count.
    fn range(self) -> (u64, u64) {
        (self.of.saturating_sub(self.second), self.of.min(self.first))
    }

    fn mode(self) -> u64 {
        let (of, first, second) = (u128::from(self.of), u128::from(self.first), u128::from(self.second));
        u64::try_from((of + 1) * (first + 1) / (first + second + 2)).unwrap_or(u64::MAX)
    }

    /// The probability that the first has one more than `at`, relative to that of `at`.
    fn ratio(self, at: u64) -> f64 {
        let more = (self.of - at) as f64 * (self.first - at) as f64;
        let fewer = (at + 1) as f64 * (self.second as f64 - (self.of - at - 1) as f64);
        more / fewer
    }

    /// The probability of `at`, relative to the mode.
    fn relative(self, mode: u64, at: u64) -> f64 {
        let mut likelihood = 1.0;
        if at >= mode {
            for step in mode..at {
                likelihood *= self.ratio(step);
                if likelihood == 0.0 {
                    break;
                }
            }
        } else {
            for step in (at..mode).rev() {
                likelihood /= self.ratio(step);
                if likelihood == 0.0 {
                    break;
                }
            }
        }
        likelihood
    }
}

/// The complementary error function for `x` ≥ 0: by its series below 2, above by its continued fraction (Abramowitz and Stegun, 7.1.6 and
/// 7.1.14).
fn erfc(x: f64) -> f64 {
    let bell = (-x * x).exp() / PI.sqrt();
    if x < 2.0 {
        let (mut term, mut sum) = (2.0 * x, 2.0 * x);
        for n in 1..60 {
            term *= 2.0 * x * x / f64::from(2 * n + 1);
            sum += term;
        }
        return 1.0 - bell * sum;
    }
    let fraction = (1..=80).rev().fold(0.0, |below, n| f64::from(n) / 2.0 / (x + below));
    bell / (x + fraction)
}

/// Probabilities of many tests, each adjusted for the others (Holm, "A simple sequentially rejective multiple test
/// procedure", Scandinavian Journal of Statistics 6, 1979): the probability that any of those below 5 % is due to
/// chance is 5 %.
pub fn among_all(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut raised = vec![0.0; probabilities.len()];
    let mut least: f64 = 0.0;
    for (before, &at) in order.iter().enumerate() {
        let others = (probabilities.len() - before) as f64;
        least = least.max((probabilities[at] * others).min(1.0));
        raised[at] = least;
    }
    raised
}

#[cfg(test)]
mod tests {
    use super::{Division, among_all, by_chance, erfc};

    #[test]
    fn by_chance_is_fishers_exact_test() {
        // Fisher's lady tasting tea (The Design of Experiments, 1935): three of four cups each way, 34 of 70.
        let tea = by_chance((3, 4), (1, 4)).expect("samples");
        assert!((tea - 34.0 / 70.0).abs() < 1e-12, "{tea}");
        assert_eq!(by_chance((0, 10), (0, 10)), Some(1.0));
        assert_eq!(by_chance((1, 0), (1, 10)), None);
        assert_eq!(by_chance((11, 10), (1, 10)), None);
    }

    #[test]
    fn large_counts_agree_with_the_normal_distribution() {
        // 10,300 and 10,000 of a million each, added up one by one. z = (300 − 1) / √(20,300 · (1 − 0.01015)) = 2.1093,
        // whose two tails are 0.03492.
        let probability = by_chance((10_300, 1_000_000), (10_000, 1_000_000)).expect("samples");
        assert!((probability / 0.03492 - 1.0).abs() < 1e-3, "{probability}");
        assert_eq!(by_chance((500_000, 1_000_000), (10_000, 1_000_000)), Some(0.0));
    }

    /// Both methods agree at the threshold, and nanoseconds as samples take no time.
    #[test]
    fn exact_and_normal_methods_agree_at_the_threshold() {
        for part in [1_000_000_u64, 900_000, 990_000, 996_000] {
            let division = Division { first: 50_000_000, second: 50_000_000, of: part + 1_000_000 };
            assert!((500.0..super::LARGE).contains(&division.deviation()));
            let (exact, normal) = (division.exact(part), division.normal(part));
            // Far out only the rest of a tail differs.
            assert!((exact - normal).abs() < 1e-5, "{part}: {exact} {normal}");
        }
        let nanos = by_chance((1_000_000_000_000, 1 << 50), (1_000_002_000_000, 1 << 50)).expect("samples");
        // z = 2,000,000 / √(2·10¹² · (1 − 0.000888)) = 1.4149.
        assert!((nanos - 0.1571).abs() < 1e-3, "{nanos}");
    }

    #[test]
    fn error_function_matches_published_tables() {
        // Abramowitz and Stegun, table 7.1, and erfc(5) to its digits.
        for (x, expected) in [
            (0.0, 1.0),
            (0.5, 0.479_500_122_2),
            (1.0, 0.157_299_207_1),
            (2.0, 0.004_677_734_98),
            (5.0, 1.537_459_794_428e-12),
        ] {
            assert!((erfc(x) / expected - 1.0_f64).abs() < 1e-9, "erfc({x}) = {}", erfc(x));
        }
        assert!((erfc(2.0) / erfc(2.0 - 1e-13) - 1.0).abs() < 1e-10);
    }

    /// Compared with binomial coefficients, in whole numbers.
    #[test]
    fn small_counts_agree_with_counting_all_divisions() {
        let choose = |n: u64, k: u64| {
            (0..k).fold(1_u128, |product, at| product * u128::from(n - at) / u128::from(at + 1))
        };
        for first in 1..9 {
            for second in 1..7 {
                for (a, b) in (0..=first).flat_map(|a| (0..=second).map(move |b| (a, b))) {
                    let ways = |k: u64| choose(first, k) * choose(second, a + b - k);
                    let all = (a + b).saturating_sub(second)..=(a + b).min(first);
                    let as_uneven: u128 = all.clone().map(ways).filter(|many| *many <= ways(a)).sum();
                    let expected = as_uneven as f64 / all.map(ways).sum::<u128>() as f64;
                    let probability = by_chance((a, first), (b, second)).expect("samples");
                    assert!(
                        (probability - expected).abs() < 1e-12,
                        "{a} of {first}, {b} of {second}: {probability}, not {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn holm_multiplies_by_the_remaining_tests() {
        assert_eq!(among_all(&[0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02]);
        assert_eq!(among_all(&[0.5, 0.9]), [1.0, 1.0]);
    }
}
