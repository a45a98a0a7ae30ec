//! A channel over the emulated path, in simulated time.

use crate::measure::channel::nanos_for;
use crate::measure::{Channel, Direction, Echo, Flight, Limits, Passed, Train};
use slowpath_model::{Bytes, Instant, nanos};
use slowpath_path::{Packet, Path, PathConfig, Verdict};
use std::convert::Infallible;
use std::time::Duration;

/// The two directions, there and back.
const WAYS: usize = 2;
/// Packets in one train: as many as a step of the ramp has at 4 Gbit/s.
const MOST_PACKETS: u32 = 1 << 16;
/// Length of an echo's packet.
const ECHO_BYTES: u32 = 64;

/// The hosts at the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The rate of a card, here and at the far end, in bit/s: no burst leaves faster.
    pub card_bit_per_s: [u64; WAYS],
    /// The interrupt moderation delay of a card, which delivers packets together; 0 for none.
    pub joined_within_ns: u64,
}

/// Two hosts and the path between them.
#[derive(Debug)]
pub struct Simulated {
    ways: [Path; WAYS],
    ends: Ends,
    now_ns: u64,
}

impl Simulated {
    /// The path in both directions, each with the seed of its random numbers.
    pub fn new(there: &PathConfig, back: &PathConfig, seeds: [u64; WAYS], ends: Ends) -> Self {
        Self { ways: [Path::new(there, seeds[0]), Path::new(back, seeds[1])], ends, now_ns: 0 }
    }

    /// When a packet sent at an instant arrives; `None` if it is lost.
    fn carried(&mut self, direction: Direction, at_ns: u64, bytes: u32) -> Option<u64> {
        let packet = Packet { length: Bytes::new(bytes.into()), ..Packet::default() };
        let at = Instant::START + Duration::from_nanos(at_ns);
        match self.ways[direction as usize].schedule(at, &packet) {
            Verdict::Deliver { due, .. } => due.since(Instant::START).map(nanos),
            Verdict::Drop { .. } => None,
        }
    }

    /// The instants at which a card sends a train.
    fn sending(&self, train: &Train) -> Vec<u64> {
        let card = self.ends.card_bit_per_s[train.direction as usize];
        let each_ns = nanos_for(u64::from(train.bytes), card);
        let mut free_ns = 0;
        let times = (0..train.packets).map(|n| {
            let due_ns = self.now_ns + train.gap_ns * u64::from(n / train.burst.max(1));
            let at_ns = due_ns.max(free_ns);
            free_ns = at_ns + each_ns;
            at_ns
        });
        times.collect()
    }
}

/// Joins arrivals within this time of the first of them; they are delivered at its end.
fn join(flights: &mut [Flight], within_ns: u64) -> u32 {
    let mut arrived: Vec<(u64, usize)> =
        flights.iter().enumerate().filter_map(|(n, flight)| Some((flight.arrived_ns?, n))).collect();
    arrived.sort_unstable();
    let (mut until_ns, mut latest, mut overtaken) = (None, 0, 0);
    for (at_ns, n) in arrived {
        // RFC 4737, section 3.3: a packet below the next expected one is reordered.
        overtaken += u32::from(n < latest);
        latest = latest.max(n);
        if within_ns > 0 {
            let until_ns = until_ns.filter(|until| at_ns <= *until).unwrap_or(at_ns + within_ns);
            flights[n].arrived_ns = Some(until_ns);
        }
        until_ns = flights[n].arrived_ns;
    }
    overtaken
}

impl Channel for Simulated {
    type Error = Infallible;

    fn limits(&self) -> Limits {
        let rate_bit_per_s = self.ends.card_bit_per_s[0].min(self.ends.card_bit_per_s[1]);
        Limits { rate_bit_per_s, packets: MOST_PACKETS, burst: 1024, duration_ns: 10_000_000_000 }
    }

    fn pass(&mut self, train: &Train) -> Result<Passed, Infallible> {
        let sending = self.sending(train);
        let flight = |at_ns: u64| Flight {
            sent_ns: Some(at_ns),
            arrived_ns: self.carried(train.direction, at_ns, train.bytes),
        };
        let mut flights: Vec<Flight> = sending.into_iter().map(flight).collect();
        let overtaken = join(&mut flights, self.ends.joined_within_ns);
        let times = flights.iter().flat_map(|flight| [flight.sent_ns, flight.arrived_ns]).flatten();
        self.now_ns = times.max().unwrap_or(self.now_ns);
        Ok(Passed { flights, overtaken, overflowed: None })
    }

    fn echo(&mut self) -> Result<Option<Echo>, Infallible> {
        let sent_ns = self.now_ns;
        let there = self.carried(Direction::There, sent_ns, ECHO_BYTES);
        let back = there.and_then(|at_ns| self.carried(Direction::Back, at_ns, ECHO_BYTES));
        self.now_ns = back.or(there).unwrap_or(sent_ns);
        Ok(back.map(|at_ns| Echo { away_ns: at_ns - sent_ns, turned_ns: 0 }))
    }

    fn rest(&mut self, nanos: u64) -> Result<(), Infallible> {
        self.now_ns += nanos;
        Ok(())
    }
}
