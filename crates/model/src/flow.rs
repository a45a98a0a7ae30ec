//! Flows, their two ends, and the vantage point.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::Not;

/// One end of a connection.
///
/// `A` sent the SYN. Without a handshake, `A` sent the first segment seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The initiator.
    A,
    /// The other end.
    B,
}

impl End {
    /// Both ends, `A` first.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// Its letter in text for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }

    /// Its letter in data: documents and tables.
    pub const fn letter(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }

    /// 0 for `A`, 1 for `B`: for arrays that hold something per end.
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl Not for End {
    type Output = Self;
    /// The other end.
    fn not(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// The IP address.
    pub address: IpAddr,
    /// The TCP port.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&SocketAddr::new(self.address, self.port).to_string())
    }
}

/// The identity of a flow: its two ends, and which of the connections between them it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowKey {
    /// The initiator's end ([`End::A`]).
    pub a: Endpoint,
    /// The other end ([`End::B`]).
    pub b: Endpoint,
    /// How many earlier connections between the same endpoints this recording has: 0 unless a port was reused.
    pub occurrence: u32,
}

impl FlowKey {
    /// The endpoint at `end`.
    pub const fn endpoint(&self, end: End) -> Endpoint {
        match end {
            End::A => self.a,
            End::B => self.b,
        }
    }
}

impl fmt::Display for FlowKey {
    /// `192.0.2.1:40000 > 198.51.100.7:443`, with `(2nd)` and so on if the ports were reused.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {}", self.a, self.b)?;
        match self.occurrence {
            0 => Ok(()),
            1 => f.write_str(" (2nd)"),
            2 => f.write_str(" (3rd)"),
            n => write!(f, " ({}th)", n + 1),
        }
    }
}

/// A flow's number within one recording, from 1 in order of first appearance: the argument of `--flow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a flow was observed, which determines what can be known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vantage {
    /// On, or right next to, the host of this end.
    At(End),
    /// Somewhere on the path.
    Between,
    /// Unknown.
    Unknown,
}
