//! A host's wire as a capture file in pcapng (draft-ietf-opsawg-pcapng), as bytes; the caller writes them.
//!
//! Payload has no content in a simulation, so frames are cut after their headers, and the file records their original
//! length. Checksums are correct, for a payload of zeros.

use crate::outside::{Observer, Sight};
use crate::shown;
use crate::wire::{Frame, FrameKind};
use slowpath_model::{End, Flags};
use slowpath_scenario::HostId;
use slowpath_tcp::Packet;
use slowpath_tcp::packet::{EcnBytes, SynOptions, TcpOptions};
use slowpath_wire::options::{
    ACCECN0, ACCECN1, FAST_OPEN, MSS, NOP, SACK, SACK_PERMITTED, TIMESTAMPS, WINDOW_SCALE, put,
};
use slowpath_wire::{checksum, ip, pcap, pcapng, tcp, udp};
use std::net::{IpAddr, Ipv4Addr};

/// The source address of middleboxes.
const MIDDLEBOX: Ipv4Addr = Ipv4Addr::new(10, 255, 255, 254);
/// ICMP "destination unreachable", "fragmentation needed" (RFC 1191, section 4).
const TOO_BIG: [u8; 2] = [3, 4];
/// The quoted headers: IP's, and TCP's first eight bytes.
const QUOTED: usize = ip::V4_BYTES + 8;
/// Its Ethernet header.
const ETHERNET: usize = 14;

/// Nanoseconds: ten to the minus nine.
const NANOSECONDS: u8 = 9;

/// Writes the packets at one host's NIC to a buffer, which the caller empties.
#[derive(Debug)]
pub struct Pcapng {
    host: HostId,
    buffer: Vec<u8>,
    frames: u64,
    /// A frame's headers, and its TCP options.
    headers: Vec<u8>,
    options: Vec<u8>,
}

impl Pcapng {
    /// A file of the packets at `host`'s NIC, with the host's name as interface name.
    pub fn new(host: HostId, name: &str) -> Self {
        let mut this = Self { host, buffer: Vec::new(), frames: 0, headers: Vec::new(), options: Vec::new() };
        let comment = b"simulated by slowpath; frames are cut behind their headers";
        pcapng::put_section(&mut this.buffer, &[(pcapng::OPT_COMMENT, comment)]);
        let options = [(pcapng::IF_NAME, name.as_bytes()), (pcapng::IF_TSRESOL, &[NANOSECONDS])];
        pcapng::put_interface(&mut this.buffer, pcap::ETHERNET, &options);
        this
    }

    /// What was written since the buffer was last emptied. Always ends with a complete block.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Packets seen.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// An ICMP error from the path, about a segment sent by the capturing host.
    fn write_too_big(&mut self, sight: &Sight<'_>) {
        let mtu = sight.frame.packet.urgent;
        let frame = Frame { kind: FrameKind::Segment, ..*sight.frame };
        self.write_headers(&Sight { from: !sight.from, sent: false, frame: &frame, ..*sight });
        let quoted = self.headers[ETHERNET..ETHERNET + QUOTED].to_vec();
        let [mut destination, mut source] = [[0; 6]; 2];
        source.copy_from_slice(&self.headers[..6]);
        destination.copy_from_slice(&self.headers[6..12]);
        self.headers.clear();
        self.headers.extend(destination.into_iter().chain(source).chain([0x08, 0x00]));
        let to = sight.link.hosts[(!sight.from).index()];
        let fields = ip::Fields { ttl: shown::ttl(false), protocol: ip::ICMP, ..ip::Fields::default() };
        let length = sight.frame.length() - ip::V4_BYTES as u32;
        fields.put(&mut self.headers, (MIDDLEBOX.into(), shown::address(to).into()), length);
        let begin = self.headers.len();
        self.headers.extend(TOO_BIG);
        self.headers.extend([0; 4]);
        self.headers.extend(mtu.to_be_bytes());
        self.headers.extend(quoted);
        // The rest counts as zeros.
        let sum = checksum::of(checksum::sum(&self.headers[begin..]));
        self.headers[begin + 2..begin + 4].copy_from_slice(&sum.to_be_bytes());
    }

