//! A figure of a paper, drawn from our measurements.

/// A figure, or a part of one: series over one pair of axes.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its name in the paper, with the part: `Plate 1(a)`.
    pub name: &'static str,
    /// Its subject.
    pub about: &'static str,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The series, in the order of the legend.
    pub series: Vec<Series>,
    /// What the paper says about it, in our words.
    pub says: &'static str,
    /// What ours shows.
    pub seen: String,
}

/// An axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The quantity: `throughput`.
    pub title: &'static str,
    /// The unit: `Mbit/s`. Empty for a count.
    pub unit: &'static str,
    /// Whether its scale is logarithmic; otherwise it is linear.
    pub logarithmic: bool,
}

impl Axis {
    /// An axis with a linear scale.
    pub const fn linear(title: &'static str, unit: &'static str) -> Self {
        Self { title, unit, logarithmic: false }
    }

    /// An axis with a logarithmic scale.
    pub const fn logarithmic(title: &'static str, unit: &'static str) -> Self {
        Self { title, unit, logarithmic: true }
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// As straight lines between points that were measured separately.
    Line,
    /// As a course over time: one line, with too many points for marks.
    Course,
    /// As steps: a value holds until the next point.
    Steps,
    /// As letters, each at its point.
    Marks,
}

/// One series of a figure: columns of the same length, in the order of `x`.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// How it is drawn.
    pub drawn: Drawn,
    /// The letter of a series of marks.
    pub letter: Option<char>,
    /// Whether these are the paper's numbers.
    pub published: bool,
    /// The horizontal coordinates.
    pub x: Vec<f64>,
    /// The vertical coordinates: the median of several runs.
    pub y: Vec<f64>,
    /// The minimum of several runs; empty if there was one.
    pub least: Vec<f64>,
    /// The maximum of several runs.
    pub most: Vec<f64>,
    /// How many values the points stand for: more than the points if a [`Course`] thinned them out.
    pub of: u64,
}

impl Series {
    /// A series of single values.
    pub fn new(name: impl Into<String>, drawn: Drawn, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
        let (name, of) = (name.into(), x.len() as u64);
        Self { name, drawn, letter: None, published: false, x, y, least: Vec::new(), most: Vec::new(), of }
    }

    /// A series of the minimum, median and maximum of several runs at each `x`
    /// ([`measure::spread`](crate::measure::spread)).
    pub fn of_runs(name: impl Into<String>, points: impl IntoIterator<Item = (f64, [f64; 3])>) -> Self {
        let mut series = Self::new(name, Drawn::Line, []);
        for (x, [least, median, most]) in points {
            series.x.push(x);
            series.y.push(median);
            series.least.push(least);
            series.most.push(most);
        }
        Self { of: series.x.len() as u64, ..series }
    }

    /// A series of the paper's numbers.
    pub fn published(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { published: true, ..Self::new(name, Drawn::Line, points) }
    }

    /// Its points.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.x.iter().copied().zip(self.y.iter().copied())
    }
}

/// A course over time of any length, in bounded memory: for each of a number of equal stretches it keeps the first,
/// minimum, maximum and last value, each with its time. At a width of at most that many pixels, it looks as if all
/// values were drawn.
#[derive(Clone, Debug)]
pub struct Course {
    from: f64,
    stretch: f64,
    stretches: Vec<Option<Stretch>>,
    of: u64,
}

/// The first, minimum, maximum and last value of a stretch, each with its number in the course.
#[derive(Clone, Copy, Debug)]
struct Stretch([Value; 4]);

#[derive(Clone, Copy, Debug)]
struct Value {
    number: u64,
    x: f64,
    y: f64,
}

impl Course {
    /// Stretches of a course that is drawn over the whole width of a page.
    pub const USUAL: usize = 240;

    /// A course from `from` to `to` with this many stretches. Values outside belong to the first or the last one.
    pub fn new([from, to]: [f64; 2], stretches: usize) -> Self {
        let count = stretches.max(1);
        Self { from, stretch: (to - from) / count as f64, stretches: vec![None; count], of: 0 }
    }

