//! IEEE 802.11, and the headers of monitor mode: radiotap and PPI.
//!
//! Reading list: IEEE 802.11-2020 (section 9.2: frame formats; 9.3.2: data frames), radiotap.org, the "Per-Packet
//! Information Header Specification" (CACE Technologies).

use crate::layer::{Header, Layer, Skip, Step, Walk};
use crate::link;
use crate::link_type::LinkType;
use crate::protocol::Protocol;
use slowpath_wire::bytes::Order::Little;

// Radiotap's "present" bits.
const TSFT: u32 = 1 << 0;
const FLAGS: u32 = 1 << 1;
/// Another word of these bits follows.
const MORE: u32 = 1 << 31;
/// A flag: there is padding between the 802.11 header and its contents.
const DATA_PADDED: u8 = 0x20;

/// Radiotap's header, with a stated length.
pub(crate) fn radiotap<'a>(layer: Layer<'a>, walk: &mut Walk) -> Step<'a> {
    walk.deeper()?;
    let length = usize::from(Little.u16(layer.need(4)?, 2));
    let header = layer.need(length)?.get(..length).filter(|header| header.len() >= 8);
    let header = header.ok_or(Skip::Malformed)?;
    let is_padded = radiotap_flags(header).is_some_and(|flags| flags & DATA_PADDED != 0);
    Ok((Header::Wifi { is_padded }, layer.after(length)?))
}

/// The flags of a radiotap header, which has at least 8 bytes.
fn radiotap_flags(header: &[u8]) -> Option<u8> {
    let present = Little.u32(header, 4);
    let words = header[4..].chunks_exact(4).take_while(|word| Little.u32(word, 0) & MORE != 0).count() + 1;
    let mut at = 4 + words * 4;
    if present & TSFT != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    if present & FLAGS != 0 { header.get(at).copied() } else { None }
}

/// PPI's header, with a stated length, before a frame of another link type.
pub(crate) fn ppi<'a>(layer: Layer<'a>, walk: &mut Walk) -> Step<'a> {
    walk.deeper()?;
    let header = layer.need(8)?;
    let (length, kind) = (usize::from(Little.u16(header, 2)), Little.u32(header, 4));
    if length < 8 {
        return Err(Skip::Malformed);
    }
    let link = LinkType(u16::try_from(kind).map_err(|_| Skip::Malformed)?);
    Ok((link::first(link)?, layer.after(length)?))
}

/// A data frame; LLC follows its header. Bytes after LLC's packet (the frame check sequence) are ignored.
pub(crate) fn frame<'a>(is_padded: bool, layer: Layer<'a>, walk: &mut Walk) -> Step<'a> {
    walk.deeper()?;
    let [control, flags] = *layer.first::<2>()?;
    let (kind, is_qos, has_no_data) = (control & 0x0c, control & 0x80 != 0, control & 0x40 != 0);
    // Version 0; type 2 is data.
    if control & 3 != 0 || kind != 0x08 || has_no_data {
        return Err(Skip::NotIp(Protocol::WifiManagement));
    }
    let (to_and_from_system, is_encrypted) = (flags & 3 == 3, flags & 0x40 != 0);
    let has_more_fragments = flags & 0x04 != 0;
    let mut length = if to_and_from_system { 30 } else { 24 };
    let header = layer.need(length)?;
    let fragment = header[22] & 0x0f;
    if is_encrypted || has_more_fragments || fragment != 0 {
        return Err(Skip::NotIp(Protocol::WifiUnreadable));
    }
    let mut is_aggregated = false;
    if is_qos {
        is_aggregated = layer.need(length + 2)?[length] & 0x80 != 0;
        // HT control is present if the order bit is set.
        length += if flags & 0x80 != 0 { 6 } else { 2 };
    }
    if is_padded {
        length = length.next_multiple_of(4);
    }
    let body = layer.after(length)?;
    if !is_aggregated {
        return Ok((Header::Llc, body));
    }
    // The first packet of an aggregate (A-MSDU) is read: addresses and length, then LLC.
    let [.., high, low] = *body.first::<14>()?;
    Ok((Header::Llc, body.after(14)?.limit(usize::from(u16::from_be_bytes([high, low])))))
}
