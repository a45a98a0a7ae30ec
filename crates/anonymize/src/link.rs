//! Link layers, and the headers of tunnels: what each says about the next header is copied, MAC addresses are replaced.
//!
//! Reading list: as of `slowpath_capture`'s `link.rs`, `wifi.rs` and `tunnel.rs`, which find these headers.

use crate::draft::Draft;
use crate::names::Names;
use crate::tcp;
use slowpath_capture::layer::{Header, Outer};
use slowpath_capture::visit::Visited;
use slowpath_wire::bytes::Order::{Big, Little};
use slowpath_wire::bytes::{be16, be32};

/// The packet among netfilter's attributes (`NFULA_PAYLOAD`).
const NFULA_PAYLOAD: u16 = 9;

/// A header before IP's, or between two of IP.
pub(crate) fn header(here: &Visited<'_>, draft: &mut Draft<'_>, names: &mut Names) {
    let (at, end) = (here.begin, here.begin + here.data.len());
    let mut keep = |from: usize, to: usize| draft.keep(at + from..end.min(at + to));
    match here.header {
        Header::Ethernet => {
            keep(12, 14);
            macs(at, &[0, 6], draft, names);
        }
        Header::Typed(kind) => typed(kind, here, draft, names),
        Header::Llc => keep(0, if here.data.starts_with(&[0xaa, 0xaa, 3]) { 8 } else { 3 }),
        // Packet type, device type, length of the address; the address; the protocol.
        Header::Cooked => {
            keep(0, 6);
            keep(14, 16);
            macs(at, &[6], draft, names);
        }
        // Protocol, reserved, interface, device type, packet type, length of the address; the address.
        Header::Cooked2 => {
            keep(0, 12);
            macs(at, &[12], draft, names);
            draft.reach(end.min(at + 20));
        }
        Header::Family => {
            // Of a number that is no family only that is kept.
            let is_one = here.data.first_chunk::<4>().is_some_and(|bytes| {
                let family = be32(bytes, 0);
                family.min(family.swap_bytes()) <= u8::MAX.into()
            });
            if is_one { keep(0, 4) } else { draft.put(at, &[0xff; 4][..here.data.len().min(4)]) }
        }
        Header::Fddi => {
            keep(0, 1);
            macs(at, &[1, 7], draft, names);
        }
        Header::CiscoHdlc => keep(0, 4),
        Header::Nflog => nflog(here, draft),
        // The address before the EtherType is left out.
        Header::Ipoib => match here.next {
            Ok(next) => draft.keep(next - 4..next),
            Err(_) => draft.reach(at),
        },
        Header::Radiotap => radiotap(here, draft),
        Header::Ppi => {
            keep(0, 8);
            draft.reach(here.next.unwrap_or(at));
        }
        Header::Wifi { .. } => wifi(here, draft, names),
        // Address and control of HDLC, and the protocol.
        Header::Ppp => match here.next {
            Ok(next) => draft.keep(at..next),
            Err(_) => keep(0, if here.data.first() == Some(&0xff) { 4 } else { 2 }),
        },
        Header::Pppoe => keep(0, 6),
        Header::Mpls => mpls(here, draft),
        // Only the version of what is no IP.
        Header::Ip if here.next.is_err() => keep_version(at, here.data, draft),
        Header::GtpU => gtp_u(here, draft),
        Header::Gre => gre(here, draft),
        _ => {}
    }
}

/// Of what may be a packet, its version.
fn keep_version(at: usize, packet: &[u8], draft: &mut Draft<'_>) {
    if let Some(first) = packet.first() {
        draft.put(at, &[first & 0xf0]);
    }
}

fn macs(at: usize, offsets: &[usize], draft: &mut Draft<'_>, names: &mut Names) {
    offsets.iter().for_each(|offset| draft.keep_mac(at + offset, names));
}

/// By EtherType: tags, which are kept as they are, and ARP.
fn typed(kind: u16, here: &Visited<'_>, draft: &mut Draft<'_>, names: &mut Names) {
    let at = here.begin;
    match (kind, here.next) {
        (0x0806 | 0x8035, _) => arp(here, draft, names),
        // Tags end where the next header begins.
        (_, Ok(next)) => draft.keep(at..next),
        _ => {}
    }
}

/// ARP and RARP for IPv4 over Ethernet (RFC 826); of others only what they are for.
fn arp(here: &Visited<'_>, draft: &mut Draft<'_>, names: &mut Names) {
    const ETHERNET_AND_IPV4: [u8; 6] = [0, 1, 8, 0, 6, 4];
    let at = here.begin;
    let Some(arp) = here.data.first_chunk::<28>().filter(|arp| arp.starts_with(&ETHERNET_AND_IPV4)) else {
        return;
    };
    draft.keep(at..at + 8);
    macs(at, &[8, 18], draft, names);
    for offset in [14, 24] {
        draft.put(at + offset, &names.v4(be32(arp, offset)).to_be_bytes());
    }
}

/// Family and version; then the lengths and types of attributes, up to that of the packet.
fn nflog(here: &Visited<'_>, draft: &mut Draft<'_>) {
    let (at, data) = (here.begin, here.data);
    draft.keep(at..at + data.len().min(2));
    let mut offset = 4;
    while let Some(attribute) = data.get(offset..offset + 4) {
        let order = if attribute[2] == 0 { Big } else { Little };
        let (length, kind) = (usize::from(order.u16(attribute, 0)), order.u16(attribute, 2));
        draft.keep(at + offset..at + offset + 4);
        if length < 4 || kind == NFULA_PAYLOAD {
            return;
        }
        offset += length.next_multiple_of(4);
    }
    draft.reach(at + data.len().min(offset));
}

