//! A serial link with a drop-tail queue before it.

use crate::written;
use serde::{Deserialize, Serialize};
use slowpath_model::{Bytes, Instant, Rate};
use std::collections::VecDeque;
use std::time::Duration;

/// How much may wait for the link, the packet in service included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueLimit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many IP bytes.
    Bytes(#[serde(with = "written::bytes")] Bytes),
}

/// A time at which the link serves nobody; what arrives waits in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    /// Start, counted from the path's begin ([`crate::Path::begin`]).
    #[serde(rename = "from_ns", with = "written::ns")]
    pub from: Duration,
    /// End, counted likewise.
    #[serde(rename = "to_ns", with = "written::ns")]
    pub to: Duration,
}

/// A link and its queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkConfig {
    /// Rate of IP packets.
    #[serde(rename = "rate_bit_per_s", with = "written::bit_per_s")]
    pub rate: Rate,
    /// Room before the link.
    pub queue: QueueLimit,
    /// Times at which it does not serve, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub stalls: Vec<Stall>,
}

const PS_PER_NS: u64 = 1000;

/// An instant to the picosecond: in one number of 64 bits these would last seven months.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fine {
    at: Instant,
    /// Less than a nanosecond.
    ps: u64,
}

/// A service time to the picosecond.
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

/// A link at work. Service times are kept in picoseconds: at 100 Gbit/s a byte takes 80 ps.
#[derive(Debug)]
pub struct Link {
    /// At least 1 bit/s.
    rate: Rate,
    limit: QueueLimit,
    stalls: Vec<Stall>,
    begin: Option<Instant>,
    free: Fine,
    /// A length and its service time: most packets are of one length, and wide divisions are slow.
    last_service: (Bytes, Service),
    waiting: VecDeque<(Instant, Bytes)>,
    backlog: Bytes,
}

impl Link {
    /// An idle link. A rate of 0 is taken for 1 bit/s.
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

    /// Sets the instant that stalls are counted from, which is otherwise that of the first packet.
    pub fn begin(&mut self, at: Instant) {
        self.begin = Some(at);
    }

    /// When a packet that arrives now has left the link entirely; `None` if the queue has no room.
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

    /// Packets and their amount that wait or are in service, as of the last arrival.
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

    /// When a packet of so many bytes that arrives at `at` departs, in nanoseconds.
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
        // Idle from 2.5 ms on, so this one is served at once.
        assert_eq!(departure(&mut link, 10 * MS, 1500), Some(11 * MS));
    }

    #[test]
    fn third_packet_finds_a_queue_of_two_full_until_the_first_has_left() {
        let mut link = link(QueueLimit::Packets(2), vec![]);
        assert_eq!(departure(&mut link, 0, 1500), Some(MS));
        assert_eq!(departure(&mut link, 0, 1500), Some(2 * MS));
        assert_eq!(departure(&mut link, MS - 1, 1500), None);
        assert_eq!(departure(&mut link, MS, 1500), Some(3 * MS));
    }

    #[test]
    fn byte_queue_lets_a_small_packet_in_where_a_large_one_is_dropped() {
        let mut link = link(QueueLimit::Bytes(Bytes::new(3100)), vec![]);
        assert_eq!(departure(&mut link, 0, 1500), Some(MS));
        assert_eq!(departure(&mut link, 0, 1500), Some(2 * MS));
        assert_eq!(departure(&mut link, 0, 101), None);
        assert_eq!(departure(&mut link, 0, 75), Some(2 * MS + MS / 20));
        assert_eq!(link.backlog(), (3, Bytes::new(3075)));
    }

    #[test]
    fn stalled_link_serves_at_its_rate_once_the_stall_is_over() {
        let mut link = link(
            QueueLimit::Packets(100),
            vec![Stall { from: Duration::from_millis(1), to: Duration::from_millis(5) }],
        );
        // The stall counts from the first packet, which came at 7 ms.
        assert_eq!(departure(&mut link, 7 * MS, 1500), Some(8 * MS));
        // Would start at 8 ms, which is in the stall [8, 12).
        assert_eq!(departure(&mut link, 7 * MS, 1500), Some(13 * MS));
        assert_eq!(departure(&mut link, 9 * MS, 1500), Some(14 * MS));
        assert_eq!(departure(&mut link, 20 * MS, 1500), Some(21 * MS));
    }

    #[test]
    fn fractions_of_a_nanosecond_do_not_add_up_to_a_wrong_rate() {
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