    /// The next value; `x` never decreases.
    pub fn push(&mut self, x: f64, y: f64) {
        let value = Value { number: self.of, x, y };
        self.of += 1;
        // A conversion from a float saturates: values before the first stretch belong to it.
        let place = (((x - self.from) / self.stretch) as usize).min(self.stretches.len() - 1);
        match &mut self.stretches[place] {
            Some(Stretch([_, least, greatest, last])) => {
                if y < least.y {
                    *least = value;
                }
                if y > greatest.y {
                    *greatest = value;
                }
                *last = value;
            }
            empty => *empty = Some(Stretch([value; 4])),
        }
    }

    /// The series: at most four points per stretch; points of a line that equal both neighbours are dropped.
    pub fn series(&self, name: impl Into<String>, drawn: Drawn) -> Series {
        let kept = self.stretches.iter().flatten().flat_map(|Stretch(values)| {
            let mut values = *values;
            values.sort_by_key(|value| value.number);
            values
        });
        let mut points: Vec<Value> = Vec::new();
        for value in kept {
            match points[..] {
                [.., last] if last.number == value.number => {}
                [.., before, last] if drawn != Drawn::Marks && before.y == last.y && last.y == value.y => {
                    points.pop();
                    points.push(value);
                }
                _ => points.push(value),
            }
        }
        let series = Series::new(name, drawn, points.into_iter().map(|value| (value.x, value.y)));
        Series { of: self.of, ..series }
    }

    /// The series drawn as marks with this letter.
    pub fn marks(&self, name: impl Into<String>, letter: char) -> Series {
        Series { letter: Some(letter), ..self.series(name, Drawn::Marks) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_course_keeps_all_values() {
        let mut course = Course::new([0.0, 20.0], 10);
        let values = [(0.0, 5.0), (3.0, 1.0), (3.1, 9.0), (3.1, 9.0), (19.9, 2.0)];
        values.iter().for_each(|(x, y)| course.push(*x, *y));
        let series = course.series("queue", Drawn::Course);
        assert_eq!(series.points().collect::<Vec<_>>(), values);
        assert_eq!(series.of, 5);
    }

    /// The minimum and maximum of every stretch are kept, in order and with their times.
    #[test]
    fn long_course_keeps_its_peaks() {
        let of = |number: u64| (number as f64 / 1000.0, (number * 7919 % 1009) as f64);
        let mut course = Course::new([0.0, 100.0], 50);
        (0..100_000).map(of).for_each(|(x, y)| course.push(x, y));
        let series = course.series("queue", Drawn::Course);
        assert_eq!(series.of, 100_000);
        assert!(series.x.len() <= 200, "{}", series.x.len());
        assert!(series.x.is_sorted());
        for stretch in 0..50_u64 {
            let all: Vec<(f64, f64)> = (stretch * 2000..(stretch + 1) * 2000).map(of).collect();
            let inside = |(x, _): &(f64, f64)| (*x / 2.0).floor() == stretch as f64;
            let kept: Vec<(f64, f64)> = series.points().filter(inside).collect();
            for pick in [f64::min, f64::max] {
                let peak = |points: &[(f64, f64)]| points.iter().map(|point| point.1).reduce(pick);
                assert_eq!(peak(&kept), peak(&all), "stretch {stretch}");
            }
            assert_eq!((kept.first(), kept.last()), (all.first(), all.last()));
            assert!(kept.iter().all(|point| all.contains(point)));
        }
    }

    #[test]
    fn constant_course_is_two_points() {
        let mut course = Course::new([0.0, 20.0], 200);
        (0..1000).for_each(|number| course.push(f64::from(number) / 100.0, 7.0));
        course.push(10.0, 8.0);
        let series = course.series("", Drawn::Course);
        assert_eq!(series.points().collect::<Vec<_>>(), [(0.0, 7.0), (9.99, 7.0), (10.0, 8.0)]);
    }

    #[test]
    fn values_outside_belong_to_the_edge_stretches() {
        let mut course = Course::new([1.0, 2.0], 4);
        [(0.0, 1.0), (1.5, 2.0), (9.0, 3.0)].into_iter().for_each(|(x, y)| course.push(x, y));
        assert_eq!(course.series("", Drawn::Steps).x, [0.0, 1.5, 9.0]);
    }
}
