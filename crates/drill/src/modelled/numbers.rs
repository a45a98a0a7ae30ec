//! Conversion between the model's packets and those on the wire: offsets and sequence numbers, super-packets and
//! segments.

use super::sockets::Ports;
use crate::packet::{Body, Datagram, Segment, TcpOption};
use crate::wire;
use slowpath_model::{Ecn, Flags, StreamOffset};
use slowpath_tcp::packet::{Block, Cookie, EcnBytes, Packet, Sack, SynOptions, TcpOptions};

/// The initial sequence number of every local end. Not 0, so that an unmapped number is noticed.
const LOCAL_ISN: u32 = 0x4000_0000;

/// Maps offsets of one connection to sequence numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers {
    remote_isn: u32,
    /// The furthest offsets seen in each direction: numbers are unwrapped near them.
    sent: StreamOffset,
    received: StreamOffset,
}

/// The offset nearest to `near` with this sequence number.
fn place(number: u32, isn: u32, near: StreamOffset) -> StreamOffset {
    let distance = number.wrapping_sub(isn).wrapping_sub(near.0 as u32) as i32;
    StreamOffset(near.0 + i64::from(distance))
}

fn number(offset: StreamOffset, isn: u32) -> u32 {
    isn.wrapping_add(offset.0 as u32)
}

impl Numbers {
    /// The offset of a local sequence number.
    pub fn local_offset(&self, number: u32) -> StreamOffset {
        place(number, LOCAL_ISN, self.sent)
    }

    /// Converts a segment from the wire. A SYN sets the peer's initial sequence number.
    pub fn model(&mut self, class: u8, segment: &Segment) -> Packet {
        if segment.has(Flags::SYN) && self.received == StreamOffset(0) {
            self.remote_isn = segment.seq;
        }
        let seq = place(segment.seq, self.remote_isn, self.received);
        let mut packet = Packet::new(segment.flags, seq, segment.len);
        packet.ack = self.local_offset(segment.ack);
        packet.window = segment.window;
        packet.urgent = segment.urgent;
        packet.ecn = Ecn::from_bits(class);
        packet.timestamps = segment.timestamps();
        packet.ecn_bytes = model_counters(segment);
        packet.options = self.model_options(segment, packet.ack);
        self.received = self.received.max(packet.end());
        packet
    }

    fn model_options(&self, segment: &Segment, ack: StreamOffset) -> TcpOptions {
        if segment.has(Flags::SYN) {
            let mut syn = SynOptions::default();
            for option in &segment.options {
                match option {
                    TcpOption::Mss(mss) => syn.mss = Some(*mss),
                    TcpOption::WindowScale(shift) => syn.window_scale = Some(*shift),
                    TcpOption::SackPermitted => syn.sack_permitted = true,
                    TcpOption::FastOpen(cookie) => syn.fast_open = Cookie::of_option(cookie, false),
                    TcpOption::FastOpenExperimental(cookie) => {
                        syn.fast_open = Cookie::of_option(cookie, true);
                    }
                    _ => {}
                }
            }
            return TcpOptions::Syn(syn);
        }
        let mut sack = Sack::default();
        for option in &segment.options {
            let TcpOption::Sack(blocks) = option else { continue };
            for (start, end) in blocks {
                let block = Block { start: self.local_offset(*start), end: self.local_offset(*end) };
                // Blocks out of reach do not belong to this connection.
                sack.push(ack, block);
            }
        }
        if sack.is_empty() { TcpOptions::None } else { TcpOptions::Sack(sack) }
    }

    /// The segments that the device makes of a packet.
    pub fn wire(&mut self, ports: Ports, packet: &Packet) -> Vec<Datagram> {
        let datagrams = packet.cut().map(|segment| self.datagram(ports, &segment)).collect();
        self.sent = self.sent.max(packet.end());
        datagrams
    }

    /// A RST for a segment without a connection: without an acknowledgment number, it has no sequence number.
    pub fn wire_reset(&self, ports: Ports, reset: &Packet) -> Datagram {
        let mut datagram = self.datagram(ports, reset);
        if let Some(segment) = datagram.segment_mut().filter(|segment| segment.has(Flags::ACK)) {
            segment.seq = 0;
        }
        datagram
    }

    /// One segment with its headers.
    fn datagram(&self, ports: Ports, packet: &Packet) -> Datagram {
        let segment = Segment {
            flags: packet.flags,
            seq: number(packet.seq, LOCAL_ISN),
            ack: if packet.flags.has(Flags::ACK) { number(packet.ack, self.remote_isn) } else { 0 },
            len: packet.len,
            window: packet.window,
            urgent: packet.urgent,
            options: self.wire_options(packet),
        };
        Datagram {
            source_port: ports.local,
            destination_port: ports.remote,
            class: packet.ecn.bits(),
            ttl: wire::TTL,
            flow_label: 0,
            body: Body::Tcp(segment),
        }
    }

