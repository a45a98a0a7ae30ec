//! TCP options one by one: kind, length, data (RFC 9293, section 3.2).

// Kinds of the IANA registry "TCP Option Kind Numbers".
/// End of the option list.
pub const END: u8 = 0;
/// No operation.
pub const NOP: u8 = 1;
/// Maximum segment size.
pub const MSS: u8 = 2;
/// Window scale (RFC 7323).
pub const WINDOW_SCALE: u8 = 3;
/// SACK permitted (RFC 2018).
pub const SACK_PERMITTED: u8 = 4;
/// SACK (RFC 2018).
pub const SACK: u8 = 5;
/// Timestamps (RFC 7323).
pub const TIMESTAMPS: u8 = 8;
/// MD5 signature (RFC 2385).
pub const MD5: u8 = 19;
/// Fast Open cookie (RFC 7413).
pub const FAST_OPEN: u8 = 34;
/// Accurate ECN, the counter of ECT(0) first (RFC 9768).
pub const ACCECN0: u8 = 172;
/// Accurate ECN, the counter of ECT(1) first (RFC 9768).
pub const ACCECN1: u8 = 174;
/// For experiments (RFC 6994).
pub const EXPERIMENTAL: u8 = 254;
/// The first bytes of the experimental Fast Open option (RFC 7413, appendix).
pub const FAST_OPEN_MAGIC: [u8; 2] = [0xf9, 0x89];

/// Why an option is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It extends beyond the bytes.
    Beyond,
    /// Its length is below 2.
    Length,
}

/// An option, and the bytes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'a> {
    /// Its kind.
    pub kind: u8,
    /// The data after kind and length; empty for [`END`] and [`NOP`].
    pub data: &'a [u8],
    /// The bytes after the option.
    pub rest: &'a [u8],
}

/// The option at the start of `bytes`; `None` if `bytes` is empty.
///
/// # Errors
///
/// If its length is wrong, or beyond the bytes.
#[inline]
pub fn first(bytes: &[u8]) -> Result<Option<Raw<'_>>, Broken> {
    match *bytes {
        [] => Ok(None),
        [kind @ (END | NOP), ref rest @ ..] => Ok(Some(Raw { kind, data: &[], rest })),
        [_] => Err(Broken::Beyond),
        [_, 0 | 1, ..] => Err(Broken::Length),
        [kind, length, ..] => match bytes.split_at_checked(usize::from(length)) {
            Some((option, rest)) => Ok(Some(Raw { kind, data: &option[2..], rest })),
            None => Err(Broken::Beyond),
        },
    }
}

/// Writes an option with a length.
pub fn put(into: &mut Vec<u8>, kind: u8, data: impl IntoIterator<Item = u8>) {
    let begin = into.len();
    into.extend([kind, 0]);
    into.extend(data);
    // No header has room for more than 40 bytes.
    into[begin + 1] = u8::try_from(into.len() - begin).unwrap_or(u8::MAX);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tcp_option_round_trips() {
        let mut bytes = vec![NOP];
        put(&mut bytes, MSS, 1460_u16.to_be_bytes());
        put(&mut bytes, SACK_PERMITTED, []);
        let Raw { kind: NOP, data: [], rest } = first(&bytes).unwrap().unwrap() else { panic!("no NOP") };
        let mss = first(rest).unwrap().unwrap();
        assert_eq!((mss.kind, mss.data), (MSS, &[5, 180][..]));
        assert_eq!(first(mss.rest), Ok(Some(Raw { kind: SACK_PERMITTED, data: &[], rest: &[] })));
        assert_eq!(first(&[]), Ok(None));
        assert_eq!((first(&[MSS]), first(&[MSS, 4, 5])), (Err(Broken::Beyond), Err(Broken::Beyond)));
        assert_eq!(first(&[MSS, 1, 5]), Err(Broken::Length));
    }
}
