//! A serial link with a drop-tail queue before it.

use crate::serde_units;
use serde::{Deserialize, Serialize};
use slowpath_model::{Bytes, Instant, Rate};
use std::collections::VecDeque;
use std::time::Duration;

/// The queue limit, including the packet in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueLimit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many IP bytes.
    Bytes(#[serde(with = "serde_units::bytes")] Bytes),
}

/// A period in which the link does not serve; arriving packets wait in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    /// Start, relative to the path's begin ([`crate::Path::begin`]).
    #[serde(rename = "from_ns", with = "serde_units::ns")]
    pub from: Duration,
    /// End, relative to the same instant.
    #[serde(rename = "to_ns", with = "serde_units::ns")]
    pub to: Duration,
}

/// A link and its queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkConfig {
    /// Rate in IP bits.
    #[serde(rename = "rate_bit_per_s", with = "serde_units::bit_per_s")]
    pub rate: Rate,
    /// The queue before the link.
    pub queue: QueueLimit,
    /// Periods without service, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub stalls: Vec<Stall>,
}

const PS_PER_NS: u64 = 1000;

/// An instant in picoseconds: a single 64-bit number would last only seven months.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fine {
    at: Instant,
    /// Picoseconds, less than a nanosecond.
    ps: u64,
}

/// A service time in picoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Service {
    ns: i64,
    ps: u64,
}

impl Fine {
    const fn of(at: Instant) -> Self {
        Self { at, ps: 0 }
    }

    fn plus(self, service: Service) -> Self {
        let ps = self.ps + service.ps;
        let carry = u64::from(ps >= PS_PER_NS);
        Self { at: self.at.plus_nanos(service.ns.saturating_add(carry as i64)), ps: ps - carry * PS_PER_NS }
    }

    fn rounded_up(self) -> Instant {
        self.at.plus_nanos(i64::from(self.ps > 0))
    }
}

/// The state of a link. Service times are in picoseconds: at 100 Gbit/s a byte takes 80 ps.
#[derive(Debug)]
pub struct Link {
    /// At least 1 bit/s.
    rate: Rate,
    limit: QueueLimit,
    stalls: Vec<Stall>,
    begin: Option<Instant>,
    free: Fine,
    /// A length and its service time, cached: most packets have the same length, and wide divisions are slow.
    last_service: (Bytes, Service),
    waiting: VecDeque<(Instant, Bytes)>,
    backlog: Bytes,
}

impl Link {
    /// An idle link. A rate of 0 counts as 1 bit/s.
    pub fn new(config: &LinkConfig) -> Self {
        Self {
            rate: config.rate.max(Rate::bits_per_second(1)),
            limit: config.queue,
            stalls: config.stalls.clone(),
            begin: None,
            free: Fine::of(Instant::from_nanos(i64::MIN)),
            last_service: (Bytes::ZERO, Service::default()),
            waiting: VecDeque::new(),
            backlog: Bytes::ZERO,
        }
    }

    /// Sets the instant that stalls are relative to; by default, the first packet's.
    pub fn begin(&mut self, at: Instant) {
        self.begin = Some(at);
    }

    /// When a packet that arrives now has left the link; `None` if the queue has no room.
    pub fn departure(&mut self, arrival: Instant, length: Bytes) -> Option<Instant> {
        let begin = *self.begin.get_or_insert(arrival);
        while let Some(&(departure, bytes)) = self.waiting.front()
            && departure <= arrival
        {
            self.waiting.pop_front();
            self.backlog = self.backlog - bytes;
        }
        let has_room = match self.limit {
            QueueLimit::Packets(limit) => self.waiting.len() < limit as usize,
            QueueLimit::Bytes(limit) => self.backlog + length <= limit,
        };
        if !has_room {
            return None;
        }
        let mut start = self.free.max(Fine::of(arrival));
        for stall in &self.stalls {
            let until = begin + stall.to;
            if (begin + stall.from..until).contains(&start.at) {
                start = Fine::of(until);
            }
        }
        if self.last_service.0 != length {
            let bits = u128::from(length.get()) * 8;
            let service_ps = (bits * 1_000_000_000_000).div_ceil(u128::from(self.rate.get()));
            let ns = i64::try_from(service_ps / u128::from(PS_PER_NS)).unwrap_or(i64::MAX / 2);
            self.last_service = (length, Service { ns, ps: (service_ps % u128::from(PS_PER_NS)) as u64 });
        }
        self.free = start.plus(self.last_service.1);
        let departure = self.free.rounded_up();
        self.waiting.push_back((departure, length));
        self.backlog += length;
        Some(departure)
    }

