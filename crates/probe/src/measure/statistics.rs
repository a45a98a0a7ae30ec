//! Modes and slopes, in integers.

/// Where values are densest: the middle of the window, as wide as this share of its upper end in thousandths, that
/// contains most of them, and how many it contains. Of equally full windows, the lowest. `None` for no values.
pub fn mode(values: &[u64], width_permille: u64) -> Option<(u64, usize)> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let (mut best, mut from) = (None, 0);
    for (to, &high) in sorted.iter().enumerate() {
        while sorted[from] < lower_end(high, width_permille) {
            from += 1;
        }
        let count = to + 1 - from;
        if best.is_none_or(|(_, most)| count > most) {
            best = Some((sorted[from + count / 2], count));
        }
    }
    best
}

/// The start of a window that ends at `high`. Rounded up, exactly: in steps of a thousand a higher window could start
/// lower.
fn lower_end(high: u64, width_permille: u64) -> u64 {
    let width = width_permille.min(1000);
    high - high / 1000 * width - high % 1000 * width / 1000
}

/// Time from one value to the next by the best-fitting straight line (least squares), in picoseconds: it weighs all
/// values, so delivery in groups shifts it less than it shifts the first and the last. `None` for fewer than two.
pub fn slope_ps(times_ns: &[u64]) -> Option<u64> {
    let n = i128::try_from(times_ns.len()).ok().filter(|n| *n >= 2)?;
    let first = times_ns[0];
    let (mut sum, mut weighed) = (0_i128, 0_i128);
    for (index, time) in (0..n).zip(times_ns) {
        let time = i128::from(*time) - i128::from(first);
        sum += time;
        weighed += index * time;
    }
    // Sums over 0..n of the index and of its square, in closed form; both sides are multiplied by 12.
    let numerator = 12 * weighed - 6 * (n - 1) * sum;
    let denominator = n * (n * n - 1);
    u64::try_from(numerator * 1000 / denominator).ok().filter(|slope| *slope > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mode_of_few_values() {
        assert_eq!(mode(&[], 50), None);
        assert_eq!(mode(&[100_000, 50_000, 101_000, 102_000, 7], 50), Some((101_000, 3)));
    }

    #[test]
    fn mode_window_start_is_monotonic() {
        // The window of 82,000 begins at 77,900; in steps of a thousand that of 81,980 would begin at 77,930.
        assert_eq!(mode(&[1, 77_929, 81_980, 82_000], 50), Some((81_980, 3)));
    }

    #[test]
    fn slope_is_robust_against_coalesced_arrivals() {
        // One every 12 us, delivered every 50 us.
        let grouped: Vec<u64> = (0..200_u64).map(|n| (n * 12_000).next_multiple_of(50_000)).collect();
        let slope = slope_ps(&grouped).expect("a slope");
        assert!(slope.abs_diff(12_000_000) < 60_000, "{slope}");
        assert_eq!(slope_ps(&[5, 5, 5]), None, "no time passed");
        assert_eq!(slope_ps(&[5]), None);
    }

    proptest! {
        #[test]
        fn slope_of_a_straight_line_is_exact(first in 0..u64::MAX / 2, step in 1_u64..1_000_000, count in 2_u64..2000) {
            let times: Vec<u64> = (0..count).map(|n| first + n * step).collect();
            prop_assert_eq!(slope_ps(&times), Some(step * 1000));
        }

        #[test]
        fn mode_matches_exhaustive_search(values in prop::collection::vec(1_u64..100_000, 1..60)) {
            let (_, most) = mode(&values, 50).expect("there are some");
            // The slow way: a window down from each value.
            let slow = values.iter().map(|high| {
                values.iter().filter(|value| **value <= *high && **value * 1000 >= high * 950).count()
            });
            prop_assert_eq!(Some(most), slow.max());
        }
    }
}
