//! A frame of any link type (its first two bytes) and any length on the wire (the next four): the short way finds
//! what the long way finds.

use slowpath_capture::{LinkType, decode};

pub fn try_input(data: &[u8]) {
    let Some((&[a, b, c, d, e, f], frame)) = data.split_first_chunk() else { return };
    let link = LinkType(u16::from_be_bytes([a, b]));
    let wire = u32::from_be_bytes([c, d, e, f]);
    let long = decode::headers(link, frame, wire);
    if link == LinkType::ETHERNET
        && let Some(packet) = decode::fast(frame, wire)
    {
        assert_eq!(Ok(packet), long);
    }
}
