//! A host's wire as a capture file in pcapng (draft-ietf-opsawg-pcapng), as bytes: where they go is the caller's matter.
//!
//! Payload has no content in a simulation, so frames are cut behind their headers, and the file says how long they were.
//! Checksums are right, for a payload of zeros.

use crate::outside::{Observer, Sight};
use crate::tap;
use slowpath_model::{End, Flags};
use slowpath_scenario::HostId;
use slowpath_tcp::Packet;
use slowpath_tcp::packet::{Options, SynOptions};

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const LINKTYPE_ETHERNET: u16 = 1;
/// Options of blocks: the end of them, a comment, an interface's name and the resolution of its stamps.
const OPT_END: u16 = 0;
const OPT_COMMENT: u16 = 1;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
/// Nanoseconds: ten to the minus nine.
const NANOSECONDS: u8 = 9;

const IP_BYTES: usize = 20;
const TCP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
/// Protocols, as IANA numbers them.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Writes what passes one host's card into a buffer, which the caller empties as it likes.
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
    /// A file of what passes `host`'s card, whose name the interface gets.
    pub fn new(host: HostId, name: &str) -> Self {
        let mut this = Self { host, buffer: Vec::new(), frames: 0, headers: Vec::new(), options: Vec::new() };
        let mut section = Vec::new();
        section.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        section.extend([1_u16, 0].map(u16::to_le_bytes).concat());
        // The section's length is not stated.
        section.extend(u64::MAX.to_le_bytes());
        option(&mut section, OPT_COMMENT, b"simulated by slowpath; frames are cut behind their headers");
        option(&mut section, OPT_END, &[]);
        block(&mut this.buffer, SECTION_HEADER, &[&section]);
        let mut interface = [LINKTYPE_ETHERNET, 0].map(u16::to_le_bytes).concat();
        // No limit to what is kept of a frame.
        interface.extend(0_u32.to_le_bytes());
        option(&mut interface, IF_NAME, name.as_bytes());
        option(&mut interface, IF_TSRESOL, &[NANOSECONDS]);
        option(&mut interface, OPT_END, &[]);
        block(&mut this.buffer, INTERFACE_DESCRIPTION, &[&interface]);
        this
    }

    /// What was written since the buffer was last emptied. Always ends with a whole block.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Packets seen.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    fn write_headers(&mut self, sight: &Sight<'_>) {
        let (packet, from) = (&sight.frame.packet, sight.from);
        if !sight.frame.is_datagram {
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
        if sight.frame.is_datagram {
            self.write_ip(sight, hosts, UDP, UDP_BYTES);
            self.write_udp(sight, hosts);
        } else {
            self.write_ip(sight, hosts, TCP, TCP_BYTES + self.options.len());
            self.write_tcp(sight, hosts);
        }
    }

    /// The header of IP before one of `protocol`, of so many bytes.
    fn write_ip(&mut self, sight: &Sight<'_>, hosts: [usize; 2], protocol: u8, header: usize) {
        let length = (IP_BYTES + header) as u32 + sight.frame.packet.len;
        let begin = self.headers.len();
        self.headers.extend([0x45, sight.frame.packet.ecn.bits()]);
        // A packet beyond 64 KiB has no length here (as Linux's BIG TCP); none is cut so long.
        self.headers.extend((length as u16).to_be_bytes());
        self.headers.extend(sight.frame.id.to_be_bytes());
        // Not to be fragmented; the checksum follows.
        self.headers.extend([0x40, 0, tap::ttl(sight.sent), protocol, 0, 0]);
        for host in hosts {
            self.headers.extend(tap::address(host).octets());
        }
        let sum = !folded(sum(&self.headers[begin..]));
        self.headers[begin + 10..begin + 12].copy_from_slice(&sum.to_be_bytes());
    }

    fn write_udp(&mut self, sight: &Sight<'_>, hosts: [usize; 2]) {
        let (from, connection) = (sight.from, sight.frame.connection);
        let begin = self.headers.len();
        let length = UDP_BYTES as u32 + sight.frame.packet.len;
        for port in [tap::port(connection, from), tap::port(connection, !from)] {
            self.headers.extend(port.to_be_bytes());
        }
        self.headers.extend((length as u16).to_be_bytes());
        self.headers.extend([0, 0]);
        let sum = self.checksum(begin, hosts, UDP, length);
        // None is written as zero, which would say that there is none (RFC 768).
        let sum = if sum == 0 { 0xffff } else { sum };
        self.headers[begin + 6..begin + 8].copy_from_slice(&sum.to_be_bytes());
    }

    /// The checksum over the header from `begin` on, payload of zeros, and the pseudo-header.
    fn checksum(&self, begin: usize, hosts: [usize; 2], protocol: u8, length: u32) -> u16 {
        let pseudo: u32 = hosts.iter().map(|host| sum(&tap::address(*host).octets())).sum();
        let lengths = (length & 0xffff) + (length >> 16);
        !folded(sum(&self.headers[begin..]) + pseudo + u32::from(protocol) + lengths)
    }

    fn write_tcp(&mut self, sight: &Sight<'_>, hosts: [usize; 2]) {
        let (packet, from, connection) = (&sight.frame.packet, sight.from, sight.frame.connection);
        let begin = self.headers.len();
        self.headers.extend(tap::port(connection, from).to_be_bytes());
        self.headers.extend(tap::port(connection, !from).to_be_bytes());
        self.headers.extend(on_wire(connection, from, packet.seq.0).to_be_bytes());
        let ack = packet.acknowledges().map_or(0, |ack| on_wire(connection, !from, ack.0));
        self.headers.extend(ack.to_be_bytes());
        let words = ((TCP_BYTES + self.options.len()) / 4) as u16;
        self.headers.extend((words << 12 | packet.flags.0 & 0x1ff).to_be_bytes());
        self.headers.extend(packet.window.to_be_bytes());
        self.headers.extend([0, 0]);
        let urgent = if packet.flags.has(Flags::URG) { packet.urgent } else { 0 };
        self.headers.extend(urgent.to_be_bytes());
        self.headers.extend_from_slice(&self.options);
        let length = (self.headers.len() - begin) as u32 + packet.len;
        let sum = self.checksum(begin, hosts, TCP, length);
        self.headers[begin + 16..begin + 18].copy_from_slice(&sum.to_be_bytes());
    }
}

