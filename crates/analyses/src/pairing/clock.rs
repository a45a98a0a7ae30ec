//! How the clocks of two recordings lie to each other: offset, drift and steps.
//!
//! A packet from the first recording to the second takes `d = transit + θ(t)` by the two stamps, one the other way
//! `d' = transit' − θ(t)`, with `θ = offset + drift · t` what the second clock is ahead. Transit times have a floor
//! and only ever add to it, so that the lower envelopes of both directions carry θ with opposite signs (Paxson, *On
//! calibrating measurements of packet transit times*, SIGMETRICS 1998). The drift is the slope under which both
//! envelopes together lie highest, which is a linear program (Moon, Skelly and Towsley, *Estimation and removal of
//! clock skew from network delay measurements*, INFOCOM 1999, solved for one direction); the offset puts the two
//! floors at the same height. No stamps can tell more: that the shortest transit takes equally long both ways is
//! an assumption, and the offset is wrong by up to half of the shortest round trip if it does not hold.
//!
//! A step of a clock raises one direction and lowers the other. A queue or a new route raises what it raises and
//! lowers nothing, and so is not taken for one.

use slowpath_model::Instant;
use std::time::Duration;

/// How the second recording's clock lies to the first's.
#[derive(Clone, Debug, PartialEq)]
pub struct Alignment {
    /// Times between which the clocks ran evenly, in order. More than one if a clock was set meanwhile.
    pub stretches: Vec<Stretch>,
    /// Packets it is drawn from, first to second and back.
    pub packets: [u64; 2],
}

/// A time during which the two clocks ran evenly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// From this instant of the first recording's clock on.
    pub from: Instant,
    /// Until this one.
    pub to: Instant,
    /// What the second clock is ahead of the first at `from`, by the wall-clock stamps of the two recordings, in
    /// nanoseconds.
    pub offset_ns: i64,
    /// By how much the second clock runs faster, in parts per million.
    pub drift_ppm: f64,
    /// How far the drift may be off, in parts per million.
    pub drift_uncertainty_ppm: f64,
    /// The shortest round trip between the two recordings' places.
    pub round_trip: Duration,
}

impl Stretch {
    /// How far the offset may be off: half of the shortest round trip, if all of it were spent one way.
    pub fn uncertainty(&self) -> Duration {
        self.round_trip / 2
    }
}

impl Alignment {
    /// What the second clock is ahead at `at` nanoseconds on the first recording's clock; `None` while one of them
    /// was being set.
    pub(super) fn ahead(&self, at: i64) -> Option<i64> {
        let at = at.clamp(-(1 << 61), 1 << 61);
        let (first, last) = (self.stretches.first()?, self.stretches.last()?);
        let stretch = if at < first.from.nanos() {
            first
        } else if at > last.to.nanos() {
            last
        } else {
            let behind = self.stretches.partition_point(|stretch| stretch.from.nanos() <= at);
            let stretch = &self.stretches[behind.saturating_sub(1)];
            if at > stretch.to.nanos() {
                return None;
            }
            stretch
        };
        let since = (at - stretch.from.nanos()) as f64;
        Some(stretch.offset_ns.saturating_add((since * stretch.drift_ppm / 1e6).round() as i64))
    }

    /// How far the clock is ahead; while a clock was being set, as it was before.
    fn ahead_or_nearly(&self, at: i64) -> i64 {
        let behind = self.stretches.partition_point(|stretch| stretch.from.nanos() <= at);
        let nearest = self.stretches.get(behind.saturating_sub(1));
        self.ahead(at).or_else(|| self.ahead(nearest?.to.nanos())).unwrap_or(0)
    }

    /// Times at which one of the clocks was set, and by how much: between the end of a stretch and the start of
    /// the next, in nanoseconds.
    pub fn steps(&self) -> impl Iterator<Item = (Instant, Instant, i64)> {
        self.stretches.windows(2).map(|pair| {
            let (before, after) = (&pair[0], &pair[1]);
            let ran = after.from.nanos_since(before.from) as f64 * before.drift_ppm / 1e6;
            (
                before.to,
                after.from,
                after.offset_ns.saturating_sub(before.offset_ns).saturating_sub(ran.round() as i64),
            )
        })
    }
}

