//! Packets inside packets: GRE, VXLAN, Geneve, GTP-U, MPLS, PPP.
//!
//! Reading list: RFC 2784 and RFC 2890 (GRE), RFC 2637 (PPTP's GRE), RFC 7348 (VXLAN), RFC 8926 (Geneve),
//! RFC 8086 (GRE in UDP), 3GPP TS 29.281 (GTP-U), RFC 3032 and RFC 4385 (MPLS), RFC 1661 and RFC 2516 (PPP, PPPoE).

use crate::layer::{Header, Layer, Skip, Step, Walk};
use crate::protocol::Protocol;
use slowpath_wire::bytes::{be16, be32};
use slowpath_wire::ip::UDP;

/// GRE, also the number reported for IP in an unknown tunnel.
const GRE: u8 = 47;

/// UDP, if its destination port is that of a tunnel.
pub(crate) fn udp<'a>(layer: Layer<'a>, walk: &mut Walk) -> Step<'a> {
    // Only the ports decide; a datagram cut before them still counts as UDP.
    let Some(&[_, _, high, low]) = layer.data.first_chunk() else { return Err(Skip::NotTcp(UDP)) };
    match u16::from_be_bytes([high, low]) {
        // IANA's port and Linux's earlier one
        4789 | 8472 => {
            let vxlan = layer.after(8)?;
            match vxlan.need(8)?[0] & 0x08 {
                0 => Err(Skip::NotTcp(UDP)),
                _ => Ok((Header::Ethernet, vxlan.after(8)?)),
            }
        }
        6081 => {
            let geneve = layer.after(8)?;
            let header = geneve.need(8)?;
            if header[0] >> 6 != 0 {
                return Err(Skip::NotTcp(UDP));
            }
            let length = 8 + usize::from(header[0] & 0x3f) * 4;
            walk.deeper()?;
            Ok((Header::Typed(be16(header, 2)), geneve.after(length)?))
        }
        4754 => Ok((Header::Gre, layer.after(8)?)),
        2152 => Ok((Header::GtpU, layer.after(8)?)),
        _ => Err(Skip::NotTcp(UDP)),
    }
}

/// The user plane's tunnel of mobile networks: version 1, with a packet as message (3GPP TS 29.281, section 5).
pub(crate) fn gtp_u<'a>(layer: Layer<'a>, walk: &mut Walk) -> Step<'a> {
    walk.deeper()?;
    let header = layer.first::<8>()?;
    let (flags, kind, length) = (header[0], header[1], usize::from(be16(header, 2)));
    // Version 1, not GTP', a user's packet.
    if flags & 0xf0 != 0x30 || kind != 255 {
        return Err(Skip::NotTcp(UDP));
    }
    let mut inner = layer.after(8)?.limit(length);
    // If any is set, there are four bytes for all: number, N-PDU number, type of the next extension header.
    if flags & 0x07 != 0 {
        let mut next = inner.need(4)?[3];
        inner = inner.after(4)?;
        while flags & 0x04 != 0 && next != 0 {
            walk.deeper()?;
            let length = usize::from(inner.need(1)?[0]) * 4;
            if length == 0 {
                return Err(Skip::Malformed);
            }
            next = inner.need(length)?[length - 1];
            inner = inner.after(length)?;
        }
    }
    Ok((Header::Ip, inner))
}

pub(crate) fn gre<'a>(layer: Layer<'a>, walk: &mut Walk) -> Step<'a> {
    let header = layer.need(4)?;
    let (flags, kind) = (be16(header, 0), be16(header, 2));
    let present = |bit: u16| flags & bit != 0;
    let four = |bit: u16| if present(bit) { 4 } else { 0 };
    match flags & 7 {
        // Checksum, key, sequence number (RFC 2890); the old routing field (RFC 1701) is not supported.
        0 if !present(0x4000) => {
            let inner = layer.after(4 + four(0x8000) + four(0x2000) + four(0x1000))?;
            walk.deeper()?;
            match kind {
                // ERSPAN types I (no sequence number, no header) and II
                0x88be => Ok((Header::Ethernet, inner.after(if present(0x1000) { 8 } else { 0 })?)),
                // ERSPAN type III, with an optional subheader
                0x22eb => {
                    let more = inner.need(12)?[11] & 1;
                    Ok((Header::Ethernet, inner.after(if more == 0 { 12 } else { 20 })?))
                }
                _ => Ok((Header::Typed(kind), inner)),
            }
        }
        // PPTP: key always, sequence number and acknowledgment as flagged (RFC 2637, section 4.1)
        1 if kind == 0x880b => Ok((Header::Ppp, layer.after(8 + four(0x1000) + four(0x0080))?)),
        _ => Err(Skip::NotTcp(GRE)),
    }
}

/// A label stack; the first four bits identify the protocol below (RFC 4385, section 3).
pub(crate) fn mpls<'a>(mut layer: Layer<'a>, walk: &mut Walk) -> Step<'a> {
    loop {
        walk.deeper()?;
        let entry = be32(layer.need(4)?, 0);
        layer = layer.after(4)?;
        if entry & 0x100 != 0 {
            break;
        }
    }
    match layer.need(1)?[0] >> 4 {
        4 => Ok((Header::Ipv4, layer)),
        6 => Ok((Header::Ipv6, layer)),
        // A pseudowire's control word, then Ethernet (RFC 4448)
        0 => Ok((Header::Ethernet, layer.after(4)?)),
        _ => Err(Skip::NotIp(Protocol::Mpls)),
    }
}

pub(crate) fn pppoe<'a>(layer: Layer<'a>, walk: &mut Walk) -> Step<'a> {
    // Version 1, type 1, code 0: a session's data (RFC 2516, section 4)
    match layer.need(6)? {
        [0x11, 0, _, _, high, low, ..] => {
            // Some access concentrators include Ethernet's padding in the IP length, but not in this one.
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            let session = layer.after(6)?;
            walk.stated = length < session.wire;
            Ok((Header::Ppp, session.limit(length)))
        }
        _ => Err(Skip::NotIp(Protocol::EtherType(0x8864))),
    }
}

/// PPP, with or without HDLC's address (0xff, which no protocol starts with) and control, its protocol in one byte or
/// two (RFC 1661, sections 2 and 6.5).
pub(crate) fn ppp<'a>(layer: Layer<'a>, walk: &mut Walk) -> Step<'a> {
    walk.deeper()?;
    // Cisco's framing has the same link type (RFC 1547, section 4.3.1); no protocol number begins like this.
    if matches!(layer.need(1)?[0], 0x0f | 0x8f) && layer.need(2)?[1] == 0 {
        return Ok((Header::CiscoHdlc, layer));
    }
    let layer = if layer.need(1)?[0] == 0xff { layer.after(2)? } else { layer };
    let (protocol, layer) = match layer.need(1)?[0] {
        odd if odd & 1 == 1 => (u16::from(odd), layer.after(1)?),
        _ => (be16(layer.need(2)?, 0), layer.after(2)?),
    };
    match protocol {
        0x0021 => Ok((Header::Ipv4, layer)),
        0x0057 => Ok((Header::Ipv6, layer)),
        0x0281 => Ok((Header::Mpls, layer)),
        _ => Err(Skip::NotIp(Protocol::Ppp(protocol))),
    }
}
