//! The qualitative claims of the paper, and whether they hold here.

use super::grid::{AUTO, DELAYS, DRS, KERNELS, NONE, SIZES, STREAMS, Tuned, size};
use super::results::Results;
use crate::report::{Claim, is_about};
use slowpath_model::statistics;

const NEAR: u32 = DELAYS[0];
const REGIONAL: u32 = DELAYS[1];
const UNTUNED: Tuned = Tuned::Nothing;

/// All of them, in the paper's order.
pub fn of(results: &Results) -> Vec<Claim> {
    let mut claims = near_untuned(results);
    claims.extend(near_tuned(results));
    claims.extend(regional(results));
    claims.extend(far(results));
    claims
}

/// Medians of a kernel over the numbers of processes.
fn medians(results: &Results, kernel: usize, delay: u32, tuned: Tuned) -> [f64; 4] {
    STREAMS.map(|streams| results.median(kernel, delay, streams, tuned))
}

/// Medians of a kernel over the numbers of processes, each with its best size.
fn ideals(results: &Results, kernel: usize, delay: u32) -> [f64; 4] {
    STREAMS.map(|streams| results.ideal(kernel, delay, streams).1[1])
}

fn bounded(results: &Results, kernel: usize, delay: u32) -> [f64; 4] {
    medians(results, kernel, delay, results.bound_of(kernel, delay))
}

fn differences(one: [f64; 4], other: [f64; 4]) -> [f64; 4] {
    [0, 1, 2, 3].map(|at| one[at] - other[at])
}

fn ratios(one: [f64; 4], other: [f64; 4]) -> [f64; 4] {
    [0, 1, 2, 3].map(|at| one[at] / other[at])
}