/// How long packets of one direction take, once the clocks are aligned. Where they are not, the stamps count as
/// they are: good for comparisons between packets, not for delays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transit<'a> {
    pub alignment: Option<&'a Alignment>,
    /// The recording nearer to the sender: 0 or 1.
    pub near: usize,
    /// The wall-clock time of the first recording's instant 0.
    pub epoch: i64,
    /// The shortest transit there is, less what is within the stamps' uncertainty.
    pub shortest: i64,
}

impl Transit<'_> {
    /// From passing near to passing far, at wall-clock times of their own.
    pub fn of(&self, near: i64, far: i64) -> i64 {
        let first = if self.near == 0 { near } else { far };
        let ahead =
            self.alignment.map_or(0, |alignment| alignment.ahead_or_nearly(first.saturating_sub(self.epoch)));
        far.saturating_sub(near).saturating_sub(self.signed(ahead))
    }

    /// The delay between the two, where the clocks are known well enough to speak of one.
    pub fn delay(&self, near: i64, far: i64) -> Option<i64> {
        let first = if self.near == 0 { near } else { far };
        let ahead = self.alignment?.ahead(first.saturating_sub(self.epoch))?;
        Some(far.saturating_sub(near).saturating_sub(self.signed(ahead)))
    }

    /// When, on far's wall clock, what passes near at `near` would pass far if it took no time.
    pub fn at_far(&self, near: i64) -> i64 {
        let Some(alignment) = self.alignment else { return near };
        let mut first = near.saturating_sub(self.epoch);
        if self.near == 1 {
            // The clocks' distance now is asked for, and now is by the other clock; drift is small, so this settles.
            for _ in 0..3 {
                first = near.saturating_sub(self.epoch).saturating_sub(alignment.ahead_or_nearly(first));
            }
        }
        near.saturating_add(self.signed(alignment.ahead_or_nearly(first)))
    }

    fn signed(&self, ahead: i64) -> i64 {
        if self.near == 0 { ahead } else { ahead.saturating_neg() }
    }
}

/// A transit time by the stamps, and when, on the first recording's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    at: i64,
    taken: i64,
}

/// The lower envelopes of both directions in bounded memory: the least of each of many short times.
#[derive(Clone, Debug)]
pub(super) struct Envelopes {
    start: i64,
    width: i64,
    least: [Vec<Option<Point>>; 2],
    packets: [u64; 2],
}

impl Envelopes {
    const BINS: i64 = 4096;

    /// Over a time on the first recording's clock.
    pub fn over((from, to): (i64, i64)) -> Self {
        let width = (to.saturating_sub(from) / Self::BINS).max(0) + 1;
        let least = [vec![None; Self::BINS as usize], vec![None; Self::BINS as usize]];
        Self { start: from, width, least, packets: [0; 2] }
    }

    /// A packet passed the first recording at `at`, on its own clock, and took `taken` by the two wall clocks:
    /// `direction` 0 is from the first to the second.
    pub fn saw(&mut self, direction: usize, at: i64, taken: i64) {
        self.packets[direction] += 1;
        let bin = ((at.saturating_sub(self.start)) / self.width).clamp(0, Self::BINS - 1) as usize;
        let least = &mut self.least[direction][bin];
        if least.is_none_or(|point| point.taken > taken) {
            *least = Some(Point { at, taken: taken.clamp(-(1 << 60), 1 << 60) });
        }
    }

    /// How much there is to go by.
    pub fn weight(&self) -> u64 {
        self.packets[0].min(self.packets[1])
    }

