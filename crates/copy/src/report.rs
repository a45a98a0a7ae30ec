//! What a copy reports when it ends. Values only.

use crate::account::Bound;
use crate::protocol::Direction;
use slowpath_model::{Bytes, Rate};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// A finished copy.
#[derive(Clone, Debug)]
pub struct Report {
    /// The source, as it was named.
    pub source: String,
    /// The destination, as it was named.
    pub destination: String,
    /// Whether this host sent or received.
    pub direction: Direction,
    /// The addresses of this host and of the other one on the first data connection; `None` if there was none.
    pub between: Option<[IpAddr; 2]>,
    /// Files that were copied.
    pub files: u64,
    /// Bytes of these.
    pub amount: Bytes,
    /// Bytes that moved: not what an interrupted copy had left.
    pub moved: Bytes,
    /// Bytes that an interrupted copy had left and that were right.
    pub kept: Bytes,
    /// From the command to its end.
    pub lasted: Duration,
    /// To the first block: the far end was started, files were listed, and what was left was compared.
    pub began: Duration,
    /// While blocks moved.
    pub moving: Duration,
    /// The end: fsync and rename.
    pub synced: Duration,
    /// Bytes that moved, while they moved; `None` if none did.
    pub rate: Option<Rate>,
    /// Data connections.
    pub streams: u16,
    /// Largest send buffer, as the kernel counts it.
    pub send_buffer: Bytes,
    /// Largest receive buffer, as the kernel counts it.
    pub receive_buffer: Bytes,
    /// Smallest RTT; `None` if none was measured.
    pub min_rtt: Option<Duration>,
    /// Segments retransmitted.
    pub retransmitted: u64,
    /// What bound the data connections, in thousandths of their time, the longest first. None if nothing moved.
    pub bound: Vec<(Bound, u32)>,
    /// The threads of the source.
    pub source_spent: Spent,
    /// The threads of the destination.
    pub destination_spent: Spent,
    /// Files that changed while they were read: what arrived may never have existed as a whole.
    pub changed: Vec<PathBuf>,
    /// What was not copied, and why.
    pub skipped: Vec<(PathBuf, String)>,
}

/// What the threads of an end spent their time on, all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Reading files, or writing them without fsync.
    pub disk: Duration,
    /// Digests and encryption.
    pub cpu: Duration,
    /// Reading or writing sockets.
    pub socket: Duration,
}

impl Report {
    /// Whether all of the source was copied as it was.
    pub fn is_whole(&self) -> bool {
        self.changed.is_empty() && self.skipped.is_empty()
    }
}
