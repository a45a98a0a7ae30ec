//! Hosts, their kernels and the paths between them, simulated event by event.
//!
//! A [`Simulation`] is built from a [`Scenario`](slowpath_scenario::Scenario) and run; an [`Observer`] sees the packets
//! at the hosts' NICs. Nothing here reads a clock, does I/O, or uses randomness other than the scenario's seed.
//!
//! - [`agenda`]: the event queue.
//! - [`wire`]: one direction of a path, with the packets on it.
//! - [`host`]: a host, from its NIC to its processes.
//! - [`program`]: what processes do.
//! - [`sequence`]: flows that begin after others.
//! - [`simulation`]: a run as a whole.
//! - [`report`]: the results.
//! - [`tap`], [`pcapng`]: a host's wire as events, and as a capture file.
//!
//! # Decisions
//!
//! **An observer does not change a run.** It declares once what it wants besides packets ([`Wants`]). What nobody wants
//! costs one test of a flag. Samples are taken between two steps of a run, not by events of their own.
//! (`tests/runs/observer.rs`)
//!
//! **A packet on a wire is not an event.** A link and a constant delay keep packets in order, so a ring holds them, and
//! the agenda holds only the head. While a driver polls, not even the head is armed. An arrival that only waits for the
//! NIC's interrupt is not armed either: the interrupt follows from the first packet on the wire and from the one that
//! makes enough of them. Nothing is allocated per packet. (`tests/allocations.rs`)
//!
//! **An agenda slot may fire too early.** A socket's timers move with nearly every ACK. Its slot keeps the earlier
//! instant and is armed again when it is due. Of two slots that are due together, the one that was added first runs
//! first, so that a run depends only on its scenario.
//!
//! **Events about connections are about TCP.** A datagram is a frame marked as UDP. NICs, rings, softirqs and paths
//! treat it like any packet, GRO does not merge it, and at the socket it is read or dropped. A UDP flow has counts
//! instead of events, so analyses need no special case (`DatagramCounts`).

pub mod agenda;
pub mod host;
pub mod links;
pub mod outside;
pub mod pcapng;
pub mod program;
pub mod report;
pub mod sequence;
pub mod shown;
pub mod simulation;
pub mod tap;
pub mod transfer;
pub mod wire;

pub use outside::{Nobody, Observer, Occurrence, Sight, Wants};
pub use simulation::{Progress, Simulation};
pub use tap::Tap;
