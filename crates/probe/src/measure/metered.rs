//! A channel with a limit on how much its trains carry.

use super::channel::{Channel, Echo, Limits, Passed, Train};

/// A channel that refuses trains beyond a budget. Echoes, 40 small packets, are free.
pub struct Metered<'a, C> {
    channel: &'a mut C,
    left: u64,
}

/// Why a metered channel cannot continue.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal<E> {
    /// The next train is more than the budget has left.
    Spent,
    /// The channel's own reason.
    Channel(E),
}

impl<'a, C> Metered<'a, C> {
    /// Passes trains of at most this many IP bytes in all.
    pub fn new(channel: &'a mut C, most_bytes: u64) -> Self {
        Self { channel, left: most_bytes }
    }

    /// What the budget has left.
    pub const fn left(&self) -> u64 {
        self.left
    }
}

impl<C: Channel> Channel for Metered<'_, C> {
    type Error = Refusal<C::Error>;

    fn limits(&self) -> Limits {
        self.channel.limits()
    }

    fn pass(&mut self, train: &Train) -> Result<Passed, Self::Error> {
        self.left = self.left.checked_sub(train.total_bytes()).ok_or(Refusal::Spent)?;
        self.channel.pass(train).map_err(Refusal::Channel)
    }

    fn echo(&mut self) -> Result<Option<Echo>, Self::Error> {
        self.channel.echo().map_err(Refusal::Channel)
    }

    fn rest(&mut self, nanos: u64) -> Result<(), Self::Error> {
        self.channel.rest(nanos).map_err(Refusal::Channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Direction;

    /// Counts the packets that it is given.
    struct Counting(u32);

    impl Channel for Counting {
        type Error = ();

        fn limits(&self) -> Limits {
            Limits { rate_bit_per_s: 1, packets: 1, burst: 1, duration_ns: 1 }
        }

        fn pass(&mut self, train: &Train) -> Result<Passed, ()> {
            self.0 += train.packets;
            Ok(Passed::default())
        }

        fn echo(&mut self) -> Result<Option<Echo>, ()> {
            Ok(None)
        }

        fn rest(&mut self, _: u64) -> Result<(), ()> {
            Ok(())
        }
    }

    #[test]
    fn train_beyond_the_budget_is_not_sent() {
        let mut channel = Counting(0);
        let mut metered = Metered::new(&mut channel, 10_000);
        let train = |packets| Train::stream(Direction::There, packets, 1000, 1_000_000);
        assert!(metered.pass(&train(7)).is_ok());
        assert_eq!((metered.pass(&train(4)).err(), metered.left()), (Some(Refusal::Spent), 3000));
        assert!(metered.pass(&train(3)).is_ok());
        assert_eq!((metered.left(), channel.0), (0, 10));
    }
}
