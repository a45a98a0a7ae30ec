//! Two hosts: UDP for the trains, timestamped by the kernel on arrival, and TCP for what the two ends
//! say to each other.
//!
//! - [`server`]: the far end, and what it refuses.
//! - [`client`]: the channel.
//! - `measured`: all that is wanted, one after the other.
//! - [`bulk`]: a transfer by TCP, and what the kernel says of it.

pub mod bulk;
pub mod client;
mod clock;
mod control;
mod measured;
mod pace;
pub mod server;
mod session;
mod sessions;
mod udp;

pub use client::{Client, Connected};
pub use measured::{Measured, measure};
pub use server::{Happened, Server};
pub use sessions::Caps;

use crate::protocol::NotAMessage;
use std::io;
use std::net::SocketAddr;

/// The TCP port of a server, and the first of its UDP ports: none that is registered.
pub const PORT: u16 = 5717;

/// Why an end cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The system refused something.
    #[error("cannot {what}: {source}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// Nobody serves there.
    #[error(
        "{to}: no answer: {source}; is `slowpath probe --serve` running there, and does it listen on that address?"
    )]
    NoServer {
        /// Where.
        to: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The other end will not.
    #[error("the other end refuses: {0}")]
    Refused(String),
    /// The other end says what is no message, or not the one that is due.
    #[error("the other end does not keep to the protocol: {0}")]
    Protocol(#[from] NotAMessage),
    /// It says another thing than what is due.
    #[error("the other end said what was not asked")]
    OutOfTurn,
    /// It closed the connection.
    #[error("the other end closed the connection")]
    Closed,
    /// It says nothing.
    #[error("the other end did not answer in time")]
    Silent,
    /// Datagrams do not reach it, or not back.
    #[error("{0}: TCP passes and UDP does not; is it let through on the way?")]
    NoUdp(SocketAddr),
    /// A train is more than the ends carry.
    #[error("a train of {packets} packets in {duration_ns} ns is more than was agreed")]
    TooMuch {
        /// Its packets.
        packets: u32,
        /// Its duration.
        duration_ns: u64,
    },
    /// Somebody asked to stop.
    #[error("stopped")]
    Stopped,
}

impl ProbeError {
    /// For `map_err`: what was to be done.
    fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}

/// Whether somebody wants an end to stop; asked several times a second.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);
