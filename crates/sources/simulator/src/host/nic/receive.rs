//! The receive ring: descriptors that arriving packets fill, and when their interrupt is raised.

use super::bus::Bus;
use crate::wire::{Frame, Wire};
use slowpath_model::Instant;
use slowpath_scenario::Nic;
use std::collections::VecDeque;
use std::time::Duration;

/// The receive ring of a host's NIC.
///
/// Arriving packets are taken off the wires only when something looks at the ring: between two looks the ring only
/// fills, so drops for lack of descriptors can be computed afterwards.
#[derive(Debug)]
pub struct ReceiveRing {
    /// Packets, and when each arrived.
    frames: VecDeque<(Instant, Frame)>,
    /// Between the wire and the ring, if that takes time.
    bus: Option<Bus>,
    /// Packets on the NIC that wait for the bus or are on it, and when each is in memory.
    on_card: VecDeque<(Instant, Frame)>,
    /// Bytes of these, and the limit.
    on_card_bytes: u64,
    card_memory: u64,
    descriptors: usize,
    /// When the first packet arrived without an interrupt raised since.
    waiting_since: Option<Instant>,
    delay: Duration,
    packets: usize,
    /// The driver polls: no interrupt is raised.
    masked: bool,
    counts: ReceiveCounts,
}

/// The counters of the ring: `arrived == dropped + taken + waiting`, always; what waits is on the ring or on the NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveCounts {
    /// Packets that came off the wire.
    pub arrived: u64,
    /// Packets dropped without a free descriptor, or without memory on the NIC (`rx_missed_errors`).
    pub dropped: u64,
    /// Packets that the driver took.
    pub taken: u64,
    /// Interrupts raised.
    pub interrupts: u64,
    /// The maximum number of waiting packets.
    pub most_waiting: u64,
}

/// The state of the NIC's interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raise {
    /// Now.
    Now,
    /// At this instant, unless enough packets arrive before.
    At(Instant),
    /// Not at all: nothing waits, or the driver polls.
    No,
}

impl ReceiveRing {
    /// An empty ring.
    pub fn new(nic: &Nic) -> Self {
        Self {
            frames: VecDeque::with_capacity((nic.rx_ring as usize).min(4096)),
            bus: nic.bus.map(Bus::new),
            on_card: VecDeque::new(),
            on_card_bytes: 0,
            card_memory: nic.bus.map_or(0, |bus| bus.memory.get()),
            descriptors: nic.rx_ring as usize,
            waiting_since: None,
            delay: nic.interrupt_delay,
            packets: nic.interrupt_packets.max(1) as usize,
            masked: false,
            counts: ReceiveCounts::default(),
        }
    }

    /// Fills descriptors with what has arrived on `inputs` and been carried by the bus by `now`, in the order of arrival;
    /// `drops` gets packets without a descriptor or without memory on the NIC.
    pub fn fill(
        &mut self,
        now: Instant,
        wires: &mut [Wire],
        inputs: &[usize],
        mut drops: impl FnMut(&Frame),
    ) {
        while let Some((due, frame)) = first_arrival(now, wires, inputs) {
            self.counts.arrived += 1;
            if self.bus.is_none() {
                self.put(due, frame, &mut drops);
                continue;
            }
            self.carried_by(due, &mut drops);
            let bytes = u64::from(frame.length());
            if self.on_card_bytes + bytes > self.card_memory {
                self.counts.dropped += 1;
                drops(&frame);
                continue;
            }
            if let Some(bus) = &mut self.bus {
                self.on_card_bytes += bytes;
                self.on_card.push_back((bus.carry(due, frame.length()), frame));
            }
        }
        self.carried_by(now, &mut drops);
    }

    /// Puts packets that the bus has carried by `now` on the ring.
    fn carried_by(&mut self, now: Instant, drops: &mut impl FnMut(&Frame)) {
        while self.on_card.front().is_some_and(|(done, _)| *done <= now)
            && let Some((done, frame)) = self.on_card.pop_front()
        {
            self.on_card_bytes -= u64::from(frame.length());
            self.put(done, frame, drops);
        }
    }

    /// Puts a packet on the ring, if there is a descriptor.
    fn put(&mut self, at: Instant, frame: Frame, drops: &mut impl FnMut(&Frame)) {
        if self.frames.len() >= self.descriptors {
            self.counts.dropped += 1;
            drops(&frame);
            return;
        }
        self.frames.push_back((at, frame));
        self.waiting_since.get_or_insert(at);
        self.counts.most_waiting = self.counts.most_waiting.max(self.frames.len() as u64);
    }

    /// The bus, which transmission uses too; `None` if it takes no time.
    pub fn bus(&mut self) -> Option<&mut Bus> {
        self.bus.as_mut()
    }

    /// Whether to interrupt: if enough packets wait, or the first has waited long enough.
    pub fn interrupt(&self, now: Instant) -> Raise {
        let in_ring = self.waiting_since.filter(|_| !self.frames.is_empty());
        let since = in_ring.or_else(|| self.on_card.front().map(|(done, _)| *done));
        let Some(since) = since.filter(|_| !self.masked) else { return Raise::No };
        // The bus carries the one that makes enough packets.
        let enough = self.packets.saturating_sub(self.frames.len() + 1);
        let enough = self.on_card.get(enough).map(|(done, _)| *done);
        let latest = since + self.delay;
        let at = enough.map_or(latest, |enough| enough.min(latest));
        if self.frames.len() >= self.packets || at <= now { Raise::Now } else { Raise::At(at) }
    }

    /// The interrupt coalescing time.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// The number of arrivals until the interrupt is raised. If the ring has no room for so many, each arrival matters,
    /// as it might be dropped.
    pub fn missing(&self) -> usize {
        if self.descriptors < self.packets {
            1
        } else {
            self.packets.saturating_sub(self.frames.len()).max(1)
        }
    }

    /// The interrupt is delivered: none follows until the driver enables it (`napi_schedule`).
    pub fn mask(&mut self) {
        self.masked = true;
        self.counts.interrupts += 1;
        self.waiting_since = None;
    }

    /// Whether the interrupt is masked.
    pub fn is_masked(&self) -> bool {
        self.masked
    }

    /// The driver has processed all packets (`napi_complete_done`).
    pub fn unmask(&mut self) {
        self.masked = false;
    }

    /// The driver takes a packet and refills its descriptor; returns when the packet arrived.
    pub fn take(&mut self) -> Option<(Instant, Frame)> {
        let taken = self.frames.pop_front()?;
        self.counts.taken += 1;
        if self.frames.is_empty() {
            self.waiting_since = None;
        }
        Some(taken)
    }

    /// Waiting packets.
    pub fn waiting(&self) -> usize {
        self.frames.len()
    }

    /// The counters.
    pub fn counts(&self) -> ReceiveCounts {
        self.counts
    }

    /// Whether every packet that arrived is dropped, taken or waiting.
    pub fn is_conserved(&self) -> bool {
        let waiting = self.frames.len() + self.on_card.len();
        self.counts.arrived == self.counts.dropped + self.counts.taken + waiting as u64
    }
}

/// Takes the packet that arrived first on any of `inputs`, if one has by `now`.
fn first_arrival(now: Instant, wires: &mut [Wire], inputs: &[usize]) -> Option<(Instant, Frame)> {
    let first = match inputs {
        [only] => *only,
        _ => {
            let arrived = inputs.iter().copied().filter(|input| wires[*input].next_due().is_some());
            arrived.min_by_key(|input| wires[*input].next_due())?
        }
    };
    wires[first].take(now)
}
