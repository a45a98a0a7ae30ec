//! The path's action on a packet: it is dropped for a reason, answered, or changed.

use serde::{Deserialize, Serialize};
use slowpath_model::{Bytes, Ecn};

/// Why the path lost a packet. ([`slowpath_model::DropReason`] is why a host dropped one.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossReason {
    /// The queue before the link was full.
    Queue,
    /// Independent random loss.
    Random,
    /// The bursty loss process was in its bad state.
    Burst,
    /// A script asked for it.
    Scripted,
    /// The policer had no tokens left.
    Policed,
    /// It was longer than a link's MTU.
    Mtu,
    /// It was part of a super-packet that a middlebox could not forward.
    SuperPacket,
    /// It was a SYN with data.
    SynData,
    /// Its data ended beyond the window as seen by a firewall unaware of window scaling.
    BeyondWindow,
    /// A middlebox had forgotten its connection.
    Forgotten,
}

/// What a middlebox does to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It passes, with these changes.
    Pass(Changes),
    /// It is dropped, and its sender may get an answer.
    Drop(LossReason, Option<Answer>),
}

impl Action {
    /// It passes unchanged.
    pub const UNCHANGED: Self = Self::Pass(Changes::NONE);
}

/// The fields of a packet that differ after the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The ECN field of its IP header.
    pub ecn: Option<Ecn>,
    /// Its IPv4 identification.
    pub id: Option<u16>,
    /// Its window scale option.
    pub window_scale: Option<Replacement>,
    /// Added to each edge of its SACK blocks, modulo 2^32.
    pub sack_shift: u32,
    /// Its TCP checksum is wrong.
    pub is_damaged: bool,
    /// A RST follows it, this many bytes beyond its end.
    pub reset_beyond: Option<u32>,
}

impl Changes {
    /// None.
    pub const NONE: Self = Self {
        ecn: None,
        id: None,
        window_scale: None,
        sack_shift: 0,
        is_damaged: false,
        reset_beyond: None,
    };

    /// Whether the packet itself changes: a RST that follows does not change it.
    pub fn change_it(&self) -> bool {
        Self { reset_beyond: None, ..*self } != Self::NONE
    }

    /// These changes followed by `later`.
    #[must_use]
    pub(crate) fn and(self, later: Self) -> Self {
        Self {
            ecn: later.ecn.or(self.ecn),
            id: later.id.or(self.id),
            window_scale: later.window_scale.or(self.window_scale),
            sack_shift: self.sack_shift.wrapping_add(later.sack_shift),
            is_damaged: self.is_damaged || later.is_damaged,
            reset_beyond: later.reset_beyond.or(self.reset_beyond),
        }
    }
}

/// What the sender of a dropped packet gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// ICMP "fragmentation needed" (RFC 1191) or ICMPv6 "packet too big" (RFC 8201), from an address of the path.
    TooBig {
        /// The reported MTU.
        mtu: Bytes,
    },
    /// A RST, as if the peer had sent it.
    Reset,
}

/// What replaces a window scale option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// Another shift count.
    Shift(u8),
    /// Nothing: it is overwritten with NOPs.
    Removed,
}
