//! Integers from bytes, in either order.

/// The byte order of a file's writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The least significant byte first.
    Little,
    /// The most significant byte first.
    Big,
}

impl Order {
    /// The integer at `at`. The caller has checked the bounds.
    #[inline]
    pub fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            Self::Little => u32::from_le_bytes(four),
            Self::Big => u32::from_be_bytes(four),
        }
    }

    /// The integer at `at`. The caller has checked the bounds.
    #[inline]
    pub fn u16(self, bytes: &[u8], at: usize) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes([bytes[at], bytes[at + 1]]),
            Self::Big => u16::from_be_bytes([bytes[at], bytes[at + 1]]),
        }
    }

    /// The bytes of an integer.
    #[inline]
    pub fn bytes_of_u32(self, value: u32) -> [u8; 4] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    /// The bytes of an integer.
    #[inline]
    pub fn bytes_of_u16(self, value: u16) -> [u8; 2] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    /// The integer in exactly eight bytes.
    pub fn u64(self, eight: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(eight),
            Self::Big => u64::from_be_bytes(eight),
        }
    }
}

/// The integer at `at` in network order. The caller has checked the bounds.
#[inline]
pub fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The integer at `at` in network order. The caller has checked the bounds.
#[inline]
pub fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The address at `at` in network order. The caller has checked the bounds.
#[inline]
pub fn be128(bytes: &[u8], at: usize) -> u128 {
    let mut sixteen = [0; 16];
    sixteen.copy_from_slice(&bytes[at..at + 16]);
    u128::from_be_bytes(sixteen)
}
