//! Measures a path with packets of its own: RTT, capacity, available bandwidth, and the rate at which loss begins.
//!
//! Ubik and Cimbal (2002, section V) looked for what limited their transfers with RUDE/CRUDE and pathload, and neither
//! tool could be trusted at their rates. This crate makes the same measurements, and reports what limited each: the
//! path, or one of the two ends.
//!
//! - [`measure`]: the procedures. Pure: they ask a [`Channel`](measure::Channel) for trains of packets and judge their
//!   send and arrival times.
//! - [`findings`]: the procedures one after the other, each starting from the results of the previous one.
//! - [`simulated`]: a channel over the emulated path of `slowpath-path`, in no time.
//! - [`protocol`]: the protocol between the two programs of a real measurement.
//! - [`far_end`], [`near_end`]: what each of them does with the other's messages and datagrams. Pure.
//! - [`real`]: a channel of UDP packets between two hosts, the far end that answers it, and a bulk transfer by TCP.
//!
//! # Decisions
//!
//! **A procedure knows no path.** It asks a [`Channel`](measure::Channel) for a train of packets and judges when each
//! was sent and received, in integers and without a clock. Over the emulated path the result is compared with the
//! truth (`tests/simulated.rs`). Between two hosts the kernel stamps arrivals, so that a reader that waits for a CPU
//! is late but not wrong.
//!
//! **The spacing of single packets is never trusted alone.** NICs and the lab's relay deliver packets in groups.
//!
//! **The far end is no amplifier.** UDP goes only to the address of its TCP connection, only after a datagram from there
//! with the session's token (`far_end/room.rs`), and only out of the token buckets of that address
//! (`far_end/budget.rs`), which all its sessions share. Clients that have not asked for a train or a transfer cost no
//! thread and take no place from others. (`tests/loopback`, fuzz target `far_end`)
//!
//! **Neither end trusts the other to end anything.** Every wait has a deadline and a check whether to stop.
//! (`tests/loopback/hostile.rs`, fuzz targets `far_end` and `near_end`)

pub mod far_end;
pub mod findings;
pub mod measure;
pub mod near_end;
pub mod protocol;
pub mod real;
pub mod simulated;
