//! TCP segments.
//!
//! Reading list: RFC 9293; RFC 1071; RFC 2385 (MD5), RFC 5925 (TCP-AO), RFC 7413 (Fast Open), RFC 8684 (MPTCP), RFC 6994
//! (experiments).

use crate::draft::Draft;
use crate::names::Names;
use slowpath_capture::layer::Outer;
use slowpath_capture::visit::Visited;
use slowpath_model::Checksum;
use slowpath_wire::bytes::be16;
use slowpath_wire::tcp::{CHECKSUM, Fixed, HEADER};
use slowpath_wire::{checksum, ip, options};

/// The longest header.
const MOST_BYTES: usize = 60;
/// Multipath TCP: keys, tokens, addresses and checksums of payload, after a subtype.
const MPTCP: u8 = 30;
/// The other option for experiments.
const EXPERIMENTAL_TOO: u8 = 253;

/// Writes a segment's header, and returns how many bytes of payload are left out. A segment whose checksum is wrong is
/// written in its length, with zeros.
pub(crate) fn segment(here: &Visited<'_>, outer: Outer, draft: &mut Draft<'_>, names: &mut Names) -> u64 {
    let (at, data) = (here.begin, here.data);
    let fixed = data.first_chunk::<HEADER>().map(Fixed);
    let length =
        fixed.zip(u32::try_from(here.wire).ok()).and_then(|(fixed, wire)| fixed.sound_header_bytes(wire));
    let length = length.unwrap_or(HEADER).min(data.len());
    let mut header = [0; MOST_BYTES];
    header[..length.min(HEADER)].copy_from_slice(&data[..length.min(HEADER)]);
    without_secrets(&data[length.min(HEADER)..length], &mut header[length.min(HEADER)..]);
    rename_ports(&mut header[..length], outer, names);
    if length >= CHECKSUM + 2 {
        write_checksum(&mut header[..length], here, outer, names);
    }
    draft.put(at, &header[..length]);
    if here.checksum == Some(Checksum::Wrong) {
        // It shows only in a segment that is there in full.
        draft.reach(at + data.len());
    }
    (data.len() - length) as u64
}

/// Writes what an ICMP error quotes of a segment: ports, and the sequence number.
pub(crate) fn quoted(here: &Visited<'_>, outer: Outer, draft: &mut Draft<'_>, names: &mut Names) {
    let mut start = [0; 8];
    let length = here.data.len().min(start.len());
    start[..length].copy_from_slice(&here.data[..length]);
    rename_ports(&mut start[..length], outer, names);
    draft.put(here.begin, &start[..length]);
}

/// Replaces the ports of a header that begins with them, as far as they were captured.
pub(crate) fn rename_ports(header: &mut [u8], outer: Outer, names: &mut Names) {
    let ends = [outer.addresses.source(), outer.addresses.destination()];
    for (field, host) in header.chunks_exact_mut(2).zip(ends) {
        let port = names.port(host, be16(field, 0));
        field.copy_from_slice(&port.to_be_bytes());
    }
}

/// Copies options whose meaning is known and is about the transfer; of others the kind and the length. `into` is zeros.
fn without_secrets(from: &[u8], into: &mut [u8]) {
    let mut at = 0;
    while let Ok(Some(option)) = options::first(&from[at..]) {
        let end = from.len() - option.rest.len();
        let kept = match option.kind {
            options::END => return,
            options::NOP => 1,
            options::MSS
            | options::WINDOW_SCALE
            | options::SACK_PERMITTED
            | options::SACK
            | options::TIMESTAMPS
            | options::ACCECN0
            | options::ACCECN1 => end - at,
            // What tells it from another experiment.
            options::EXPERIMENTAL | EXPERIMENTAL_TOO => 4,
            MPTCP => 3,
            _ => 2,
        };
        let kept = kept.min(end - at);
        into[at..at + kept].copy_from_slice(&from[at..at + kept]);
        if option.kind == MPTCP && kept == 3 {
            into[at + 2] &= 0xf0;
        }
        at = end;
    }
    // An option with a wrong length, or one that was cut off, is that in the copy.
    let kept = (from.len() - at).min(2);
    into[at..at + kept].copy_from_slice(&from[at..at + kept]);
}

/// Writes the checksum of a header whose payload is zeros: right or wrong, or one that the NIC had yet to complete, as it was.
fn write_checksum(header: &mut [u8], here: &Visited<'_>, outer: Outer, names: &mut Names) {
    let length = here.wire as u32;
    let (source, destination) = (outer.addresses.source(), outer.addresses.destination());
    let unfinished = |addresses| {
        [length, 0].map(|length| checksum::folded(checksum::pseudo_header(addresses, ip::TCP, length)))
    };
    let before = unfinished(checksum::addresses(source, destination));
    let addresses = checksum::addresses(names.address(source), names.address(destination));
    let after = unfinished(addresses);
    let field = be16(header, CHECKSUM);
    header[CHECKSUM..CHECKSUM + 2].fill(0);
    let valid = checksum::of(checksum::pseudo_header(addresses, ip::TCP, length) + checksum::sum(header));
    let known = before.iter().position(|unfinished| *unfinished == field);
    let written = match (here.checksum, known) {
        (Some(Checksum::Wrong), _) => {
            // One that is neither right nor unfinished.
            let others = [0, valid, after[0], after[1]];
            (1..=u16::MAX).map(|n| valid ^ n).find(|wrong| !others.contains(wrong)).unwrap_or(!valid)
        }
        (Some(Checksum::Unknown), _) if field == 0 => 0,
        (Some(Checksum::Unknown), Some(known)) => after[known],
        _ => valid,
    };
    header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&written.to_be_bytes());
}