impl Observer for Pcapng {
    fn packet(&mut self, sight: &Sight<'_>) {
        if sight.host != self.host {
            return;
        }
        self.frames += 1;
        self.write_headers(sight);
        let at = sight.at.nanos().unsigned_abs();
        let captured = self.headers.len() as u32;
        let words = [0, (at >> 32) as u32, at as u32, captured, captured + sight.frame.packet.len];
        let mut fixed = [0; 20];
        for (bytes, word) in fixed.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        block(&mut self.buffer, ENHANCED_PACKET, &[&fixed, &self.headers]);
    }
}

/// A sequence number as on the wire: each direction begins somewhere else.
fn on_wire(connection: u32, from: End, offset: i64) -> u32 {
    let start = (connection * 2 + from.index() as u32 + 1).wrapping_mul(0x9e37_79b1);
    start.wrapping_add(offset as u32)
}

/// TCP's options, padded and in the order of Linux (`tcp_options_write`, 6.18).
fn write_options(packet: &Packet, from: End, connection: u32, options: &mut Vec<u8>) {
    // The options' kinds, as IANA numbers them.
    let [nop, mss_option, scale_option, sack_permitted_option, sack_option, stamps_option, fast_open_option] =
        [1, 2, 3, 4, 5, 8, 34_u8];
    options.clear();
    let syn = packet.syn_options();
    let SynOptions { mss, window_scale, sack_permitted, fast_open } = syn;
    if let Some(mss) = mss {
        options.extend([mss_option, 4]);
        options.extend(mss.to_be_bytes());
    }
    match (packet.timestamps, sack_permitted) {
        (Some(_), true) => options.extend([sack_permitted_option, 2]),
        (Some(_), false) => options.extend([nop, nop]),
        (None, true) => options.extend([nop, nop, sack_permitted_option, 2]),
        (None, false) => {}
    }
    if let Some(stamps) = packet.timestamps {
        options.extend([stamps_option, 10]);
        options.extend(stamps.val.to_be_bytes());
        options.extend(stamps.ecr.to_be_bytes());
    }
    if let Some(scale) = window_scale {
        options.extend([nop, scale_option, 3, scale]);
    }
    if let Some(cookie) = fast_open {
        options.extend([fast_open_option, 2 + cookie.as_slice().len() as u8]);
        options.extend_from_slice(cookie.as_slice());
        options.resize(options.len().next_multiple_of(4), nop);
    }
    if let Options::Sack(sack) = packet.options {
        options.extend([nop, nop, sack_option, 2 + 8 * sack.len() as u8]);
        for block in sack.blocks(packet.ack) {
            for edge in [block.start, block.end] {
                options.extend(on_wire(connection, !from, edge.0).to_be_bytes());
            }
        }
    }
}

/// The sum of 16-bit words that a checksum is made of (RFC 1071).
fn sum(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    bytes.chunks(2).map(word).sum()
}

fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn option(bytes: &mut Vec<u8>, code: u16, value: &[u8]) {
    bytes.extend([code, value.len() as u16].map(u16::to_le_bytes).concat());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// A block with the parts of its body.
fn block(file: &mut Vec<u8>, kind: u32, parts: &[&[u8]]) {
    const FRAME_BYTES: usize = 12;
    let body: usize = parts.iter().map(|part| part.len()).sum();
    let length = ((body.next_multiple_of(4) + FRAME_BYTES) as u32).to_le_bytes();
    file.extend(kind.to_le_bytes());
    file.extend(length);
    for part in parts {
        file.extend_from_slice(part);
    }
    file.resize(file.len() + body.next_multiple_of(4) - body, 0);
    file.extend(length);
}
