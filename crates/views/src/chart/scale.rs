//! Scales: from numbers to positions, and round numbers for ticks.

use super::Axis;

/// The scale of an axis.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
    /// The position of zero, if it is set apart from the other numbers.
    nothing: Option<f64>,
    /// The positions of `low` and `high`.
    from: f64,
    to: f64,
}

/// The factor between the smallest and largest number from which a scale is logarithmic.
const WIDE: f64 = 10.0;
/// Fractions of the axis: the margin at its ends, and the gap between zero and the other numbers.
const ROOM: f64 = 0.035;
const APART: f64 = 0.1;

impl Scale {
    /// A scale for `numbers`, at least one. Vertical scales, and those with round ticks, start at zero and end at a
    /// round number. Horizontal ones span the numbers, with a margin. If the other numbers need a logarithmic scale,
    /// zero is set apart from them.
    pub fn new(numbers: &[f64], axis: &Axis, upwards: bool, from: f64, to: f64) -> Self {
        let least = least(numbers.iter());
        let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let upwards = upwards || axis.round;
        let linear = |low, high| Self { low, high, logarithmic: false, nothing: None, from, to };
        let logarithmic = |low, high| Self { logarithmic: true, ..linear(low, high) };
        let is_wide = |least: f64| least > 0.0 && most > WIDE * least;
        let at = |part: f64| from + part * (to - from);
        let smallest = self::least(numbers.iter().filter(|number| **number > 0.0));
        if upwards && axis.logarithmic.unwrap_or(is_wide(least)) && smallest < f64::INFINITY {
            let scale =
                logarithmic(round_down(smallest, axis.binary), round_up_beyond(smallest, most, axis.binary));
            let has_nothing = least <= 0.0;
            return if has_nothing { Self { nothing: Some(from), from: at(APART), ..scale } } else { scale };
        }
        if upwards {
            let low = least.min(0.0);
            let high = if most > low { most } else { low + 1.0 };
            let step = round_up((high - low) / 6.0, axis.binary);
            return linear((low / step).floor() * step, (high / step).ceil() * step);
        }
        let within = |scale: Self| Self { from: at(ROOM), to: at(1.0 - ROOM), ..scale };
        let is_logarithmic =
            |least: f64| axis.logarithmic.map_or(is_wide(least), |it| it && 0.0 < least && least < most);
        match () {
            () if is_logarithmic(least) => within(logarithmic(least, most)),
            () if least == 0.0 && is_logarithmic(smallest) => {
                let nothing = Some(at(ROOM));
                Self { nothing, from: at(ROOM + APART), ..within(logarithmic(smallest, most)) }
            }
            () if most > least => within(linear(least, most)),
            () => linear(least - least.abs().max(1.0), least + least.abs().max(1.0)),
        }
    }

    /// The position of a number.
    pub fn place(&self, number: f64) -> f64 {
        if let (Some(place), true) = (self.nothing, number <= 0.0) {
            return place;
        }
        let part = if self.logarithmic {
            (number / self.low).ln() / (self.high / self.low).ln()
        } else {
            (number - self.low) / (self.high - self.low)
        };
        self.from + part * (self.to - self.from)
    }

    /// Whether zero is set apart from the other numbers.
    pub fn has_nothing_apart(&self) -> bool {
        self.nothing.is_some()
    }

    /// Whether the scale is logarithmic.
    pub fn is_logarithmic(&self) -> bool {
        self.logarithmic
    }

    /// Round numbers along the scale, at least `apart` from each other.
    pub fn ticks(&self, axis: &Axis, apart: f64) -> Vec<f64> {
        let all =
            if self.logarithmic { self.round_factors(axis.binary) } else { self.round_steps(axis.binary) };
        // Of too many ticks, an even subset is kept: every second, every fifth, or one per decade.
        let fits = |ticks: &[f64]| {
            ticks.windows(2).all(|two| (self.place(two[1]) - self.place(two[0])).abs() >= apart)
        };
        for every in [1, 2, 3, 6, 9, 12, 15, 18] {
            let some: Vec<f64> = all.iter().copied().step_by(every).collect();
            if fits(&some) {
                return some;
            }
        }
        vec![self.low, self.high]
    }

    fn round_steps(&self, binary: bool) -> Vec<f64> {
        let step = round_up((self.high - self.low) / 6.0, binary);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|number| number as f64 * step).collect()
    }

    fn round_factors(&self, binary: bool) -> Vec<f64> {
        let mut all = vec![round_up(self.low, binary)];
        while let Some(last) = all.last()
            && *last < self.high * 0.999
            && all.len() < 200
        {
            all.push(round_up(last * 1.001, binary));
        }
        all.retain(|number| *number <= self.high * 1.001);
        all
    }
}

fn least<'a>(numbers: impl Iterator<Item = &'a f64>) -> f64 {
    numbers.copied().fold(f64::INFINITY, f64::min)
}

