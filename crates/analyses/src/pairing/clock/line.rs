//! The line θ(t) under which no packet has a negative transit time, and the room around it.

use super::{Basis, Stretch};
use slowpath_model::Instant;
use std::time::Duration;

/// A transit time by the timestamps, and when, on the first recording's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub at: i64,
    pub taken: i64,
}

/// Clocks that drift apart faster were set, not adjusted: `adjtimex` slews by 500 ppm at most, and a crystal adds
/// 100 or so.
pub(super) const MOST_DRIFT: f64 = 1000.0e-6;

/// The largest difference between the crystals of two machines: a drift that cannot be told more precisely counts as
/// none.
const CRYSTALS: f64 = 100.0e-6;

/// How far two taps of one clock may contradict each other: timestamps are truncated to microseconds.
const STAMPS: f64 = 2_000.0;

/// Smaller steps drown in the scatter of the timestamps, and matter little next to the offset's own uncertainty.
pub(super) fn slack(round_trip: f64) -> f64 {
    (round_trip / 50.0).max(100_000.0)
}

/// Where a concave function is highest within a range, and how high.
pub(super) fn highest(of: impl Fn(f64) -> f64, [mut low, mut high]: [f64; 2]) -> (f64, f64) {
    for _ in 0..100 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if of(a) < of(b) { low = a } else { high = b }
    }
    let at = f64::midpoint(low, high);
    (at, of(at))
}

/// How far from `within` towards `beyond` a condition goes on holding.
fn reach(holds: impl Fn(f64) -> bool, mut within: f64, mut beyond: f64) -> f64 {
    if holds(beyond) {
        return beyond;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(within, beyond);
        if holds(middle) { within = middle } else { beyond = middle }
    }
    within
}

/// A slope, and how far it may be off: seconds per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drift {
    pub is: f64,
    pub uncertainty: f64,
}

/// Both envelopes between two instants.
#[derive(Clone, Debug)]
pub(super) struct Between {
    pub from: i64,
    pub to: i64,
    middle: i64,
    ways: [Vec<Point>; 2],
}

impl Between {
    /// `None` if one of them shows nothing.
    pub fn of(points: &[Vec<Point>; 2], from: i64, to: i64, counts: impl Fn(i64) -> bool) -> Option<Self> {
        let ways = points.each_ref().map(|points| -> Vec<Point> {
            let within = points.iter().filter(|point| (from..=to).contains(&point.at) && counts(point.at));
            within.copied().collect()
        });
        let empty = ways.iter().any(Vec::is_empty);
        (!empty).then_some(Self { from, to, middle: from.midpoint(to), ways })
    }

    /// How far a packet lies above a line of slope `drift` through 0 in the middle.
    fn above(&self, way: usize, point: &Point, drift: f64) -> f64 {
        let line = drift * (point.at - self.middle) as f64;
        point.taken as f64 + if way == 0 { -line } else { line }
    }

    /// How high the two envelopes lie over a line of slope `drift`: θ in the middle is at most the first, and at
    /// least the second's opposite.
    pub fn floors(&self, drift: f64) -> [f64; 2] {
        [0, 1].map(|way| {
            let above = self.ways[way].iter().map(|point| self.above(way, point, drift));
            above.fold(f64::INFINITY, f64::min)
        })
    }

    /// The room that θ has under a slope: the least transit times both ways.
    pub fn room(&self, drift: f64) -> f64 {
        self.floors(drift).iter().sum()
    }

    /// The slope that leaves most room, and how much.
    pub fn roomiest(&self) -> (f64, f64) {
        highest(|drift| self.room(drift), [-MOST_DRIFT, MOST_DRIFT])
    }

    /// Times in which packets would have negative transit times if the clocks were equal: from and to.
    pub fn against_equal_clocks(points: &[Vec<Point>; 2]) -> Option<(i64, i64)> {
        let against = points.iter().flatten().filter(|point| (point.taken as f64) < -STAMPS);
        against.fold(None, |found, point| {
            let (from, to) = found.unwrap_or((point.at, point.at));
            Some((from.min(point.at), to.max(point.at)))
        })
    }

    /// Whether there is a slope under which no packet has a negative transit time.
    pub fn is_possible(&self) -> bool {
        self.roomiest().1 >= -STAMPS
    }

    /// Adds points of a time within it, if no transit time becomes negative with them.
    pub fn take_in(&mut self, other: &Self) {
        let before = self.ways.clone();
        for (own, more) in self.ways.iter_mut().zip(&other.ways) {
            own.extend(more);
        }
        if !self.is_possible() {
            self.ways = before;
        }
    }