/// A header of the same length with no field but the flags, and of these only the one that is read.
fn radiotap(here: &Visited<'_>, draft: &mut Draft<'_>) {
    const FLAGS: u8 = 1 << 1;
    const DATA_PADDED: u8 = 0x20;
    let at = here.begin;
    draft.keep(at + 2..at + here.data.len().min(4));
    let Ok(next) = here.next else { return };
    draft.reach(next);
    if let Some(Header::Wifi { is_padded: true }) = here.then {
        draft.put(at + 4, &[FLAGS]);
        draft.put(at + 8, &[DATA_PADDED]);
    }
}

/// Frame control, three or four addresses, the number of the fragment; of data the QoS field, and the header of an
/// aggregate's first packet.
fn wifi(here: &Visited<'_>, draft: &mut Draft<'_>, names: &mut Names) {
    let (at, data) = (here.begin, here.data);
    let end = at + data.len();
    let Some([control, flags]) = data.first_chunk::<2>() else { return };
    draft.keep(at..at + 2);
    let Ok(next) = here.next else {
        // Management frames have names; only data has to be told from what cannot be read.
        if control & 0x0c == 0x08 && data.len() >= 24 {
            draft.keep(at + 22..at + 23);
            macs(at, &[4, 10, 16], draft, names);
            let qos = if flags & 3 == 3 { 30 } else { 24 };
            // Whether it is an aggregate that was cut off.
            draft.keep(at + qos..end.min(at + qos + usize::from(control >> 7)));
        }
        return;
    };
    macs(at, &[4, 10, 16], draft, names);
    draft.keep(at + 22..at + 24);
    let mut length = 24;
    if flags & 3 == 3 {
        macs(at, &[24], draft, names);
        length += 6;
    }
    if control & 0x80 != 0 {
        draft.keep(at + length..end.min(at + length + 1));
        if data.get(length).is_some_and(|qos| qos & 0x80 != 0) && next >= at + length + 14 {
            macs(next - 14, &[0, 6], draft, names);
            draft.keep(next - 2..next);
        }
    }
    draft.reach(next);
}

/// Labels, and a pseudowire's control word; of what is neither, the first four bits.
fn mpls(here: &Visited<'_>, draft: &mut Draft<'_>) {
    let at = here.begin;
    if let Ok(next) = here.next {
        return draft.keep(at..next);
    }
    let bottom = here.data.chunks_exact(4).position(|label| label[2] & 1 == 1);
    let labels = bottom.map_or(here.data.len() / 4, |bottom| bottom + 1) * 4;
    draft.keep(at..at + labels);
    keep_version(at + labels, here.data.get(labels..).unwrap_or_default(), draft);
}

/// UDP without its checksum, which would give away the sum of the payload; after it the header of the tunnel that its port
/// names.
pub(crate) fn udp(here: &Visited<'_>, outer: Option<Outer>, draft: &mut Draft<'_>, names: &mut Names) {
    let (at, data) = (here.begin, here.data);
    let mut header = [0; 8];
    let length = data.len().min(6);
    header[..length].copy_from_slice(&data[..length]);
    if let Some(outer) = outer {
        tcp::rename_ports(&mut header[..length.min(4)], outer, names);
    }
    draft.put(at, &header[..data.len().min(8)]);
    let Some(tunnel) = data.get(8..16).filter(|_| !here.is_broken()) else { return };
    match be16(data, 2) {
        // VXLAN: flags, and the network's number.
        4789 | 8472 => {
            draft.keep(at + 8..at + 9);
            if here.next.is_ok() {
                draft.keep(at + 12..at + 15);
                draft.reach(at + 16);
            }
        }
        // Geneve: version, length, type, the network's number. Its options become empty ones.
        6081 => {
            draft.keep(at + 8..at + if tunnel[0] >> 6 == 0 { 15 } else { 9 });
            draft.reach(here.next.unwrap_or(at));
        }
        _ => {}
    }
}

/// Flags, type and length; not the number of the subscriber's tunnel. Extension headers keep their lengths and types.
fn gtp_u(here: &Visited<'_>, draft: &mut Draft<'_>) {
    let (at, data) = (here.begin, here.data);
    draft.keep(at..at + data.len().min(4));
    let Some([flags, ..]) = data.first_chunk::<8>() else { return };
    let (Ok(next), true) = (here.next, flags & 0x07 != 0) else {
        return draft.reach(here.next.unwrap_or(at));
    };
    draft.keep(at + 11..at + 12);
    let mut offset = 12;
    while flags & 0x04 != 0 && at + offset < next {
        let length = usize::from(data[offset]) * 4;
        draft.keep(at + offset..at + offset + 1);
        draft.keep(at + offset + length - 1..at + offset + length);
        offset += length;
    }
    draft.reach(next);
}

/// Flags and type, not the key; of ERSPAN whether it has a subheader.
fn gre(here: &Visited<'_>, draft: &mut Draft<'_>) {
    let (at, data) = (here.begin, here.data);
    draft.keep(at..at + data.len().min(4));
    let Ok(next) = here.next else { return };
    draft.reach(next);
    if data.get(2..4) == Some(&[0x22, 0xeb]) {
        let four = |bit: u16| if be16(data, 0) & bit != 0 { 4 } else { 0 };
        let last = 4 + four(0x8000) + four(0x2000) + four(0x1000) + 11;
        draft.put(at + last, &[data[last] & 1]);
    }
}
