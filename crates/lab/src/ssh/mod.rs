//! Copies over ssh by real programs: scp or rsync, to OpenSSH's server or to Dropbear's.
//!
//! A receiver in SSH allows its peer a window of bytes on each channel, and raises it as it passes the bytes on (RFC
//! 4254, section 5.2). That window bounds a copy however large TCP's buffers are. OpenSSH's is a constant of its source
//! (`CHAN_SES_WINDOW_DEFAULT`, channels.h): 2 MiB since 4.7, 128 KiB before. The patch of that time that made it larger
//! (HPN-SSH) is not packaged by Debian; Dropbear takes its window as an option, from 24 KiB to 10 MiB, so that small and
//! patched windows are those of a real server.
//!
//! - [`setup`]: keys and configuration in the lab's own folder.

pub mod setup;

pub use setup::Setup;

use crate::privilege::{self, Privilege};
use crate::tools::{self, Missing};
use slowpath_model::Bytes;
use std::fmt;

/// The program that copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// `scp -O`: the protocol of the paper's time, a stream without requests.
    Scp,
    /// rsync, with ssh as its transport.
    Rsync,
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scp => "scp",
            Self::Rsync => "rsync",
        })
    }
}

/// The server, with its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// sshd.
    OpenSsh,
    /// Dropbear, with this window (`-W`).
    Dropbear {
        /// At least 1 KiB, at most 10 MiB.
        window: Bytes,
    },
}

impl Server {
    /// Its window for each channel.
    pub const fn window(self) -> Bytes {
        match self {
            // CHAN_SES_WINDOW_DEFAULT, channels.h of OpenSSH 9.2: 64 packets of 32 KiB.
            Self::OpenSsh => Bytes::new(64 * 32 * 1024),
            Self::Dropbear { window } => window,
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenSsh => "sshd",
            Self::Dropbear { .. } => "dropbear",
        })
    }
}

/// A file copied from the sender's host to the receiver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    /// By this program.
    pub client: Client,
    /// To this server.
    pub server: Server,
    /// The size of the file.
    pub amount: Bytes,
}

const NEEDED: [Missing; 9] = [
    Missing { command: "ssh", package: "openssh-client" },
    Missing { command: "scp", package: "openssh-client" },
    Missing { command: "ssh-keygen", package: "openssh-client" },
    Missing { command: "sshd", package: "openssh-server" },
    Missing { command: "dropbear", package: "dropbear-bin" },
    Missing { command: "dropbearkey", package: "dropbear-bin" },
    Missing { command: "rsync", package: "rsync" },
    Missing { command: "unshare", package: "util-linux" },
    Missing { command: "ip", package: "iproute2" },
];

/// The missing programs.
pub fn missing() -> Vec<Missing> {
    tools::missing(&NEEDED)
}

/// Whether this process may run a server for the user it logs in as: the machine's root.
pub fn is_permitted() -> bool {
    privilege::held() == Privilege::Root && privilege::is_root()
}