    /// Aligns the clocks; `None` if one direction shows nothing.
    pub fn align(&self) -> Option<Alignment> {
        let points: [Vec<Point>; 2] = [0, 1].map(|n| self.least[n].iter().flatten().copied().collect());
        if points.iter().any(Vec::is_empty) {
            return None;
        }
        let mut even: Vec<Between> = Vec::new();
        for (from, to) in evenly(&windows(&points)) {
            let Some(next) = Between::of(&points, from, to) else { continue };
            // A queue that filled looks like a step from one side. Under one line for both, a step would have to be
            // made up for by a shorter round trip than either shows.
            let whole = even.last().and_then(|last| Between::of(&points, last.from, to));
            if let (Some(last), Some(whole)) = (even.last(), whole) {
                let shortest = last.highest().1.min(next.highest().1);
                if whole.highest().1 + slack(shortest).as_nanos() as f64 >= shortest {
                    even.pop();
                    even.push(whole);
                    continue;
                }
            }
            even.push(next);
        }
        let stretches: Vec<_> = even.iter().map(Between::stretch).collect();
        (!stretches.is_empty()).then_some(Alignment { stretches, packets: self.packets })
    }
}

/// The least transit time each way within a while.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: i64,
    to: i64,
    middle: f64,
    /// Half the difference between the two ways: what the second clock seems to be ahead.
    ahead: f64,
    /// The sum of both: a round trip, and what queues added to it.
    sum: f64,
}

/// Cuts the time so that both directions are in each window, and leaves out those in which a clock was set.
fn windows(points: &[Vec<Point>; 2]) -> Vec<Window> {
    const MOST: usize = 128;
    let from = points.iter().filter_map(|points| points.first()).map(|point| point.at).min().unwrap_or(0);
    let to = points.iter().filter_map(|points| points.last()).map(|point| point.at).max().unwrap_or(0);
    let count = (points[0].len().min(points[1].len()) / 4).clamp(1, MOST) as i64;
    let width = (to - from) / count + 1;
    let windows = (0..count).filter_map(|n| {
        let (begin, end) = (from + n * width, (from + (n + 1) * width - 1).min(to));
        let within = points.each_ref().map(|points| {
            let start = points.partition_point(|point| point.at < begin);
            &points[start..points.partition_point(|point| point.at <= end)]
        });
        let [Some(one), Some(other)] = within.map(|points| points.iter().min_by_key(|point| point.taken))
        else {
            return None;
        };
        let window = Window {
            from: begin,
            to: end,
            middle: one.at as f64 / 2.0 + other.at as f64 / 2.0,
            ahead: (one.taken - other.taken) as f64 / 2.0,
            sum: (one.taken + other.taken) as f64,
        };
        (!is_torn(&window, within)).then_some(window)
    });
    windows.collect()
}

/// Whether a clock was set within the window: the least of one direction is from before, that of the other from
/// after, and their sum is less than that of packets near each other in time. At most one such pair lies across.
fn is_torn(window: &Window, [forward, backward]: [&[Point]; 2]) -> bool {
    let nearest = |to: &Point, among: &[Point]| {
        (0..among.len()).min_by_key(|n| (among[*n].at - to.at).unsigned_abs()).unwrap_or(0)
    };
    let mut sums: Vec<_> = (0..forward.len())
        .filter_map(|n| {
            let other = nearest(&forward[n], backward);
            (nearest(&backward[other], forward) == n).then(|| forward[n].taken + backward[other].taken)
        })
        .collect();
    sums.sort_unstable();
    sums.get(1)
        .is_some_and(|sum| window.sum + 2.0 * slack(*sum as f64).as_nanos() as f64 + JUMP < *sum as f64)
}

/// Queues fill and drain within a window too: only what no queue's ordinary change explains tears it.
const JUMP: f64 = 1_000_000.0;

/// Clocks that drift apart faster were set, not adjusted: `adjtimex` slews by 500 ppm at most, and a crystal adds
/// 100 or so.
const MOST_DRIFT: f64 = 1000.0e-6;

/// Smaller steps drown in the scatter of the stamps, and matter little beside the offset's own uncertainty.
fn slack(round_trip: f64) -> Duration {
    Duration::from_nanos((round_trip / 50.0).max(100_000.0) as u64)
}

/// By how much the crystals of two machines differ at most: what one cannot tell apart better is taken for none.
const CRYSTALS: f64 = 100.0e-6;

