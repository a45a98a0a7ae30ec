//! Captures without what identifies hosts and people, for passing on: the same TCP segments at the same times, and
//! nothing else.
//!
//! A frame is written anew from what this crate reads of it. What it does not read cannot be in the copy: only TCP
//! segments and the ICMP errors that quote one are copied, each in an IP header of its own over Ethernet.
//!
//! - Addresses become documentation addresses (RFC 5737, RFC 3849), numbered in the order in which they are met; MAC
//!   addresses are zero. After 762 IPv4 addresses, those for benchmarks follow (RFC 2544).
//! - Payload, VLAN tags, tunnels, IP options, names and comments are left out. The lengths stay.
//! - The TCP header is unchanged: ports, sequence numbers, window and options, timestamps among them. Its checksum is
//!   valid where it was not seen to be wrong.
//! - Times keep their distances. The first frame is on the second day of 1970.

use crate::decode;
use crate::frames::Frame;
use crate::layer::{Header, Layer, Outer, Skip, Walk};
use crate::{Capture, CaptureError, CaptureSummary};
use slowpath_model::{Checksum, Sink};
use slowpath_wire::ip::{Fields, ICMP, TCP, V4_BYTES, V6_BYTES};
use slowpath_wire::{checksum, pcap, tcp};
use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest frame of a copy: headers, or with a wrong checksum all of a packet.
const SNAP_BYTES: u32 = 65_535 + ETHERNET as u32;
const ETHERNET: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// Frames stamped before the first one have room.
const FIRST_NS: i64 = 86_400_000_000_000;
/// More hosts than this are not a transfer to diagnose; memory is bounded.
const MOST_ADDRESSES: usize = 100_000;

/// Copies captures of the same hosts: an address has one replacement in all of them, and their clocks keep their offset.
#[derive(Debug, Default)]
pub struct Anonymiser {
    addresses: HashMap<IpAddr, IpAddr>,
    /// The numbers of IPv4 and of IPv6 addresses so far.
    counts: [u32; 2],
    /// What is added to a timestamp.
    shift_ns: Option<i64>,
}

/// What was copied.
#[derive(Debug)]
pub struct Copied {
    /// The summary of the original.
    pub original: CaptureSummary,
    /// Frames copied.
    pub frames: u64,
    /// Frames left out: other protocols, fragments, and what cannot be read.
    pub left_out: u64,
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum AnonymiseError {
    /// The original cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The copy cannot be written.
    #[error("the copy cannot be written: {0}")]
    Write(#[from] io::Error),
}

impl Anonymiser {
    /// Copies a capture as pcap with nanoseconds, and reads the original into `sink`.
    ///
    /// # Errors
    ///
    /// If nothing can be read, or the copy cannot be written.
    pub fn copy(
        &mut self,
        capture: Capture,
        sink: &mut impl Sink,
        into: &mut dyn Write,
    ) -> Result<Copied, AnonymiseError> {
        into.write_all(&pcap::header(SNAP_BYTES))?;
        let (mut frames, mut left_out, mut failed) = (0, 0, None);
        let (mut last, mut copy) = (0, Vec::new());
        let mut each = |frame: &Frame<'_>| {
            if failed.is_some() {
                return;
            }
            last = frame.stamp.unwrap_or(last);
            let shift = *self.shift_ns.get_or_insert(FIRST_NS.saturating_sub(last));
            copy.clear();
            let Some(length) = self.write(frame, &mut copy) else {
                left_out += 1;
                return;
            };
            let at_ns = u64::try_from(last.saturating_add(shift)).unwrap_or(0);
            let record = pcap::Record { at_ns, kept: copy.len() as u32, length };
            let written = into.write_all(&record.bytes()).and_then(|()| into.write_all(&copy));
            frames += 1;
            failed = written.err();
        };
        let original = capture.run_showing(sink, &mut each)?;
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(Copied { original, frames, left_out }),
        }
    }

    /// Writes the frame's copy; returns its length on the wire. `None` if it is left out.
    fn write(&mut self, frame: &Frame<'_>, copy: &mut Vec<u8>) -> Option<u32> {
        let walk = &mut Walk::new();
        let (header, layer) = match decode::innermost(frame.link, frame.data, frame.wire, walk) {
            Ok(found) if walk.first.is_none() => found,
            // A fragment alone is no segment.
            Ok(_) | Err(_) => return None,
        };
        match header {
            Header::Tcp(outer) => self.segment(outer, layer, walk, copy),
            Header::Icmp(protocol, outer) => {
                let decoded = decode::decode(frame.link, frame.data, frame.wire);
                let Err(Skip::IcmpError(quote)) = decoded else { return None };
                let head = layer.data.first_chunk::<8>()?;
                self.error(protocol, outer, &quote, head, copy)
            }
            _ => None,
        }
    }

    fn segment(&mut self, outer: Outer, layer: Layer<'_>, walk: &Walk, copy: &mut Vec<u8>) -> Option<u32> {
        let length = u32::try_from(layer.wire).ok()?;
        let fixed = tcp::Fixed(layer.data.first_chunk()?);
        let header_bytes = fixed.sound_header_bytes(length)?;
        let between = self.between(outer)?;
        let ip_bytes = ip_header(outer, TCP, between, length, copy);
        let begin = copy.len();
        copy.extend_from_slice(&layer.data[..header_bytes.min(layer.data.len())]);
        let is_wrong =
            decode::Whole::of(outer, layer, walk).is_some_and(|whole| whole.verify() == Checksum::Wrong);
        if is_wrong {
            // It can be seen to be wrong only with all of its bytes; their values do not matter.
            copy.resize(begin + layer.wire, 0);
        }
        if copy.len() >= begin + tcp::CHECKSUM + 2 {
            let at = begin + tcp::CHECKSUM;
            copy[at..at + 2].fill(0);
            let addresses = checksum::addresses(between.0, between.1);
            let sum = checksum::pseudo_header(addresses, TCP, length) + checksum::sum(&copy[begin..]);
            let valid = checksum::of(sum);
            let written = if is_wrong { !valid } else { valid };
            copy[at..at + 2].copy_from_slice(&written.to_be_bytes());
        }
        (ETHERNET as u32 + ip_bytes).checked_add(length)
    }

