//! Two hosts: UDP for the trains, timestamped by the kernel on arrival, and TCP for the messages between the two ends.
//!
//! - [`server`]: the far end, and what it refuses.
//! - [`client`]: the channel.
//! - `measured`: all requested measurements, one after the other.
//! - [`bulk`]: a transfer by TCP, and its `TCP_INFO`.

pub mod bulk;
pub mod client;
mod clock;
mod control;
mod measured;
mod pace;
pub mod server;
mod session;
mod stream;
mod udp;

pub use client::{Client, Connected};
pub use measured::{Measured, Within, measure, measure_within};
pub use server::{Happened, Server};

// What the command sets and checks.
pub use crate::far_end::Caps;
pub use crate::near_end::{LOWEST_RATE, SERVED_DURATIONS};

use crate::far_end::End;
use crate::protocol::NotAMessage;
use std::io;
use std::net::SocketAddr;

/// The TCP and UDP port of a server: not registered.
pub const PORT: u16 = 5717;

/// Why an end cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The system refused something.
    #[error("cannot {what}: {source}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// There is no address to measure to.
    #[error("no address is given")]
    NoAddress,
    /// No server is there.
    #[error(
        "{to}: no answer: {source}; is `slowpath probe --serve` running there, and does it listen on that address?"
    )]
    NoServer {
        /// The address.
        to: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The other end refuses.
    #[error("the other end refuses: {0}")]
    Refused(String),
    /// The other end sent an invalid message.
    #[error("the other end does not keep to the protocol: {0}")]
    Protocol(#[from] NotAMessage),
    /// It sent another message than the one expected.
    #[error("the other end said what was not asked")]
    OutOfTurn,
    /// It closed the connection.
    #[error("the other end closed the connection")]
    Closed,
    /// It sends nothing.
    #[error("the other end did not answer in time")]
    Silent,
    /// Datagrams do not reach it, or do not return.
    #[error("{0}: TCP passes and UDP does not; is it let through on the way?")]
    NoUdp(SocketAddr),
    /// A train exceeds what the ends carry.
    #[error("a train of {packets} packets in {duration_ns} ns is more than was agreed")]
    TooMuch {
        /// Its packets.
        packets: u32,
        /// Its duration.
        duration_ns: u64,
    },
    /// Its session was idle, and another client needed the place.
    #[error("the session was idle and gave way to another client; start again")]
    GaveWay,
    /// It announced what no far end serves.
    #[error(
        "the far end announces {rate_bit_per_s} bit/s for {duration_ns} ns, which is no measurement; is it `slowpath probe --serve`?"
    )]
    Absurd {
        /// The announced rate.
        rate_bit_per_s: u64,
        /// The announced duration.
        duration_ns: u64,
    },
    /// It ended its session, as it may.
    #[error("the other end ended the session")]
    Bye,
    /// A stop was requested.
    #[error("stopped")]
    Stopped,
    /// The next train is more than the budget has left.
    #[error("the next packets are more than the budget has left")]
    Spent,
}

impl ProbeError {
    /// For `map_err`: what was attempted.
    fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}

impl From<End> for ProbeError {
    fn from(end: End) -> Self {
        match end {
            End::Bye => Self::Bye,
            End::Silent => Self::Silent,
            End::OutOfTurn => Self::OutOfTurn,
            End::GaveWay => Self::GaveWay,
            End::Refused(why) => Self::Refused(why),
        }
    }
}

/// Whether a stop is requested; checked several times a second.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);
