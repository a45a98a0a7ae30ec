//! The goal of a transfer.

use crate::host::Host;
use slowpath_model::{Bytes, Rate};
use slowpath_remedies::arithmetic;
use std::time::Duration;

/// A planned transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// The rate of all connections together.
    pub rate: Rate,
    /// The path's RTT with empty queues.
    pub rtt: Duration,
    /// Parallel connections, at least one.
    pub streams: u32,
    /// This host's role.
    pub role: Role,
}

/// A goal, and the origin of its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aim {
    /// The transfer.
    pub goal: Goal,
    /// The origin of its rate.
    pub rate_from: Origin,
    /// The origin of its RTT.
    pub rtt_from: Origin,
}

/// The default rate if the link's is not known.
const USUAL_RATE: Rate = Rate::mbit(1000);
/// The default RTT: that of ubik's path.
const USUAL_RTT: Duration = Duration::from_millis(40);

impl Aim {
    /// The user's request; missing values come from the host, or are assumed.
    pub fn new(host: &Host, rate: Option<Rate>, rtt: Option<Duration>, streams: u32, role: Role) -> Self {
        let link = host.link().and_then(|interface| interface.speed);
        let (rate, rate_from) = match (rate, link) {
            (Some(rate), _) => (rate, Origin::Given),
            (None, Some(link)) => (Rate::bits_per_second(link), Origin::FromLink),
            (None, None) => (USUAL_RATE, Origin::Assumed),
        };
        let (rtt, rtt_from) = match (rtt, host.remembered_rtt()) {
            (Some(rtt), _) => (rtt, Origin::Given),
            (None, Some(rtt)) => (rtt, Origin::FromMetrics),
            (None, None) => (USUAL_RTT, Origin::Assumed),
        };
        Self { goal: Goal { rate, rtt, streams, role }, rate_from, rtt_from }
    }
}

/// This host's role in a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It sends the data.
    Sender,
    /// It receives the data.
    Receiver,
    /// Either, or both alternately.
    Both,
}

/// The origin of a number of the goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user gave it.
    Given,
    /// The rate of the slowest link of this host on the route.
    FromLink,
    /// The kernel's cached value for this destination.
    FromMetrics,
    /// A guess.
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
    /// The data that must be outstanding in total: the bandwidth-delay product (ubik V: 1000 Mb/s times 40 ms is 5 MB).
    pub fn window(&self) -> Bytes {
        arithmetic::window_for(self.rate, self.rtt)
    }

    /// The data that must be outstanding per connection, rounded up.
    pub fn window_of_each(&self) -> Bytes {
        Bytes::new(self.window().get().div_ceil(u64::from(self.streams.max(1))))
    }

    /// The rate per connection.
    pub fn rate_of_each(&self) -> Rate {
        Rate::bits_per_second(self.rate.get() / u64::from(self.streams.max(1)))
    }

    /// The maximum rate of all connections if each has `window` outstanding; `None` with an RTT of zero.
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
