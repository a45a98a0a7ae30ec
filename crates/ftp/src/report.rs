//! What a transfer reports when it ends. Values only.

use crate::tuning::{PathValues, Tuning};
use slowpath_copy::account::Bound;
use slowpath_model::{Bytes, Rate};
use std::time::Duration;

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the server.
    Get,
    /// To the server.
    Put,
}

/// A finished transfer.
#[derive(Clone, Debug)]
pub struct Report {
    /// The direction.
    pub direction: Direction,
    /// The source: a URL without user and password, or a local file.
    pub source: String,
    /// The destination, likewise.
    pub destination: String,
    /// Bytes of the file.
    pub amount: Bytes,
    /// Bytes that moved: not what an interrupted transfer had left.
    pub moved: Bytes,
    /// From the command to its end.
    pub lasted: Duration,
    /// Until the data connection was asked for: login, and what the technique had to find out.
    pub began: Duration,
    /// From there to the last byte.
    pub moving: Duration,
    /// Bytes that moved, while they moved; `None` if none did.
    pub rate: Option<Rate>,
    /// Who sized the buffers.
    pub tuning: Tuning,
    /// What was known of the path; `None` if nothing was needed or known.
    pub path: Option<PathValues>,
    /// What this host's sockets were given.
    pub own: Sized,
    /// What the server was told.
    pub server: ServerBuffer,
    /// Smallest RTT of the data connection; `None` if none was measured.
    pub min_rtt: Option<Duration>,
    /// Segments that this host retransmitted.
    pub retransmitted: u64,
    /// What bound the data connection, in thousandths of its time, the longest first; `None` is what a receiver cannot tell
    /// from the sender's buffer, its window and the path. Empty if too little moved.
    pub bound: Vec<(Option<Bound>, u32)>,
}

/// A buffer of this host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sized {
    /// What was asked for last; `None` if the kernel sized it.
    pub asked: Option<Bytes>,
    /// What the kernel says that it has at the end, which counts its own bookkeeping: the receive buffer of a `get`, the send
    /// buffer of a `put`.
    pub has: Bytes,
}

/// The server's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerBuffer {
    /// The technique asks for none.
    Unasked,
    /// The server has no command for it.
    NotOffered,
    /// It was set, and to what last.
    Set {
        /// The command without its number.
        command: &'static str,
        /// The size.
        bytes: Bytes,
    },
    /// It offers a command, and refused it.
    Refused {
        /// The command without its number.
        command: &'static str,
    },
}
