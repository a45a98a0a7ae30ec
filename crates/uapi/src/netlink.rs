//! netlink(7): the layout of messages and attributes (include/uapi/linux/netlink.h). All numbers are in the machine's
//! byte order.

use std::net::IpAddr;

/// The length of `struct nlmsghdr`.
pub const HEADER_BYTES: usize = 16;
/// `NLM_F_REQUEST`, set in every request.
const REQUEST: u16 = 1;
/// `NLM_F_DUMP`: requests all objects of a kind.
pub const DUMP: u16 = 0x300;
/// `NLMSG_ERROR` and `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `NLA_TYPE_MASK`: above the type are the flags for nested and big-endian attributes.
const TYPE_MASK: u16 = 0x3fff;
/// The length of `struct nlattr` (`struct rtattr` is the same).
const ATTRIBUTE_HEADER: usize = 4;

/// The kernel answered a request with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("netlink error {0}")]
pub struct Refused(
    /// The errno, positive.
    pub i32,
);

/// A request: `struct nlmsghdr` and `body`. Its answers repeat `sequence`.
pub fn request(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    let length = HEADER_BYTES + body.len();
    let mut message = Vec::with_capacity(length);
    message.extend((length as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend((REQUEST | flags).to_ne_bytes());
    message.extend(sequence.to_ne_bytes());
    // The kernel fills in the port id.
    message.extend(0_u32.to_ne_bytes());
    message.extend(body);
    message
}

/// Passes the answers to request `sequence` in a datagram to `take`, by type and body. Returns whether the last one was
/// among them.
///
/// # Errors
///
/// If the kernel refuses the request.
pub fn answers(mut bytes: &[u8], sequence: u32, mut take: impl FnMut(u16, &[u8])) -> Result<bool, Refused> {
    while let Some(header) = bytes.get(..HEADER_BYTES) {
        let length = number(header, 0) as usize;
        let Some(message) = bytes.get(HEADER_BYTES..length) else { break };
        match u16::from_ne_bytes([header[4], header[5]]) {
            _ if number(header, 8) != sequence => {}
            DONE => return Ok(true),
            ERROR => return Err(Refused(number(message, 0).cast_signed().wrapping_neg())),
            kind => take(kind, message),
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// The attributes of a message after its fixed part, by type and value.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let head = rest.first_chunk::<ATTRIBUTE_HEADER>()?;
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let value = rest.get(ATTRIBUTE_HEADER..length)?;
        let kind = u16::from_ne_bytes([head[2], head[3]]) & TYPE_MASK;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// Adds an attribute to a request.
pub fn attribute(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    message.extend(((ATTRIBUTE_HEADER + value.len()) as u16).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(value);
    message.resize(message.len().next_multiple_of(4), 0);
}

/// 32 bits at `at`; 0 beyond the end.
pub fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u32::from_ne_bytes(*chunk))
}

/// 64 bits at `at`; 0 beyond the end.
pub fn wide(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u64::from_ne_bytes(*chunk))
}

/// Text up to the NUL.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// An address of either family; `None` for another length.
pub fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from);
    four.or_else(|| <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn netlink_attributes_round_trip() {
        let mut bytes = Vec::new();
        attribute(&mut bytes, 7, b"abc");
        attribute(&mut bytes, 9 | 1 << 15, &5_u32.to_ne_bytes());
        let found: Vec<_> = attributes(&bytes).collect();
        assert_eq!(found, [(7, &b"abc"[..]), (9, &5_u32.to_ne_bytes()[..])]);
        assert_eq!(attributes(&bytes[..bytes.len() - 1]).count(), 1, "a truncated value is skipped");
    }

    #[test]
    fn netlink_error_is_the_errno() {
        const ENODEV: i32 = 19;
        let answer = |kind: u16, body: &[u8]| request(kind, 0, 3, body);
        let mut bytes = answer(20, b"1234");
        bytes.extend(answer(ERROR, &(-ENODEV).to_ne_bytes()));
        let mut taken = Vec::new();
        assert_eq!(answers(&bytes, 3, |kind, body| taken.push((kind, body.to_vec()))), Err(Refused(ENODEV)));
        assert_eq!(taken, [(20, b"1234".to_vec())]);
        assert_eq!(answers(&bytes, 4, |_, _| {}), Ok(false), "another's answer");
        assert_eq!(answers(&answer(DONE, &[]), 3, |_, _| {}), Ok(true));
    }

    proptest! {
        #[test]
        fn decoding_any_answer_does_not_panic(
            mut bytes in prop::collection::vec(any::<u8>(), 0..200),
            length in 0_u32..100,
        ) {
            bytes.splice(..bytes.len().min(4), length.to_ne_bytes());
            if let Some(kind) = bytes.get_mut(4..12) {
                kind.copy_from_slice(&[16, 0, 0, 0, 1, 0, 0, 0]);
            }
            let _ = answers(&bytes, 1, |_, message| {
                for (_, value) in attributes(message) {
                    attributes(value).for_each(drop);
                }
            });
        }
    }
}