/// The stretches in which one straight line can be θ.
///
/// In each window θ is known to within half of what queues added there to the round trip. As many windows as one
/// line can pass through make a stretch.
fn evenly(windows: &[Window]) -> Vec<(i64, i64)> {
    let (Some(first), Some(last)) = (windows.first(), windows.last()) else { return Vec::new() };
    let mut sums: Vec<_> = windows.iter().map(|window| window.sum).collect();
    sums.sort_by(f64::total_cmp);
    // A window in which a clock was set and that was not recognised shows a sum that is too low.
    let floor = sums[(windows.len() / 40 + 1).min(windows.len() - 1)];
    let slack = slack(floor).as_nanos() as f64;
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut from = 0;
    while from < windows.len() {
        let (mut most, mut beyond) = (from + 1, windows.len() + 1);
        while most + 1 < beyond {
            let middle = most.midpoint(beyond);
            if passes(&windows[from..middle.min(windows.len())], floor, slack) && middle <= windows.len() {
                most = middle;
            } else {
                beyond = middle;
            }
        }
        found.push((from, most));
        from = most;
    }
    let ends = |(from, to): (usize, usize)| (windows[from].from, windows[to - 1].to);
    match found.as_slice() {
        [] | [_] => vec![(first.from, last.to)],
        _ => found.into_iter().map(ends).collect(),
    }
}

/// Whether one line passes through all windows.
fn passes(windows: &[Window], floor: f64, slack: f64) -> bool {
    let origin = windows[0].middle;
    let room = |drift: f64| {
        let (mut low, mut high) = (f64::MIN, f64::MAX);
        for window in windows {
            let half = ((window.sum - floor) / 2.0).max(0.0) + slack;
            let ahead = window.ahead - drift * (window.middle - origin);
            low = low.max(ahead - half);
            high = high.min(ahead + half);
        }
        high - low
    };
    highest(room, MOST_DRIFT).1 >= 0.0
}

/// Where a concave function is highest within ±`bound`, and how high.
fn highest(of: impl Fn(f64) -> f64, bound: f64) -> (f64, f64) {
    let (mut low, mut high) = (-bound, bound);
    for _ in 0..100 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if of(a) < of(b) { low = a } else { high = b }
    }
    let at = f64::midpoint(low, high);
    (at, of(at))
}

/// Both envelopes between two instants.
struct Between {
    from: i64,
    to: i64,
    middle: i64,
    forward: Vec<Point>,
    backward: Vec<Point>,
}

impl Between {
    /// `None` if one of them shows nothing.
    fn of(points: &[Vec<Point>; 2], from: i64, to: i64) -> Option<Self> {
        let [forward, backward] = points.each_ref().map(|points| -> Vec<Point> {
            points.iter().filter(|point| (from..=to).contains(&point.at)).copied().collect()
        });
        let empty = forward.is_empty() || backward.is_empty();
        (!empty).then_some(Self { from, to, middle: from.midpoint(to), forward, backward })
    }

    /// What a packet from the first recording to the second shows above a line of slope `drift`.
    fn above(&self, point: &Point, drift: f64) -> f64 {
        point.taken as f64 - drift * (point.at - self.middle) as f64
    }

    /// How high the two envelopes lie over a line of slope `drift`.
    fn floors(&self, drift: f64) -> [f64; 2] {
        let least = |points: &[Point], drift: f64| {
            points.iter().map(|point| self.above(point, drift)).fold(f64::INFINITY, f64::min)
        };
        [least(&self.forward, drift), least(&self.backward, -drift)]
    }

    /// The slope under which both together lie highest, and how high: the shortest round trip.
    fn highest(&self) -> (f64, f64) {
        highest(|drift| self.floors(drift).iter().sum(), MOST_DRIFT)
    }

