//! The two hosts of the testbed, and what all their forms have in common.

use serde::{Deserialize, Serialize};

/// The hosts' interface, on which captures are taken.
pub const DEVICE: &str = "eth0";
/// Its hardware address, of the sender and of the receiver.
pub const MAC: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
/// The path's interfaces towards the sender and the receiver.
pub const PATH_DEVICES: (&str, &str) = ("left", "right");

/// A host of the testbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Host {
    /// The one that sends.
    Sender,
    /// The one that receives.
    Receiver,
}

impl Host {
    /// Both of them.
    pub const BOTH: [Self; 2] = [Self::Sender, Self::Receiver];

    /// The other host.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

/// The host that sent a frame, by its address.
pub fn sent_by(frame: &[u8]) -> Option<Host> {
    match frame.get(6..12)? {
        [2, 0, 0, 0, 0, 1] => Some(Host::Sender),
        [2, 0, 0, 0, 0, 2] => Some(Host::Receiver),
        _ => None,
    }
}
