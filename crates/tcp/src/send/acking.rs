//! State passed between the steps of processing one ACK (net/ipv4/tcp_input.c, 6.18).

use slowpath_model::{Instant, StreamOffset};

/// The findings of one ACK (`FLAG_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AckFlags(pub(super) u32);

impl AckFlags {
    pub const DATA: Self = Self(0x01);
    pub const WIN_UPDATE: Self = Self(0x02);
    pub const DATA_ACKED: Self = Self(0x04);
    pub const RETRANS_DATA_ACKED: Self = Self(0x08);
    pub const SYN_ACKED: Self = Self(0x10);
    /// A SACKed segment was sent after the episode began (`FLAG_DATA_LOST`, 2.4 to 3.2).
    pub const DATA_LOST: Self = Self(0x4000);
    pub const DATA_SACKED: Self = Self(0x20);
    pub const ECE: Self = Self(0x40);
    pub const LOST_RETRANS: Self = Self(0x80);
    pub const ORIG_SACK_ACKED: Self = Self(0x200);
    pub const SND_UNA_ADVANCED: Self = Self(0x400);
    pub const DSACKING_ACK: Self = Self(0x800);
    pub const SET_XMIT_TIMER: Self = Self(0x1000);
    pub const SACK_RENEGING: Self = Self(0x2000);
    pub const DSACK_TLP: Self = Self(0x20000);
    pub const ACK_MAYBE_DELAYED: Self = Self(0x10000);

    pub const ACKED: Self = Self(Self::DATA_ACKED.0 | Self::SYN_ACKED.0);
    pub const NOT_DUP: Self = Self(Self::DATA.0 | Self::WIN_UPDATE.0 | Self::ACKED.0);
    pub const CA_ALERT: Self = Self(Self::DATA_SACKED.0 | Self::ECE.0 | Self::DSACKING_ACK.0);
    pub const FORWARD_PROGRESS: Self = Self(Self::ACKED.0 | Self::DATA_SACKED.0);

    pub const fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    pub const fn set(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub const fn clear(&mut self, other: Self) {
        self.0 &= !other.0;
    }
}

/// State passed between the parts of `tcp_ack` (`struct tcp_sacktag_state` and locals).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acking {
    pub now: Instant,
    pub flags: AckFlags,
    /// It did not pass header prediction (`FLAG_SLOWPATH`).
    pub slow: bool,
    /// It acknowledges exactly what a tail loss probe retransmitted (`is_acking_tlp_retrans_seq`).
    pub of_probe: bool,
    /// The lowest delivered sequence number that was never retransmitted (`reord`).
    pub reordered: Option<StreamOffset>,
    /// When the first and the last of the newly SACKed segments were sent.
    pub first_sacked: Option<Instant>,
    pub last_sacked: Option<Instant>,
    /// Segments of the ACK's super-packet, for counting duplicates.
    pub duplicates: u32,
    pub prior_una: StreamOffset,
    /// The end of the highest segment that was SACKed before this ACK.
    pub prior_highest: StreamOffset,
    pub prior_in_flight: u32,
    pub prior_sacked: u32,
    /// Segments delivered before this ACK, and lost before it.
    pub prior_delivered: u32,
    pub prior_lost: u32,
    pub acked_segments: u32,
    /// Bytes delivered: acknowledged in order, or if there are none, newly SACKed (`delivered_bytes`).
    pub delivered_bytes: u32,
    /// The RTT sample for the congestion control, in microseconds.
    pub ca_rtt_us: Option<u32>,
}

/// What to send after an ACK (`enum rexmit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retransmit {
    /// Nothing.
    Nothing,
    /// Lost segments.
    Lost,
    /// New data: F-RTO tests whether data still arrives.
    NewData,
}
