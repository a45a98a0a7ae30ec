//! Seeded random numbers for the path. Integer only, so that every machine draws the same.

/// A probability, exact to one in 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance(u64);

impl Chance {
    /// A probability in millionths; a million and more is certain.
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

/// A stream of random numbers: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Draws(u64);

impl Draws {
    /// Starts the stream of a seed.
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

    /// Draws once, unless the chance is nil: then nothing is drawn, so that switching an element on does
    /// not depend on elements that are switched off.
    pub fn happens(&mut self, chance: Chance) -> bool {
        !chance.is_never() && self.bits() <= chance.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_numbers_of_seed_zero_are_the_published_ones() {
        let mut draws = Draws::new(0);
        assert_eq!([draws.bits(), draws.bits()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn never_and_always_hold() {
        let mut draws = Draws::new(7);
        assert!((0..1000).all(|_| !draws.happens(Chance::from_ppm(0))));
        assert!((0..1000).all(|_| draws.happens(Chance::from_ppm(1_000_000))));
    }

    #[test]
    fn one_in_a_hundred_is_about_that() {
        let mut draws = Draws::new(7);
        let hits = (0..100_000).filter(|_| draws.happens(Chance::from_ppm(10_000))).count();
        assert!((900..1100).contains(&hits), "{hits} of 100000 at 1 %");
    }
}
