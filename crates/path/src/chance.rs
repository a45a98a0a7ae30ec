//! Seeded random numbers for the path. Integers only, so that every machine draws the same numbers.

/// A probability, exact to one in 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance(u64);

impl Chance {
    /// A probability in millionths; a million or more is certain.
    pub fn from_ppm(ppm: u32) -> Self {
        if ppm >= 1_000_000 {
            return Self(u64::MAX);
        }
        Self(u64::try_from((u128::from(ppm) << 64) / 1_000_000).unwrap_or(u64::MAX))
    }

    /// Whether this can never happen.
    pub fn is_never(self) -> bool {
        self.0 == 0
    }
}

/// Fraction bits of a logarithm: finer than a nanosecond for means up to a millisecond, finer than a millionth of any
/// mean.
const FRACTION_BITS: u32 = 24;
/// ln 2 · 2^32.
const LN_2_OF_2_TO_32: u128 = 2_977_044_472;

/// A stream of random numbers: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Draws(u64);

impl Draws {
    /// Starts the stream for a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, uniformly distributed within 2^-64; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high half of the product is below `bound`, which fits.
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from the exponential distribution with this mean, rounded down. Computed from the logarithm of a
    /// uniform number, bit by bit: floating-point logarithms differ between machines.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        let uniform = self.bits() | 1;
        let whole = u128::from(uniform.leading_zeros());
        // -log2(u) = whole + 1 - log2(mantissa), the mantissa in [1, 2) having 63 bits behind the point.
        let mut mantissa = u128::from(uniform << whole);
        let mut fraction: u128 = 0;
        for _ in 0..FRACTION_BITS {
            mantissa = (mantissa * mantissa) >> 63;
            let bit = mantissa >> 64;
            mantissa >>= bit;
            fraction = (fraction << 1) | bit;
        }
        let minus_log2 = ((whole + 1) << FRACTION_BITS) - fraction;
        let minus_ln = (minus_log2 * LN_2_OF_2_TO_32) >> 32;
        u64::try_from((minus_ln * u128::from(mean)) >> FRACTION_BITS).unwrap_or(u64::MAX)
    }

    /// Draws once, unless the chance is zero: then nothing is drawn, so that elements do not depend on others that are
    /// off.
    pub fn happens(&mut self, chance: Chance) -> bool {
        !chance.is_never() && self.bits() <= chance.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_of_seed_0_matches_published_values() {
        let mut draws = Draws::new(0);
        assert_eq!([draws.bits(), draws.bits()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn chances_0_and_1_are_certain() {
        let mut draws = Draws::new(7);
        assert!((0..1000).all(|_| !draws.happens(Chance::from_ppm(0))));
        assert!((0..1000).all(|_| draws.happens(Chance::from_ppm(1_000_000))));
    }

    #[test]
    fn numbers_below_a_bound_cover_the_whole_range() {
        let mut draws = Draws::new(7);
        let mut seen = [0; 5];
        for _ in 0..10_000 {
            seen[draws.below(5) as usize] += 1;
        }
        assert!(seen.iter().all(|count| (1900..2100).contains(count)), "{seen:?}");
        assert_eq!(draws.below(0), 0);
        assert_eq!(draws.below(1), 0);
    }

    #[test]
    fn exponential_numbers_have_the_expected_mean_and_tail() {
        let mut draws = Draws::new(7);
        let numbers: Vec<u64> = (0..100_000).map(|_| draws.exponential(1_000_000)).collect();
        let mean = numbers.iter().sum::<u64>() / 100_000;
        assert!((990_000..1_010_000).contains(&mean), "{mean}");
        for (least, share) in [(693_147, 0.5), (2_302_585, 0.1), (4_605_170, 0.01)] {
            let beyond = numbers.iter().filter(|number| **number > least).count() as f64 / 100_000.0;
            assert!((beyond / share - 1.0).abs() < 0.1, "{beyond} beyond {least}, not {share}");
        }
        assert_eq!(draws.exponential(0), 0);
        assert!(draws.exponential(u64::MAX) > 0);
    }

    #[test]
    fn exponential_numbers_match_the_floating_point_logarithm() {
        let (mut draws, mut uniform) = (Draws::new(3), Draws::new(3));
        for _ in 0..1000 {
            let expected = -((uniform.bits() | 1) as f64 / 18_446_744_073_709_551_616.0).ln() * 1e9;
            assert!((draws.exponential(1_000_000_000) as f64 - expected).abs() < 200.0);
        }
    }

    #[test]
    fn chance_of_one_percent_happens_about_1_percent_of_the_time() {
        let mut draws = Draws::new(7);
        let hits = (0..100_000).filter(|_| draws.happens(Chance::from_ppm(10_000))).count();
        assert!((900..1100).contains(&hits), "{hits} of 100000 at 1 %");
    }
}
