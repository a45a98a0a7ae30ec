//! Writes, reads and rewrites the lab's capture files.

use crate::error::LabError;
use slowpath_wire::pcap::{HEADER, NANOSECONDS, RECORD, Record};
use std::io::{self, Write};

/// A captured frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Its timestamp, nanoseconds since 1970.
    pub at_ns: u64,
    /// Its length on the wire.
    pub length_bytes: u32,
    /// The captured part of it.
    pub bytes: &'a [u8],
}

/// A capture.
#[derive(Debug)]
pub struct Capture<'a> {
    /// The file's header.
    pub header: [u8; HEADER],
    /// The frames, in order.
    pub frames: Vec<Frame<'a>>,
}

/// Reads a whole capture; a truncated last record is left out.
///
/// # Errors
/// If it is no pcap file with nanosecond timestamps in this machine's byte order.
pub fn read(file: &[u8]) -> Result<Capture<'_>, LabError> {
    let (header, mut rest) = file
        .split_first_chunk::<HEADER>()
        .filter(|(header, _)| header.starts_with(&NANOSECONDS.to_ne_bytes()))
        .ok_or_else(|| LabError::System {
            doing: "read a capture".into(),
            source: io::ErrorKind::InvalidData.into(),
        })?;
    let mut frames = Vec::new();
    while let Some((record, behind)) = rest.split_first_chunk::<RECORD>() {
        let Record { at_ns, kept, length } = Record::parse(record);
        let Some((bytes, next)) = behind.split_at_checked(kept as usize) else { break };
        frames.push(Frame { at_ns, length_bytes: length, bytes });
        rest = next;
    }
    Ok(Capture { header: *header, frames })
}

/// Writes frames after a header returned by [`read`].
pub fn write(header: &[u8; HEADER], frames: &[Frame]) -> Vec<u8> {
    let mut file = header.to_vec();
    for frame in frames {
        file.extend(record_header(frame));
        file.extend(frame.bytes);
    }
    file
}

/// Writes one frame.
///
/// # Errors
/// As the output's.
pub fn write_frame(out: &mut impl Write, frame: &Frame<'_>) -> io::Result<()> {
    out.write_all(&record_header(frame))?;
    out.write_all(frame.bytes)
}

fn record_header(frame: &Frame<'_>) -> [u8; RECORD] {
    Record { at_ns: frame.at_ns, kept: frame.bytes.len() as u32, length: frame.length_bytes }.bytes()
}

#[cfg(test)]
pub mod tests {
    //! Captures made by hand, also for other tests.

    use super::*;

    /// The beginning of a frame sent by host 1 (the sender) or 2.
    pub fn frame_from(host: u8) -> [u8; 14] {
        let mut frame = [0; 14];
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, host]);
        frame
    }

    /// A capture of frames with their timestamps.
    pub fn capture_of(frames: &[(u64, &[u8; 14])]) -> Vec<u8> {
        let frames: Vec<Frame> = frames
            .iter()
            .map(|(at_ns, bytes)| Frame { at_ns: *at_ns, length_bytes: 60, bytes: *bytes })
            .collect();
        write(&slowpath_wire::pcap::header(128), &frames)
    }

    #[test]
    fn written_pcap_is_read_back() {
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
        assert_eq!(read(&file[..file.len() - 1]).unwrap().frames.len(), 1, "the last record is truncated");
        assert!(read(b"GIF89a").is_err());
    }
}
