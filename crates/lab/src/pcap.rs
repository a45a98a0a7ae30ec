//! The capture files of the lab, written, read and written again.

use crate::error::LabError;
use std::io::{self, Write};

/// Bytes before the first record.
const HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
/// Major and minor.
const VERSION: [u16; 2] = [2, 4];
const LINKTYPE_ETHERNET: u32 = 1;
/// Stamps of nanoseconds, in this machine's byte order (pcap-savefile(5)).
const MAGIC: u32 = 0xa1b2_3c4d;

/// A captured frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Its stamp, nanoseconds since 1970.
    pub at_ns: u64,
    /// Its length on the wire.
    pub length_bytes: u32,
    /// What was kept of it.
    pub bytes: &'a [u8],
}

/// A capture.
#[derive(Debug)]
pub struct Capture<'a> {
    /// The file's header.
    pub header: [u8; HEADER_BYTES],
    /// The frames, in order.
    pub frames: Vec<Frame<'a>>,
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Reads a whole capture; a last record that is cut short is left out.
///
/// # Errors
/// If it is no pcap file with stamps of nanoseconds in this machine's byte order.
pub fn read(file: &[u8]) -> Result<Capture<'_>, LabError> {
    let header = file.first_chunk::<HEADER_BYTES>().filter(|header| u32_at(*header, 0) == Some(MAGIC));
    let header = *header.ok_or_else(|| LabError::System {
        doing: "read a capture".into(),
        source: io::ErrorKind::InvalidData.into(),
    })?;
    let mut frames = Vec::new();
    let mut at = HEADER_BYTES;
    let record = |at: usize| {
        let word = |n: usize| u32_at(file, at + 4 * n);
        let (seconds, nanos, kept) = (word(0)?, word(1)?, word(2)? as usize);
        let bytes = file.get(at + RECORD_HEADER_BYTES..at + RECORD_HEADER_BYTES + kept)?;
        let at_ns = u64::from(seconds) * 1_000_000_000 + u64::from(nanos);
        Some(Frame { at_ns, length_bytes: word(3)?, bytes })
    };
    while let Some(frame) = record(at) {
        at += RECORD_HEADER_BYTES + frame.bytes.len();
        frames.push(frame);
    }
    Ok(Capture { header, frames })
}

/// Writes frames behind a header that [`read`] gave.
pub fn write(header: &[u8; HEADER_BYTES], frames: &[Frame]) -> Vec<u8> {
    let mut file = header.to_vec();
    for frame in frames {
        file.extend(record_header(frame));
        file.extend(frame.bytes);
    }
    file
}

/// The header of a file of Ethernet frames, of which so many bytes are kept.
pub fn header(snap_bytes: u32) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&MAGIC.to_ne_bytes());
    header[4..6].copy_from_slice(&VERSION[0].to_ne_bytes());
    header[6..8].copy_from_slice(&VERSION[1].to_ne_bytes());
    // Between them are a time zone and its accuracy, which nobody uses.
    header[16..20].copy_from_slice(&snap_bytes.to_ne_bytes());
    header[20..].copy_from_slice(&LINKTYPE_ETHERNET.to_ne_bytes());
    header
}

/// Writes one frame.
///
/// # Errors
/// As the output's.
pub fn write_frame(out: &mut impl Write, frame: &Frame<'_>) -> io::Result<()> {
    out.write_all(&record_header(frame))?;
    out.write_all(frame.bytes)
}

fn record_header(frame: &Frame<'_>) -> [u8; RECORD_HEADER_BYTES] {
    let mut header = [0; RECORD_HEADER_BYTES];
    let (seconds, nanos) = (frame.at_ns / 1_000_000_000, frame.at_ns % 1_000_000_000);
    let words = [seconds as u32, nanos as u32, frame.bytes.len() as u32, frame.length_bytes];
    header.chunks_exact_mut(4).zip(words).for_each(|(into, word)| into.copy_from_slice(&word.to_ne_bytes()));
    header
}

#[cfg(test)]
pub mod tests {
    //! Captures made by hand, for the tests of others too.

    use super::*;

    /// The start of a frame that host 1 (the sender) or 2 sent.
    pub fn frame_from(host: u8) -> [u8; 14] {
        let mut frame = [0; 14];
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, host]);
        frame
    }

    /// A capture of frames with their stamps.
    pub fn capture_of(frames: &[(u64, &[u8; 14])]) -> Vec<u8> {
        let frames: Vec<Frame> = frames
            .iter()
            .map(|(at_ns, bytes)| Frame { at_ns: *at_ns, length_bytes: 60, bytes: *bytes })
            .collect();
        write(&header(128), &frames)
    }

    #[test]
    fn what_was_written_is_read() {
        let file = capture_of(&[
            (1_700_000_000_123_456_789, &frame_from(1)),
            (1_700_000_001_000_000_000, &frame_from(2)),
        ]);
        let capture = read(&file).unwrap();
        assert_eq!(
            capture.frames.iter().map(|frame| frame.at_ns).collect::<Vec<_>>(),
            [1_700_000_000_123_456_789, 1_700_000_001_000_000_000]
        );
        assert_eq!(write(&capture.header, &capture.frames), file);
        assert_eq!(read(&file[..file.len() - 1]).unwrap().frames.len(), 1, "the last record is cut short");
        assert!(read(b"GIF89a").is_err());
    }
}
