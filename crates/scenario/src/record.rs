//! What a run records.

use crate::id::HostId;
use std::time::Duration;

/// What a run records. The command line says where to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The hosts to record; not empty, in the order of the file.
    pub hosts: Vec<HostId>,
    /// Whether to record every packet that passes the host's NIC, and every one that the host drops.
    pub packets: bool,
    /// Whether to record every call of `write` and `read`.
    pub calls: bool,
    /// Whether to record every wait of a packet or task.
    pub waits: bool,
    /// Whether to record every mark of a socket.
    pub marks: bool,
    /// How often to record the state of every socket; `None`: never.
    pub samples: Option<Duration>,
}
