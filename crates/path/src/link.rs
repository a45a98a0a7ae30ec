//! A serial link with a drop-tail queue before it.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// How much may wait for the link, the packet in service included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueLimit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many IP bytes.
    Bytes(u64),
}

/// A time at which the link serves nobody; what arrives waits in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    /// Start, counted from the path's begin ([`crate::Path::begin`]).
    pub from_ns: u64,
    /// End, counted likewise.
    pub to_ns: u64,
}

/// A link and its queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkConfig {
    /// Rate in bits of IP packet per second.
    pub rate_bit_per_s: u64,
    /// Room before the link.
    pub queue: QueueLimit,
    /// Times at which it does not serve, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub stalls: Vec<Stall>,
}

const PS_PER_NS: u64 = 1000;

/// An instant or a time to the picosecond: in one number of 64 bits these would last seven months.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Fine {
    ns: u64,
    /// Less than a nanosecond.
    ps: u64,
}

impl Fine {
    fn plus(self, other: Self) -> Self {
        let ps = self.ps + other.ps;
        let carry = u64::from(ps >= PS_PER_NS);
        Self { ns: self.ns.saturating_add(other.ns + carry), ps: ps - carry * PS_PER_NS }
    }

    /// Rounded up.
    fn whole_ns(self) -> u64 {
        self.ns.saturating_add(u64::from(self.ps > 0))
    }
}

/// A link at work. Service times are kept in picoseconds: at 100 Gbit/s a byte takes 80 ps.
#[derive(Debug)]
pub struct Link {
    rate_bit_per_s: u64,
    limit: QueueLimit,
    stalls: Vec<Stall>,
    begin_ns: Option<u64>,
    free: Fine,
    /// A length and its service time: most packets are of one length, and wide divisions are slow.
    last_service: (u32, Fine),
    waiting: VecDeque<(u64, u32)>,
    waiting_bytes: u64,
}

impl Link {
    /// An idle link. A rate of 0 is taken for 1 bit/s.
    pub fn new(config: &LinkConfig) -> Self {
        Self {
            rate_bit_per_s: config.rate_bit_per_s.max(1),
            limit: config.queue,
            stalls: config.stalls.clone(),
            begin_ns: None,
            free: Fine::default(),
            last_service: (0, Fine::default()),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        }
    }

    /// Sets the instant that stalls are counted from, which is otherwise that of the first packet.
    pub fn begin(&mut self, at_ns: u64) {
        self.begin_ns = Some(at_ns);
    }

    /// When a packet that arrives now has left the link entirely; `None` if the queue has no room.
    pub fn departure(&mut self, arrival_ns: u64, length_bytes: u32) -> Option<u64> {
        let begin_ns = *self.begin_ns.get_or_insert(arrival_ns);
        while let Some(&(departure_ns, bytes)) = self.waiting.front()
            && departure_ns <= arrival_ns
        {
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(bytes);
        }
        let has_room = match self.limit {
            QueueLimit::Packets(limit) => self.waiting.len() < limit as usize,
            QueueLimit::Bytes(limit) => self.waiting_bytes + u64::from(length_bytes) <= limit,
        };
        if !has_room {
            return None;
        }
        let mut start = self.free.max(Fine { ns: arrival_ns, ps: 0 });
        for stall in &self.stalls {
            let until_ns = begin_ns.saturating_add(stall.to_ns);
            if (begin_ns.saturating_add(stall.from_ns)..until_ns).contains(&start.ns) {
                start = Fine { ns: until_ns, ps: 0 };
            }
        }
        if self.last_service.0 != length_bytes {
            let bits = u128::from(length_bytes) * 8;
            let service_ps = (bits * 1_000_000_000_000).div_ceil(u128::from(self.rate_bit_per_s));
            let ns = u64::try_from(service_ps / u128::from(PS_PER_NS)).unwrap_or(u64::MAX / 2);
            self.last_service = (length_bytes, Fine { ns, ps: (service_ps % u128::from(PS_PER_NS)) as u64 });
        }
        self.free = start.plus(self.last_service.1);
        let departure_ns = self.free.whole_ns();
        self.waiting.push_back((departure_ns, length_bytes));
        self.waiting_bytes += u64::from(length_bytes);
        Some(departure_ns)
    }

    /// Packets and bytes that wait or are in service, as of the last arrival.
    pub fn backlog(&self) -> (u64, u64) {
        (self.waiting.len() as u64, self.waiting_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 12 Mbit/s: 1500 bytes take exactly 1 ms.
    fn link(queue: QueueLimit, stalls: Vec<Stall>) -> Link {
        Link::new(&LinkConfig { rate_bit_per_s: 12_000_000, queue, stalls })
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn packets_are_served_one_after_the_other() {
        let mut link = link(QueueLimit::Packets(10), vec![]);
        assert_eq!(link.departure(0, 1500), Some(MS));
        assert_eq!(link.departure(0, 1500), Some(2 * MS));
        assert_eq!(link.departure(MS / 2, 750), Some(2 * MS + MS / 2));
        // Idle from 2.5 ms on, so this one is served at once.
        assert_eq!(link.departure(10 * MS, 1500), Some(11 * MS));
    }

    #[test]
    fn third_packet_finds_a_queue_of_two_full_until_the_first_has_left() {
        let mut link = link(QueueLimit::Packets(2), vec![]);
        assert_eq!(link.departure(0, 1500), Some(MS));
        assert_eq!(link.departure(0, 1500), Some(2 * MS));
        assert_eq!(link.departure(MS - 1, 1500), None);
        assert_eq!(link.departure(MS, 1500), Some(3 * MS));
    }

    #[test]
    fn byte_queue_lets_a_small_packet_in_where_a_large_one_is_dropped() {
        let mut link = link(QueueLimit::Bytes(3100), vec![]);
        assert_eq!(link.departure(0, 1500), Some(MS));
        assert_eq!(link.departure(0, 1500), Some(2 * MS));
        assert_eq!(link.departure(0, 101), None);
        assert_eq!(link.departure(0, 75), Some(2 * MS + MS / 20));
        assert_eq!(link.backlog(), (3, 3075));
    }

    #[test]
    fn stalled_link_serves_at_its_rate_once_the_stall_is_over() {
        let mut link = link(QueueLimit::Packets(100), vec![Stall { from_ns: MS, to_ns: 5 * MS }]);
        // The stall counts from the first packet, which came at 7 ms.
        assert_eq!(link.departure(7 * MS, 1500), Some(8 * MS));
        // Would start at 8 ms, which is in the stall [8, 12).
        assert_eq!(link.departure(7 * MS, 1500), Some(13 * MS));
        assert_eq!(link.departure(9 * MS, 1500), Some(14 * MS));
        assert_eq!(link.departure(20 * MS, 1500), Some(21 * MS));
    }

    #[test]
    fn fractions_of_a_nanosecond_do_not_add_up_to_a_wrong_rate() {
        let mut link = Link::new(&LinkConfig {
            rate_bit_per_s: 7_000_000,
            queue: QueueLimit::Packets(2000),
            stalls: vec![],
        });
        let mut last = 0;
        for _ in 0..1000 {
            last = link.departure(0, 1500).unwrap();
        }
        // 12 Mbit at 7 Mbit/s: 1.714285714 s.
        assert_eq!(last, 1_714_285_715);
    }
}
