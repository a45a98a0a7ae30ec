//! The procedures, over any channel. Integer time, no clock and no I/O.
//!
//! - [`channel`]: the interface to a path: a train of packets, an echo, a pause.
//! - [`mod@round_trip`], by echoes.
//! - [`capacity`]: the rate of the narrowest link, by pairs and trains of packets (Dovrolis, Ramanathan and Moore
//!   2004).
//! - [`trend`]: whether the delays of a stream grow.
//! - [`available`]: the rate that other flows leave on the tightest link, by self-loading periodic streams (Jain and
//!   Dovrolis 2002, 2003).
//! - [`ramp`]: UDP at increasing rates, as RUDE/CRUDE sends it.

pub mod available;
pub mod capacity;
pub mod channel;
pub mod metered;
pub mod ramp;
pub mod round_trip;
pub mod statistics;
pub mod trend;

pub use available::{Available, Bound};
pub use capacity::{Capacity, Method};
pub use channel::{Channel, Direction, Echo, Flight, Limits, Passed, Train};
pub use ramp::{Ramp, Step, Weakest};
pub use round_trip::RoundTrip;

/// Progress, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Echoes are sent.
    Echoes,
    /// Pairs and trains are sent.
    Trains,
    /// Whether this rate, in bit/s, is available.
    Available(u64),
    /// A step of the ramp at this rate, in bit/s.
    Ramp(u64),
    /// Transfers by TCP.
    Transfers,
}

/// A callback for progress.
pub type OnProgress<'a> = &'a mut dyn FnMut(Progress);

/// What a procedure knows of the path before it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The direction to measure.
    pub direction: Direction,
    /// Length of the packets, as IP counts it.
    pub packet_bytes: u32,
    /// The minimum RTT.
    pub round_trip_ns: u64,
}