    /// An ICMP error with the start of the segment that it quotes.
    fn error(
        &mut self,
        protocol: u8,
        outer: Outer,
        quote: &crate::Quote,
        head: &[u8; 8],
        copy: &mut Vec<u8>,
    ) -> Option<u32> {
        let between = self.between(outer)?;
        let quoted = self.pair(quote.addresses.source(), quote.addresses.destination())?;
        let mut packet = Vec::new();
        let fields = Fields { ttl: 64, protocol: TCP, ..Fields::default() };
        fields.put(&mut packet, quoted, 20);
        packet.extend(quote.ports.0.to_be_bytes());
        packet.extend(quote.ports.1.to_be_bytes());
        packet.extend(quote.seq.to_be_bytes());
        let length = (head.len() + packet.len()) as u32;
        let ip_bytes = ip_header(outer, protocol, between, length, copy);
        let begin = copy.len();
        copy.extend_from_slice(head);
        copy.extend(packet);
        copy[begin + 2..begin + 4].fill(0);
        let sum = checksum::sum(&copy[begin..]);
        let valid = checksum::of(if protocol == ICMP {
            sum
        } else {
            sum + checksum::pseudo_header(checksum::addresses(between.0, between.1), protocol, length)
        });
        copy[begin + 2..begin + 4].copy_from_slice(&valid.to_be_bytes());
        Some(ETHERNET as u32 + ip_bytes + length)
    }

    fn between(&mut self, outer: Outer) -> Option<(IpAddr, IpAddr)> {
        self.pair(outer.addresses.source(), outer.addresses.destination())
    }

    fn pair(&mut self, source: IpAddr, destination: IpAddr) -> Option<(IpAddr, IpAddr)> {
        Some((self.replacement(source)?, self.replacement(destination)?))
    }

    /// The replacement of an address; `None` if there were too many.
    fn replacement(&mut self, address: IpAddr) -> Option<IpAddr> {
        if let Some(known) = self.addresses.get(&address) {
            return Some(*known);
        }
        if self.addresses.len() >= MOST_ADDRESSES {
            return None;
        }
        let count = &mut self.counts[usize::from(address.is_ipv6())];
        let number = *count;
        *count += 1;
        let replacement =
            if address.is_ipv4() { documentation_v4(number).into() } else { documentation_v6(number).into() };
        self.addresses.insert(address, replacement);
        Some(replacement)
    }
}

/// The hosts of the three networks for documentation, and then the network for benchmarks.
fn documentation_v4(number: u32) -> Ipv4Addr {
    const NETWORKS: [Ipv4Addr; 3] =
        [Ipv4Addr::new(192, 0, 2, 0), Ipv4Addr::new(198, 51, 100, 0), Ipv4Addr::new(203, 0, 113, 0)];
    const HOSTS: u32 = 254;
    const BENCHMARKS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
    match NETWORKS.get((number / HOSTS) as usize) {
        Some(network) => (u32::from(*network) + 1 + number % HOSTS).into(),
        None => (u32::from(BENCHMARKS) + 1 + number - 3 * HOSTS).into(),
    }
}

fn documentation_v6(number: u32) -> Ipv6Addr {
    (u128::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0)) + 1 + u128::from(number)).into()
}

/// Writes headers of Ethernet and IP; returns the length of the latter.
fn ip_header(outer: Outer, protocol: u8, between: (IpAddr, IpAddr), payload: u32, copy: &mut Vec<u8>) -> u32 {
    let is_v4 = between.0.is_ipv4();
    copy.extend([0; ETHERNET - 2]);
    copy.extend(if is_v4 { IPV4 } else { IPV6 });
    let begin = copy.len();
    let fields = Fields {
        class: outer.facts.ecn as u8,
        flow_label: 0,
        id: outer.facts.id.unwrap_or(0),
        ttl: outer.facts.ttl,
        protocol,
    };
    fields.put(copy, between, payload);
    let (header, at) = if is_v4 { (V4_BYTES, 2) } else { (V6_BYTES, 4) };
    let stated = if is_v4 { payload.saturating_add(V4_BYTES as u32) } else { payload };
    if stated > u32::from(u16::MAX) {
        // A super-packet states no length.
        copy[begin + at..begin + at + 2].fill(0);
    }
    header as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_are_for_documentation_and_differ() {
        let mut anonymiser = Anonymiser::default();
        let mut seen = std::collections::HashSet::new();
        for number in 0..1000_u32 {
            let original: IpAddr = Ipv4Addr::from(0x0a00_0000 + number).into();
            let replaced = anonymiser.replacement(original).expect("few");
            assert!(seen.insert(replaced), "{replaced} twice");
            assert_eq!(anonymiser.replacement(original), Some(replaced));
        }
        let v6 = anonymiser.replacement("fe80::1".parse().expect("an address")).expect("few");
        assert_eq!(v6, "2001:db8::1".parse::<IpAddr>().expect("an address"));
        assert!(seen.contains(&"192.0.2.1".parse().expect("an address")));
        assert!(seen.contains(&"203.0.113.254".parse().expect("an address")));
    }
}