    fn stretch(&self) -> Stretch {
        let (mut drift, round_trip) = self.highest();
        // How far the least of a short time lies above the floor, for most of the better ones.
        let floors = self.floors(drift);
        let forward = self.forward.iter().map(|point| self.above(point, drift) - floors[0]);
        let backward = self.backward.iter().map(|point| self.above(point, -drift) - floors[1]);
        let mut excess: Vec<_> = forward.chain(backward).collect();
        excess.sort_by(f64::total_cmp);
        let scatter = excess[excess.len() / 4].max(1000.0);
        let reach = |direction: f64| {
            let (mut within, mut beyond) = (0.0, MOST_DRIFT * 2.0);
            for _ in 0..60 {
                let step = f64::midpoint(within, beyond);
                let sum: f64 = self.floors(drift + direction * step).iter().sum();
                if sum >= round_trip - scatter { within = step } else { beyond = step }
            }
            within
        };
        let mut uncertainty = reach(1.0).max(reach(-1.0));
        if uncertainty > CRYSTALS {
            uncertainty += drift.abs();
            drift = 0.0;
        }
        let [forward, backward] = self.floors(drift);
        let ahead = (forward - backward) / 2.0;
        Stretch {
            from: Instant::from_nanos(self.from),
            to: Instant::from_nanos(self.to),
            offset_ns: (ahead - drift * (self.middle - self.from) as f64).round() as i64,
            drift_ppm: drift * 1e6,
            drift_uncertainty_ppm: uncertainty * 1e6,
            round_trip: Duration::from_nanos(round_trip.max(0.0) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Transit times of 10 ms and more, queues now and then, under a θ of one's choice.
    fn seen(seconds: i64, theta: impl Fn(i64) -> i64) -> Envelopes {
        let mut envelopes = Envelopes::over((0, seconds * 1_000_000_000));
        let mut state = 7u64;
        let mut noise = |up_to: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % up_to) as i64
        };
        for n in 0..seconds * 500 {
            let at = n * 2_000_000;
            let queue = if n % 700 < 400 { 20_000_000 } else { 0 };
            envelopes.saw(0, at, 10_000_000 + queue + noise(3_000_000) + theta(at));
            envelopes.saw(1, at, 10_000_000 + noise(200_000) - theta(at));
        }
        envelopes
    }

    #[test]
    fn offset_and_drift_are_recovered() {
        let theta = |at: i64| 3_700_000_000 - at / 12_500;
        let alignment = seen(20, theta).align().unwrap();
        let [stretch] = alignment.stretches.as_slice() else { panic!("{alignment:?}") };
        assert!((stretch.drift_ppm + 80.0).abs() < 3.0, "{stretch:?}");
        assert!(stretch.drift_uncertainty_ppm < 20.0, "{stretch:?}");
        assert!((alignment.ahead(10_000_000_000).unwrap() - theta(10_000_000_000)).abs() < 100_000);
        assert!(stretch.round_trip.abs_diff(Duration::from_millis(20)) < Duration::from_micros(100));
    }

    #[test]
    fn a_clock_that_is_set_is_said_and_not_averaged() {
        let theta = |at: i64| if at < 12_300_000_000 { 0 } else { -50_000_000 };
        let alignment = seen(20, theta).align().unwrap();
        let steps: Vec<_> = alignment.steps().collect();
        let [(from, to, by)] = steps.as_slice() else { panic!("{alignment:?}") };
        assert!((*from..=*to).contains(&Instant::from_nanos(12_300_000_000)), "{from} {to}");
        assert!((by + 50_000_000).abs() < 200_000, "{by}");
        assert_eq!(alignment.ahead(from.nanos().midpoint(to.nanos())), None);
    }

    #[test]
    fn a_longer_route_is_no_step() {
        let mut envelopes = seen(20, |_| 0);
        for bin in &mut envelopes.least[0] {
            if let Some(point) = bin
                && point.at > 9_000_000_000
            {
                point.taken += 15_000_000;
            }
        }
        assert_eq!(envelopes.align().unwrap().stretches.len(), 1);
    }

    #[test]
    fn a_moment_gives_an_offset_and_no_drift() {
        let mut envelopes = Envelopes::over((0, 30_000_000));
        envelopes.saw(0, 0, 5_010_000_000);
        envelopes.saw(1, 20_000_000, -4_990_000_000);
        let alignment = envelopes.align().unwrap();
        assert_eq!(alignment.stretches[0].drift_ppm, 0.0);
        assert_eq!(alignment.ahead(0), Some(5_000_000_000));
        let mut one_way = Envelopes::over((0, 1));
        one_way.saw(0, 0, 1);
        assert_eq!(one_way.align(), None);
    }
}
