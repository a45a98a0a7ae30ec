//! The classic capture format (draft-ietf-opsawg-pcap): a file header, then records.

/// The file header's length.
pub const HEADER: usize = 24;
/// The length of a record's header.
pub const RECORD: usize = 16;
/// The magic number of a file with microsecond timestamps, in its writer's byte order.
pub const MICROSECONDS: u32 = 0xa1b2_c3d4;
/// The magic number of a file with nanosecond timestamps.
pub const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// libpcap's `KUZNETZOV_TCPDUMP_MAGIC`: records with a longer header.
pub const MODIFIED: u32 = 0xa1b2_cd34;
/// The major version (2 since 1998) and the minor one.
pub const VERSION: [u16; 2] = [2, 4];
/// Before this minor version, records had the two lengths in the other order; in this version, some writers had
/// (libpcap's `sf-pcap.c`).
pub const LENGTHS_IN_ORDER: u16 = 3;
/// `LINKTYPE_ETHERNET`.
pub const ETHERNET: u16 = 1;

/// The header of a file of Ethernet frames with nanosecond timestamps and this snapshot length, in this machine's byte
/// order.
pub fn header(snap_bytes: u32) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(&NANOSECONDS.to_ne_bytes());
    header[4..6].copy_from_slice(&VERSION[0].to_ne_bytes());
    header[6..8].copy_from_slice(&VERSION[1].to_ne_bytes());
    // Between them are a time zone and its accuracy, which nobody uses.
    header[16..20].copy_from_slice(&snap_bytes.to_ne_bytes());
    header[20..].copy_from_slice(&u32::from(ETHERNET).to_ne_bytes());
    header
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its timestamp, in nanoseconds since 1970.
    pub at_ns: u64,
    /// Captured bytes.
    pub kept: u32,
    /// Its length on the wire.
    pub length: u32,
}

impl Record {
    /// Parses a record header of a file with [`header`].
    pub fn parse(bytes: &[u8; RECORD]) -> Self {
        let word = |n: usize| {
            u32::from_ne_bytes([bytes[4 * n], bytes[4 * n + 1], bytes[4 * n + 2], bytes[4 * n + 3]])
        };
        Self {
            at_ns: u64::from(word(0)) * 1_000_000_000 + u64::from(word(1)),
            kept: word(2),
            length: word(3),
        }
    }

    /// The header, for [`parse`](Self::parse).
    pub fn bytes(self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        let (seconds, nanos) = (self.at_ns / 1_000_000_000, self.at_ns % 1_000_000_000);
        let words = [seconds as u32, nanos as u32, self.kept, self.length];
        bytes
            .chunks_exact_mut(4)
            .zip(words)
            .for_each(|(into, word)| into.copy_from_slice(&word.to_ne_bytes()));
        bytes
    }
}
