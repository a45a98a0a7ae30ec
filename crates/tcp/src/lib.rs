//! The Linux kernel's TCP without its I/O: packets and system calls in, packets and wake-ups out.
//!
//! A [`Connection`] is one socket's end of a connection, a [`Listener`](socket::Listener) a listening socket. Neither
//! knows a clock: `now` is a parameter, and must not go back. Input from the network or timers goes to `handle_*`;
//! output is fetched with `poll_*`; application calls have the names of their system calls. Payload has only a length
//! here, no content.
//!
//! The names are the kernel's, so that either code helps to read the other: `snd_una` is `snd.una`, `tcp_ack` is
//! `Connection::ack` in `send/ack.rs`, `tcp_data_queue` is in `receive/`. Where kernels differ, [`Choices`] says how;
//! nothing compares versions.
//!
//! - [`packet`]: a segment between the two ends.
//! - [`choices`], [`sysctl`], [`Route`]: a kernel's behaviour, and its administrator's settings.
//! - [`buffers`]: from a buffer's size to the window, step by step.
//! - [`clock`]: ticks and timers.
//! - `connection`: the state of one end, and which part owns what; `settings`: its configuration.
//! - `send`: from the application's write to segments, acknowledgments, recovery and retransmission.
//! - `receive`: from segments to the application's read, the window and the acknowledgments.
//! - `socket`: states, listening, opening and closing, options and errors.
//! - `congestion`: congestion controls.
//! - `vitals`: the state of a socket that an observer can read.
//!
//! # Decisions
//!
//! **It follows the kernel function by function.** The goal is to reproduce what Linux does, not what the RFC says. So
//! the division of work, the names and the place of each piece of state are the kernel's, and a function's comment
//! names its kernel function.
//!
//! **State lies below the connection, functions lie above it.** The state of each half (`send/sender.rs`,
//! `receive/receiver.rs`) knows nothing of [`Connection`], which holds both. Functions of the kernel are methods of
//! [`Connection`], in the file of their subject.
//!
//! **Only kernels that walk the queue pay for a walk.** No step except the index lookup depends on how much is in
//! flight. Kernels that walk the queue do so here too: from the head, from where the last ACK's walk ended, or over a
//! list of what is not SACKed (`send/sack.rs`, `holes.rs`, `hints.rs`, `batch.rs`). All of them find the same segments
//! (`tests/scoreboard`). Their steps are counted, and hosts charge CPU time for them.
//!
//! **Loss marking is a choice.** Today's kernels use RACK (`send/rack.rs`). Kernels up to 2.6 use the forward
//! acknowledgment (FACK) scoreboard of 2.4 (`send/forward.rs`).
//!
//! **Sequence numbers are 64-bit offsets.** Only `slowpath-drill` and the capture writer wrap them.

pub mod buffers;
pub mod choices;
pub mod clock;
pub mod congestion;
mod connection;
mod errno;
mod filter;
pub mod packet;
mod receive;
mod route;
mod send;
mod settings;
pub mod socket;
pub mod sysctl;
mod timers;
mod vitals;
mod work;

pub use choices::Choices;
pub use connection::{Connection, State, Wakeups};
pub use errno::Errno;
pub use packet::Packet;
pub use route::{Metrics, Route};
pub use send::write::WriteFlags;
pub use settings::Settings;
pub use sysctl::Sysctls;
pub use vitals::Vitals;
pub use work::Work;