    fn write_headers(&mut self, sight: &Sight<'_>) {
        let (packet, from) = (&sight.frame.packet, sight.from);
        if !sight.frame.is_datagram() {
            write_options(packet, from, sight.frame.connection, &mut self.options);
        }
        let hosts = match from {
            End::A => sight.link.hosts,
            End::B => [sight.link.hosts[1], sight.link.hosts[0]],
        };
        self.headers.clear();
        for host in [hosts[1], hosts[0]] {
            // Locally administered.
            self.headers.extend([2, 0]);
            self.headers.extend((host as u32 + 1).to_be_bytes());
        }
        self.headers.extend([0x08, 0x00]);
        let between = hosts.map(|host| IpAddr::from(shown::address(host)));
        let (protocol, header) = match sight.frame.is_datagram() {
            true => (ip::UDP, udp::HEADER),
            false => (ip::TCP, tcp::HEADER + self.options.len()),
        };
        let length = header as u32 + packet.len;
        let ip = ip::Fields {
            class: packet.ecn.bits(),
            id: sight.frame.id,
            ttl: shown::ttl(sight.sent),
            protocol,
            ..ip::Fields::default()
        };
        // A packet over 64 KiB gets length 0 (like Linux's BIG TCP); none is cut to such a length.
        ip.put(&mut self.headers, (between[0], between[1]), length);
        let begin = self.headers.len();
        if sight.frame.is_datagram() {
            self.write_udp(sight, length);
        } else {
            self.write_tcp(sight);
        }
        // With a payload of zeros.
        let pseudo = checksum::pseudo_header(checksum::addresses(between[0], between[1]), protocol, length);
        let mut sum = checksum::of(checksum::sum(&self.headers[begin..]) + pseudo);
        if sight.frame.kind == FrameKind::Damaged {
            sum = !sum;
        }
        let (at, sum) = match sight.frame.is_datagram() {
            true => (begin + udp::CHECKSUM, udp::checksum(sum)),
            false => (begin + tcp::CHECKSUM, sum),
        };
        self.headers[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }

    fn write_udp(&mut self, sight: &Sight<'_>, length: u32) {
        let (from, connection) = (sight.from, sight.frame.connection);
        let ports = (shown::port(connection, from), shown::port(connection, !from));
        udp::put(&mut self.headers, ports, length as u16);
    }

    fn write_tcp(&mut self, sight: &Sight<'_>) {
        let (packet, from, connection) = (&sight.frame.packet, sight.from, sight.frame.connection);
        let header = tcp::Fields {
            source: shown::port(connection, from),
            destination: shown::port(connection, !from),
            seq: on_wire(connection, from, packet.seq.0),
            ack: packet.acknowledges().map_or(0, |ack| on_wire(connection, !from, ack.0)),
            control: Flags(packet.flags.0 & 0x1ff),
            window: packet.window,
            urgent: if packet.flags.has(Flags::URG) { packet.urgent } else { 0 },
        };
        header.put(&mut self.headers, &self.options);
    }
}

impl Observer for Pcapng {
    fn packet(&mut self, sight: &Sight<'_>) {
        if sight.host != self.host {
            return;
        }
        self.frames += 1;
        let length = if sight.frame.kind == FrameKind::TooBig {
            self.write_too_big(sight);
            ETHERNET as u32 + sight.frame.length()
        } else {
            self.write_headers(sight);
            self.headers.len() as u32 + sight.frame.packet.len
        };
        let at = sight.at.nanos().unsigned_abs();
        pcapng::put_packet(&mut self.buffer, 0, at, length, &self.headers);
    }
}

/// A sequence number on the wire: each direction has its own initial number.
fn on_wire(connection: u32, from: End, offset: i64) -> u32 {
    let start = (connection * 2 + from.index() as u32 + 1).wrapping_mul(0x9e37_79b1);
    start.wrapping_add(offset as u32)
}

/// The option of Accurate ECN, padded. Its last bytes take the place of the next option's padding if that is as long;
/// returns how many bytes of that.
fn put_ecn_bytes(options: &mut Vec<u8>, bytes: &EcnBytes, padding: usize) -> usize {
    let kind = if bytes.ect1_first { ACCECN1 } else { ACCECN0 };
    put(options, kind, bytes.counters().flat_map(|counter| counter.to_be_bytes().into_iter().skip(1)));
    let beyond = options.len() % 4;
    if beyond > 0 && beyond <= padding {
        return beyond;
    }
    options.resize(options.len().next_multiple_of(4), NOP);
    0
}

/// TCP's options, padded and ordered as in Linux (`tcp_options_write`, 6.18).
fn write_options(packet: &Packet, from: End, connection: u32, options: &mut Vec<u8>) {
    options.clear();
    let syn = packet.syn_options();
    let SynOptions { mss, window_scale, sack_permitted, fast_open } = syn;
    if let Some(mss) = mss {
        put(options, MSS, mss.to_be_bytes());
    }
    match (packet.timestamps, sack_permitted) {
        (Some(_), true) => put(options, SACK_PERMITTED, []),
        (Some(_), false) => options.extend([NOP, NOP]),
        (None, _) => {}
    }
    if let Some(stamps) = packet.timestamps {
        put(options, TIMESTAMPS, [stamps.val, stamps.ecr].into_iter().flat_map(u32::to_be_bytes));
    }
    let sack_alone = sack_permitted && packet.timestamps.is_none();
    let padding = match packet.options {
        TcpOptions::Sack(_) => 2,
        TcpOptions::Syn(_) if sack_alone => 2,
        TcpOptions::Syn(_) => usize::from(window_scale.is_some()),
        TcpOptions::None => 0,
    };
    let taken = packet.ecn_bytes.map_or(0, |bytes| put_ecn_bytes(options, &bytes, padding));
    if sack_alone {
        options.resize(options.len() + 2 - taken, NOP);
        put(options, SACK_PERMITTED, []);
    }
    if let Some(scale) = window_scale {
        options.resize(options.len() + 1 - if sack_alone { 0 } else { taken }, NOP);
        put(options, WINDOW_SCALE, [scale]);
    }
    if let Some(cookie) = fast_open {
        put(options, FAST_OPEN, cookie.as_slice().iter().copied());
        options.resize(options.len().next_multiple_of(4), NOP);
    }
    if let TcpOptions::Sack(sack) = packet.options {
        options.resize(options.len() + 2 - taken, NOP);
        let edges = sack.blocks(packet.ack).flat_map(|block| [block.start, block.end]);
        put(options, SACK, edges.flat_map(|edge| on_wire(connection, !from, edge.0).to_be_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::{StreamOffset, Timestamps};
    use slowpath_tcp::packet::{Block, Sack};
    use slowpath_wire::options::first;

    /// What a packet counts as is what is written of it, whichever options share their padding.
    #[test]
    fn written_options_are_as_long_as_counted() {
        let mut sack = Sack::default();
        assert!(sack.push(StreamOffset(1), Block { start: StreamOffset(11), end: StreamOffset(21) }));
        let syn = |window_scale, sack_permitted| {
            TcpOptions::Syn(SynOptions { mss: Some(1460), window_scale, sack_permitted, fast_open: None })
        };
        let others = [
            TcpOptions::None,
            TcpOptions::Sack(sack),
            syn(None, false),
            syn(None, true),
            syn(Some(7), false),
            syn(Some(7), true),
        ];
        for options in others {
            for timestamps in [None, Some(Timestamps { val: 1, ecr: 2 })] {
                for counters in [None, Some(0), Some(1), Some(2), Some(3)] {
                    let ecn_bytes =
                        counters.and_then(|count| EcnBytes::new(true, &[1, 0x0102_0304, 1][..count]));
                    let plain = Packet::new(Flags::ACK, StreamOffset(1), 0);
                    let packet = Packet { options, timestamps, ecn_bytes, ..plain };
                    let mut written = Vec::new();
                    write_options(&packet, End::A, 0, &mut written);
                    let counted = usize::try_from(packet.option_bytes()).unwrap();
                    assert_eq!(written.len(), counted, "{packet:?}: {written:?}");
                    let (mut found, mut rest) = (None, &written[..]);
                    while let Some(option) = first(rest).expect("valid options") {
                        found = found.or((option.kind == ACCECN1).then_some(option.data.len()));
                        rest = option.rest;
                    }
                    assert_eq!(found, counters.map(|count| 3 * count), "{written:?}");
                }
            }
        }
    }
}
