//! What is known of the path before a copy begins. Values only.

use slowpath_model::{Bytes, Rate};
use std::time::Duration;

/// Initial values from a path store, or from a measurement with `slowpath probe`. The copy finds out what is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// The RTT of the path without queues.
    pub rtt: Option<Duration>,
    /// The rate that all data connections together can expect.
    pub rate: Option<Rate>,
    /// The largest window of one connection, which this host's limits allow.
    pub window: Option<Bytes>,
}

impl Hints {
    /// How many connections it takes for their windows to hold the bandwidth-delay product and an eighth more (ubik V);
    /// `None` if that is unknown.
    pub fn streams(&self) -> Option<u16> {
        let (rtt, rate, window) = (self.rtt?, self.rate?, self.window?);
        let product = u128::from(rate.amount_in(rtt).get()) * 9 / 8;
        let streams = product.div_ceil(u128::from(window.get().max(1)));
        Some(u16::try_from(streams).unwrap_or(u16::MAX).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_all_connections_hold_the_bandwidth_delay_product() {
        let rtt = Some(Duration::from_millis(100));
        let known = Hints { rtt, rate: Some(Rate::mbit(1000)), window: Some(Bytes::new(4 << 20)) };
        assert_eq!(known.streams(), Some(4));
        assert_eq!(Hints { rtt: Some(Duration::from_millis(1)), ..known }.streams(), Some(1));
        assert_eq!(Hints { rate: None, ..known }.streams(), None);
    }
}
