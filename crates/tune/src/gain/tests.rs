//! The statistic against published tables, against counting all cases, and on measurements whose effect is known.

use super::*;
use proptest::prelude::*;

/// The sum of the ranks of the pairs against a change, by its definition: absolute values are ranked, ties share their mean
/// rank.
fn ranks_against(logs: &[f64]) -> f64 {
    let rank = |log: f64| {
        let below = logs.iter().filter(|other| other.abs() < log.abs()).count();
        let ties = logs.iter().filter(|other| other.abs() == log.abs()).count();
        below as f64 + f64::midpoint(1.0, ties as f64)
    };
    logs.iter().filter(|log| **log <= 0.0).map(|log| rank(*log)).sum()
}

#[test]
fn critical_values_are_those_of_the_published_table() {
    // Wilcoxon 1945, and table A.4 of Hollander, Wolfe and Chicken: one-sided 2.5 %.
    for (pairs, most) in [
        (5, None),
        (6, Some(0)),
        (7, Some(2)),
        (8, Some(3)),
        (9, Some(5)),
        (10, Some(8)),
        (12, Some(13)),
        (15, Some(25)),
        (20, Some(52)),
    ] {
        assert_eq!(most_against(pairs), most, "{pairs}");
    }
    assert_eq!(most_against(FEWEST_PAIRS as usize - 1), None);
    assert!(most_against(FEWEST_PAIRS as usize).is_some());
}

#[test]
fn distribution_is_that_of_all_signs() {
    for pairs in 6..=14_usize {
        let sums = (0..1_u32 << pairs)
            .map(|signs| (1..=pairs).filter(|rank| signs >> (rank - 1) & 1 == 1).sum::<usize>());
        let sums: Vec<usize> = sums.collect();
        let share = |most: usize| sums.iter().filter(|sum| **sum <= most).count() as f64 / sums.len() as f64;
        let most = most_against(pairs).expect("enough pairs");
        assert!(share(most) <= LEFT_OUT && share(most + 1) > LEFT_OUT, "{pairs}: {most}");
    }
}

#[test]
fn a_clear_gain_is_kept_and_a_smaller_one_than_wanted_is_not() {
    let pairs: Vec<(f64, f64)> =
        [2.00, 2.04, 1.98, 2.02, 2.01, 1.99, 2.03, 2.00].into_iter().map(|old| (old, old * 0.8)).collect();
    let gain = Gain::of(Measure::Time, &pairs).expect("pairs");
    assert!((gain.estimate - 0.2).abs() < 1e-9, "{gain:?}");
    assert_eq!(gain.verdict(0.0), Verdict::Helped);
    assert_eq!(gain.verdict(0.19), Verdict::Helped);
    assert_eq!(gain.verdict(0.25), Verdict::TooLittle);
    // As rates, they are 20 % lower.
    let gain = Gain::of(Measure::Rate, &pairs).expect("pairs");
    assert!((gain.estimate + 0.2).abs() < 1e-9, "{gain:?}");
    assert_eq!(gain.verdict(0.0), Verdict::Harmed);
}

