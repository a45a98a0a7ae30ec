//! The interface to a path.

/// The direction of a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From here to the far end.
    There,
    /// From the far end to here.
    Back,
}

/// Packets of one length, in evenly spaced bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Train {
    /// Its direction.
    pub direction: Direction,
    /// The number of packets.
    pub packets: u32,
    /// Length of each, as IP counts it.
    pub bytes: u32,
    /// Packets sent back to back; 1 for an evenly spaced stream.
    pub burst: u32,
    /// From the start of one burst to that of the next.
    pub gap_ns: u64,
}

impl Train {
    /// A stream of single packets at this rate; a rate of 0, which would never end, counts as 1 bit/s.
    pub fn stream(direction: Direction, packets: u32, bytes: u32, rate_bit_per_s: u64) -> Self {
        let gap_ns = nanos_for(u64::from(bytes), rate_bit_per_s);
        Self { direction, packets, bytes, burst: 1, gap_ns }
    }

    /// From its first packet to its last, if the sender is never late.
    pub fn duration_ns(&self) -> u64 {
        let bursts = self.packets.div_ceil(self.burst.max(1)).max(1);
        self.gap_ns.saturating_mul(u64::from(bursts - 1))
    }

    /// The IP bytes of the whole train.
    pub fn total_bytes(&self) -> u64 {
        u64::from(self.packets) * u64::from(self.bytes)
    }
}

/// The fate of one packet. Times are by the clock of the end that took them: only differences of times of the same end
/// mean anything, and differences of such differences between the ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flight {
    /// When it was passed to the kernel; `None` if the sender's own queue refused it.
    pub sent_ns: Option<u64>,
    /// When it arrived; `None` if it did not.
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
    /// Reordered packets: they arrived after one sent later (RFC 4737, section 4.2.2).
    pub overtaken: u32,
    /// Packets that the receiver's socket had no room for (`SO_RXQ_OVFL`); `None` if unknown.
    pub overflowed: Option<u32>,
}

impl Passed {
    /// Packets that arrived.
    pub fn arrived(&self) -> u32 {
        self.flights.iter().filter(|flight| flight.arrived_ns.is_some()).count() as u32
    }

    /// Packets that left their host and did not arrive.
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

    /// Lost packets in thousandths of those that left; 0 if none left.
    pub fn loss_permille(&self) -> u32 {
        (u64::from(self.lost()) * 1000 / u64::from(self.left()).max(1)) as u32
    }

    /// The rate at which packets of this length left; `None` for fewer than two, or zero time.
    pub fn sent_rate(&self, bytes: u32) -> Option<u64> {
        rate_over(self.flights.iter().filter_map(|flight| flight.sent_ns), bytes)
    }

    /// The rate at which they arrived.
    pub fn arrival_rate(&self, bytes: u32) -> Option<u64> {
        rate_over(self.flights.iter().filter_map(|flight| flight.arrived_ns), bytes)
    }
}

/// The rate of packets of one length at these times: the first packet's bits came before the first time.
fn rate_over(times: impl Iterator<Item = u64>, bytes: u32) -> Option<u64> {
    let (mut count, mut first, mut last) = (0_u64, u64::MAX, 0);
    for time in times {
        count += 1;
        first = first.min(time);
        last = last.max(time);
    }
    rate_of(count.checked_sub(1)? * u64::from(bytes), last.saturating_sub(first))
}

/// Bit/s of an amount in a time, rounded down; `None` for zero time.
pub fn rate_of(bytes: u64, nanos: u64) -> Option<u64> {
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    bits.checked_div(u128::from(nanos)).map(|rate| u64::try_from(rate).unwrap_or(u64::MAX))
}

/// The time of an amount at a rate, rounded up; a rate of 0 counts as 1 bit/s.
pub fn nanos_for(bytes: u64, rate_bit_per_s: u64) -> u64 {
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    u64::try_from(bits.div_ceil(u128::from(rate_bit_per_s.max(1)))).unwrap_or(u64::MAX)
}

/// A packet to the far end and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// From sending it to its return, by the clock here.
    pub away_ns: u64,
    /// From its arrival at the far end to its leaving there, by the clock there.
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
    /// Its error type.
    type Error;

    /// Its limits. A request beyond them is an error.
    fn limits(&self) -> Limits;

    /// Sends a train and returns the fate of its packets.
    ///
    /// # Errors
    /// If an end cannot continue, or refuses.
    fn pass(&mut self, train: &Train) -> Result<Passed, Self::Error>;

    /// Sends a small packet to the far end, which returns it; `None` if it was lost.
    ///
    /// # Errors
    /// If an end cannot continue.
    fn echo(&mut self) -> Result<Option<Echo>, Self::Error>;

    /// Sends nothing for a while, so that queues empty.
    ///
    /// # Errors
    /// If a stop is requested meanwhile.
    fn rest(&mut self, nanos: u64) -> Result<(), Self::Error>;
}
