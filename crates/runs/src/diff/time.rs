//! Where the difference in time went: the time for one amount of data, by cause.

use super::side::Side;
use slowpath_analyses::{Cause, Limit};
use slowpath_model::Bytes;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;

/// How much longer one side needed than the other for the same amount of data.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The amount of data that all times are for.
    pub per: Bytes,
    /// Whether both moved this amount.
    pub is_same_amount: bool,
    /// By cause: what changed most first. They add up to the total.
    pub parts: Vec<Part>,
    /// A total of fewer nanoseconds may be chance.
    pub resolution_ns: f64,
}

/// The time under one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What bound.
    pub cause: Cause,
    /// How long each side was bound, in nanoseconds for the amount of data.
    pub times_ns: [i64; 2],
}

impl Part {
    /// How much longer B was bound than A.
    pub const fn change_ns(&self) -> i64 {
        self.times_ns[1].saturating_sub(self.times_ns[0])
    }
}

/// The parts of one limit, what changed most first.
#[derive(Clone, Debug)]
pub struct LimitParts<'a> {
    /// The limit.
    pub limit: Limit,
    /// The time of all its causes.
    pub times_ns: [i64; 2],
    /// Its causes.
    pub parts: Vec<&'a Part>,
}

impl LimitParts<'_> {
    /// How much longer B was bound than A.
    pub const fn change_ns(&self) -> i64 {
        self.times_ns[1].saturating_sub(self.times_ns[0])
    }
}

/// How many standard deviations a difference has to exceed: one in a hundred does so by chance.
const SIGMAS: f64 = 2.6;
/// Amounts that differ by less than this part are the same.
const SAME_AMOUNT: f64 = 0.01;

impl Difference {
    /// Of two sides; `None` if one has no data or took no time.
    pub fn of([a, b]: [&Side; 2]) -> Option<Self> {
        let has_time = |side: &Side| side.bytes > Bytes::ZERO && !side.time.is_zero();
        if !(has_time(a) && has_time(b)) {
            return None;
        }
        let (per, is_same_amount) = amount(a.bytes, b.bytes);
        let causes: BTreeSet<Cause> = a.causes().chain(b.causes()).collect();
        let part = |cause| {
            let times_ns = [a, b].map(|side| scaled(side.under(cause), side.bytes, per));
            Part { cause, times_ns }
        };
        let mut parts: Vec<Part> = causes.into_iter().map(part).collect();
        parts.sort_by_key(|part| (Reverse(part.change_ns().unsigned_abs()), part.cause));
        let [one, other] = [a, b].map(|side| side.scatter() / side.time.as_secs_f64());
        let mut difference = Self { per, is_same_amount, parts, resolution_ns: 0.0 };
        // By factors: times are above zero, and long ones vary more than short ones.
        let [a, b] = difference.times_ns();
        difference.resolution_ns = a.min(b) as f64 * (SIGMAS * one.hypot(other)).exp_m1();
        Some(difference)
    }

    /// The time of each side.
    pub fn times_ns(&self) -> [i64; 2] {
        [0, 1].map(|side| self.parts.iter().map(|part| part.times_ns[side]).sum())
    }

    /// How much longer B needed than A.
    pub fn total_ns(&self) -> i64 {
        self.parts.iter().map(Part::change_ns).sum()
    }

    /// Whether the total is more than chance.
    pub fn is_beyond_chance(&self) -> bool {
        self.total_ns().unsigned_abs() as f64 > self.resolution_ns
    }

    /// The change of a part, positive where it goes the way of the total.
    pub fn toward_total_ns(&self, part: &Part) -> i64 {
        if self.total_ns() < 0 { -part.change_ns() } else { part.change_ns() }
    }

    /// The parts by limit: the limit that changed most first.
    pub fn limits(&self) -> Vec<LimitParts<'_>> {
        let of = |limit: Limit| {
            let parts: Vec<&Part> = self.parts.iter().filter(|part| part.cause.limit() == limit).collect();
            let times_ns = [0, 1].map(|side| parts.iter().map(|part| part.times_ns[side]).sum());
            LimitParts { limit, times_ns, parts }
        };
        let mut limits: Vec<_> = Limit::ALL.into_iter().map(of).filter(|of| !of.parts.is_empty()).collect();
        limits.sort_by_key(|of| (Reverse(of.change_ns().unsigned_abs()), of.limit));
        limits
    }
}

