//! Functions' own cost.

use crate::profile::Profile;
use std::ops::AddAssign;

/// A cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The number of samples.
    pub samples: u64,
    /// Their weight, in the event's unit.
    pub weight: u64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.samples = self.samples.saturating_add(other.samples);
        self.weight = self.weight.saturating_add(other.weight);
    }
}

/// Adds to a sum, which saturates if a profile's numbers are absurd.
pub(crate) fn add(sum: &mut u64, weight: u64) {
    *sum = sum.saturating_add(weight);
}

impl Profile {
    /// Each function's own cost in an event, by function number: samples in which it was innermost.
    pub fn own(&self, event: u16) -> Vec<Cost> {
        let mut own = vec![Cost::default(); self.functions.len()];
        for entry in self.entries.iter().filter(|entry| entry.event == event) {
            if let Some(inner) = self.stacks.frames(entry.stack).first() {
                own[inner.function.0 as usize] += Cost { samples: entry.samples, weight: entry.weight };
            }
        }
        own
    }
}
