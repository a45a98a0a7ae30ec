//! Cuts and joins TCP super-packets, by description only: the payload is not moved.
//!
//! A packet cut from a super-packet is a part of its payload, and a header created at delivery. Adjacent packets of one
//! super-packet are delivered joined. A network card does both, so the header is as in `tcp_gso_segment`
//! (net/ipv4/tcp_offload.c): own lengths, own sequence number, the IP identification counted on, FIN and PSH on the
//! last packet only, CWR on the first only.

use super::vnet::Vnet;
use crate::frame::Parsed;
use slowpath_wire::checksum::{self, folded, pseudo_header, sum};
use slowpath_wire::{ip, tcp};

const FIN_PSH: u8 = 0x09;
const CWR: u8 = 0x80;
/// The longest headers: Ethernet with a VLAN tag, IPv4 and TCP with all options.
const HEADERS: usize = 18 + 60 + 60;

/// A super-packet, described by its headers. Offsets count from the start of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Super {
    ip_at: usize,
    tcp_at: usize,
    payload_at: usize,
    payload_bytes: usize,
    segment_bytes: usize,
    ip_id: u16,
    is_v4: bool,
}

impl Super {
    /// How to cut a frame; `None` if it is one packet, or cannot be cut here.
    pub fn of(vnet: Vnet, frame: &[u8], parsed: &Parsed) -> Option<Self> {
        let tcp = parsed.tcp?;
        let is_v4 = match vnet.gso_type & !Vnet::GSO_ECN {
            Vnet::GSO_TCP_V4 => true,
            Vnet::GSO_TCP_V6 => false,
            _ => return None,
        };
        let end = (parsed.ip_at + parsed.ip_bytes).min(frame.len());
        let payload_bytes = end.checked_sub(tcp.payload_at)?;
        let segment_bytes = usize::from(vnet.gso_bytes);
        let is_whole = tcp.payload_at >= tcp.at + tcp::HEADER && tcp.payload_at <= HEADERS;
        let is_sane = is_whole && parsed.is_v4 == is_v4 && (1..payload_bytes).contains(&segment_bytes);
        is_sane.then_some(Self {
            ip_at: parsed.ip_at,
            tcp_at: tcp.at,
            payload_at: tcp.payload_at,
            payload_bytes,
            segment_bytes,
            ip_id: parsed.ip_id,
            is_v4,
        })
    }

    /// Each packet's part of the payload: where it begins, and its length.
    pub fn packets(self) -> impl Iterator<Item = (usize, usize)> {
        let starts = (0..self.payload_bytes).step_by(self.segment_bytes);
        starts.map(move |offset| (offset, self.segment_bytes.min(self.payload_bytes - offset)))
    }

    /// Length of an IP packet with this much payload.
    pub fn ip_bytes(self, payload_bytes: usize) -> usize {
        self.payload_at - self.ip_at + payload_bytes
    }

    /// IPv4 identification of the packet whose payload begins at `offset`.
    pub fn ip_id(self, offset: usize) -> u16 {
        if self.is_v4 { self.ip_id.wrapping_add((offset / self.segment_bytes) as u16) } else { 0 }
    }

    /// A part of the frame's payload.
    pub fn payload(self, frame: &[u8], offset: usize, bytes: usize) -> &[u8] {
        &frame[self.payload_at + offset..][..bytes]
    }

    /// The header of the packet, or of the super-packet, with that part of the payload. The checksum is left to the
    /// card.
    pub fn header(self, vnet: Vnet, frame: &[u8], offset: usize, bytes: usize) -> Header {
        let mut header = Header { bytes: [0; HEADERS], length: self.payload_at, vnet: Vnet::default() };
        let h = &mut header.bytes[..self.payload_at];
        h.copy_from_slice(&frame[..self.payload_at]);
        let (ip, tcp) = (self.ip_at, self.tcp_at);
        let tcp_bytes = self.payload_at - tcp + bytes;
        let addresses = if self.is_v4 {
            h[ip + 2..ip + 4].copy_from_slice(&(self.ip_bytes(bytes) as u16).to_be_bytes());
            h[ip + 4..ip + 6].copy_from_slice(&self.ip_id(offset).to_be_bytes());
            h[ip + 10..ip + 12].fill(0);
            let checksum = checksum::of(sum(&h[ip..tcp]));
            h[ip + 10..ip + 12].copy_from_slice(&checksum.to_be_bytes());
            ip + 12..ip + 20
        } else {
            h[ip + 4..ip + 6].copy_from_slice(&(tcp_bytes as u16).to_be_bytes());
            ip + 8..ip + 40
        };
        let sequence = u32::from_be_bytes([h[tcp + 4], h[tcp + 5], h[tcp + 6], h[tcp + 7]]);
        h[tcp + 4..tcp + 8].copy_from_slice(&sequence.wrapping_add(offset as u32).to_be_bytes());
        if offset + bytes < self.payload_bytes {
            h[tcp + 13] &= !FIN_PSH;
        }
        if offset > 0 {
            h[tcp + 13] &= !CWR;
        }
        let pseudo = pseudo_header(sum(&h[addresses]), ip::TCP, tcp_bytes as u32);
        let at = tcp + tcp::CHECKSUM;
        h[at..at + 2].copy_from_slice(&folded(pseudo).to_be_bytes());
        header.vnet = Vnet {
            flags: Vnet::NEEDS_CHECKSUM,
            checksum_start: tcp as u16,
            checksum_offset: tcp::CHECKSUM as u16,
            ..Vnet::default()
        };
        if bytes > self.segment_bytes {
            let ecn = if offset == 0 { vnet.gso_type & Vnet::GSO_ECN } else { 0 };
            header.vnet.gso_type = if self.is_v4 { Vnet::GSO_TCP_V4 } else { Vnet::GSO_TCP_V6 } | ecn;
            header.vnet.gso_bytes = self.segment_bytes as u16;
            header.vnet.header_bytes = self.payload_at as u16;
        }
        header
    }
}

/// Headers of a packet, including Ethernet's, and what is left to the card.
#[derive(Clone, Debug)]
pub struct Header {
    bytes: [u8; HEADERS],
    length: usize,
    /// The offloads left to the NIC.
    pub vnet: Vnet,
}

impl Header {
    /// The bytes before the payload.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Completes the checksum, for a far side that expects complete packets.
    pub fn complete(&mut self, payload: &[u8]) {
        let start = usize::from(self.vnet.checksum_start);
        let at = start + tcp::CHECKSUM;
        // TCP's header is a multiple of words, so the payload begins at an even place of the sum.
        let checksum = checksum::of(sum(&self.bytes[start..self.length]) + sum(payload));
        self.bytes[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
        self.vnet.flags &= !Vnet::NEEDS_CHECKSUM;
    }
}

#[cfg(test)]
mod tests;
