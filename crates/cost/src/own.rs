//! Functions' own cost.

use crate::profile::Profile;
use std::ops::AddAssign;

/// What something cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// In how many samples it was seen.
    pub samples: u64,
    /// What these stand for, in the event's unit.
    pub weight: u64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.samples = self.samples.saturating_add(other.samples);
        self.weight = self.weight.saturating_add(other.weight);
    }
}

/// Adds to a sum, which stays at its most where a profile's numbers are beyond all sense.
pub(crate) fn add(sum: &mut u64, weight: u64) {
    *sum = sum.saturating_add(weight);
}

impl Profile {
    /// What each function cost itself in an event, by the functions' numbers: samples in which it was innermost.
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
