//! Hand-written frames and files, and a sink that records its calls.

use slowpath_capture::{Capture, CaptureError, CaptureSummary};
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Sink};
use slowpath_wire::checksum;
use slowpath_wire::ip::Ip;
use std::io::Cursor;

pub const SYN: u16 = 0x002;
pub const FIN: u16 = 0x001;
pub const RST: u16 = 0x004;
pub const PSH: u16 = 0x008;
pub const ACK: u16 = 0x010;

/// The client of most tests, 10.0.0.1:40000, and its server, 10.0.0.2:80.
pub const CLIENT: (u32, u16) = (0x0a00_0001, 40_000);
pub const SERVER: (u32, u16) = (0x0a00_0002, 80);

/// A TCP segment without its IP header.
#[derive(Clone, Debug)]
pub struct Tcp {
    pub source: u16,
    pub destination: u16,
    pub flags: u16,
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    pub options: Vec<u8>,
    pub payload: Vec<u8>,
}

impl Tcp {
    pub fn new(flags: u16, seq: u32, ack: u32, payload: usize) -> Self {
        let (source, destination) = (CLIENT.1, SERVER.1);
        let payload = vec![b'x'; payload];
        Self { source, destination, flags, seq, ack, window: 1000, options: Vec::new(), payload }
    }

    pub fn back(mut self) -> Self {
        std::mem::swap(&mut self.source, &mut self.destination);
        self
    }

    pub fn options(mut self, options: &[u8]) -> Self {
        self.options = options.to_vec();
        assert_eq!(options.len() % 4, 0);
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.source.to_be_bytes());
        bytes.extend(self.destination.to_be_bytes());
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend(self.ack.to_be_bytes());
        let header = 5 + self.options.len() as u16 / 4;
        bytes.extend((header << 12 | self.flags).to_be_bytes());
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([0, 0, 0, 0]);
        bytes.extend(&self.options);
        bytes.extend(&self.payload);
        bytes
    }

    /// In IPv4, in Ethernet, from the client or from the server by its source port.
    pub fn frame(&self) -> Vec<u8> {
        ethernet(0x0800, &self.v4())
    }

    pub fn v4(&self) -> Vec<u8> {
        let forward = self.source == CLIENT.1;
        let (source, destination) = if forward { (CLIENT.0, SERVER.0) } else { (SERVER.0, CLIENT.0) };
        ipv4(6, source, destination, &self.bytes())
    }

    pub fn v6(&self) -> Vec<u8> {
        ipv6(6, &self.bytes())
    }
}

pub fn ethernet(kind: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    bytes.extend(kind.to_be_bytes());
    bytes.extend(body);
    bytes
}

pub fn ipv4(protocol: u8, source: u32, destination: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0];
    bytes.extend((20 + body.len() as u16).to_be_bytes());
    bytes.extend([0x12, 0x34, 0x40, 0, 64, protocol, 0, 0]);
    bytes.extend(source.to_be_bytes());
    bytes.extend(destination.to_be_bytes());
    bytes.extend(body);
    bytes
}

/// An IP packet with its TCP checksum filled in.
pub fn summed(mut packet: Vec<u8>) -> Vec<u8> {
    let ip = Ip::parse(&packet).unwrap();
    let (begin, (source, destination)) = (ip.header_bytes(), ip.between());
    let length = (packet.len() - begin) as u32;
    let pseudo = checksum::pseudo_header(checksum::addresses(source, destination), 6, length);
    let sum = checksum::of(pseudo + checksum::sum(&packet[begin..]));
    packet[begin + 16..begin + 18].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// An ICMP message, or one of ICMPv6, with the second word of its header.
pub fn icmp(kind: u8, code: u8, word: u32, quoted: &[u8]) -> Vec<u8> {
    [&[kind, code, 0, 0], &word.to_be_bytes()[..], quoted].concat()
}

/// From fd00::1 to fd00::2.
pub fn ipv6(next: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend((body.len() as u16).to_be_bytes());
    bytes.extend([next, 64]);
    bytes.extend((0xfd00u128 << 112 | 1).to_be_bytes());
    bytes.extend((0xfd00u128 << 112 | 2).to_be_bytes());
    bytes.extend(body);
    bytes
}

pub fn udp(destination: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xc0, 0];
    bytes.extend(destination.to_be_bytes());
    bytes.extend((8 + body.len() as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(body);
    bytes
}

/// A pcap file with microsecond timestamps, little-endian, one frame per millisecond.
pub fn pcap(link: u32, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = pcap_header(0xa1b2_c3d4, link);
    for (n, frame) in frames.iter().enumerate() {
        file.extend(record(1_000, n as u32 * 1000, frame, frame.len()));
    }
    file
}

pub fn pcap_header(magic: u32, link: u32) -> Vec<u8> {
    let words = [magic, 4 << 16 | 2, 0, 0, 65_535, link];
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

pub fn record(seconds: u32, fraction: u32, data: &[u8], wire: usize) -> Vec<u8> {
    let words = [seconds, fraction, data.len() as u32, wire as u32];
    let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    bytes.extend(data);
    bytes
}

/// A little-endian pcapng block.
pub fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (12 + body.len().next_multiple_of(4)) as u32;
    let mut bytes = Vec::new();
    bytes.extend(kind.to_le_bytes());
    bytes.extend(length.to_le_bytes());
    bytes.extend(body);
    bytes.resize(length as usize - 4, 0);
    bytes.extend(length.to_le_bytes());
    bytes
}

pub fn section() -> Vec<u8> {
    let mut body = 0x1a2b_3c4du32.to_le_bytes().to_vec();
    body.extend([1, 0, 0, 0]);
    body.extend(u64::MAX.to_le_bytes());
    block(0x0a0d_0d0a, &body)
}

pub fn interface(link: u16, options: &[u8]) -> Vec<u8> {
    let mut body = link.to_le_bytes().to_vec();
    body.extend([0, 0, 0, 0, 1, 0]);
    body.extend(options);
    block(1, &body)
}

/// An enhanced packet block.
pub fn packet(interface: u32, ticks: u64, frame: &[u8]) -> Vec<u8> {
    let words = [interface, (ticks >> 32) as u32, ticks as u32, frame.len() as u32, frame.len() as u32];
    let mut body: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    body.extend(frame);
    block(6, &body)
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// Records its calls.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    pub lines: Vec<String>,
    pub events: Vec<(FlowId, Event)>,
}

impl Sink for Recorded {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.lines.push(format!("{flow}: open {key}"));
    }
    fn accept(&mut self, flow: FlowId, event: &Event) {
        self.lines.push(format!("{flow}: {event}"));
        self.events.push((flow, *event));
    }
    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        self.lines.push(format!("{flow}: close {end:?}"));
    }
}

/// Reads a file in memory.
pub fn read(file: &[u8]) -> Result<(CaptureSummary, Recorded), CaptureError> {
    let mut recorded = Recorded::default();
    let summary = Capture::from_reader("test", Cursor::new(file.to_vec())).run(&mut recorded)?;
    Ok((summary, recorded))
}

/// Reads Ethernet frames.
pub fn frames(frames: &[Vec<u8>]) -> (CaptureSummary, Recorded) {
    read(&pcap(1, frames)).unwrap()
}