/// The smallest round number not below `number`: 1, 2 or 5 times a power of ten, or a power of two.
fn round_up(number: f64, binary: bool) -> f64 {
    if binary {
        return number.log2().ceil().exp2();
    }
    let decade = 10_f64.powf(number.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * decade >= number * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * decade
}

/// A round number above `most` that differs from the first one at `least`.
fn round_up_beyond(least: f64, most: f64, binary: bool) -> f64 {
    let up = round_up(most, binary);
    if up > round_down(least, binary) { up } else { round_up(up * 1.001, binary) }
}

/// The largest round number not above `number`.
fn round_down(number: f64, binary: bool) -> f64 {
    let up = round_up(number, binary);
    if up <= number * (1.0 + 1e-9) {
        return up;
    }
    let lower = if binary { up / 2.0 } else { round_up(up * 0.39, false) };
    if lower <= number { lower } else { round_up(up * 0.19, binary) }
}

#[cfg(test)]
mod tests {
    use super::*;

    static DECIMAL: Axis = axis(false, None);
    static BINARY: Axis = axis(true, None);
    static LINEAR: Axis = axis(false, Some(false));
    static LOGARITHMIC: Axis = axis(false, Some(true));

    const fn axis(binary: bool, logarithmic: Option<bool>) -> Axis {
        Axis { title: String::new(), write: plain, binary, logarithmic, round: false }
    }

    fn plain(number: f64) -> String {
        number.to_string()
    }

    #[test]
    fn numbers_are_rounded_to_1_2_5_or_powers_of_two() {
        for (number, up, down) in [(1.0, 1.0, 1.0), (3.0, 5.0, 2.0), (7.0, 10.0, 5.0), (0.011, 0.02, 0.01)] {
            assert!((round_up(number, false) / up - 1.0).abs() < 1e-9, "{number}");
            assert!((round_down(number, false) / down - 1.0).abs() < 1e-9, "{number}");
        }
        assert_eq!((round_up(65_537.0, true), round_down(65_537.0, true)), (131_072.0, 65_536.0));
    }

    #[test]
    fn scale_starts_at_zero_or_is_logarithmic() {
        let linear = Scale::new(&[30.0, 95.0], &DECIMAL, true, 400.0, 0.0);
        assert_eq!(linear.ticks(&DECIMAL, 20.0), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!((linear.place(0.0), linear.place(100.0)), (400.0, 0.0));
        let wide = Scale::new(&[3.0, 95.0], &DECIMAL, true, 400.0, 0.0);
        assert!(wide.is_logarithmic());
        let ticks = wide.ticks(&DECIMAL, 20.0);
        assert_eq!(
            ticks.iter().map(|tick| tick.round()).collect::<Vec<_>>(),
            [2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
        );
        assert!(!Scale::new(&[0.0, 95.0], &DECIMAL, true, 400.0, 0.0).is_logarithmic());
        assert_eq!(
            Scale::new(&[65_536.0], &BINARY, true, 1.0, 0.0).ticks(&BINARY, 0.1).last(),
            Some(&65_536.0)
        );
    }

    /// Zero loss, and loss rates over several decades.
    #[test]
    fn zero_is_set_apart_on_a_logarithmic_scale() {
        let scale = Scale::new(&[0.0, 0.0001, 0.001, 0.01], &DECIMAL, false, 0.0, 1000.0);
        let places: Vec<_> = [0.0, 0.0001, 0.001, 0.01].map(|number| scale.place(number).round()).into();
        assert_eq!(places, [35.0, 135.0, 550.0, 965.0]);
        assert!(scale.has_nothing_apart() && scale.is_logarithmic());
        assert!(!Scale::new(&[0.0, 2.0, 5.0], &DECIMAL, false, 0.0, 1000.0).is_logarithmic());
    }

    #[test]
    fn axis_can_force_linear_or_logarithmic() {
        let scale = |numbers: &[f64], axis, upwards| Scale::new(numbers, axis, upwards, 0.0, 1000.0);
        for upwards in [true, false] {
            assert!(!scale(&[1.0, 1000.0], &LINEAR, upwards).is_logarithmic());
            assert!(scale(&[3.0, 4.0], &LOGARITHMIC, upwards).is_logarithmic());
            let apart = scale(&[0.0, 3.0, 4.0], &LOGARITHMIC, upwards);
            assert!(apart.has_nothing_apart() && apart.place(0.0) < apart.place(3.0));
            // There is no logarithm if all numbers are zero.
            assert!(!scale(&[0.0, 0.0], &LOGARITHMIC, upwards).is_logarithmic());
        }
    }

    /// For any numbers, ticks keep their distance, and ticks and numbers lie on the axis.
    #[test]
    fn ticks_and_numbers_lie_on_the_axis() {
        let numbers = [0.0, 1e-9, 1.0, 1.0001, 9.99, 10.0, 10.01, 123_456.0, 1e18];
        for (a, b) in numbers.iter().flat_map(|a| numbers.iter().map(move |b| (*a, *b))) {
            for (axis, upwards) in
                [&DECIMAL, &BINARY, &LINEAR, &LOGARITHMIC].map(|axis| [(axis, true), (axis, false)]).concat()
            {
                let scale = Scale::new(&[a, b], axis, upwards, 300.0, 0.0);
                let ticks = scale.ticks(axis, 20.0);
                let places: Vec<f64> =
                    ticks.iter().chain([&a, &b]).map(|number| scale.place(*number)).collect();
                assert!(places.iter().all(|place| (-0.5..=300.5).contains(place)), "{a} {b}: {places:?}");
                let apart = ticks.windows(2).all(|two| scale.place(two[0]) - scale.place(two[1]) >= 19.9);
                assert!(apart && !ticks.is_empty(), "{a} {b}: {ticks:?}");
            }
        }
    }
}