/// Numbers from 0 to 1 (Marsaglia, xorshift64).
fn draws() -> impl FnMut() -> f64 {
    let mut state = 88_172_645_463_325_252_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The machine gets 5 % slower from run to run, and the plan does nothing.
#[test]
fn a_drift_is_kept_no_more_often_than_noise_if_chance_orders_the_pairs() {
    let runs: Vec<f64> = (0..16).map(|run| 1.05_f64.powi(run)).collect();
    let gain = |mut new_first: Box<dyn FnMut() -> bool>| {
        let pairs: Vec<(f64, f64)> = runs
            .chunks(2)
            .map(|pair| if new_first() { (pair[1], pair[0]) } else { (pair[0], pair[1]) })
            .collect();
        Gain::of(Measure::Time, &pairs).expect("pairs").verdict(0.0)
    };
    assert_eq!(gain(Box::new(|| true)), Verdict::Helped, "with the new side always first");
    let mut draw = draws();
    let mut kept = 0;
    for _ in 0..20_000 {
        let order: Vec<bool> = (0..8).map(|_| draw() < 0.5).collect();
        let mut order = order.into_iter();
        kept += u32::from(gain(Box::new(move || order.next().expect("8 pairs"))) == Verdict::Helped);
    }
    assert!(kept <= 570, "{kept} of 20,000");
}

#[test]
fn one_outlier_of_eight_does_not_decide() {
    let mut pairs = vec![(1.0, 0.9); 8];
    pairs[3] = (1.0, 20.0);
    let gain = Gain::of(Measure::Time, &pairs).expect("pairs");
    assert!((gain.estimate - 0.1).abs() < 1e-9, "{gain:?}");
    // Its rank is the highest: 8 of 36 are against the change, and 3 may be.
    assert_eq!(gain.verdict(0.0), Verdict::CannotTell);
    pairs.extend([(1.0, 0.9); 4]);
    assert_eq!(Gain::of(Measure::Time, &pairs).expect("pairs").verdict(0.05), Verdict::Helped);
}

#[test]
fn too_few_or_equal_measurements_say_so() {
    assert_eq!(Gain::of(Measure::Time, &[]), None);
    let gain = Gain::of(Measure::Time, &[(2.0, 1.0); 5]).expect("pairs");
    assert_eq!((gain.lower, gain.verdict(0.0)), (None, Verdict::CannotTell));
    assert_eq!(Gain::of(Measure::Time, &[(2.0, 1.0); 6]).expect("pairs").verdict(0.0), Verdict::Helped);
    assert_eq!(Gain::of(Measure::Rate, &[(2.0, 2.0); 8]).expect("pairs").verdict(0.0), Verdict::TooLittle);
}

proptest! {
    /// The interval and the test, two computations, agree: the lower end is above zero where the ranks against are few enough.
    #[test]
    fn the_interval_is_above_zero_where_the_test_rejects(
        logs in prop::collection::vec(-1.0..1.0_f64, FEWEST_PAIRS as usize..30),
    ) {
        let pairs: Vec<(f64, f64)> = logs.iter().map(|log| (1.0, log.exp())).collect();
        let logs: Vec<f64> = pairs.iter().map(|(old, new)| (new / old).ln()).collect();
        let gain = Gain::of(Measure::Rate, &pairs).expect("pairs");
        let most = most_against(logs.len()).expect("enough pairs");
        prop_assert_eq!(gain.verdict(0.0) == Verdict::Helped, ranks_against(&logs) <= most as f64);
        let (lower, upper) = (gain.lower.expect("enough"), gain.upper.expect("enough"));
        prop_assert!(lower <= gain.estimate && gain.estimate <= upper);
    }

    /// What is a gain from old to new is a loss from new to old.
    #[test]
    fn sides_can_be_exchanged(pairs in prop::collection::vec((0.1..10.0_f64, 0.1..10.0_f64), 6..20)) {
        let exchanged: Vec<(f64, f64)> = pairs.iter().map(|(old, new)| (*new, *old)).collect();
        let [there, back] = [&pairs, &exchanged].map(|pairs| Gain::of(Measure::Rate, pairs).expect("pairs"));
        prop_assert_eq!(
            there.verdict(0.0) == Verdict::Helped,
            back.verdict(0.0) == Verdict::Harmed
        );
        prop_assert!(((1.0 + there.estimate) * (1.0 + back.estimate) - 1.0).abs() < 1e-9);
    }
}

/// Measurements without an effect, of much noise: how often they are kept is what the level says.
#[test]
fn a_change_without_effect_is_kept_at_most_once_in_40_times() {
    let mut draw = draws();
    for pairs in [6, 8, 15] {
        let mut kept = 0;
        for _ in 0..20_000 {
            // Lopsided, as times are: mostly short, now and then twice as long.
            let pairs: Vec<(f64, f64)> = (0..pairs)
                .map(|_| [draw(), draw()].map(|at| 1.0 + at.powi(8)))
                .map(|[a, b]| (a, b))
                .collect();
            let gain = Gain::of(Measure::Time, &pairs).expect("pairs");
            kept += u32::from(gain.verdict(0.0) == Verdict::Helped);
        }
        let share = f64::from(kept) / 20_000.0;
        assert!(share <= 0.0285 && share > 0.008, "{pairs}: {share}");
    }
}
