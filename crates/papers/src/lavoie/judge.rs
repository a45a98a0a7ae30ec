//! Decides whether a claim still holds, no longer holds, or cannot be decided.
//!
//! One reason for undecided claims is chance: each share has an interval (95 %), and a claim is judged by all of it.
//! CPU shares have a second one where packets are steered to the other CPU: that takes interrupts between CPUs, which
//! the paper did not measure, while a NIC's, which it did, are missing. So claims about CPU shares are judged with and
//! without that part, and reported only if both agree.

use super::measured::ServerSamples;
use slowpath_cost::Share;
use slowpath_cost::significance::by_chance;

/// The allowed distance from the paper's number, as a share of it.
const NEAR: f64 = 0.25;
/// Below this probability a difference is significant.
const CHANCE: f64 = 0.01;
/// The minimum number of samples.
pub const FEWEST: u64 = 30;

/// The observation, and whether it agrees with the paper.
pub type Answer = (String, Option<bool>);

/// In percent, with the interval.
pub fn per_cent(share: Share) -> [f64; 3] {
    let [least, most] = share.interval().unwrap_or([0.0, 0.0]);
    [least, share.value().unwrap_or(0.0), most].map(|part| part * 100.0)
}

/// Whether a share is within a quarter of the published one.
pub fn near(share: Share, published: f64) -> Option<bool> {
    within(share, [published * (1.0 - NEAR), published * (1.0 + NEAR)])
}

/// Whether a share is within some bounds.
pub fn within(share: Share, bounds: [f64; 2]) -> Option<bool> {
    between(share.interval().filter(|_| share.of >= FEWEST)?, bounds)
}

/// Whether an interval is inside some bounds; `None` if only part of it is.
fn between([least, most]: [f64; 2], [from, to]: [f64; 2]) -> Option<bool> {
    match (from <= least && most <= to, most < from || to < least) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// Whether a share exceeds a part.
pub fn more_than(share: Share, part: f64) -> Option<bool> {
    let [least, most] = share.interval().filter(|_| share.of >= FEWEST)?;
    between([least, most], [part, 1.0])
}

/// Whether the first of two parts of the same samples is larger.
pub fn larger(first: u64, second: u64) -> Option<bool> {
    more_than(Share { part: first, of: first + second }, 0.5)
}

/// Whether a share of the CPU is near the published one, with and without steering.
pub fn near_of_cpu(measured: &ServerSamples, share: Share, published: f64) -> Option<bool> {
    alike([near(share, published), near(Share { of: measured.bare(), ..share }, published)])
}

/// Whether a share of the CPU is larger in the second of two profiles, with and without steering.
pub fn grows(first: (&ServerSamples, Share), second: (&ServerSamples, Share)) -> Option<bool> {
    let bare = |(measured, share): (&ServerSamples, Share)| Share { of: measured.bare(), ..share };
    alike([is_greater(first.1, second.1), is_greater(bare(first), bare(second))])
}

/// Whether the second share is significantly larger.
pub fn is_greater(first: Share, second: Share) -> Option<bool> {
    if first.part + second.part < FEWEST {
        return None;
    }
    let chance = by_chance((first.part, first.of), (second.part, second.of))?;
    // An equal share has not grown; but no samples prove equality.
    (chance < CHANCE).then(|| first.value() < second.value())
}

/// The common answer, if all agree.
pub fn alike<const N: usize>(answers: [Option<bool>; N]) -> Option<bool> {
    let first = *answers.first()?;
    if answers.iter().all(|answer| *answer == first) { first } else { None }
}

/// Whether all of these hold. `Some(false)` if one certainly does not.
pub fn all(answers: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut whole = Some(true);
    for answer in answers {
        match answer {
            Some(true) => {}
            Some(false) => return Some(false),
            None => whole = None,
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(part: u64, of: u64) -> Share {
        Share { part, of }
    }

    #[test]
    fn share_is_near_far_or_undecided() {
        assert_eq!(near(share(3000, 10_000), 0.3), Some(true));
        assert_eq!(near(share(1000, 10_000), 0.3), Some(false));
        // 37.5 % is the limit, and inside the interval.
        assert_eq!(near(share(3750, 10_000), 0.3), None);
        assert_eq!(near(share(9, 29), 0.3), None, "too few");
        assert_eq!(near(Share::default(), 0.3), None);
    }

    #[test]
    fn part_is_larger_only_if_significant() {
        assert_eq!((larger(600, 400), larger(400, 600), larger(16, 15)), (Some(true), Some(false), None));
        assert_eq!(is_greater(share(100, 1000), share(200, 1000)), Some(true));
        assert_eq!(is_greater(share(200, 1000), share(100, 1000)), Some(false));
        assert_eq!(is_greater(share(100, 1000), share(105, 1000)), None);
        assert_eq!(is_greater(share(0, 1000), share(20, 1000)), None, "too few");
    }

    #[test]
    fn claims_that_depend_on_steering_are_undecided() {
        let of = |steering| {
            let mut measured = ServerSamples::default();
            (measured.total, measured.steering) = (10_000, steering);
            measured
        };
        let (measured, none) = (of(5000), of(0));
        assert_eq!(near_of_cpu(&measured, share(3000, 10_000), 0.3), None);
        assert_eq!(near_of_cpu(&measured, share(300, 10_000), 0.3), Some(false));
        assert_eq!(near_of_cpu(&none, share(3000, 10_000), 0.3), Some(true));
        // Twice the share of all, and the same share of the rest.
        let (first, second) = (share(1000, 10_000), share(2000, 10_000));
        assert_eq!(grows((&measured, first), (&none, second)), None);
        assert_eq!(grows((&none, first), (&none, second)), Some(true));
    }

    #[test]
    fn one_false_answer_decides_all() {
        assert_eq!(all([Some(true), None, Some(false)]), Some(false));
        assert_eq!((all([Some(true), None]), all([Some(true)]), all([])), (None, Some(true), Some(true)));
    }
}
