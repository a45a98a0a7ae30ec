//! A packet as the path sees it.

use slowpath_model::{Bytes, Ecn, Flags, StreamOffset};

/// What the path knows about one packet. All lengths are IP lengths: no Ethernet header, no VLAN tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Length of the IP packet.
    pub length: Bytes,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// IPv4 identification; `None` for IPv6.
    pub id: Option<u16>,
    /// What scripted loss and middleboxes may look at; `None` for anything that is not TCP, and for what a middlebox
    /// itself sends.
    pub part: Option<StreamPart>,
}

/// The part of a TCP stream that a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPart {
    /// A number for the connection, the same for all of its packets in both directions.
    pub flow: u64,
    /// Where its first byte is in the stream: the SYN is at 0, data begins at 1.
    pub start: StreamOffset,
    /// Bytes of payload.
    pub len: u32,
    /// Bytes of payload in the super-packet that it was cut from; not more than `len` if it came alone.
    pub super_packet: u32,
    /// Control bits.
    pub flags: Flags,
    /// What it acknowledges of the stream of the other direction, if it has the ACK flag.
    pub ack: Option<StreamOffset>,
    /// The window field as on the wire.
    pub window: u16,
    /// The window scale option.
    pub window_scale: Option<u8>,
    /// Whether it has SACK blocks.
    pub has_sack: bool,
}

impl StreamPart {
    /// A part without options of a packet that came alone.
    pub fn new(flow: u64, flags: Flags, start: StreamOffset, len: u32) -> Self {
        Self {
            flow,
            start,
            len,
            super_packet: len,
            flags,
            ack: None,
            window: 0,
            window_scale: None,
            has_sack: false,
        }
    }

    /// Whether the SYN flag is set.
    pub fn is_syn(&self) -> bool {
        self.flags.has(Flags::SYN)
    }

    /// Whether the RST flag is set.
    pub fn is_reset(&self) -> bool {
        self.flags.has(Flags::RST)
    }

    /// Where its payload ends in the stream.
    pub fn end(&self) -> StreamOffset {
        self.start + self.len + u32::from(self.is_syn())
    }
}
