//! The bus between a NIC and memory.
//!
//! A shared bus such as PCI carries one transaction at a time, whichever the direction: received frames and the status
//! of their descriptors go to memory, frames to send and their descriptors come from there. A frame is cut into bursts,
//! and each burst loses time to arbitration, its address phase, the target's latency and the turnaround (PCI Local Bus
//! Specification 2.2, sections 3.3 and 3.5). Transactions are carried in the order of request: the two queues of a NIC
//! are not arbitrated for separately, and no other device uses the bus.

use slowpath_model::{Bytes, Instant};
use slowpath_scenario::Bus as Plan;
use std::time::Duration;

/// Bytes of an Ethernet header: a frame's check sequence stays on the NIC.
const ETHERNET_HEADER: u64 = 14;
/// Transactions of a frame besides its data: the descriptor is fetched, and its status written.
const DESCRIPTOR_TRANSACTIONS: u64 = 2;

/// The bus.
#[derive(Debug)]
pub struct Bus {
    plan: Plan,
    /// When everything requested so far has been carried.
    free_at: Instant,
}

impl Bus {
    /// An idle bus.
    pub fn new(plan: Plan) -> Self {
        Self { plan, free_at: Instant::START }
    }

    /// Carries a frame with an IP packet of `length` bytes, requested at `from`, which must not be earlier than the
    /// last request; returns when all of it has been carried.
    pub fn carry(&mut self, from: Instant, length: u32) -> Instant {
        self.free_at = self.free_at.max(from) + self.time_of(length);
        self.free_at
    }

    fn time_of(&self, length: u32) -> Duration {
        let frame = u64::from(length) + ETHERNET_HEADER;
        let bursts = frame.div_ceil(self.plan.burst.get().max(1)) + DESCRIPTOR_TRANSACTIONS;
        let bytes = frame + self.plan.descriptor.get() * DESCRIPTOR_TRANSACTIONS;
        let data = self.plan.rate.time_for(Bytes::new(bytes)).unwrap_or_default();
        data + self.plan.lost.saturating_mul(u32::try_from(bursts).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::Rate;

    fn bus() -> Bus {
        Bus::new(Plan {
            rate: Rate::mbit(1000),
            burst: Bytes::new(64),
            lost: Duration::from_nanos(100),
            descriptor: Bytes::new(32),
            memory: Bytes::new(1 << 20),
        })
    }

    #[test]
    fn frame_takes_the_time_of_its_bytes_bursts_and_descriptor() {
        // 1514 bytes in 24 bursts, and 32 bytes twice.
        let end = bus().carry(Instant::from_nanos(7), 1500);
        assert_eq!(end.nanos(), 7 + (1514 + 64) * 8 + 26 * 100);
        // An ACK of 54 bytes takes one burst.
        assert_eq!(bus().carry(Instant::START, 40).nanos(), (54 + 64) * 8 + 3 * 100);
    }

    #[test]
    fn one_frame_is_carried_at_a_time() {
        let mut bus = bus();
        let first = bus.carry(Instant::START, 1500);
        let second = bus.carry(Instant::from_nanos(10), 1500);
        assert_eq!(second.nanos(), 2 * first.nanos());
        let idle = Instant::from_nanos(1_000_000);
        assert_eq!(bus.carry(idle, 1500).nanos_since(idle), first.nanos());
    }
}
