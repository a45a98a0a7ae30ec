//! A buffer of the send queue (`struct sk_buff` with its `tcp_skb_cb`).

use slowpath_model::{Flags, Instant, StreamOffset};
use std::num::NonZeroU32;

/// A buffer's place in the slab of a [`WriteQueue`](super::queue::WriteQueue).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SkbId(pub(super) NonZeroU32);

impl SkbId {
    pub(super) const fn place(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The state of a sent buffer (`TCPCB_*`, include/net/tcp.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fate(u8);

impl Fate {
    /// The receiver has SACKed it (`TCPCB_SACKED_ACKED`).
    pub const SACKED: Self = Self(0x01);
    /// It was retransmitted, and the retransmission is in flight (`TCPCB_SACKED_RETRANS`).
    pub const RETRANSMITTED: Self = Self(0x02);
    /// It is marked lost (`TCPCB_LOST`).
    pub const LOST: Self = Self(0x04);
    /// It was retransmitted at least once (`TCPCB_EVER_RETRANS`).
    pub const EVER_RETRANSMITTED: Self = Self(0x80);
    /// Either of the two retransmission flags.
    pub const ANY_RETRANSMISSION: Self = Self(0x82);
    /// SACKed or retransmitted.
    pub const SACKED_OR_RETRANSMITTED: Self = Self(0x03);

    /// The flags that it currently counts for (`TCPCB_TAGBITS`): SACKed, retransmitted, lost.
    pub const fn tags(self) -> Self {
        Self(self.0 & 0x07)
    }

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

/// The delivery state when a buffer was sent: the base of a rate sample (`tcp_rate_skb_sent`, tcp_rate.c).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SentRecord {
    pub delivered: u32,
    pub delivered_at: Instant,
    pub first_sent: Instant,
    pub app_limited: bool,
    /// Segments marked lost, and segments delivered with a CE mark.
    pub lost: u32,
    pub delivered_ce: u32,
    /// Segments in flight with its own (`tcp_set_tx_in_flight` of the v3 branch).
    pub in_flight: u32,
}

impl SentRecord {
    /// The record of the first part of a divided buffer, as if it had been sent alone (`tcp_fragment` of the v3
    /// branch).
    pub const fn of_part(self, whole: u32, part: u32) -> Self {
        Self { in_flight: self.in_flight.saturating_sub(whole) + part, ..self }
    }
}

/// One buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Skb {
    pub seq: StreamOffset,
    /// SYN and FIN count one each.
    pub end_seq: StreamOffset,
    pub flags: Flags,
    pub fate: Fate,
    /// Nothing may be appended: a record ends here (`MSG_EOR`).
    pub eor: bool,
    /// Number of segments on the wire (`tcp_gso_segs`); 0 until it is first cut.
    pub segments: u32,
    /// The size of those segments.
    pub mss: u32,
    /// When it was last sent (`skb_mstamp_ns`).
    pub sent_at: Instant,
    pub sent: SentRecord,
    /// `snd_nxt` when it was last retransmitted (`ack_seq` of 2.4's `tcp_skb_cb`).
    pub resent_below: StreamOffset,
    /// Neighbours in the sequence and send time orders.
    pub(super) next: Option<SkbId>,
    pub(super) prev: Option<SkbId>,
    pub(super) later: Option<SkbId>,
    pub(super) earlier: Option<SkbId>,
    pub(super) in_time_order: bool,
}

impl Skb {
    /// An unsent buffer.
    pub const fn new(seq: StreamOffset, end_seq: StreamOffset, flags: Flags) -> Self {
        Self {
            seq,
            end_seq,
            flags,
            fate: Fate(0),
            eor: false,
            segments: 0,
            mss: 0,
            sent_at: Instant::START,
            sent: SentRecord {
                delivered: 0,
                delivered_at: Instant::START,
                first_sent: Instant::START,
                app_limited: false,
                lost: 0,
                delivered_ce: 0,
                in_flight: 0,
            },
            resent_below: StreamOffset(0),
            next: None,
            prev: None,
            later: None,
            earlier: None,
            in_time_order: false,
        }
    }

    /// Bytes of payload.
    pub fn len(&self) -> u32 {
        let control = i64::from(self.flags.has(Flags::SYN)) + i64::from(self.flags.has(Flags::FIN));
        u32::try_from(self.end_seq.distance_from(self.seq) - control).unwrap_or(0)
    }

    /// The payload of its segments (`tcp_skb_seglen`).
    pub fn segment_len(&self) -> u32 {
        if self.segments == 1 { self.len() } else { self.mss }
    }

    /// Sets its segmentation (`tcp_set_skb_tso_segs`).
    pub fn cut(&mut self, mss: u32) -> u32 {
        self.segments = self.len().div_ceil(mss).max(1);
        self.mss = mss;
        self.segments
    }
}
