//! One TCP segment as it passed the vantage point.

use crate::flow::End;
use crate::sequence::StreamOffset;
use std::fmt;

/// The control bits of a segment (RFC 9293, section 3.1; AE: RFC 9768).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u16);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x001);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x002);
    /// Reset the connection.
    pub const RST: Self = Self(0x004);
    /// Push function.
    pub const PSH: Self = Self(0x008);
    /// The acknowledgment field is significant.
    pub const ACK: Self = Self(0x010);
    /// The urgent pointer is significant.
    pub const URG: Self = Self(0x020);
    /// ECN-Echo (RFC 3168).
    pub const ECE: Self = Self(0x040);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x080);
    /// Accurate ECN (RFC 9768); formerly the nonce sum of RFC 3540.
    pub const AE: Self = Self(0x100);

    /// Whether every bit of `other` is set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any bit of `other` is set.
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The bits that are not in `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The sequence space they take: SYN and FIN one byte each (RFC 9293, section 3.4). Computed from the bits'
    /// positions, as this is called several times per segment.
    const fn sequence_len(self) -> u32 {
        (self.0 & Self::FIN.0) as u32 + (self.0 & Self::SYN.0) as u32 / 2
    }

    /// The bits of both.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// TCP timestamps (RFC 7323, section 3), in the ticks of the sender's timestamp clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub val: u32,
    /// TSecr: the peer's clock, echoed.
    pub ecr: u32,
}

/// A contiguous block of received data (RFC 2018), with an exclusive end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SackBlock {
    /// The left edge.
    pub start: StreamOffset,
    /// The right edge: the first byte not in the block.
    pub end: StreamOffset,
}

/// Up to four SACK blocks, in the order of the option: the maximum without other options (RFC 2018, section 3).
#[derive(Clone, Copy, Default)]
pub struct SackBlocks {
    blocks: [SackBlock; 4],
    count: u8,
    outside: u8,
}

impl SackBlocks {
    /// No blocks.
    pub const NONE: Self = Self {
        blocks: [SackBlock { start: StreamOffset(0), end: StreamOffset(0) }; 4],
        count: 0,
        outside: 0,
    };

    /// Adds a block; returns whether there was room.
    pub const fn push(&mut self, block: SackBlock) -> bool {
        let room = (self.count as usize) < self.blocks.len();
        if room {
            self.blocks[self.count as usize] = block;
            self.count += 1;
        }
        room
    }

    /// Counts a block far from the data sent, which a sender ignores (Linux `tcp_is_sackblock_valid`): a middlebox that
    /// rewrites sequence numbers did not translate it.
    pub const fn push_outside(&mut self) {
        self.outside = self.outside.saturating_add(1);
    }

    /// The blocks that are not `outside`, with the number of all that are.
    #[must_use]
    pub fn without(&self, outside: impl Fn(&SackBlock) -> bool) -> Self {
        let mut kept = Self { outside: self.outside, ..Self::NONE };
        for block in self.as_slice() {
            if outside(block) {
                kept.push_outside();
            } else {
                kept.push(*block);
            }
        }
        kept
    }

    /// The number of blocks far from the data sent. They have no offsets.
    pub const fn outside(&self) -> u8 {
        self.outside
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }

    /// Whether there is no block with offsets.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl PartialEq for SackBlocks {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice() && self.outside == other.outside
    }
}

impl Eq for SackBlocks {}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

/// The ECN field of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECT(1).
    Ect1,
    /// ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// From the low two bits of the traffic class.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// As the low two bits of the traffic class (RFC 3168, section 5).
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }
}

/// Fields of the IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IpFacts {
    /// The IPv4 identification; `None` for IPv6. Linux increments it per packet of a connected socket
    /// (`ip_select_ident_segs`, 6.18), which shows the order of sending.
    pub id: Option<u16>,
    /// TTL or hop limit.
    pub ttl: u8,
    /// ECN field.
    pub ecn: Ecn,
}

/// Whether the TCP checksum is correct (RFC 9293, section 3.1).
///
/// A capture verifies it where that is cheap and useful: on a SYN, and on fully captured data below the highest offset
/// seen. Packets captured before the NIC computed the checksum are `Unknown`. If a capture's addresses were replaced
/// afterwards, all are `Wrong`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Checksum {
    /// Not verified.
    #[default]
    Unknown,
    /// It is correct.
    Good,
    /// The segment was corrupted: a receiver drops it.
    Wrong,
}

/// One TCP segment as it passed the vantage point, its sequence space unwrapped.
///
/// A super-packet (TSO, GRO) is one segment whose `len` exceeds the MSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The end that sent it.
    pub from: End,
    /// Control bits.
    pub flags: Flags,
    /// The offset of its first sequence number (the SYN, or the first byte) in its own direction.
    pub seq: StreamOffset,
    /// Bytes of payload on the wire, whether captured or not.
    pub len: u32,
    /// The acknowledgment number in the other direction; `None` without the ACK bit.
    pub ack: Option<StreamOffset>,
    /// The window field as on the wire: unscaled (RFC 7323, section 2.3).
    pub window: u16,
    /// Maximum segment size option, on a SYN.
    pub mss: Option<u16>,
    /// Window scale option, on a SYN: the shift count as sent.
    pub window_scale: Option<u8>,
    /// SACK-permitted option, on a SYN.
    pub sack_permitted: bool,
    /// Fast Open option, on a SYN: a cookie, or the request for one (RFC 7413, section 4.1.1).
    pub fast_open: bool,
    /// The recording has only part of its options: a missing option may have been present.
    pub options_cut: bool,
    /// Timestamps option.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks, in the other direction's offsets.
    pub sack: SackBlocks,
    /// Fields of the IP header.
    pub ip: IpFacts,
    /// Whether its checksum is correct.
    pub checksum: Checksum,
    /// The frame's number in the recording, from 1, as in Wireshark, so that evidence can be looked up.
    pub frame: u64,
}

impl Segment {
    /// An empty segment of `from` at `seq`, for tests and generators.
    pub const fn new(from: End, flags: Flags, seq: StreamOffset, len: u32) -> Self {
        Self {
            from,
            flags,
            seq,
            len,
            ack: None,
            window: 0,
            mss: None,
            window_scale: None,
            sack_permitted: false,
            fast_open: false,
            options_cut: false,
            timestamps: None,
            sack: SackBlocks::NONE,
            ip: IpFacts { id: None, ttl: 0, ecn: Ecn::NotEct },
            checksum: Checksum::Unknown,
            frame: 0,
        }
    }

    /// The sequence number after the segment: SYN and FIN count one each (RFC 9293, section 3.4).
    pub fn end(&self) -> StreamOffset {
        self.seq + self.sequence_len()
    }

    /// The offset of its first payload byte: after the SYN, if it has one (RFC 9293, section 3.4).
    pub fn first_byte(&self) -> StreamOffset {
        self.seq + u32::from(self.flags.has(Flags::SYN))
    }

    /// The sequence space it takes: payload, SYN and FIN.
    pub fn sequence_len(&self) -> u32 {
        self.len.saturating_add(self.flags.sequence_len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Millions of these are built and passed on per second; this test shows when a new field makes them larger.
    #[test]
    fn segment_stays_small() {
        assert_eq!(size_of::<Segment>(), 144);
    }

    #[test]
    fn syn_and_fin_take_sequence_space() {
        let segment = Segment::new(End::A, Flags::FIN.with(Flags::ACK), StreamOffset(5), 10);
        assert_eq!((segment.first_byte(), segment.end()), (StreamOffset(5), StreamOffset(16)));
        let fast_open = Segment::new(End::A, Flags::SYN, StreamOffset(0), 10);
        assert_eq!((fast_open.first_byte(), fast_open.end()), (StreamOffset(1), StreamOffset(11)));
    }
}
