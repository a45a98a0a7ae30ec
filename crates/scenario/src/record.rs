//! What a run records.

use crate::id::HostId;
use std::time::Duration;

/// What a run records. The command line says where to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The hosts at which it is; not empty, in the order of the file.
    pub hosts: Vec<HostId>,
    /// Whether every packet is, as it passes the host's network card, and every one that the host drops.
    pub packets: bool,
    /// Whether every call of `write` and `read` is.
    pub calls: bool,
    /// Whether every wait of a packet or task is.
    pub waits: bool,
    /// Whether every turn of a socket is.
    pub marks: bool,
    /// How often the state of every socket is; never if `None`.
    pub samples: Option<Duration>,
}