    /// Packets and bytes waiting or in service, at the last arrival.
    pub fn backlog(&self) -> (u64, Bytes) {
        (self.waiting.len() as u64, self.backlog)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 12 Mbit/s: 1500 bytes take exactly 1 ms.
    fn link(queue: QueueLimit, stalls: Vec<Stall>) -> Link {
        Link::new(&LinkConfig { rate: Rate::mbit(12), queue, stalls })
    }

    const MS: u64 = 1_000_000;

    /// When a packet of `bytes` bytes that arrives at `at` departs, in nanoseconds.
    fn departure(link: &mut Link, at: u64, bytes: u64) -> Option<u64> {
        let departure = link.departure(Instant::START + Duration::from_nanos(at), Bytes::new(bytes));
        departure.map(|at| at.nanos().cast_unsigned())
    }

    #[test]
    fn packets_are_served_one_after_the_other() {
        let mut link = link(QueueLimit::Packets(10), vec![]);
        assert_eq!(departure(&mut link, 0, 1500), Some(MS));
        assert_eq!(departure(&mut link, 0, 1500), Some(2 * MS));
        assert_eq!(departure(&mut link, MS / 2, 750), Some(2 * MS + MS / 2));
        // Idle from 2.5 ms on, so this one is served immediately.
        assert_eq!(departure(&mut link, 10 * MS, 1500), Some(11 * MS));
    }

    #[test]
    fn queue_of_two_drops_the_third_packet_until_the_first_departs() {
        let mut link = link(QueueLimit::Packets(2), vec![]);
        assert_eq!(departure(&mut link, 0, 1500), Some(MS));
        assert_eq!(departure(&mut link, 0, 1500), Some(2 * MS));
        assert_eq!(departure(&mut link, MS - 1, 1500), None);
        assert_eq!(departure(&mut link, MS, 1500), Some(3 * MS));
    }

    #[test]
    fn byte_queue_accepts_a_small_packet_where_it_drops_a_large_one() {
        let mut link = link(QueueLimit::Bytes(Bytes::new(3100)), vec![]);
        assert_eq!(departure(&mut link, 0, 1500), Some(MS));
        assert_eq!(departure(&mut link, 0, 1500), Some(2 * MS));
        assert_eq!(departure(&mut link, 0, 101), None);
        assert_eq!(departure(&mut link, 0, 75), Some(2 * MS + MS / 20));
        assert_eq!(link.backlog(), (3, Bytes::new(3075)));
    }

    #[test]
    fn link_serves_at_its_rate_after_a_stall() {
        let mut link = link(
            QueueLimit::Packets(100),
            vec![Stall { from: Duration::from_millis(1), to: Duration::from_millis(5) }],
        );
        // Stalls are relative to the first packet, which arrived at 7 ms.
        assert_eq!(departure(&mut link, 7 * MS, 1500), Some(8 * MS));
        // It would start at 8 ms, during the stall [8, 12).
        assert_eq!(departure(&mut link, 7 * MS, 1500), Some(13 * MS));
        assert_eq!(departure(&mut link, 9 * MS, 1500), Some(14 * MS));
        assert_eq!(departure(&mut link, 20 * MS, 1500), Some(21 * MS));
    }

    #[test]
    fn rounding_of_service_times_does_not_accumulate() {
        let mut link =
            Link::new(&LinkConfig { rate: Rate::mbit(7), queue: QueueLimit::Packets(2000), stalls: vec![] });
        let mut last = 0;
        for _ in 0..1000 {
            last = departure(&mut link, 0, 1500).unwrap();
        }
        // 12 Mbit at 7 Mbit/s: 1.714285714 s.
        assert_eq!(last, 1_714_285_715);
    }
}