/// The time that `per` takes if `bytes` took `time`, in nanoseconds.
fn scaled(time: Duration, bytes: Bytes, per: Bytes) -> i64 {
    let (bytes, per) = (u128::from(bytes.get()), u128::from(per.get()));
    let nanos = (time.as_nanos() * per + bytes / 2) / bytes;
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

/// The amount that both moved; or, where that differs, the largest of 1, 10 and 100 of a unit that neither exceeds.
fn amount(a: Bytes, b: Bytes) -> (Bytes, bool) {
    let (less, more) = (a.min(b).get(), a.max(b).get());
    if (more - less) as f64 <= SAME_AMOUNT * more as f64 {
        return (Bytes::new(more), true);
    }
    let units = [1u64, 1 << 10, 1 << 20, 1 << 30, 1 << 40];
    let amounts = units.into_iter().flat_map(|unit| [1, 10, 100].map(|number| number * unit));
    (Bytes::new(amounts.filter(|amount| *amount <= less).max().unwrap_or(1)), false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::fact::Place;
    use crate::diff::seen::{Seen, Spent};
    use proptest::prelude::*;
    use slowpath_analyses::Confidence;
    use slowpath_model::{End, Endpoint, FlowId, FlowKey};

    pub fn side(bytes: u64, causes: &[(usize, u64)]) -> Side {
        let end = |port| Endpoint { address: [192, 0, 2, 1].into(), port };
        let spent = causes.iter().map(|(cause, nanos)| Spent {
            cause: Cause::ALL[cause % Cause::ALL.len()],
            lasted: Duration::from_nanos(*nanos),
            variance: 0.0,
            confidence: Confidence::High,
        });
        let spent: Vec<Spent> = spent.collect();
        let seen = Seen {
            id: FlowId(1),
            key: FlowKey { a: end(1), b: end(2), occurrence: 0 },
            sender: End::A,
            is_opening_seen: true,
            place: Place::Sender,
            place_confidence: Confidence::High,
            bytes: Bytes::new(bytes),
            unseen: Bytes::ZERO,
            time: spent.iter().map(|spent| spent.lasted).sum(),
            idle: Duration::ZERO,
            spent,
            facts: Vec::new(),
        };
        Side::of(&seen, None)
    }

    fn causes() -> impl Strategy<Value = Vec<(usize, u64)>> {
        prop::collection::vec((0..Cause::ALL.len(), 1..100_000_000_000u64), 1..12)
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_difference(
            (a, b) in (1..1u64 << 40, 1..1u64 << 40),
            (of_a, of_b) in (causes(), causes()),
        ) {
            let sides = [side(a, &of_a), side(b, &of_b)];
            let difference = Difference::of(sides.each_ref()).expect("both have data");
            let per = difference.per.get() as f64;
            // By way of the rates, without the causes.
            let [one, other] = sides.each_ref().map(|side| side.time.as_nanos() as f64 * per / side.bytes.get() as f64);
            let rounding = difference.parts.len() as f64 + 1e-9 * (one + other);
            prop_assert!((difference.total_ns() as f64 - (other - one)).abs() <= rounding);
            let [a, b] = difference.times_ns();
            prop_assert_eq!(b - a, difference.total_ns());
            let limits = difference.limits();
            prop_assert_eq!(limits.iter().map(LimitParts::change_ns).sum::<i64>(), difference.total_ns());
            prop_assert!(limits.is_sorted_by_key(|limit| Reverse(limit.change_ns().unsigned_abs())));
        }

        #[test]
        fn order_of_sides_changes_the_sign_alone(
            (a, b) in (1..1u64 << 40, 1..1u64 << 40),
            (of_a, of_b) in (causes(), causes()),
        ) {
            let sides = [side(a, &of_a), side(b, &of_b)];
            let forth = Difference::of([&sides[0], &sides[1]]).expect("both have data");
            let back = Difference::of([&sides[1], &sides[0]]).expect("both have data");
            prop_assert_eq!(forth.total_ns(), -back.total_ns());
            prop_assert_eq!(forth.per, back.per);
        }
    }

    #[test]
    fn amount_is_round_and_not_beyond_what_was_moved() {
        let mib = |mib: u64| Bytes::kib(mib << 10);
        assert_eq!(amount(mib(46), mib(46)), (mib(46), true));
        assert_eq!(amount(mib(46), mib(20)), (mib(10), false));
        assert_eq!(amount(Bytes::new(3 << 30), mib(900)), (mib(100), false));
        assert_eq!(amount(Bytes::new(7 << 30), Bytes::new(1 << 30)), (Bytes::new(1 << 30), false));
    }

    #[test]
    fn side_without_data_has_no_pace() {
        assert!(Difference::of([&Side::default(), &side(1000, &[(0, 5)])]).is_none());
    }
}
