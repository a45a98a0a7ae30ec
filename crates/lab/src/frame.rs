//! Ethernet frames on their way through the relay: what they carry, and cutting super-packets into packets.

use std::collections::HashMap;
use std::net::IpAddr;

/// `struct virtio_net_hdr`, which `PACKET_VNET_HDR` puts before each frame (include/uapi/linux/virtio_net.h).
pub const VNET_HEADER_BYTES: usize = 10;
const VNET_NEEDS_CSUM: u8 = 1;
const VNET_GSO_NONE: u8 = 0;
const ETHERTYPE_VLAN: u16 = 0x8100;
const FIN_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// One direction of a TCP connection.
pub type FlowKey = (IpAddr, u16, IpAddr, u16);

/// What the relay wants to know of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// Where the IP header starts.
    pub ip_at: usize,
    /// Length of the IP packet by its own header.
    pub ip_bytes: usize,
    /// IPv4 identification; 0 for IPv6.
    pub ip_id: u16,
    /// The TCP header, if the packet has one.
    pub tcp: Option<Tcp>,
}

/// What the relay wants to know of a TCP header.
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
    /// The flags byte.
    pub flags: u8,
    /// Payload bytes.
    pub payload_bytes: usize,
}

impl Tcp {
    /// Whether SYN is set.
    pub fn is_syn(&self) -> bool {
        self.flags & 0x02 != 0
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Reads an Ethernet frame, with or without a VLAN tag; `None` if it is not IP or is cut short.
pub fn parse(frame: &[u8]) -> Option<Parsed> {
    let mut ip_at = 14;
    if u16_at(frame, 12)? == ETHERTYPE_VLAN {
        ip_at = 18;
    }
    let ip = frame.get(ip_at..)?;
    let (header_bytes, ip_bytes, ip_id, protocol, from, to): (_, _, _, _, IpAddr, IpAddr) =
        match ip.first()? >> 4 {
            4 => (
                usize::from(ip[0] & 15) * 4,
                usize::from(u16_at(ip, 2)?),
                u16_at(ip, 4)?,
                *ip.get(9)?,
                <[u8; 4]>::try_from(ip.get(12..16)?).ok()?.into(),
                <[u8; 4]>::try_from(ip.get(16..20)?).ok()?.into(),
            ),
            6 => (
                40,
                40 + usize::from(u16_at(ip, 4)?),
                0,
                *ip.get(6)?,
                <[u8; 16]>::try_from(ip.get(8..24)?).ok()?.into(),
                <[u8; 16]>::try_from(ip.get(24..40)?).ok()?.into(),
            ),
            _ => return None,
        };
    let mut parsed = Parsed { ip_at, ip_bytes, ip_id, tcp: None };
    if i32::from(protocol) == libc::IPPROTO_TCP {
        let at = ip_at + header_bytes;
        let data_offset = usize::from(frame.get(at + 12)? >> 4) * 4;
        parsed.tcp = Some(Tcp {
            at,
            payload_at: at + data_offset,
            key: (from, u16_at(frame, at)?, to, u16_at(frame, at + 2)?),
            sequence: u32_at(frame, at + 4)?,
            flags: *frame.get(at + 13)?,
            payload_bytes: ip_bytes.checked_sub(header_bytes + data_offset)?,
        });
    }
    Some(parsed)
}

/// Cuts what the kernel handed over (a vnet header and a frame) into packets as a network card would: TCP
/// super-packets become segments of the size the kernel asked for, and checksums are complete.
pub fn cut(with_vnet_header: &[u8], mut each: impl FnMut(Vec<u8>)) {
    let Some((vnet, frame)) = with_vnet_header.split_at_checked(VNET_HEADER_BYTES) else { return };
    let needs_checksum = vnet[0] & VNET_NEEDS_CSUM != 0;
    let is_super = vnet[1] & 0x7f != VNET_GSO_NONE;
    let segment_bytes = usize::from(u16::from_le_bytes([vnet[4], vnet[5]]));
    let parsed = parse(frame);
    let Some((parsed, tcp)) = parsed.and_then(|p| Some((p, p.tcp?))) else { return each(frame.to_vec()) };
    if !is_super || segment_bytes == 0 || tcp.payload_bytes <= segment_bytes {
        let mut packet = frame.to_vec();
        if needs_checksum {
            complete_checksums(&mut packet, parsed.ip_at, tcp.at);
        }
        return each(packet);
    }
    let end = (parsed.ip_at + parsed.ip_bytes).min(frame.len());
    let payload = &frame[tcp.payload_at..end];
    for (n, piece) in payload.chunks(segment_bytes).enumerate() {
        let mut packet = Vec::with_capacity(tcp.payload_at + piece.len());
        packet.extend_from_slice(&frame[..tcp.payload_at]);
        packet.extend_from_slice(piece);
        let ip_bytes = packet.len() - parsed.ip_at;
        let ip = parsed.ip_at;
        if packet[ip] >> 4 == 4 {
            packet[ip + 2..ip + 4].copy_from_slice(&(ip_bytes as u16).to_be_bytes());
            packet[ip + 4..ip + 6].copy_from_slice(&parsed.ip_id.wrapping_add(n as u16).to_be_bytes());
        } else {
            packet[ip + 4..ip + 6].copy_from_slice(&((ip_bytes - 40) as u16).to_be_bytes());
        }
        let sequence = tcp.sequence.wrapping_add((n * segment_bytes) as u32);
        packet[tcp.at + 4..tcp.at + 8].copy_from_slice(&sequence.to_be_bytes());
        if (n + 1) * segment_bytes < payload.len() {
            packet[tcp.at + 13] &= !FIN_PSH;
        }
        if n > 0 {
            packet[tcp.at + 13] &= !CWR;
        }
        complete_checksums(&mut packet, ip, tcp.at);
        each(packet);
    }
}

fn sum(bytes: &[u8]) -> u64 {
    let mut chunks = bytes.chunks_exact(2);
    let pairs: u64 = chunks.by_ref().map(|c| u64::from(u16::from_be_bytes([c[0], c[1]]))).sum();
    pairs + chunks.remainder().first().map_or(0, |last| u64::from(*last) << 8)
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Writes the IPv4 header checksum and the TCP checksum (RFC 9293, section 3.1).
fn complete_checksums(packet: &mut [u8], ip_at: usize, tcp_at: usize) {
    let addresses = if packet[ip_at] >> 4 == 4 {
        packet[ip_at + 10..ip_at + 12].fill(0);
        let checksum = folded(sum(&packet[ip_at..tcp_at]));
        packet[ip_at + 10..ip_at + 12].copy_from_slice(&checksum.to_be_bytes());
        ip_at + 12..ip_at + 20
    } else {
        ip_at + 8..ip_at + 40
    };
    packet[tcp_at + 16..tcp_at + 18].fill(0);
    let pseudo = sum(&packet[addresses]) + (packet.len() - tcp_at) as u64 + libc::IPPROTO_TCP as u64;
    let checksum = folded(pseudo + sum(&packet[tcp_at..]));
    packet[tcp_at + 16..tcp_at + 18].copy_from_slice(&checksum.to_be_bytes());
}

/// Turns wire sequence numbers into stream offsets, for one direction of the path.
#[derive(Debug, Default)]
pub struct Streams {
    flows: HashMap<FlowKey, Stream>,
}

#[derive(Debug)]
struct Stream {
    number: u64,
    first_payload: u32,
    reached: u64,
}

impl Streams {
    /// The flow's number and the offset of the segment's first payload byte in its stream. A flow starts
    /// anew with a SYN whose sequence number is not the one it had.
    pub fn locate(&mut self, tcp: &Tcp) -> (u64, u64) {
        let next = self.flows.len() as u64;
        let starts_at = if tcp.is_syn() { tcp.sequence.wrapping_add(1) } else { tcp.sequence };
        let stream = self.flows.entry(tcp.key).or_insert(Stream {
            number: next,
            first_payload: starts_at,
            reached: 0,
        });
        if tcp.is_syn() {
            if stream.first_payload != starts_at {
                stream.first_payload = starts_at;
                stream.reached = 0;
            }
            return (stream.number, 0);
        }
        // The nearest offset to the highest one reached that agrees in its low 32 bits.
        let low = tcp.sequence.wrapping_sub(stream.first_payload);
        let step = low.wrapping_sub(stream.reached as u32).cast_signed();
        let offset = stream.reached.saturating_add_signed(i64::from(step));
        stream.reached = stream.reached.max(offset);
        (stream.number, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An Ethernet frame with an IPv4 TCP segment and a vnet header before it.
    fn frame(vnet: [u8; 10], payload: &[u8], flags: u8) -> Vec<u8> {
        let mut f = vnet.to_vec();
        f.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        let length = (40 + payload.len()) as u16;
        f.extend([0x45, 0, (length >> 8) as u8, length as u8, 0x12, 0xff, 0x40, 0, 64, 6, 0, 0]);
        f.extend([192, 0, 2, 1, 192, 0, 2, 2]);
        f.extend([0x9c, 0x40, 0x13, 0x89]);
        f.extend(0xffff_fff0_u32.to_be_bytes());
        f.extend([0, 0, 0, 1, 0x50, flags, 1, 0, 0xaa, 0xaa, 0, 0]);
        f.extend(payload);
        f
    }

    fn checksums_hold(packet: &[u8]) -> bool {
        let pseudo = sum(&packet[26..34]) + (packet.len() - 34) as u64 + 6;
        folded(sum(&packet[14..34])) == 0 && folded(pseudo + sum(&packet[34..])) == 0
    }

    #[test]
    fn super_packet_is_cut_into_segments_with_own_numbers_and_checksums() {
        let payload: Vec<u8> = (0..2500u32).map(|n| n as u8).collect();
        let mut packets = Vec::new();
        cut(&frame([1, 1, 54, 0, 0xe8, 0x03, 34, 0, 16, 0], &payload, 0x19), |p| packets.push(p));
        let tcp: Vec<Tcp> = packets.iter().map(|p| parse(p).unwrap().tcp.unwrap()).collect();
        assert_eq!(tcp.iter().map(|t| t.payload_bytes).collect::<Vec<_>>(), [1000, 1000, 500]);
        assert_eq!(tcp.iter().map(|t| t.sequence).collect::<Vec<_>>(), [0xffff_fff0, 984, 1984]);
        assert_eq!(tcp.iter().map(|t| t.flags).collect::<Vec<_>>(), [0x10, 0x10, 0x19]);
        let ids: Vec<u16> = packets.iter().map(|p| parse(p).unwrap().ip_id).collect();
        assert_eq!(ids, [0x12ff, 0x1300, 0x1301]);
        assert!(packets.iter().all(|p| checksums_hold(p)));
        let joined: Vec<u8> = packets.iter().flat_map(|p| p[54..].to_vec()).collect();
        assert_eq!(joined, payload);
    }

    #[test]
    fn partial_checksum_of_a_single_packet_is_completed() {
        let mut packets = Vec::new();
        cut(&frame([1, 0, 0, 0, 0, 0, 34, 0, 16, 0], b"odd", 0x18), |p| packets.push(p));
        assert_eq!(packets.len(), 1);
        assert!(checksums_hold(&packets[0]));
    }

    #[test]
    fn offsets_do_not_wrap_and_retransmissions_go_back() {
        let mut streams = Streams::default();
        let packet = frame([0; 10], b"x", 0x10);
        let mut tcp = parse(&packet[10..]).unwrap().tcp.unwrap();
        tcp.flags = 0x02;
        tcp.sequence = 0xffff_ffff;
        assert_eq!(streams.locate(&tcp), (0, 0));
        tcp.flags = 0x10;
        let mut locate = |sequence| {
            tcp.sequence = sequence;
            streams.locate(&tcp).1
        };
        assert_eq!(locate(0), 0);
        assert_eq!(locate(1448), 1448);
        assert_eq!(locate(0x7fff_ffff), 0x7fff_ffff);
        assert_eq!(locate(0xffff_0000), 0xffff_0000);
        assert_eq!(locate(100), 0x1_0000_0064);
        assert_eq!(locate(0xffff_0000), 0xffff_0000);
    }

    #[test]
    fn short_frames_are_not_parsed_and_do_not_panic() {
        let whole = frame([0; 10], b"payload", 0x10);
        for cut_at in 0..whole.len() - 10 {
            let _ = parse(&whole[10..10 + cut_at]);
        }
        assert_eq!(parse(&[0; 13]), None);
    }
}
