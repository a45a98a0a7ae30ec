//! IPv4, IPv6 and extension headers.
//!
//! Reading list: RFC 791 (section 3.1: options), RFC 8200, RFC 4302 (AH).

use crate::draft::Draft;
use crate::names::Names;
use slowpath_capture::visit::Visited;
use slowpath_wire::bytes::{be16, be32, be128};
use slowpath_wire::checksum;
use slowpath_wire::ip::{V4, V4_BYTES, V6_BYTES};

/// The offset of IPv4's header checksum.
const CHECKSUM: usize = 10;
/// An option without content, of IPv4.
const NOP: u8 = 1;
/// The largest IPv4 header.
const MOST_V4_BYTES: usize = 60;

/// A header of IPv4. Options, which can have addresses, become ones without content. The header's checksum stays right,
/// wrong or absent.
pub(crate) fn v4(here: &Visited<'_>, draft: &mut Draft<'_>, names: &mut Names) {
    let Some(fixed) = here.data.first_chunk::<V4_BYTES>() else {
        // Up to the checksum, if as much was captured, there is nothing of the hosts.
        return draft.keep(here.begin..here.begin + here.data.len().min(CHECKSUM));
    };
    let ip = V4(fixed);
    let length = ip.header_bytes().max(V4_BYTES);
    let mut header = [NOP; MOST_V4_BYTES];
    header[..V4_BYTES].copy_from_slice(fixed);
    header[CHECKSUM..CHECKSUM + 2].fill(0);
    header[12..16].copy_from_slice(&names.v4(ip.source()).to_be_bytes());
    header[16..20].copy_from_slice(&names.v4(ip.destination()).to_be_bytes());
    let valid = checksum::of(checksum::sum(&header[..length]));
    let field = be16(fixed, CHECKSUM);
    let is_right = here.data.get(..length).is_none_or(|all| checksum::of(checksum::sum(all)) == 0);
    let written = match (is_right, field) {
        (true, _) => valid,
        // The NIC had yet to compute it.
        (false, 0) => 0,
        (false, _) => !valid,
    };
    header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&written.to_be_bytes());
    draft.put(here.begin, &header[..length.min(here.data.len())]);
}

/// A header of IPv6, without its flow label, which nothing is read from.
pub(crate) fn v6(here: &Visited<'_>, draft: &mut Draft<'_>, names: &mut Names) {
    let Some(fixed) = here.data.first_chunk::<V6_BYTES>() else {
        return draft.put(here.begin, &here.data[..here.data.len().min(1)]);
    };
    let mut header = *fixed;
    header[..4].copy_from_slice(&(be32(fixed, 0) & !0xf_ffff).to_be_bytes());
    header[8..24].copy_from_slice(&names.v6(be128(fixed, 8)).to_be_bytes());
    header[24..40].copy_from_slice(&names.v6(be128(fixed, 24)).to_be_bytes());
    draft.put(here.begin, &header);
}

/// A header that an IP header announces, by protocol number: of an extension header its length and what comes after it.
/// Addresses of a routing header, options (as zeros, padding of one byte each), and the authentication header's contents
/// are left out.
pub(crate) fn extension(protocol: u8, here: &Visited<'_>, draft: &mut Draft<'_>) {
    let fields = match protocol {
        0 | 51 | 60 | 135 | 139 | 140 => 0..2,
        // Type, and how many addresses are left to visit.
        43 => 0..4,
        // Fragment: the first byte is the next protocol, the second is reserved.
        44 => 0..8,
        _ => return,
    };
    let at = here.begin;
    draft.keep(at + fields.start..at + here.data.len().min(fields.end));
    if let Ok(next) = here.next {
        draft.reach(next);
    }
}
