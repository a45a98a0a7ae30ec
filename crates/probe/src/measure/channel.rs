//! The interface to a path.

/// Which way a train goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From here to the far end.
    There,
    /// From the far end to here.
    Back,
}

/// Packets of one length, in bursts at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Train {
    /// Which way it goes.
    pub direction: Direction,
    /// Packets in all.
    pub packets: u32,
    /// Length of each, as IP counts it.
    pub bytes: u32,
    /// Packets that are sent one right after the other; 1 for a stream of equal distances.
    pub burst: u32,
    /// From the beginning of one burst to that of the next.
    pub gap_ns: u64,
}

impl Train {
    /// A stream of single packets at this rate, which a rate of 0 would never end: it is taken for 1 bit/s.
    pub fn stream(direction: Direction, packets: u32, bytes: u32, rate_bit_per_s: u64) -> Self {
        let gap_ns = nanos_for(u64::from(bytes), rate_bit_per_s);
        Self { direction, packets, bytes, burst: 1, gap_ns }
    }

    /// From its first packet to its last, were the sender never late.
    pub fn duration_ns(&self) -> u64 {
        let bursts = self.packets.div_ceil(self.burst.max(1)).max(1);
        self.gap_ns.saturating_mul(u64::from(bursts - 1))
    }

    /// IP bytes of all of it.
    pub fn total_bytes(&self) -> u64 {
        u64::from(self.packets) * u64::from(self.bytes)
    }
}

/// The fate of one packet. Times are by the clock of the end where they were taken: only differences of times of the
/// same end mean anything, and differences of such differences between the ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flight {
    /// When it was handed to the kernel; `None` if the sender's own queue refused it.
    pub sent_ns: Option<u64>,
    /// When it came; `None` if it did not.
    pub arrived_ns: Option<u64>,
}

impl Flight {
    /// Its one-way delay, by two clocks that do not agree.
    pub fn delay_ns(&self) -> Option<i64> {
        Some(self.arrived_ns?.wrapping_sub(self.sent_ns?) as i64)
    }
}

/// The fate of a train.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Each packet, in the order of sending.
    pub flights: Vec<Flight>,
    /// Packets that came after one that was sent later (RFC 4737, section 4.2.2).
    pub overtaken: u32,
    /// Packets that the receiver's socket had no room for (`SO_RXQ_OVFL`); `None` where that is unknown.
    pub overflowed: Option<u32>,
}

impl Passed {
    /// Packets that came.
    pub fn arrived(&self) -> u32 {
        self.flights.iter().filter(|flight| flight.arrived_ns.is_some()).count() as u32
    }

    /// Packets that left their host and did not come.
    pub fn lost(&self) -> u32 {
        self.left().saturating_sub(self.arrived())
    }

    /// Packets that left the sender's socket.
    pub fn left(&self) -> u32 {
        self.flights.iter().filter(|flight| flight.sent_ns.is_some()).count() as u32
    }

    /// Packets that the sender's own queue refused.
    pub fn refused(&self) -> u32 {
        self.flights.len() as u32 - self.left()
    }

    /// Lost ones in thousandths of those that left; 0 of none.
    pub fn loss_permille(&self) -> u32 {
        (u64::from(self.lost()) * 1000 / u64::from(self.left()).max(1)) as u32
    }

    /// The rate at which packets of this length left; `None` of fewer than two, or in no time.
    pub fn sent_rate(&self, bytes: u32) -> Option<u64> {
        rate_over(self.flights.iter().filter_map(|flight| flight.sent_ns), bytes)
    }

    /// The rate at which they came.
    pub fn arrival_rate(&self, bytes: u32) -> Option<u64> {
        rate_over(self.flights.iter().filter_map(|flight| flight.arrived_ns), bytes)
    }
}

/// The rate of packets of one length at these times: the first one's bits were before the first time.
fn rate_over(times: impl Iterator<Item = u64>, bytes: u32) -> Option<u64> {
    let (mut count, mut first, mut last) = (0_u64, u64::MAX, 0);
    for time in times {
        count += 1;
        first = first.min(time);
        last = last.max(time);
    }
    rate_of(count.checked_sub(1)? * u64::from(bytes), last.saturating_sub(first))
}

/// Bit/s of an amount in a time, rounded down; `None` in no time.
pub fn rate_of(bytes: u64, nanos: u64) -> Option<u64> {
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    bits.checked_div(u128::from(nanos)).map(|rate| u64::try_from(rate).unwrap_or(u64::MAX))
}

/// What an amount takes at a rate, rounded up; a rate of 0 is taken for 1 bit/s.
pub fn nanos_for(bytes: u64, rate_bit_per_s: u64) -> u64 {
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    u64::try_from(bits.div_ceil(u128::from(rate_bit_per_s.max(1)))).unwrap_or(u64::MAX)
}

/// A packet that went to the far end and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// From sending it to its coming back, by the clock here.
    pub away_ns: u64,
    /// From its coming to the far end to its leaving there, by the clock there.
    pub turned_ns: u64,
}

/// The limits of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rate of a stream, in bit/s.
    pub rate_bit_per_s: u64,
    /// Packets in a train.
    pub packets: u32,
    /// Packets in a burst.
    pub burst: u32,
    /// Duration of a train.
    pub duration_ns: u64,
}

/// A channel that carries packets between two ends.
pub trait Channel {
    /// Why it cannot.
    type Error;

    /// Its limits. A request beyond them is an error.
    fn limits(&self) -> Limits;

    /// Sends a train and returns the fate of its packets.
    ///
    /// # Errors
    /// If an end cannot go on, or will not.
    fn pass(&mut self, train: &Train) -> Result<Passed, Self::Error>;

    /// Sends a small packet to the far end, which sends it back; `None` if it got lost.
    ///
    /// # Errors
    /// If an end cannot go on.
    fn echo(&mut self) -> Result<Option<Echo>, Self::Error>;

    /// Sends nothing for a while, so that queues empty.
    ///
    /// # Errors
    /// If somebody asks to stop meanwhile.
    fn rest(&mut self, nanos: u64) -> Result<(), Self::Error>;
}
