//! Ethernet frames in the relay, and the packets that they carry.

use slowpath_model::{Ecn, Flags};
use slowpath_wire::bytes::be16;
use slowpath_wire::ip::{self, Ip};
use slowpath_wire::tcp::Fixed;
use std::collections::HashMap;
use std::net::IpAddr;

/// 802.1Q.
pub const ETHERTYPE_VLAN: u16 = 0x8100;

/// One direction of a TCP connection.
pub type FlowKey = (IpAddr, u16, IpAddr, u16);

/// What the relay needs to know of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// Where the IP header starts.
    pub ip_at: usize,
    /// Length of the IP packet by its own header.
    pub ip_bytes: usize,
    /// Whether it is IPv4, not IPv6.
    pub is_v4: bool,
    /// IPv4 identification; 0 for IPv6.
    pub ip_id: u16,
    /// The ECN field.
    pub ecn: Ecn,
    /// The TCP header, if the packet has one.
    pub tcp: Option<Tcp>,
}

/// What the relay needs to know of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Where the TCP header starts.
    pub at: usize,
    /// Where the payload starts.
    pub payload_at: usize,
    /// Source and destination.
    pub key: FlowKey,
    /// Sequence number as on the wire.
    pub sequence: u32,
    /// Acknowledgment number as on the wire, with the ACK flag.
    pub ack: Option<u32>,
    /// The window field.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// Payload bytes.
    pub payload_bytes: usize,
}

impl Tcp {
    /// Whether SYN is set.
    pub fn is_syn(&self) -> bool {
        self.flags.has(Flags::SYN)
    }
}

/// Reads an Ethernet frame, with or without a VLAN tag; `None` if it is not IP or is cut short.
pub fn parse(frame: &[u8]) -> Option<Parsed> {
    let ip_at = if be16(frame.get(12..14)?, 0) == ETHERTYPE_VLAN { 18 } else { 14 };
    let ip = Ip::parse(frame.get(ip_at..)?)?;
    let ip_id = match ip {
        Ip::V4(v4) => v4.id(),
        Ip::V6(_) => 0,
    };
    let (ip_bytes, is_v4) = (ip.total_bytes(), matches!(ip, Ip::V4(_)));
    let mut parsed = Parsed { ip_at, ip_bytes, is_v4, ip_id, ecn: Ecn::from_bits(ip.class()), tcp: None };
    if ip.protocol() == ip::TCP {
        let at = ip_at + ip.header_bytes();
        let tcp = Fixed(frame.get(at..)?.first_chunk()?);
        let (from, to) = ip.between();
        parsed.tcp = Some(Tcp {
            at,
            payload_at: at + tcp.header_bytes(),
            key: (from, tcp.source(), to, tcp.destination()),
            sequence: tcp.seq(),
            ack: tcp.flags().has(Flags::ACK).then_some(tcp.ack()),
            window: tcp.window(),
            flags: tcp.flags(),
            payload_bytes: ip_bytes.checked_sub(ip.header_bytes() + tcp.header_bytes())?,
        });
    }
    Some(parsed)
}

/// Turns wire sequence numbers into stream offsets, for both directions of the path.
#[derive(Debug, Default)]
pub struct Streams {
    flows: HashMap<FlowKey, Stream>,
    connections: u64,
}

#[derive(Debug)]
struct Stream {
    number: u64,
    first_payload: u32,
    reached: u64,
}

/// The position of a segment. Offsets count from the first payload byte of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    /// The connection's number, the same in both directions.
    pub connection: u64,
    /// The offset of its first payload byte; 0 for a SYN.
    pub offset: u64,
    /// The offset that it acknowledges in the stream of the other direction, if that stream was seen.
    pub ack: Option<u64>,
}

impl Stream {
    /// The offset nearest to the highest one so far that agrees in its low 32 bits.
    fn offset(&self, sequence: u32) -> u64 {
        let low = sequence.wrapping_sub(self.first_payload);
        let step = low.wrapping_sub(self.reached as u32).cast_signed();
        self.reached.saturating_add_signed(i64::from(step))
    }
}

