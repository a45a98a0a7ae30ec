//! Two measurements of the same experiments compared, function by function.

/// Two measurements.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The kernels: before, and after.
    pub of: [String; 2],
    /// Remarks to read before comparing numbers.
    pub remarks: Vec<String>,
    /// The experiments.
    pub tables: Vec<Compared>,
}

/// An experiment in both measurements.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The figure in the paper.
    pub name: &'static str,
    /// Its subject.
    pub about: &'static str,
    /// Samples before, and after.
    pub samples: [u64; 2],
    /// Microseconds of CPU per request before, and after; `None` if not known.
    pub us_a_request: [Option<f64>; 2],
    /// How many functions are in both top tens.
    pub in_both_top_tens: usize,
    /// The functions of both top tens, and those with the largest significant differences: by cost after, in descending
    /// order.
    pub functions: Vec<Difference>,
}

/// A function in both measurements.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Its newest name.
    pub name: String,
    /// Its ranks by cost before, and after, from 1; `None` if it cost nothing.
    pub places: [Option<usize>; 2],
    /// Its own cost before, and after, in percent of the CPU.
    pub shares: [Option<f64>; 2],
    /// Its cost before, and after, in microseconds of CPU per request; `None` if not known.
    pub us_a_request: [Option<f64>; 2],
    /// The probability of such a difference by chance, 0 to 1, for this function alone.
    pub by_chance: Option<f64>,
    /// The probability of one as unlikely among all functions of the experiment (Holm).
    pub among_all: Option<f64>,
}

/// Below this probability a difference is significant.
pub const CHANCE: f64 = 0.05;

impl Difference {
    /// Whether the difference is significant among all functions.
    pub fn is_significant(&self) -> bool {
        self.among_all.is_some_and(|probability| probability < CHANCE)
    }
}
