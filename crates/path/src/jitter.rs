//! Jitter: an independent delay for every packet.

use crate::chance::Draws;
use crate::serde_units;
use serde::{Deserialize, Serialize};
use slowpath_model::{Instant, nanos};
use std::time::Duration;

/// An independent delay for every packet, uniform between zero and a maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JitterConfig {
    /// The maximum delay added.
    #[serde(rename = "up_to_ns", with = "serde_units::ns")]
    pub up_to: Duration,
    /// Whether packets may be reordered; otherwise a packet arrives no earlier than the one before it.
    pub overtakes: bool,
}

/// The state of jitter.
#[derive(Debug)]
pub struct Jitter {
    up_to_ns: u64,
    overtakes: bool,
    last_due: Instant,
}

impl Jitter {
    /// The state before the first packet.
    pub fn new(config: &JitterConfig) -> Self {
        Self {
            up_to_ns: nanos(config.up_to),
            overtakes: config.overtakes,
            last_due: Instant::from_nanos(i64::MIN),
        }
    }

    /// When a packet arrives that would have arrived at `due`.
    pub fn delay(&mut self, due: Instant, draws: &mut Draws) -> Instant {
        let extra_ns = draws.below(self.up_to_ns.saturating_add(1));
        let mut due = due + Duration::from_nanos(extra_ns);
        if !self.overtakes {
            due = due.max(self.last_due);
        }
        self.last_due = due;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn arrivals(overtakes: bool) -> Vec<i64> {
        let mut jitter = Jitter::new(&JitterConfig { up_to: Duration::from_millis(10), overtakes });
        let mut draws = Draws::new(1);
        (0..10_000).map(|n| jitter.delay(Instant::from_nanos(n * MS), &mut draws).nanos()).collect()
    }

    #[test]
    fn delays_are_uniform_up_to_the_maximum() {
        let delays: Vec<i64> = arrivals(true).iter().zip(0..).map(|(due, n)| due - n * MS).collect();
        assert!(delays.iter().all(|delay| *delay <= 10 * MS));
        let small = delays.iter().filter(|delay| **delay < MS).count();
        assert!((900..1100).contains(&small), "{small} of 10000 in the first tenth");
    }

    #[test]
    fn order_is_kept_unless_jitter_may_reorder() {
        let overtaken = |due: &[i64]| due.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert_eq!(overtaken(&arrivals(false)), 0);
        assert!(overtaken(&arrivals(true)) > 1000);
    }
}
