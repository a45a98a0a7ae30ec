//! What a transfer is to reach.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::{Bytes, Rate};
use slowpath_remedies::arithmetic;
use std::time::Duration;

/// A transfer that is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// What all connections together are to carry.
    pub rate: Rate,
    /// The path's round trip while its queues are empty.
    pub rtt: Duration,
    /// Connections side by side, at least one.
    pub streams: u32,
    /// What this host does in it.
    pub role: Role,
}

/// What this host does in a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It sends the data.
    Sender,
    /// It receives the data.
    Receiver,
    /// Either, or both in turn.
    Both,
}

/// Where a number of the goal is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Taken {
    /// The user gave it.
    Given,
    /// It is the rate of the slowest link of this host on the way.
    FromLink,
    /// The kernel remembers it of this destination.
    FromMetrics,
    /// Nobody said; it is a guess.
    Assumed,
}

impl Role {
    /// Whether this host sends data.
    pub const fn sends(self) -> bool {
        matches!(self, Self::Sender | Self::Both)
    }

    /// Whether this host receives data.
    pub const fn receives(self) -> bool {
        matches!(self, Self::Receiver | Self::Both)
    }
}

impl Goal {
    /// What has to be outstanding in all: the bandwidth-delay product (ubik V: 1000 Mb/s times 40 ms is 5 MB).
    pub fn window(&self) -> Bytes {
        arithmetic::window_for(self.rate, self.rtt)
    }

    /// What has to be outstanding on each connection, rounded up.
    pub fn window_of_each(&self) -> Bytes {
        Bytes::new(self.window().get().div_ceil(u64::from(self.streams.max(1))))
    }

    /// What each connection is to carry.
    pub fn rate_of_each(&self) -> Rate {
        Rate::bits_per_second(self.rate.get() / u64::from(self.streams.max(1)))
    }

    /// What all connections carry at most if each has `window` outstanding; `None` at no round trip.
    pub fn rate_with(&self, window: Bytes) -> Option<Rate> {
        let each = arithmetic::largest_rate(window, self.rtt)?;
        Some(Rate::bits_per_second(each.get().saturating_mul(u64::from(self.streams.max(1)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_share_the_window() {
        let goal =
            Goal { rate: Rate::mbit(1000), rtt: Duration::from_millis(40), streams: 4, role: Role::Both };
        assert_eq!((goal.window(), goal.window_of_each()), (Bytes::new(5_000_000), Bytes::new(1_250_000)));
        assert_eq!(goal.rate_with(Bytes::new(1_250_000)), Some(Rate::mbit(1000)));
        assert_eq!(Goal { rtt: Duration::ZERO, ..goal }.rate_with(Bytes::new(1)), None);
        assert_eq!(Goal { streams: 0, ..goal }.window_of_each(), goal.window(), "at least one");
    }
}
