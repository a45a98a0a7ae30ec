//! A packet as the path sees it.

use slowpath_model::{Bytes, Ecn, Flags, StreamOffset};

/// What the path knows of a packet. All lengths are IP lengths: no Ethernet header, no VLAN tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Length of the IP packet.
    pub length: Bytes,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// IPv4 identification; `None` for IPv6.
    pub id: Option<u16>,
    /// What scripted loss and middleboxes may inspect; `None` for packets other than TCP, and for packets sent by a
    /// middlebox.
    pub part: Option<StreamPart>,
}

/// The part of a TCP stream that a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPart {
    /// The connection's number, the same for both directions.
    pub flow: u64,
    /// The offset of its first byte in the stream: the SYN is at 0, data begins at 1.
    pub start: StreamOffset,
    /// Bytes of payload.
    pub len: u32,
    /// Payload bytes of the super-packet that it was cut from; at most `len` if it was sent alone.
    pub super_packet: u32,
    /// Control bits.
    pub flags: Flags,
    /// The acknowledgment number in the other direction's stream, if it has the ACK flag.
    pub ack: Option<StreamOffset>,
    /// The window field as on the wire.
    pub window: u16,
    /// The window scale option.
    pub window_scale: Option<u8>,
    /// Whether it has SACK blocks.
    pub has_sack: bool,
}

impl StreamPart {
    /// A part without options, of a packet sent alone.
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

    /// The end of its payload in the stream.
    pub fn end(&self) -> StreamOffset {
        self.start + self.len + u32::from(self.is_syn())
    }
}
