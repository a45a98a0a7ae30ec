//! Packets created by the path: those that it changed, and those that it sends.

use crate::frame::{self, Parsed, Tcp};
use crate::path::action::Replacement;
use crate::path::action::{Answer, Changes};
use slowpath_model::Flags;
use slowpath_wire::bytes::be32;
use slowpath_wire::options::{NOP, SACK, WINDOW_SCALE, first};
use slowpath_wire::{checksum, ip, tcp};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address of ICMP errors from the path, in the hosts' networks ([`crate::testbed`]).
const V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 254);
const V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xfe);

/// ICMP "destination unreachable", "fragmentation needed" (RFC 1191, section 4).
const TOO_BIG_V4: [u8; 2] = [3, 4];
/// ICMPv6 "packet too big" (RFC 4443, section 3.2).
const TOO_BIG_V6: [u8; 2] = [2, 0];
/// How much of the packet an error quotes, for 576 bytes in all (RFC 1812, section 4.3.2.3).
const QUOTED_V4_BYTES: usize = 548;
/// For IPv6's minimum MTU (RFC 4443, section 2.4).
const QUOTED_V6_BYTES: usize = 1232;

/// Applies the changes to a whole packet with right checksums, which stay right unless it is to be damaged.
pub fn change(packet: &mut [u8], changes: &Changes) {
    let Some(Parsed { ip_at, ip_bytes, is_v4, tcp, .. }) = frame::parse(packet) else { return };
    if let Some(ecn) = changes.ecn {
        // The low two bits of the traffic class; in IPv6 its low half is the high half of the second byte.
        let shift = if is_v4 { 0 } else { 4 };
        packet[ip_at + 1] = packet[ip_at + 1] & !(3 << shift) | ecn.bits() << shift;
    }
    if is_v4 {
        if let Some(id) = changes.id {
            packet[ip_at + 4..ip_at + 6].copy_from_slice(&id.to_be_bytes());
        }
        let header = ip_at..ip_at + usize::from(packet[ip_at] & 0xf) * 4;
        packet[ip_at + 10..ip_at + 12].fill(0);
        let sum = checksum::of(checksum::sum(&packet[header]));
        packet[ip_at + 10..ip_at + 12].copy_from_slice(&sum.to_be_bytes());
    }
    let end = ip_at + ip_bytes;
    let Some(tcp) = tcp.filter(|tcp| tcp.payload_at <= end && end <= packet.len()) else { return };
    change_options(&mut packet[tcp.at + tcp::HEADER..tcp.payload_at], changes);
    complete(&mut packet[..end], &tcp);
    if changes.is_damaged {
        let last = if tcp.payload_bytes > 0 { end - 1 } else { tcp.at + tcp::CHECKSUM };
        packet[last] ^= 1;
    }
}

fn change_options(options: &mut [u8], changes: &Changes) {
    let mut at = 0;
    while let Ok(Some(option)) = first(&options[at..]) {
        let (kind, end) = (option.kind, options.len() - option.rest.len());
        match (kind, changes.window_scale) {
            (WINDOW_SCALE, Some(Replacement::Removed)) => options[at..end].fill(NOP),
            (WINDOW_SCALE, Some(Replacement::Shift(shift))) if end - at == 3 => options[end - 1] = shift,
            (SACK, _) => {
                for edge in options[at + 2..end].chunks_exact_mut(4) {
                    let shifted = be32(edge, 0).wrapping_add(changes.sack_shift);
                    edge.copy_from_slice(&shifted.to_be_bytes());
                }
            }
            _ => {}
        }
        at = end;
    }
}

