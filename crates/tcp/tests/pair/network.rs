//! A channel that applies a list of fates to its first packets, and delivers the rest.

use slowpath_model::Instant;
use slowpath_tcp::Packet;
use std::time::Duration;

/// What happens to one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Deliver,
    Drop,
    /// Arrives twice, the second time this many milliseconds later.
    Duplicate(u8),
    /// Arrives this many milliseconds late.
    Delay(u8),
}

/// One direction of a path.
#[derive(Debug)]
pub struct Channel {
    delay: Duration,
    fates: Vec<Fate>,
    sent: usize,
    pub dropped: usize,
    under_way: Vec<(Instant, usize, Packet)>,
    /// A record of its packets.
    pub record: Vec<(Instant, Packet)>,
}

impl Channel {
    pub fn new(delay: Duration, fates: Vec<Fate>) -> Self {
        Self { delay, fates, sent: 0, dropped: 0, under_way: Vec::new(), record: Vec::new() }
    }

    /// Takes a packet; a super-packet leaves as segments, as a device would cut it.
    pub fn send(&mut self, now: Instant, packet: Packet) {
        for segment in packet.cut() {
            self.send_segment(now, segment);
        }
    }

    fn send_segment(&mut self, now: Instant, packet: Packet) {
        let fate = self.fates.get(self.sent).copied().unwrap_or(Fate::Deliver);
        self.sent += 1;
        self.record.push((now, packet));
        let late = |millis: u8| now + self.delay + Duration::from_millis(u64::from(millis));
        let mut arrivals = vec![late(0)];
        match fate {
            Fate::Deliver => {}
            Fate::Drop => {
                self.dropped += 1;
                arrivals.clear();
            }
            Fate::Duplicate(millis) => arrivals.push(late(millis)),
            Fate::Delay(millis) => arrivals = vec![late(millis)],
        }
        for at in arrivals {
            let place = self.under_way.len();
            self.under_way.push((at, self.sent * 2 + place % 2, packet));
        }
    }

    /// When the next packet arrives.
    pub fn next(&self) -> Option<Instant> {
        self.under_way.iter().map(|(at, ..)| *at).min()
    }

    /// The packets that have arrived by `now`, in order.
    pub fn arrivals(&mut self, now: Instant) -> Vec<Packet> {
        let mut due: Vec<_> = self.under_way.extract_if(.., |(at, ..)| *at <= now).collect();
        due.sort_by_key(|(at, number, _)| (*at, *number));
        due.into_iter().map(|(.., packet)| packet).collect()
    }
}
