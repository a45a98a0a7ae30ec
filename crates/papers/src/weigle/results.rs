//! The results of the grid, and the best buffers.

use super::grid::{ALL_SIZES, DELAYS, DRS, NONE, Point, SIZES, STREAMS, Tuned, points};
use crate::measure::{FlowMeasures, spread};
use std::collections::BTreeMap;

/// The minimum, median and maximum of some runs.
type Spread = [f64; 3];

/// The rate at each point of the grid, in Mbit/s.
pub struct Results {
    rates: BTreeMap<Point, Spread>,
}

impl Results {
    /// From the runs of each case, in order.
    pub fn new(runs: &[Vec<FlowMeasures>]) -> Self {
        Self {
            rates: points()
                .into_iter()
                .zip(runs)
                .map(|(point, runs)| (point, spread(runs, FlowMeasures::rate)))
                .collect(),
        }
    }

    /// The rate of a point; NaN if there is no such point.
    pub fn rate(&self, kernel: usize, delay: u32, streams: u32, tuned: Tuned) -> Spread {
        let point = Point { kernel, delay, streams, tuned };
        self.rates.get(&point).copied().unwrap_or([f64::NAN; 3])
    }

    /// The median of a point.
    pub fn median(&self, kernel: usize, delay: u32, streams: u32, tuned: Tuned) -> f64 {
        self.rate(kernel, delay, streams, tuned)[1]
    }

    /// The best size for this kernel, delay and number of processes, as a user would set it, and its rate.
    pub fn ideal(&self, kernel: usize, delay: u32, streams: u32) -> (u32, Spread) {
        let tried = ALL_SIZES.into_iter().filter(|size| SIZES.contains(size));
        let rates = tried.map(|size| (size, self.rate(kernel, delay, streams, Tuned::Both(size))));
        rates.max_by(|(_, one), (_, other)| one[1].total_cmp(&other[1])).unwrap_or((0, [f64::NAN; 3]))
    }

    /// The limit that an administrator would set for a delay, for any number of processes: the best for DRS on average
    /// over their numbers, since DRS is the one that uses it.
    pub fn bound(&self, delay: u32) -> Tuned {
        let sum = |tuned| STREAMS.map(|streams| self.median(DRS, delay, streams, tuned)).iter().sum::<f64>();
        let bounds = SIZES.map(Tuned::Kernel).into_iter();
        bounds.max_by(|one, other| sum(*one).total_cmp(&sum(*other))).unwrap_or(Tuned::Nothing)
    }

    /// The limit that a kernel was run with: 2.2 was run with only one, as it makes no difference.
    pub fn bound_of(&self, kernel: usize, delay: u32) -> Tuned {
        if kernel == NONE { Tuned::Kernel(SIZES[SIZES.len() - 1]) } else { self.bound(delay) }
    }

    /// Rate times delay over processes of the untuned points from 25 ms on, as a geometric mean, since errors are
    /// relative. In kbit.
    pub fn coefficient(&self, kernel: usize) -> Spread {
        [0, 1, 2].map(|of| {
            let logs = self.products(kernel, of).map(f64::ln);
            let (sum, count) = logs.fold((0.0, 0.0), |(sum, count), log| (sum + log, count + 1.0));
            (sum / count).exp()
        })
    }

    /// The largest relative error of the coefficient at the untuned points.
    pub fn coefficient_error(&self, kernel: usize) -> f64 {
        let coefficient = self.coefficient(kernel)[1];
        self.products(kernel, 1).map(|product| (coefficient / product - 1.0).abs()).fold(0.0, f64::max)
    }

    fn products(&self, kernel: usize, of: usize) -> impl Iterator<Item = f64> {
        DELAYS[1..].iter().flat_map(move |delay| {
            STREAMS.into_iter().map(move |streams| {
                let rate = self.rate(kernel, *delay, streams, Tuned::Nothing)[of];
                rate * f64::from(*delay) / 1000.0 / f64::from(streams)
            })
        })
    }
}
