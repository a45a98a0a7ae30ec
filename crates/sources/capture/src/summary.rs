//! What was read, what was not, and what was odd about it.

use crate::link_type::LinkType;
use crate::oddity::Oddity;
use crate::protocol::Protocol;
use std::collections::BTreeMap;

/// The file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// libpcap's, timestamps in microseconds.
    Pcap,
    /// libpcap's, timestamps in nanoseconds.
    PcapNanoseconds,
    /// libpcap's as patched by Kuznetzov, with longer record headers.
    PcapModified,
    /// The next generation format.
    Pcapng,
}

/// The compression of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// None.
    None,
    /// gzip (RFC 1952), of one member or several.
    Gzip,
    /// Zstandard (RFC 8878).
    Zstd,
}

impl Compression {
    /// The compression of a file that starts with `head`.
    pub(crate) fn of(head: &[u8]) -> Self {
        match head {
            // RFC 1952, section 2.3.1
            [0x1f, 0x8b, ..] => Self::Gzip,
            // RFC 8878, sections 3.1.1 and 3.1.2 (a skippable frame may come first)
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::None,
        }
    }
}

/// One network interface that frames were captured on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name, if the format stores it.
    pub name: Option<String>,
    /// Its link type's number.
    pub link: LinkType,
    /// Its link type's name.
    pub link_name: &'static str,
    /// The snapshot length; 0 without a limit.
    pub snap_length: u32,
    /// Frames captured on it.
    pub frames: u64,
    /// Frames lost during capturing, if stated.
    pub drops: Option<u64>,
}

/// How often one [`Oddity`] occurred, and where first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// The oddity.
    pub oddity: Oddity,
    /// How often.
    pub count: u64,
    /// The frame of the first, from 1; for a block, the frame before it.
    pub first_frame: u64,
    /// The offset of the first one's record or block in the decompressed capture, in bytes.
    pub first_offset: u64,
}

/// Where and why reading ended before the capture did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The offset of what could not be read in the decompressed capture, in bytes.
    pub offset: u64,
    /// The problem there.
    pub reason: String,
}

/// Frames with an earlier timestamp than the frame before them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepsBack {
    /// How many.
    pub count: u64,
    /// The largest step, in nanoseconds.
    pub largest_ns: u64,
}

/// What was read, what was not, and what was odd about it.
///
/// Not judged here: checksums (they are facts of segments) and duplicate frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureSummary {
    /// The name it was opened by.
    pub name: String,
    /// The file format.
    pub format: Format,
    /// The compression.
    pub compression: Compression,
    /// The first interfaces, at most 64.
    pub interfaces: Vec<Interface>,
    /// The number of interfaces.
    pub interface_count: u64,
    /// Frames of any kind.
    pub frames: u64,
    /// TCP segments: as many as there were `Seen` events.
    pub segments: u64,
    /// ICMP errors about segments of known flows: as many as there were `IcmpError` events.
    pub icmp_errors: u64,
    /// Flows opened.
    pub flows: u64,
    /// Flows evicted because too many were live.
    pub evicted_flows: u64,
    /// Bytes read from the file, compressed or not.
    pub file_bytes: u64,
    /// Bytes of the frames that were captured.
    pub captured_bytes: u64,
    /// Bytes the frames had on the wire.
    pub wire_bytes: u64,
    /// The wall-clock time of [`Instant::START`](slowpath_model::Instant::START), which is the first frame's timestamp:
    /// nanoseconds since 1970. `None` without timestamps. It puts several captures on one axis.
    pub epoch_ns: Option<i64>,
    /// The earliest timestamp, in nanoseconds since 1970.
    pub earliest_ns: Option<i64>,
    /// The latest timestamp, in nanoseconds since 1970.
    pub latest_ns: Option<i64>,
    /// Frames with an earlier timestamp than the frame before them.
    pub steps_back: StepsBack,
    /// Frames lost during capturing, if stated.
    pub drops: Option<u64>,
    /// Frames per protocol other than TCP, without [`icmp_errors`](Self::icmp_errors).
    pub other_protocols: BTreeMap<Protocol, u64>,
    /// Every oddity that occurred.
    pub notes: Vec<Note>,
    /// Where and why reading ended before the capture did; `None` if everything was read.
    pub stopped: Option<Stop>,
}

impl CaptureSummary {
    /// How often `oddity` occurred.
    pub fn count(&self, oddity: Oddity) -> u64 {
        self.notes.iter().find(|note| note.oddity == oddity).map_or(0, |note| note.count)
    }

    /// Frames that did not become an event.
    pub fn skipped(&self) -> u64 {
        self.frames - self.segments - self.icmp_errors
    }
}

/// Counts oddities while reading.
#[derive(Clone, Debug)]
pub(crate) struct Notes([Option<Note>; Oddity::COUNT]);

impl Notes {
    pub(crate) const fn new() -> Self {
        Self([None; Oddity::COUNT])
    }

    #[cold]
    pub(crate) fn note(&mut self, oddity: Oddity, frame: u64, offset: u64) {
        let first = Note { oddity, count: 0, first_frame: frame, first_offset: offset };
        self.0[oddity as usize].get_or_insert(first).count += 1;
    }

    pub(crate) fn into_met(self) -> Vec<Note> {
        self.0.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oddities_are_stored_at_their_own_index() {
        for (index, oddity) in Oddity::ALL.into_iter().enumerate() {
            assert_eq!(oddity as usize, index);
            assert!(!oddity.describe().is_empty());
        }
        assert!(Oddity::TooManyFlows.skips());
        assert!(!Oddity::FirstFragment.skips());
    }
}
