//! Cross traffic: other hosts' packets that share the link and its queue.

use crate::chance::Draws;
use crate::serde_units;
use serde::{Deserialize, Serialize};
use slowpath_model::{Bytes, Rate, nanos};
use std::time::Duration;

/// The arrival process of cross traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum CrossPattern {
    /// At equal intervals.
    Constant,
    /// Independently at random (a Poisson process).
    Poisson,
    /// At equal intervals during on periods, none during off periods; both have exponentially distributed lengths. The
    /// rate is that of the on periods.
    OnOff {
        /// Mean length of an on period.
        #[serde(rename = "on_ns", with = "serde_units::ns")]
        on: Duration,
        /// Mean length of an off period.
        #[serde(rename = "off_ns", with = "serde_units::ns")]
        off: Duration,
    },
}

/// One source of cross traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrossConfig {
    /// Its arrival process.
    #[serde(flatten)]
    pub pattern: CrossPattern,
    /// Its rate in IP bits.
    #[serde(rename = "rate_bit_per_s", with = "serde_units::bit_per_s")]
    pub rate: Rate,
    /// Length of each IP packet.
    #[serde(rename = "packet_bytes", with = "serde_units::bytes")]
    pub packet: Bytes,
    /// Start, relative to the same instant as the link's stalls.
    #[serde(rename = "from_ns", with = "serde_units::ns")]
    pub from: Duration,
    /// End, relative to the same instant; `None`: no end.
    #[serde(
        rename = "to_ns",
        with = "serde_units::maybe_ns",
        skip_serializing_if = "Option::is_none",
        default
    )]
    pub to: Option<Duration>,
}

/// The state of a cross traffic source: the instants of its packets, from the beginning.
#[derive(Debug)]
pub struct Cross {
    config: CrossConfig,
    draws: Draws,
    /// Mean interval between packets.
    gap_ns: u64,
    next_ns: u64,
    /// When the on period ends; always on for other patterns.
    spell_ends_ns: u64,
}

impl Cross {
    /// A source before its first packet. A rate of 0 counts as 1 bit/s.
    pub fn new(config: &CrossConfig, seed: u64) -> Self {
        let bits = u128::from(config.packet.get()) * 8 * 1_000_000_000;
        let gap_ns = bits.div_ceil(u128::from(config.rate.get().max(1)));
        let mut cross = Self {
            config: *config,
            draws: Draws::new(seed),
            gap_ns: u64::try_from(gap_ns).unwrap_or(u64::MAX).max(1),
            next_ns: nanos(config.from),
            spell_ends_ns: u64::MAX,
        };
        match config.pattern {
            CrossPattern::Constant => {}
            // A memoryless process may start at any time.
            CrossPattern::Poisson => cross.next_ns = cross.next_ns.saturating_add(cross.distance()),
            CrossPattern::OnOff { on, .. } => {
                cross.spell_ends_ns = cross.next_ns.saturating_add(cross.draws.exponential(nanos(on)));
            }
        }
        cross
    }

    /// When the next packet arrives, from the beginning; `None` if there are no more.
    pub fn next(&self) -> Option<Duration> {
        let next = Duration::from_nanos(self.next_ns);
        let over = self.config.to.is_some_and(|to| next >= to);
        (!over && self.next_ns < u64::MAX).then_some(next)
    }

    /// Takes the next packet; returns its length.
    pub fn take(&mut self) -> Bytes {
        self.next_ns = self.next_ns.saturating_add(self.distance());
        if let CrossPattern::OnOff { on, off } = self.config.pattern
            && self.next_ns >= self.spell_ends_ns
        {
            self.next_ns = self.spell_ends_ns.saturating_add(self.draws.exponential(nanos(off)));
            self.spell_ends_ns = self.next_ns.saturating_add(self.draws.exponential(nanos(on)));
        }
        self.config.packet
    }

    /// The interval to the next packet: at least a nanosecond, so that time advances.
    fn distance(&mut self) -> u64 {
        match self.config.pattern {
            CrossPattern::Poisson => self.draws.exponential(self.gap_ns).max(1),
            CrossPattern::Constant | CrossPattern::OnOff { .. } => self.gap_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const SECOND: u64 = 1000 * MS;

    /// 12 Mbit/s in packets of 1500 bytes: one per millisecond.
    fn config(pattern: CrossPattern) -> CrossConfig {
        CrossConfig {
            pattern,
            rate: Rate::mbit(12),
            packet: Bytes::new(1500),
            from: Duration::ZERO,
            to: None,
        }
    }

    fn instants(config: &CrossConfig, until_ns: u64) -> Vec<u64> {
        let mut cross = Cross::new(config, 5);
        let mut instants = Vec::new();
        while let Some(at_ns) = cross.next().map(nanos).filter(|at_ns| *at_ns < until_ns) {
            instants.push(at_ns);
            cross.take();
        }
        instants
    }

    #[test]
    fn constant_traffic_has_equal_intervals_from_start_to_end() {
        let config = CrossConfig {
            from: Duration::from_millis(3),
            to: Some(Duration::from_millis(6)),
            ..config(CrossPattern::Constant)
        };
        assert_eq!(instants(&config, SECOND), [3 * MS, 4 * MS, 5 * MS]);
    }

    #[test]
    fn poisson_traffic_has_its_rate_and_exponential_intervals() {
        let instants = instants(&config(CrossPattern::Poisson), 20 * SECOND);
        assert!((19_600..20_400).contains(&instants.len()), "{} in 20 s at 1000 per second", instants.len());
        let long = instants.windows(2).filter(|pair| pair[1] - pair[0] > 2 * MS).count();
        // exp(-2) = 13.5 %
        assert!((2500..2900).contains(&long), "{long} intervals longer than twice the mean");
    }

    #[test]
    fn on_off_traffic_is_on_for_the_configured_share() {
        let pattern = CrossPattern::OnOff { on: Duration::from_millis(100), off: Duration::from_millis(300) };
        let sent = instants(&config(pattern), 400 * SECOND).len();
        assert!((85_000..115_000).contains(&sent), "{sent} of 100000");
    }

    #[test]
    fn any_cross_traffic_configuration_advances_time() {
        let hasty = CrossConfig { rate: Rate::bits_per_second(u64::MAX), ..config(CrossPattern::Constant) };
        assert_eq!(instants(&hasty, 100).len(), 100);
        let still = CrossConfig { rate: Rate::default(), ..config(CrossPattern::Constant) };
        assert_eq!(instants(&still, SECOND), [0]);
        let flicker = config(CrossPattern::OnOff { on: Duration::ZERO, off: Duration::ZERO });
        let mut cross = Cross::new(&flicker, 1);
        for _ in 0..1000 {
            cross.take();
        }
    }
}
