//! What the packets' timestamps show, in bounded memory, and where one line cannot be θ because a clock was set.

use super::line::{Between, MOST_DRIFT, Point, highest, slack};
use super::{Alignment, Basis};

/// The lower envelopes of both directions in bounded memory: the minimum of each of many short times.
#[derive(Clone, Debug)]
pub(in crate::pairing) struct Envelopes {
    start: i64,
    width: i64,
    least: [Vec<Option<Point>>; 2],
    packets: [u64; 2],
}

impl Envelopes {
    const BINS: i64 = 4096;

    /// For a time on the first recording's clock.
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

    /// Aligns the clocks; `None` if one direction shows nothing. `steadier` are the packets of one path only: they may
    /// show the drift better.
    pub fn align(&self, steadier: Option<&Self>) -> Option<Alignment> {
        let points = self.points();
        if points.iter().any(Vec::is_empty) {
            return None;
        }
        let (basis, even) = match equal(&points) {
            Some(even) => (Basis::EqualClocks, even),
            None => (Basis::EqualWays, apart(&points)),
        };
        let steadier = steadier.map(Self::points);
        let stretches = even.iter().map(|one| {
            let steadier =
                steadier.as_ref().and_then(|points| Between::of(points, one.from, one.to, |_| true));
            one.stretch(basis, steadier.as_ref())
        });
        let stretches: Vec<_> = stretches.collect();
        (!stretches.is_empty()).then_some(Alignment { stretches, packets: self.packets })
    }

    fn points(&self) -> [Vec<Point>; 2] {
        self.least.each_ref().map(|least| least.iter().flatten().copied().collect())
    }
}

/// The first and the last instant of all.
fn ends(points: &[Vec<Point>; 2]) -> (i64, i64) {
    let of_each = points.iter().map(|points| (points[0].at, points[points.len() - 1].at));
    of_each.fold((i64::MAX, i64::MIN), |(a, b), (c, d)| (a.min(c), b.max(d)))
}

/// All of the time if the clocks can have been equal. If both are one clock that is set, the packets under way
/// contradict that for a moment: then the time before and the time after.
fn equal(points: &[Vec<Point>; 2]) -> Option<Vec<Between>> {
    /// A moment is no longer than this part of the time.
    const MOMENT: i64 = 10;
    let (first, last) = ends(points);
    let parts = match Between::against_equal_clocks(points) {
        None => vec![(first, last)],
        Some((from, to)) => {
            let is_short = to.saturating_sub(from) <= last.saturating_sub(first) / MOMENT;
            if !is_short || Between::of(points, first, last, |_| true)?.is_possible() {
                return None;
            }
            vec![(first, from - 1), (to + 1, last)]
        }
    };
    let parts: Option<Vec<_>> =
        parts.into_iter().map(|(from, to)| Between::of(points, from, to, |_| true)).collect();
    parts.filter(|parts| parts.iter().all(Between::allows_equal_clocks))
}

/// The times in which the clocks ran evenly, if they are not equal.
fn apart(points: &[Vec<Point>; 2]) -> Vec<Between> {
    let (windows, mut torn): (Vec<_>, Vec<_>) =
        windows(points).into_iter().partition(|window| !window.is_torn);
    if windows.is_empty() {
        torn.clear();
    }
    let is_whole = |at: i64| {
        let behind = torn.partition_point(|window| window.from <= at);
        behind == 0 || torn[behind - 1].to < at
    };
    let mut parts = evenly(&windows);
    let (first, last) = ends(points);
    // What only one direction shows before, and after, bounds θ as well.
    match parts.as_mut_slice() {
        [] => parts.push((first, last)),
        [one] => *one = (first, last),
        [one, .., other] => (one.0, other.1) = (first, last),
    }
    let mut even: Vec<Between> = Vec::new();
    for (from, to) in parts {
        let Some(next) = Between::of(points, from, to, is_whole) else { continue };
        // From one side, a queue that filled looks like a step. With one line for both directions, a step would need a
        // shorter RTT than either shows to make up for it.
        let whole = even.last().and_then(|last| Between::of(points, last.from, to, is_whole));
        if let (Some(last), Some(whole)) = (even.last(), whole) {
            let shortest = last.roomiest().1.min(next.roomiest().1);
            if whole.roomiest().1 + slack(shortest) >= shortest {
                even.pop();
                even.push(whole);
                continue;
            }
        }
        even.push(next);
    }
    // What looked like a step may have been the only moment without a queue.
    for one in &mut even {
        let (from, to) = (one.from, one.to);
        for window in torn.iter().filter(|window| window.from >= from && window.to <= to) {
            let more = Between::of(points, window.from, window.to, |_| true);
            more.iter().for_each(|more| one.take_in(more));
        }
    }
    even
}

/// The minimum transit time each way within a while.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: i64,
    to: i64,
    middle: f64,
    /// Half the difference between the two ways: how far the second clock seems to be ahead.
    ahead: f64,
    /// The sum of both: an RTT, and what queues added to it.
    sum: f64,
    /// Whether a clock seems to have been set within it.
    is_torn: bool,
}

/// Cuts the time so that both directions are in each window.
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
            is_torn: false,
        };
        Some(Window { is_torn: is_torn(&window, within), ..window })
    });
    windows.collect()
}

/// Whether a clock was set within the window: the minimum of one direction is from before, that of the other from
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
    sums.get(1).is_some_and(|sum| window.sum + 2.0 * slack(*sum as f64) + JUMP < *sum as f64)
}

/// Queues fill and drain within a window too: only a change that no queue explains tears it.
const JUMP: f64 = 1_000_000.0;

/// The stretches in which one straight line can be θ.
///
/// In each window θ is known to within half of what queues added to the RTT there. As many windows as one line can pass
/// through make a stretch.
fn evenly(windows: &[Window]) -> Vec<(i64, i64)> {
    let (Some(first), Some(last)) = (windows.first(), windows.last()) else { return Vec::new() };
    let mut sums: Vec<_> = windows.iter().map(|window| window.sum).collect();
    sums.sort_by(f64::total_cmp);
    // An unrecognised window in which a clock was set shows a sum that is too low.
    let floor = sums[(windows.len() / 40 + 1).min(windows.len() - 1)];
    let slack = slack(floor);
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
    highest(room, [-MOST_DRIFT, MOST_DRIFT]).1 >= 0.0
}