    /// How far the minimum of a short time lies above the floor, for most of the better ones.
    fn scatter(&self, drift: f64) -> f64 {
        let floors = self.floors(drift);
        let above =
            |way: usize| self.ways[way].iter().map(move |point| self.above(way, point, drift) - floors[way]);
        let mut excess: Vec<_> = above(0).chain(above(1)).collect();
        excess.sort_by(f64::total_cmp);
        excess[excess.len() / 4].max(1000.0)
    }

    /// The drift: of the slopes that leave as much room within the scatter, the one in the middle; if there are too
    /// many, the least, if crystals can differ by that.
    pub fn drift(&self) -> Drift {
        let (at, room) = self.roomiest();
        let scatter = self.scatter(at).min(room / 2.0).max(1000.0);
        let holds = |drift: f64| self.room(drift) >= room - scatter;
        let [low, high] = [-1.0, 1.0].map(|way| reach(holds, at, at + way * MOST_DRIFT * 2.0));
        let least = 0.0_f64.clamp(low, high);
        let is = match high - low > 2.0 * CRYSTALS {
            false => at,
            true if least.abs() > CRYSTALS && self.room(0.0) >= 0.0 => 0.0,
            true => least,
        };
        Drift { is, uncertainty: (high - is).max(is - low) }
    }

    /// Whether the two clocks can have shown the same time all along, with no sign that they drifted apart.
    pub fn allows_equal_clocks(&self) -> bool {
        let (at, most) = highest(|drift| self.room(drift), [-CRYSTALS, CRYSTALS]);
        self.floors(0.0).iter().all(|floor| *floor >= -STAMPS)
            && self.room(0.0) + slack(most).max(self.scatter(at)) >= most
    }

    /// The stretch, under an assumption. `steadier` are packets that may show the drift better.
    pub fn stretch(&self, basis: Basis, steadier: Option<&Self>) -> Stretch {
        let own = self.drift();
        let steadier = steadier.map(Self::drift);
        let mut drift = steadier
            .filter(|other| other.uncertainty < own.uncertainty && self.room(other.is) >= 0.0)
            .unwrap_or(own);
        let middle = match basis {
            Basis::EqualClocks => {
                drift = Drift { is: 0.0, uncertainty: drift.uncertainty + drift.is.abs() };
                0.0
            }
            Basis::EqualWays => {
                let [above, below] = self.floors(drift.is);
                (above - below) / 2.0
            }
        };
        let ahead = |at: i64| middle + drift.is * (at - self.middle) as f64;
        let slopes = self.slopes(drift);
        let at_ends = [self.from, self.to].map(|at| (self.bounds(at, slopes), ahead(at)));
        let off = at_ends.iter().map(|([low, high], ahead)| (ahead - low).abs().max((high - ahead).abs()));
        let [low, high] = at_ends[0].0;
        let uncertainty = off.fold(1000.0, f64::max);
        Stretch {
            from: Instant::from_nanos(self.from),
            to: Instant::from_nanos(self.to),
            offset_ns: ahead(self.from).round() as i64,
            basis,
            offset_bounds_ns: [low.min(high), high.max(low)].map(|bound| bound.round() as i64),
            drift_ppm: drift.is * 1e6,
            drift_uncertainty_ppm: drift.uncertainty * 1e6,
            uncertainty: Duration::from_nanos(uncertainty as u64),
            round_trip: Duration::from_nanos(self.room(drift.is).max(0.0) as u64),
        }
    }

    /// The slopes that crystals allow and no packet excludes.
    fn slopes(&self, drift: Drift) -> [f64; 2] {
        let holds = |drift: f64| self.room(drift) >= 0.0;
        if !holds(drift.is) {
            return [drift.is; 2];
        }
        let off = drift.uncertainty.min(CRYSTALS);
        [(drift.is - off).min(-CRYSTALS), (drift.is + off).max(CRYSTALS)]
            .map(|beyond| reach(holds, drift.is, beyond))
    }

    /// The bounds of θ at an instant, under any of some slopes.
    fn bounds(&self, at: i64, slopes: [f64; 2]) -> [f64; 2] {
        let since = (at - self.middle) as f64;
        let (_, high) = highest(|drift| self.floors(drift)[0] + drift * since, slopes);
        let (_, low) = highest(|drift| self.floors(drift)[1] - drift * since, slopes);
        [-low, high]
    }
}