    /// TCP options as laid out by Linux (`tcp_options_write`, net/ipv4/tcp_output.c).
    fn wire_options(&self, packet: &Packet) -> Vec<TcpOption> {
        let mut options = Vec::new();
        let timestamps = packet.timestamps.map(TcpOption::Timestamps);
        match packet.options {
            TcpOptions::Syn(syn) => {
                options.extend(syn.mss.map(TcpOption::Mss));
                let with_timestamps = timestamps.is_some();
                match (timestamps, syn.sack_permitted) {
                    (Some(timestamps), true) => options.extend([TcpOption::SackPermitted, timestamps]),
                    (Some(timestamps), false) => options.extend([TcpOption::Nop, TcpOption::Nop, timestamps]),
                    (None, _) => {}
                }
                let sack_alone = syn.sack_permitted && !with_timestamps;
                let room = if sack_alone { 2 } else { usize::from(syn.window_scale.is_some()) };
                let taken = put_counters(&mut options, packet.ecn_bytes, room);
                if sack_alone {
                    options.extend(std::iter::repeat_n(TcpOption::Nop, 2 - taken));
                    options.push(TcpOption::SackPermitted);
                }
                if let Some(shift) = syn.window_scale {
                    let padding = if sack_alone { 1 } else { 1 - taken };
                    options.extend(std::iter::repeat_n(TcpOption::Nop, padding));
                    options.push(TcpOption::WindowScale(shift));
                }
                if let Some(cookie) = syn.fast_open {
                    let bytes = cookie.as_slice().to_vec();
                    // The experimental option has two bytes more in front.
                    let padding = if cookie.experimental {
                        options.push(TcpOption::FastOpenExperimental(bytes));
                        (4 - cookie.as_slice().len() % 4) % 4
                    } else {
                        options.push(TcpOption::FastOpen(bytes));
                        (4 - (2 + cookie.as_slice().len()) % 4) % 4
                    };
                    options.extend(std::iter::repeat_n(TcpOption::Nop, padding));
                }
            }
            TcpOptions::Sack(_) | TcpOptions::None => {
                if let Some(timestamps) = timestamps {
                    options.extend([TcpOption::Nop, TcpOption::Nop, timestamps]);
                }
                let sack = packet.sack();
                let room = if sack.is_empty() { 0 } else { 2 };
                let taken = put_counters(&mut options, packet.ecn_bytes, room);
                if !sack.is_empty() {
                    let edge = |offset| number(offset, self.remote_isn);
                    let blocks = sack.blocks(packet.ack).map(|block| (edge(block.start), edge(block.end)));
                    options.extend(std::iter::repeat_n(TcpOption::Nop, 2 - taken));
                    options.push(TcpOption::Sack(blocks.collect()));
                }
            }
        }
        options
    }
}

/// Adds the option of Accurate ECN, padded to whole words. Its last bytes take the place of the next option's padding if
/// that is as long (`room`); returns how many bytes of that they take.
fn put_counters(options: &mut Vec<TcpOption>, bytes: Option<EcnBytes>, room: usize) -> usize {
    let Some(bytes) = bytes else { return 0 };
    let counters: Vec<u32> = bytes.counters().collect();
    let beyond = (2 + 3 * counters.len()) % 4;
    options.push(TcpOption::AccEcn { ect1_first: bytes.ect1_first, counters });
    if beyond > 0 && beyond <= room {
        return beyond;
    }
    options.extend(std::iter::repeat_n(TcpOption::Nop, (4 - beyond) % 4));
    0
}

/// The byte counters of a segment.
fn model_counters(segment: &Segment) -> Option<EcnBytes> {
    segment.options.iter().find_map(|option| match option {
        TcpOption::AccEcn { ect1_first, counters } => EcnBytes::new(*ect1_first, counters),
        _ => None,
    })
}

/// The RST for a segment without a connection (RFC 9293, section 3.10.7.1).
pub fn reset_for(packet: &Packet) -> Option<Packet> {
    if packet.flags.has(Flags::RST) {
        return None;
    }
    if let Some(ack) = packet.acknowledges() {
        return Some(Packet::new(Flags::RST, ack, 0));
    }
    let mut reset = Packet::new(Flags::RST.with(Flags::ACK), StreamOffset(0), 0);
    reset.ack = packet.end();
    Some(reset)
}