/// Completes the checksum of a TCP packet that ends where the bytes do.
fn complete(packet: &mut [u8], tcp: &Tcp) {
    let at = tcp.at + tcp::CHECKSUM;
    packet[at..at + 2].fill(0);
    let segment = &packet[tcp.at..];
    let addresses = checksum::addresses(tcp.key.0, tcp.key.2);
    let pseudo = checksum::pseudo_header(addresses, ip::TCP, segment.len() as u32);
    let sum = checksum::of(checksum::sum(segment) + pseudo);
    packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// The answer to a packet, for the host that sent it; `None` if the packet is not TCP.
pub fn answer(packet: &[u8], answer: Answer) -> Option<Vec<u8>> {
    let parsed = frame::parse(packet)?;
    let tcp = parsed.tcp?;
    let (from, from_port, to, to_port) = tcp.key;
    let mut made = ethernet(packet, &parsed, true);
    match answer {
        Answer::Reset => {
            let seq = tcp.ack.unwrap_or(0);
            put_reset(&mut made, (to, from), (to_port, from_port), seq, None);
        }
        Answer::TooBig { mtu } => {
            let (own, protocol, code, most) = match from {
                IpAddr::V4(_) => (V4.into(), ip::ICMP, TOO_BIG_V4, QUOTED_V4_BYTES),
                IpAddr::V6(_) => (V6.into(), ip::ICMPV6, TOO_BIG_V6, QUOTED_V6_BYTES),
            };
            let whole = &packet[parsed.ip_at..];
            let quoted = &whole[..whole.len().min(parsed.ip_bytes).min(most)];
            let mtu = u32::try_from(mtu.get()).unwrap_or(u32::MAX);
            let message = [&code[..], &[0, 0], &mtu.to_be_bytes(), quoted].concat();
            put_ip(&mut made, (own, from), protocol, &message, 2);
        }
    }
    Some(made)
}

/// A RST after a packet, in the name of the host that sent it; `None` if the packet is not TCP.
pub fn reset_behind(packet: &[u8], beyond: u32) -> Option<Vec<u8>> {
    let parsed = frame::parse(packet)?;
    let tcp = parsed.tcp?;
    let (from, from_port, to, to_port) = tcp.key;
    let fin_or_syn = u32::from(tcp.is_syn()) + u32::from(tcp.flags.has(Flags::FIN));
    let end = tcp.sequence.wrapping_add(tcp.payload_bytes as u32 + fin_or_syn);
    let mut made = ethernet(packet, &parsed, false);
    put_reset(&mut made, (from, to), (from_port, to_port), end.wrapping_add(beyond), tcp.ack);
    Some(made)
}

/// A packet's Ethernet header with its tag, or that of a packet back.
fn ethernet(packet: &[u8], parsed: &Parsed, back: bool) -> Vec<u8> {
    let mut header = packet[..parsed.ip_at].to_vec();
    if back {
        header[..12].rotate_left(6);
    }
    header
}

fn put_reset(into: &mut Vec<u8>, between: (IpAddr, IpAddr), ports: (u16, u16), seq: u32, ack: Option<u32>) {
    let control = if ack.is_some() { Flags::RST.with(Flags::ACK) } else { Flags::RST };
    let (source, destination) = ports;
    let ack = ack.unwrap_or(0);
    let mut header = Vec::with_capacity(tcp::HEADER);
    tcp::Fields { source, destination, seq, ack, control, window: 0, urgent: 0 }.put(&mut header, &[]);
    put_ip(into, between, ip::TCP, &header, tcp::CHECKSUM);
}

/// Writes an IP packet, and the checksum into its payload at `checksum_at`, which ICMP for IPv4 computes without a
/// pseudo-header (RFC 792).
fn put_ip(into: &mut Vec<u8>, between: (IpAddr, IpAddr), protocol: u8, payload: &[u8], checksum_at: usize) {
    let length = payload.len() as u32;
    ip::Fields { ttl: 64, protocol, ..ip::Fields::default() }.put(into, between, length);
    let at = into.len() + checksum_at;
    into.extend(payload);
    let pseudo = match protocol {
        ip::ICMP => 0,
        _ => checksum::pseudo_header(checksum::addresses(between.0, between.1), protocol, length),
    };
    let sum = checksum::of(checksum::sum(payload) + pseudo);
    into[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests;
