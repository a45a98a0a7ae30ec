//! Two measurements of the same experiments side by side, function by function.

/// Two measurements.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What each was made on: before, and after.
    pub of: [String; 2],
    /// Remarks to read before comparing numbers.
    pub remarks: Vec<String>,
    /// The experiments.
    pub tables: Vec<Compared>,
}

/// An experiment in both.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The figure in the paper.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// Samples before, and after.
    pub samples: [u64; 2],
    /// Microseconds of CPU for a request before, and after; `None` where they are not known.
    pub us_a_request: [Option<f64>; 2],
    /// How many functions are in the top ten of both.
    pub in_both_top_tens: usize,
    /// The functions of both top tens, and those with the largest differences that chance does not make: by what they cost after, the
    /// greatest first.
    pub functions: Vec<Difference>,
}

/// A function in both.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Its newest name.
    pub name: String,
    /// Its ranks by cost before, and after, from 1; `None` where it cost nothing.
    pub places: [Option<usize>; 2],
    /// What it cost itself before, and after, in per cent of the CPU.
    pub shares: [Option<f64>; 2],
    /// What it cost before, and after, in microseconds of CPU for a request; `None` where these are not known.
    pub us_a_request: [Option<f64>; 2],
    /// How likely chance makes such a difference of shares, 0 to 1, by itself.
    pub by_chance: Option<f64>,
    /// How likely it makes one as unlikely anywhere among all functions of the experiment (Holm).
    pub among_all: Option<f64>,
}

/// Below this probability a difference is not taken for chance.
pub const CHANCE: f64 = 0.05;

impl Difference {
    /// Whether chance hardly makes such a difference anywhere among all functions.
    pub fn is_told(&self) -> bool {
        self.among_all.is_some_and(|probability| probability < CHANCE)
    }
}