impl Streams {
    /// The position of a segment. A SYN with a new sequence number starts the flow anew.
    pub fn locate(&mut self, tcp: &Tcp) -> Located {
        let (from, from_port, to, to_port) = tcp.key;
        let other = self.flows.get(&(to, to_port, from, from_port));
        let ack = other.zip(tcp.ack).map(|(other, ack)| other.offset(ack));
        let connection = other.map(|other| other.number);
        let starts_at = if tcp.is_syn() { tcp.sequence.wrapping_add(1) } else { tcp.sequence };
        let connections = &mut self.connections;
        let stream = self.flows.entry(tcp.key).or_insert_with(|| Stream {
            number: connection.unwrap_or_else(|| {
                *connections += 1;
                *connections - 1
            }),
            first_payload: starts_at,
            reached: 0,
        });
        let offset = if tcp.is_syn() {
            if stream.first_payload != starts_at {
                stream.first_payload = starts_at;
                stream.reached = 0;
            }
            0
        } else {
            let offset = stream.offset(tcp.sequence);
            stream.reached = stream.reached.max(offset);
            offset
        };
        Located { connection: stream.number, offset, ack }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An Ethernet frame with an IPv4 TCP segment.
    fn frame(payload: &[u8], flags: u8) -> Vec<u8> {
        let mut f = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
        let length = (40 + payload.len()) as u16;
        f.extend([0x45, 0, (length >> 8) as u8, length as u8, 0x12, 0xff, 0x40, 0, 64, 6, 0, 0]);
        f.extend([192, 0, 2, 1, 192, 0, 2, 2]);
        f.extend([0x9c, 0x40, 0x13, 0x89]);
        f.extend(0xffff_fff0_u32.to_be_bytes());
        f.extend([0, 0, 0, 1, 0x50, flags, 1, 0, 0xaa, 0xaa, 0, 0]);
        f.extend(payload);
        f
    }

    #[test]
    fn stream_offsets_do_not_wrap_and_retransmissions_go_back() {
        let mut streams = Streams::default();
        let mut tcp = parse(&frame(b"x", 0x10)).unwrap().tcp.unwrap();
        tcp.flags = Flags::SYN;
        tcp.sequence = 0xffff_ffff;
        assert_eq!(streams.locate(&tcp), Located { connection: 0, offset: 0, ack: None });
        tcp.flags = Flags::ACK;
        let mut locate = |sequence| {
            tcp.sequence = sequence;
            streams.locate(&tcp).offset
        };
        assert_eq!(locate(0), 0);
        assert_eq!(locate(1448), 1448);
        assert_eq!(locate(0x7fff_ffff), 0x7fff_ffff);
        assert_eq!(locate(0xffff_0000), 0xffff_0000);
        assert_eq!(locate(100), 0x1_0000_0064);
        assert_eq!(locate(0xffff_0000), 0xffff_0000);
    }

    #[test]
    fn acks_are_located_in_the_other_direction() {
        let mut streams = Streams::default();
        let there =
            Tcp { flags: Flags::SYN, sequence: 99, ack: None, ..parse(&frame(b"", 2)).unwrap().tcp.unwrap() };
        let (from, from_port, to, to_port) = there.key;
        let key = (to, to_port, from, from_port);
        assert_eq!(streams.locate(&there).connection, 0);
        let other = Tcp { key: (to, 1, from, 2), ..there };
        assert_eq!(streams.locate(&other).connection, 1);
        let back = Tcp { key, flags: Flags::SYN.with(Flags::ACK), sequence: 7, ack: Some(100), ..there };
        assert_eq!(streams.locate(&back), Located { connection: 0, offset: 0, ack: Some(0) });
        let ack = Tcp { key, flags: Flags::ACK, sequence: 8, ack: Some(1548), ..there };
        assert_eq!(streams.locate(&ack), Located { connection: 0, offset: 0, ack: Some(1448) });
    }

    #[test]
    fn short_frames_are_refused() {
        let whole = frame(b"payload", 0x10);
        for cut_at in 0..whole.len() {
            let _ = parse(&whole[..cut_at]);
        }
        assert_eq!(parse(&[0; 13]), None);
    }
}
