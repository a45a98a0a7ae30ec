//! Jitter: a delay of its own for every packet.

use crate::chance::Draws;
use serde::{Deserialize, Serialize};

/// A delay of its own for every packet, uniform between nothing and a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JitterConfig {
    /// The most it adds.
    pub up_to_ns: u64,
    /// Whether a packet may overtake the one before it; otherwise it arrives together with it at the earliest.
    pub overtakes: bool,
}

/// Jitter at work.
#[derive(Debug)]
pub struct Jitter {
    config: JitterConfig,
    last_due_ns: u64,
}

impl Jitter {
    /// Jitter before its first packet.
    pub fn new(config: &JitterConfig) -> Self {
        Self { config: *config, last_due_ns: 0 }
    }

    /// When a packet arrives that would have arrived at `due_ns`.
    pub fn delay(&mut self, due_ns: u64, draws: &mut Draws) -> u64 {
        let extra_ns = draws.below(self.config.up_to_ns.saturating_add(1));
        let mut due_ns = due_ns.saturating_add(extra_ns);
        if !self.config.overtakes {
            due_ns = due_ns.max(self.last_due_ns);
        }
        self.last_due_ns = due_ns;
        due_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn arrivals(overtakes: bool) -> Vec<u64> {
        let mut jitter = Jitter::new(&JitterConfig { up_to_ns: 10 * MS, overtakes });
        let mut draws = Draws::new(1);
        (0..10_000).map(|n| jitter.delay(n * MS, &mut draws)).collect()
    }

    #[test]
    fn delays_are_uniform_up_to_the_bound() {
        let delays: Vec<u64> = arrivals(true).iter().zip(0..).map(|(due, n)| due - n * MS).collect();
        assert!(delays.iter().all(|delay| *delay <= 10 * MS));
        let small = delays.iter().filter(|delay| **delay < MS).count();
        assert!((900..1100).contains(&small), "{small} of 10000 in the first tenth");
    }

    #[test]
    fn order_is_kept_unless_overtaking_is_asked_for() {
        let overtaken = |due: &[u64]| due.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert_eq!(overtaken(&arrivals(false)), 0);
        assert!(overtaken(&arrivals(true)) > 1000);
    }
}
