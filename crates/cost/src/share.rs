//! A share of samples, with its confidence interval.

use std::fmt;

/// A share of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The samples that count.
    pub part: u64,
    /// All of them.
    pub of: u64,
}

/// The number of standard deviations that a normal variable exceeds in one case of twenty.
const Z: f64 = 1.959_963_985;

impl Share {
    /// The share. `None` without samples.
    pub fn value(self) -> Option<f64> {
        (self.of > 0).then(|| self.part as f64 / self.of as f64)
    }

    /// The 95 % confidence interval: Wilson's score interval (E. B. Wilson, "Probable inference, the law of succession,
    /// and statistical inference", JASA 22, 1927), which also holds for few samples and for shares near 0 and 1. `None`
    /// without samples.
    pub fn interval(self) -> Option<[f64; 2]> {
        let (value, of) = (self.value()?, self.of as f64);
        let middle = (value + Z * Z / (2.0 * of)) / (1.0 + Z * Z / of);
        let half = Z / (1.0 + Z * Z / of) * (value * (1.0 - value) / of + Z * Z / (4.0 * of * of)).sqrt();
        Some([(middle - half).max(0.0), (middle + half).min(1.0)])
    }
}

/// In percent, with its interval: `41.0 % (38.2 to 43.9)`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.value(), self.interval()) {
            (Some(value), Some([least, most])) => {
                write!(f, "{:.1} % ({:.1} to {:.1})", value * 100.0, least * 100.0, most * 100.0)
            }
            _ => f.write_str("no samples"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Share;

    /// Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17, 1998, table I: method 3.
    #[test]
    fn interval_is_wilsons_score_interval() {
        for (part, of, expected) in [
            (81, 263, [0.2553, 0.3662]),
            (15, 148, [0.0624, 0.1605]),
            (0, 20, [0.0, 0.1611]),
            (1, 29, [0.0061, 0.1718]),
        ] {
            let [least, most] = Share { part, of }.interval().expect("samples");
            assert!(
                (least - expected[0]).abs() < 1e-4 && (most - expected[1]).abs() < 1e-4,
                "{part} of {of}"
            );
        }
        assert_eq!(Share { part: 0, of: 0 }.interval(), None);
    }

    #[test]
    fn share_is_shown_in_percent() {
        assert_eq!(Share { part: 81, of: 263 }.to_string(), "30.8 % (25.5 to 36.6)");
        assert_eq!(Share::default().to_string(), "no samples");
    }
}