/// For 1, 2, 4 and 8 processes.
fn listed(values: [f64; 4], decimals: usize) -> String {
    let [a, b, c, d] = values;
    format!("{a:.decimals$}, {b:.decimals$}, {c:.decimals$} and {d:.decimals$}")
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Whether two are equal within a tenth.
fn alike(one: [f64; 4], other: [f64; 4]) -> bool {
    ratios(one, other).iter().all(|ratio| (0.9..=1.1).contains(ratio))
}

/// Whether all are what the paper says, or within a quarter of it.
fn are_about(values: &[f64], published: [f64; 2]) -> bool {
    values.iter().all(|value| is_about(*value, published))
}

fn near_untuned(results: &Results) -> Vec<Claim> {
    let untuned = |kernel| medians(results, kernel, NEAR, UNTUNED);
    let over_none = differences(untuned(AUTO), untuned(NONE));
    let over_auto = differences(untuned(DRS), untuned(AUTO));
    let gains = [NONE, AUTO, DRS].map(|kernel| most(&untuned(kernel)) / untuned(kernel)[0] - 1.0);
    vec![
        Claim {
            place: "section IV-A, figure 2",
            says: "with buffers as they are, 2.4 is at least 100 Mbit/s faster than 2.2",
            seen: format!("by {} Mbit/s for 1, 2, 4 and 8 processes", listed(over_none, 0)),
            holds: Some(least(&over_none) >= 100.0),
        },
        Claim {
            place: "section IV-A, figure 2",
            says: "DRS is faster still, by 30 to 50 Mbit/s",
            seen: format!("by {} Mbit/s", listed(over_auto, 0)),
            holds: Some(are_about(&over_auto, [30.0, 50.0])),
        },
        Claim {
            place: "section IV-A, figure 2",
            says: "with all kernels, several processes are 55 to 70 % faster than one",
            seen: format!(
                "{:.0}, {:.0} and {:.0} % (2.2, 2.4, DRS)",
                gains[0] * 100.0,
                gains[1] * 100.0,
                gains[2] * 100.0
            ),
            holds: Some(are_about(&gains, [0.55, 0.7])),
        },
    ]
}

fn near_tuned(results: &Results) -> Vec<Claim> {
    let untuned = |kernel| medians(results, kernel, NEAR, UNTUNED);
    let tuned = |kernel| bounded(results, kernel, NEAR);
    let ideal = |kernel| ideals(results, kernel, NEAR);
    let auto_gains = differences(tuned(AUTO), untuned(AUTO));
    let drs_gains = differences(tuned(DRS), untuned(DRS));
    let over_bounds = |streams| SIZES.map(|bound| results.median(DRS, NEAR, streams, Tuned::Kernel(bound)));
    let largest = Tuned::Kernel(SIZES[SIZES.len() - 1]);
    let eight = results.median(DRS, NEAR, 8, largest);
    let sizes = STREAMS.map(|streams| results.ideal(AUTO, NEAR, streams).0);
    vec![
        Claim {
            place: "section IV-A, figure 3",
            says: "with kernel-only tuning 2.2 is as before",
            seen: format!("{} Mbit/s", listed(tuned(NONE), 0)),
            holds: Some(alike(tuned(NONE), untuned(NONE))),
        },
        Claim {
            place: "section IV-A, figure 3",
            says: "2.4 gains 30 to 50 Mbit/s by it",
            seen: format!("{} Mbit/s", listed(auto_gains, 0)),
            holds: Some(are_about(&auto_gains, [30.0, 50.0])),
        },
        Claim {
            place: "section IV-A, figure 3",
            says: "DRS gains by it with one process and two",
            seen: format!("{} Mbit/s", listed(drs_gains, 0)),
            holds: Some(drs_gains[0] > 0.0 && drs_gains[1] > 0.0),
        },
        Claim {
            place: "section IV-A, figure 3",
            says: "with more processes DRS gets worse, as it takes too much memory",
            seen: format!(
                "eight processes: {:.0} Mbit/s with the bound that suits them, {eight:.0} with the largest",
                most(&over_bounds(8))
            ),
            holds: Some(eight < 0.95 * most(&over_bounds(8))),
        },
        Claim {
            place: "section IV-A, figure 4",
            says: "with user and kernel tuning 2.4 with and without DRS are alike",
            seen: format!("{} Mbit/s; with DRS {}", listed(ideal(AUTO), 0), listed(ideal(DRS), 0)),
            holds: Some(alike(ideal(AUTO), ideal(DRS))),
        },
        Claim {
            place: "section IV-A, figure 4",
            says: "and 2.2 is slower than 2.4",
            seen: format!("by {} Mbit/s", listed(differences(ideal(AUTO), ideal(NONE)), 0)),
            holds: Some(least(&differences(ideal(AUTO), ideal(NONE))) > 0.0),
        },
        Claim {
            place: "section IV-A, figure 5",
            says: "the best buffers are larger than 64 KB",
            seen: format!("the best for 1, 2, 4 and 8 processes: {}", sizes.map(size).join(", ")),
            holds: Some(sizes.iter().all(|size| *size > 64 << 10)),
        },
        Claim {
            place: "section IV-A, figure 5",
            says: "and beyond the best, larger ones are worse",
            seen: format!(
                "eight processes: {:.0} Mbit/s at best, {:.0} with 64 MiB",
                ideal(AUTO)[3],
                results.median(AUTO, NEAR, 8, Tuned::Both(64 << 20))
            ),
            holds: Some(results.median(AUTO, NEAR, 8, Tuned::Both(64 << 20)) < 0.95 * ideal(AUTO)[3]),
        },
    ]
}

fn regional(results: &Results) -> Vec<Claim> {
    let untuned = |kernel| medians(results, kernel, REGIONAL, UNTUNED);
    let tuned = |kernel| bounded(results, kernel, REGIONAL);
    let ideal = |kernel| ideals(results, kernel, REGIONAL);
    let singles = [NONE, AUTO, DRS].map(|kernel| untuned(kernel)[0]);
    let speed_ups = [NONE, AUTO, DRS].map(|kernel| untuned(kernel)[3] / untuned(kernel)[0]);
    let gain = ratios(tuned(DRS), untuned(DRS));
    let over_auto = differences(ideal(DRS), ideal(AUTO));
    let drs = ideal(DRS);
    vec![
        Claim {
            place: "section IV-B, figure 6",
            says: "at 25 ms with buffers as they are, one process has less than 20 Mbit/s with all kernels",
            seen: format!(
                "{:.1}, {:.1} and {:.1} Mbit/s (2.2, 2.4, DRS)",
                singles[0], singles[1], singles[2]
            ),
            holds: Some(most(&singles) < 20.0),
        },
        Claim {
            place: "section IV-B, figure 6",
            says: "more processes are faster in proportion",
            seen: format!(
                "eight are {:.1}, {:.1} and {:.1} times as fast",
                speed_ups[0], speed_ups[1], speed_ups[2]
            ),
            holds: Some(speed_ups.iter().all(|times| (7.2..=8.8).contains(times))),
        },
        Claim {
            place: "section IV-B, figure 6",
            says: "2.4 is ahead of DRS, and both of 2.2",
            seen: format!("2.4 {}; DRS {} Mbit/s", listed(untuned(AUTO), 0), listed(untuned(DRS), 0)),
            holds: Some(
                (0..4).all(|at| untuned(AUTO)[at] > untuned(DRS)[at] && untuned(DRS)[at] > untuned(NONE)[at]),
            ),
        },
        Claim {
            place: "section IV-B, figure 7",
            says: "with kernel-only tuning DRS improves dramatically",
            seen: format!("{} times as fast", listed(gain, 1)),
            holds: Some(least(&gain) > 2.0),
        },
        Claim {
            place: "section IV-B, figure 7",
            says: "and the others do not",
            seen: format!("2.2 {}; 2.4 {} Mbit/s", listed(tuned(NONE), 0), listed(tuned(AUTO), 0)),
            holds: Some(alike(tuned(NONE), untuned(NONE)) && alike(tuned(AUTO), untuned(AUTO))),
        },
        Claim {
            place: "section IV-B, figure 7",
            says: "with more processes DRS falls again",
            seen: format!("{} Mbit/s", listed(tuned(DRS), 0)),
            holds: Some(tuned(DRS)[3] < 0.95 * most(&tuned(DRS))),
        },
        Claim {
            place: "section IV-B, figure 8",
            says: "with user and kernel tuning all gain",
            seen: KERNELS
                .iter()
                .enumerate()
                .map(|(at, kernel)| format!("{} {}", kernel.name, listed(ideal(at), 0)))
                .collect::<Vec<_>>()
                .join("; "),
            holds: Some(
                [NONE, AUTO, DRS].iter().all(|kernel| least(&ratios(ideal(*kernel), untuned(*kernel))) > 1.5),
            ),
        },
        Claim {
            place: "section IV-B, figure 8",
            says: "DRS falls at two and four processes",
            seen: format!("{} Mbit/s", listed(drs, 0)),
            holds: Some(drs[1].min(drs[2]) < drs[0].min(drs[3])),
        },
        Claim {
            place: "section IV-B, figure 8",
            says: "DRS is ahead of 2.4, by 150 Mbit/s",
            seen: format!("by {} Mbit/s", listed(over_auto, 0)),
            holds: Some(are_about(&over_auto, [150.0; 2])),
        },
    ]
}

fn far(results: &Results) -> Vec<Claim> {
    let delays = [DELAYS[2], DELAYS[3]];
    let errors = [NONE, AUTO, DRS].map(|kernel| results.coefficient_error(kernel));
    let factors: Vec<f64> = delays
        .iter()
        .flat_map(|delay| ratios(bounded(results, DRS, *delay), bounded(results, AUTO, *delay)))
        .collect();
    let within = factors.iter().filter(|factor| is_about(**factor, [5.0, 15.0])).count();
    let mean = |values: [f64; 4]| statistics::mean(values).unwrap_or(f64::NAN);
    let apart =
        |delay, kernel| (mean(ideals(results, AUTO, delay)) - mean(ideals(results, kernel, delay))).abs();
    let spread = DELAYS.map(|delay| apart(delay, NONE));
    vec![
        Claim {
            place: "section IV-C",
            says: "processes over delay give the untuned rate with less than 20 % of error",
            seen: format!(
                "with our coefficients {:.0}, {:.0} and {:.0} % at most (2.2, 2.4, DRS)",
                errors[0] * 100.0,
                errors[1] * 100.0,
                errors[2] * 100.0
            ),
            holds: Some(most(&errors) < 0.2),
        },
        Claim {
            place: "section IV-C",
            says: "with kernel-only tuning DRS is 5 to 15 times as fast as 2.4 at 50 and 100 ms",
            seen: format!(
                "{:.1} to {:.1} times; {within} of {} within a quarter of that",
                least(&factors),
                most(&factors),
                factors.len()
            ),
            holds: Some(within == factors.len()),
        },
        Claim {
            place: "section IV-C, figures 9 and 10",
            says: "with user and kernel tuning 2.2 is slower than 2.4",
            seen: format!(
                "at 50 ms {} and {}, at 100 ms {} and {} Mbit/s",
                listed(ideals(results, NONE, delays[0]), 0),
                listed(ideals(results, AUTO, delays[0]), 0),
                listed(ideals(results, NONE, delays[1]), 0),
                listed(ideals(results, AUTO, delays[1]), 0)
            ),
            holds: Some(
                delays
                    .iter()
                    .all(|delay| mean(ideals(results, NONE, *delay)) < mean(ideals(results, AUTO, *delay))),
            ),
        },
        Claim {
            place: "section IV-C, figures 9 and 10",
            says: "DRS and 2.4 are alike there",
            seen: format!(
                "at 50 ms {} with DRS, at 100 ms {} Mbit/s",
                listed(ideals(results, DRS, delays[0]), 0),
                listed(ideals(results, DRS, delays[1]), 0)
            ),
            holds: Some(delays.iter().all(|delay| {
                let ratio = mean(ideals(results, DRS, *delay)) / mean(ideals(results, AUTO, *delay));
                (0.85..=1.15).contains(&ratio)
            })),
        },
        Claim {
            place: "section IV-C, figures 8 to 10",
            says: "the longer the delay, the less 2.2 and 2.4 differ",
            seen: format!("on average by {} Mbit/s at 0.5, 25, 50 and 100 ms", listed(spread, 0)),
            holds: Some(spread[1] > spread[2] && spread[2] > spread[3]),
        },
    ]
}
