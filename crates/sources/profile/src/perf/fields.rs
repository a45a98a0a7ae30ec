//! Fields of a perf.data in the byte order of the machine that wrote it. A missing field is `None`.

/// A machine's byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    pub(crate) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(crate) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(crate) fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }

    /// The 8-byte word of that index.
    #[inline]
    pub(crate) fn word(self, bytes: &[u8], number: usize) -> Option<u64> {
        Some(self.u64(*bytes.get(number.checked_mul(8)?..)?.first_chunk()?))
    }

    /// The two 32-bit halves of a word, in file order.
    #[inline]
    pub(crate) fn pair(self, bytes: &[u8], number: usize) -> Option<(u32, u32)> {
        let &[a, b, c, d, e, f, g, h] = bytes.get(number.checked_mul(8)?..)?.first_chunk::<8>()?;
        Some((self.u32([a, b, c, d]), self.u32([e, f, g, h])))
    }
}

/// A buffer that is consumed field by field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    pub(crate) rest: &'a [u8],
    pub(crate) order: Order,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(rest: &'a [u8], order: Order) -> Self {
        Self { rest, order }
    }

    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        Some(self.order.u16(*self.take(2)?.first_chunk()?))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        Some(self.order.u32(*self.take(4)?.first_chunk()?))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        Some(self.order.u64(*self.take(8)?.first_chunk()?))
    }

    /// A length and that many bytes of text, which ends at its first NUL (`do_write_string`, tools/perf/util/header.c).
    pub(crate) fn string(&mut self) -> Option<String> {
        let length = self.u32()?;
        Some(text(self.take(usize::try_from(length).ok()?)?))
    }
}

/// Text up to the first NUL.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
