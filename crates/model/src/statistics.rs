//! Medians, quantiles and means of values in memory; [`Histogram`](crate::Histogram) is for larger numbers of values.
//! None of these has a value for an empty set.
//!
//! The median of an even number of measurements is the mean of the middle two. If the result must be one of the values
//! (times in whole nanoseconds, counts), it is found by rank instead.

/// The mean; `None` if empty.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0_u64), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// The middle value, or the mean of the middle two; `None` if empty.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    let middle = values.len() / 2;
    if middle == 0 {
        return values.first().copied();
    }
    let is_odd = values.len() % 2 == 1;
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    let lower = below.iter().copied().max_by(f64::total_cmp).filter(|_| !is_odd);
    Some(lower.map_or(upper, |lower| (lower + upper) / 2.0))
}

/// The quantile in thousandths: the value at rank `permille / 1000 × (count − 1)`, rounded down, counted from 0 among
/// the sorted values. `None` if empty.
pub fn quantile(values: impl IntoIterator<Item = f64>, permille: usize) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    let rank = rank(values.len(), permille)?;
    Some(*values.select_nth_unstable_by(rank, f64::total_cmp).1)
}

/// As [`quantile`], of ordered values such as whole nanoseconds. Reorders them.
pub fn nearest_rank<T: Ord + Copy>(values: &mut [T], permille: usize) -> Option<T> {
    let rank = rank(values.len(), permille)?;
    Some(*values.select_nth_unstable(rank).1)
}

/// The middle value, the lower of two: one of the values; `None` if empty.
pub fn lower_median<T: Ord + Copy>(values: &[T]) -> Option<T> {
    nearest_rank(&mut values.to_vec(), 500)
}

/// The index among `count` sorted values; `None` if empty.
fn rank(count: usize, permille: usize) -> Option<usize> {
    let last = count.checked_sub(1)?;
    Some(last * permille.min(1000) / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_sets_have_no_statistics() {
        assert_eq!((mean([]), median([]), quantile([], 500)), (None, None, None));
        assert_eq!((nearest_rank::<u64>(&mut [], 500), lower_median::<u64>(&[])), (None, None));
    }

    #[test]
    fn median_of_an_even_number_is_the_mean_of_the_middle_two() {
        assert_eq!(median([3.0]), Some(3.0));
        assert_eq!(median([4.0, 1.0]), Some(2.5));
        assert_eq!(median([9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([9.0, 1.0, 2.0, 4.0]), Some(3.0));
        assert_eq!(mean([9.0, 1.0, 2.0, 4.0]), Some(4.0));
    }

    #[test]
    fn quantile_is_one_of_the_values() {
        let values: Vec<u64> = (1..=20).rev().collect();
        for (permille, expected) in [(0, 1), (52, 1), (53, 2), (500, 10), (950, 19), (999, 19), (1000, 20)] {
            assert_eq!(nearest_rank(&mut values.clone(), permille), Some(expected), "{permille}");
            let reals = values.iter().map(|value| *value as f64);
            assert_eq!(quantile(reals, permille), Some(expected as f64), "{permille}");
        }
        assert_eq!((lower_median(&[3, 1, 2]), lower_median(&[4, 3, 1, 2])), (Some(2), Some(2)));
        assert_eq!(nearest_rank(&mut [3, 1, 2], 5000), Some(3), "clamped to the maximum");
    }
}
