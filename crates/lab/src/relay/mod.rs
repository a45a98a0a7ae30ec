//! The relay between the two hosts: reads packets, asks the emulated path, and delivers them when due.
//!
//! It is in the path's namespace, with one packet socket per side. Arrival times are the kernel's own receive
//! timestamps, so that a late relay does not shift the schedule; how late deliveries were is counted. Alternatively it
//! has the hosts' interfaces themselves, as TAP devices; then a packet arrives when it is read.
//!
//! ```text
//! ring ─▶ arena (a frame, once) ─▶ cut ─▶ card ─▶ path ─▶ pending ─▶ join ─▶ output
//!          └───────────────────────── its bytes ─────────────────────▲
//! ```
//!
//! - [`ring`]: frames from a device and to it; [`vnet`]: their offloads; [`tap`]: frames of a host's own interface;
//!   `end`: either.
//! - `made`: packets that middleboxes changed, and those that they send.
//! - [`arena`]: where frames stay; `cut`: super-packets as descriptions of packets; `pending`: what is on its way.
//! - `direction`: one direction; `wait`: sleeping until the next packet is due.
//! - [`report`]: what is known afterwards.
//!
//! Hosts with segmentation offload send and receive super-packets. The path still carries packets: each has its own
//! place in the queue and its own fate. On the far side, packets of one super-packet that arrive within a short time
//! are delivered together, as a card with interrupt moderation and GRO does.

pub mod arena;
mod cut;
mod direction;
mod end;
mod made;
mod pending;
pub mod report;
pub mod ring;
pub mod tap;
pub mod vnet;
mod wait;

pub use report::{Cost, DirectionReport, Fate, Fault, Fullness, Lateness};

use crate::clock;
use crate::error::LabError;
use crate::frame::Streams;
use crate::host::Host;
use crate::namespaces::Namespaces;
use crate::path::{Path, PathConfig};
use direction::Direction;
use end::End;
use slowpath_model::Bytes;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// The configuration of one direction.
#[derive(Debug)]
pub struct Way {
    path: Path,
    /// Bytes of frames that can be on the path.
    memory_bytes: usize,
    /// How long a packet may wait to be joined with the next one of its super-packet; 0 if the far side gets each
    /// packet on its own.
    pub joined_within_ns: u64,
    /// The rate of the sending host's network card, if it has one: packets of a super-packet follow each other at this
    /// rate.
    pub card_bit_per_s: Option<u64>,
}

/// For bursts, and for a path that holds nothing.
const LEAST_MEMORY_BYTES: u64 = 32 << 20;
/// Untouched memory costs nothing, but there is a limit.
const MOST_MEMORY_BYTES: u64 = 1 << 30;
/// A frame stays until its last packet has left the path, including its dropped packets.
const FRAMES_PER_PACKET_BYTES: u64 = 4;
/// For a path whose link has an infinite rate.
const MEMORY_WITHOUT_LINK_BYTES: u64 = 256 << 20;

impl Way {
    /// A direction that delivers each packet on its own, from a host whose card takes no time.
    pub fn new(config: &PathConfig, seed: u64) -> Self {
        let holds = config.most_in_flight(Bytes::new(crate::settings::MTU_BYTES));
        let bytes = holds
            .map_or(MEMORY_WITHOUT_LINK_BYTES, |most| most.get().saturating_mul(FRAMES_PER_PACKET_BYTES));
        Self {
            path: Path::new(config, seed),
            memory_bytes: bytes.clamp(LEAST_MEMORY_BYTES, MOST_MEMORY_BYTES) as usize,
            joined_within_ns: 0,
            card_bit_per_s: None,
        }
    }
}

/// Sets all of these when it is dropped, also by a panic.
pub(crate) struct StopOnDrop<'a, const N: usize>(pub [&'a AtomicBool; N]);

impl<const N: usize> Drop for StopOnDrop<'_, N> {
    fn drop(&mut self) {
        self.0.iter().for_each(|stop| stop.store(true, Ordering::Relaxed));
    }
}

/// Both directions, ready to run.
#[derive(Debug)]
pub struct Relay {
    directions: [Direction; 2],
    streams: Streams,
    realtime_minus_monotonic_ns: u64,
}

/// Frames read, or delivered, before the other direction's turn.
const BATCH: usize = 64;
/// Of its thread, over everything else: it is not what is measured.
const PRIORITY: i32 = 20;

impl Relay {
    /// Opens an end towards each of the hosts, in the form they were built with.
    ///
    /// # Errors
    /// If a device is missing or packet sockets are not allowed.
    pub fn open(namespaces: &Namespaces, [forward, backward]: [Way; 2]) -> Result<Self, LabError> {
        let (sender, receiver) =
            (End::open(namespaces, Host::Sender)?, End::open(namespaces, Host::Receiver)?);
        let (to_sender, to_receiver) = (sender.output()?, receiver.output()?);
        let mut directions =
            [Direction::new(sender, to_receiver, forward), Direction::new(receiver, to_sender, backward)];
        let [forward_listens, backward_listens] = directions.each_ref().map(Direction::listens);
        directions[0].is_overheard |= backward_listens;
        directions[1].is_overheard |= forward_listens;
        Ok(Self {
            directions,
            streams: Streams::default(),
            realtime_minus_monotonic_ns: clock::realtime_ns() - clock::monotonic_ns(),
        })
    }

    /// Carries packets while `work` runs, in a thread of its own.
    pub fn during<T>(self, work: impl FnOnce() -> T) -> T {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| self.run(&stop));
            let done = StopOnDrop([&stop]);
            let result = work();
            drop(done);
            result
        })
    }

    /// Carries packets until `stop` is set, and gives the calling thread priority for it. Returns the reports of the forward
    /// and the backward direction, and the cost.
    pub fn run(mut self, stop: &AtomicBool) -> ([DirectionReport; 2], Cost) {
        clock::make_thread_punctual(PRIORITY);
        let (began_ns, began_cpu_ns) = (clock::monotonic_ns(), clock::thread_cpu_ns());
        let sockets = [0, 1].map(|n: usize| self.directions[n].input.as_raw_fd());
        let mut last_delivery_ns = 0;
        while !stop.load(Ordering::Relaxed) {
            let mut worked = false;
            for n in 0..2 {
                for _ in 0..BATCH {
                    if !self.directions[n].take(&mut self.streams) {
                        break;
                    }
                    self.tell(n);
                    worked = true;
                }
                for _ in 0..BATCH {
                    let now_ns = self.now_ns();
                    if !self.directions[n].deliver(now_ns) {
                        break;
                    }
                    last_delivery_ns = now_ns;
                    worked = true;
                }
            }
            if !worked {
                let now_ns = self.now_ns();
                let due_ns = self.directions.iter().filter_map(|way| way.next_ns(now_ns)).min();
                wait::wait(sockets, now_ns, due_ns, last_delivery_ns);
            }
        }
        let cost =
            Cost { cpu_ns: clock::thread_cpu_ns() - began_cpu_ns, ran_ns: clock::monotonic_ns() - began_ns };
        (self.directions.map(Direction::finish), cost)
    }

    /// Passes the effects of one direction to the other.
    fn tell(&mut self, speaker: usize) {
        let [one, other] = &mut self.directions;
        let (speaker, listener) = if speaker == 0 { (one, other) } else { (other, one) };
        speaker.tell().for_each(|of| listener.hear(of));
    }

    fn now_ns(&self) -> u64 {
        clock::monotonic_ns() + self.realtime_minus_monotonic_ns
    }
}
