//! pcap and pcapng captures as slowpath events.
//!
//! [`Capture`] reads a file or a stream, frame by frame, in bounded memory, and pushes its events into a [`Sink`]: a
//! flow's `open`, its segments in the order of the file, its `close`. The [`CaptureSummary`] at the end reports what
//! was read, what was not, and what was odd.
//!
//! ```no_run
//! # use slowpath_capture::Capture;
//! # fn run(sink: &mut impl slowpath_model::Sink) -> Result<(), slowpath_capture::CaptureError> {
//! let summary = Capture::open("transfer.pcapng.zst")?.run(sink)?;
//! eprintln!("{} segments of {} frames", summary.segments, summary.frames);
//! # Ok(())
//! # }
//! ```
//!
//! # Files
//!
//! - `input`: the decompressed bytes; `pcap` and `pcapng`: their records; [`error`] and [`summary`]: the reports about
//!   them.
//! - [`decode`]: from a frame to its TCP [`packet`]; `short`: the fast path; [`link`], `wifi`, `ip`, `tunnel` and
//!   `icmp`: headers of the general path, each a [`layer`] inside another.
//! - `fragments`: segments in IP fragments. [`visit`]: the headers of a frame, for programs that write it anew, and [`pieces`]
//!   those of a file;
//!   [`anonymous`]: copies of cookbook cases.
//! - `flows`: the table of live flows; `connection`: one of them; `frames`: the path of a frame through all of these.
//!
//! # Offset 0
//!
//! A direction's offset 0 is its SYN's sequence number, or, if the other end's SYN-ACK or the third segment of the
//! handshake is seen first, the number before the one acknowledged there. In a connection whose start was not captured,
//! it is the first number seen of that direction: its own sequence number, or one that the other end acknowledged. A
//! SYN captured later keeps its place, at a negative offset if necessary.
//!
//! A SYN may meet an old connection between the same ends, which answers with a challenge ACK (RFC 5961, section 4)
//! that is answered with a RST. Their numbers belong to the old connection: their acknowledgments and the RST have
//! offsets far from 0, which are not followed, and the SYN-ACK that acknowledges the SYN is at 0. A RST alone never
//! shows an end's numbers. SACK blocks far from the data sent have no offsets; they are counted.
//!
//! # The end of a flow
//!
//! A SYN (without ACK) is a new connection, with the next occurrence number, if its sequence number differs from the
//! one the connection started with; with the same number only if both ends had sent a FIN. So is a SYN in a connection
//! whose start was not captured, and a SYN from the other end after FIN, RST or data. A SYN-ACK is one only after FIN
//! or RST and with another number, or if it does not fit its end's earlier numbers. A SYN that follows a challenge ACK
//! opens nothing, whatever its number: the open is retried. Beyond [`Capture::max_live_flows`] the flow silent for
//! longest is closed as evicted; if it sends again, it is a new flow whose occurrence number starts at 0.
//!
//! # Decisions
//!
//! Sequence numbers are unwrapped in one place, the flow table. They become signed 64-bit offsets, because a capture
//! may start in the middle of a connection. Nothing after the flow table wraps.

pub mod addresses;
pub mod anonymous;
mod connection;
pub mod decode;
pub mod error;
mod flows;
mod fragments;
mod frames;
mod icmp;
mod input;
mod interfaces;
mod ip;
pub mod layer;
pub mod link;
pub mod link_type;
mod oddity;
pub mod packet;
mod pcap;
mod pcapng;
pub mod pieces;
mod protocol;
mod short;
pub mod summary;
mod tunnel;
pub mod visit;
mod wifi;

pub use error::CaptureError;
pub use layer::Quote;
pub use link_type::LinkType;
pub use oddity::{Oddities, Oddity};
pub use protocol::Protocol;
pub use summary::{CaptureSummary, Compression, Format, Interface, Note, StepsBack, Stop};

use crate::frames::{Frame, Frames};
use crate::input::{Ending, Input, Progress};
use crate::interfaces::Interfaces;
use slowpath_model::Sink;
use slowpath_wire::pcap::HEADER;
use slowpath_wire::pcapng::SECTION;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The default maximum of live flows: some 64 MB here, and more in the analyses.
pub const DEFAULT_LIVE_FLOWS: usize = 500_000;

/// A capture to read.
pub struct Capture {
    name: String,
    reader: Box<dyn Read + Send>,
    total: Option<u64>,
    progress: Option<Progress>,
    live_flows: usize,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture")
            .field("name", &self.name)
            .field("total", &self.total)
            .finish_non_exhaustive()
    }
}

impl Capture {
    /// A capture in a file (or a named pipe).
    ///
    /// # Errors
    ///
    /// [`CaptureError::Open`] if it cannot be opened. [`run`](Self::run) reads the contents.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let opened = File::open(path).and_then(|file| {
            let metadata = file.metadata()?;
            if metadata.is_dir() {
                return Err(std::io::ErrorKind::IsADirectory.into());
            }
            Ok((metadata.is_file().then_some(metadata.len()), file))
        });
        match opened {
            Ok((total, file)) => Ok(Self { total, ..Self::from_reader(name, file) }),
            Err(source) => Err(CaptureError::Open { name, source }),
        }
    }

    /// A capture from a stream; `name` is its name in messages.
    pub fn from_reader(name: impl Into<String>, reader: impl Read + Send + 'static) -> Self {
        Self {
            name: name.into(),
            reader: Box::new(reader),
            total: None,
            progress: None,
            live_flows: DEFAULT_LIVE_FLOWS,
        }
    }

    /// The maximum number of live flows, at least 1; beyond that the one silent for longest is evicted.
    #[must_use]
    pub fn max_live_flows(mut self, flows: usize) -> Self {
        self.live_flows = flows;
        self
    }

    /// Calls `callback` with the bytes read so far (compressed, if the file is) and the file's size if known, once per
    /// buffer: some thousand times per gigabyte.
    #[must_use]
    pub fn on_progress(mut self, callback: impl FnMut(u64, Option<u64>) + Send + 'static) -> Self {
        self.progress = Some(Box::new(callback));
        self
    }

    /// Reads the whole capture into `sink`.
    ///
    /// A capture that is truncated or damaged is delivered up to there; [`CaptureSummary::stopped`] says so.
    ///
    /// # Errors
    ///
    /// If not even one frame can be read: it is empty, not a capture, or damaged from the start.
    pub fn run(self, sink: &mut impl Sink) -> Result<CaptureSummary, CaptureError> {
        self.read(sink, None)
    }

    /// Shows every frame to `each`, too.
    pub(crate) fn run_showing<'a>(
        self,
        sink: &'a mut impl Sink,
        each: &'a mut (dyn FnMut(&Frame<'_>) + 'a),
    ) -> Result<CaptureSummary, CaptureError> {
        self.read(sink, Some(each))
    }

    fn read<'a>(
        self,
        sink: &'a mut impl Sink,
        shown_to: Option<&'a mut (dyn FnMut(&Frame<'_>) + 'a)>,
    ) -> Result<CaptureSummary, CaptureError> {
        let Self { name, reader, total, progress, live_flows } = self;
        let (mut input, compression) = match Input::open(reader, total, progress) {
            Ok(opened) => opened,
            Err(error) => return Err(CaptureError::Read { name, offset: 0, reason: error.to_string() }),
        };
        let mut frames = Frames::new(sink, live_flows, shown_to);
        let mut interfaces = Interfaces::default();
        let (format, stopped) = match begin(&mut input) {
            Ok(Beginning::Pcap(header)) => {
                interfaces.only(header.link, header.snap_length);
                let stopped = pcap::read(header, &mut input, &mut frames);
                interfaces.only_captured(frames.count());
                (header.format, stopped)
            }
            Ok(Beginning::Pcapng) => (Format::Pcapng, pcapng::read(&mut input, &mut interfaces, &mut frames)),
            Err(refusal) => return Err(refusal.of(name)),
        };
        let counts = frames.finish();
        if let (Some(stop), 0) = (&stopped, counts.frames) {
            return Err(CaptureError::Damaged { name, offset: stop.offset, reason: stop.reason.clone() });
        }
        let (interfaces, interface_count, drops) = interfaces.finish();
        let dated = counts.epoch.is_some();
        Ok(CaptureSummary {
            name,
            format,
            compression,
            interfaces,
            interface_count,
            frames: counts.frames,
            segments: counts.segments,
            icmp_errors: counts.icmp_errors,
            flows: counts.flows.into(),
            evicted_flows: counts.evicted,
            file_bytes: input.raw_bytes(),
            captured_bytes: counts.captured_bytes,
            wire_bytes: counts.wire_bytes,
            epoch_ns: counts.epoch,
            earliest_ns: dated.then_some(counts.earliest),
            latest_ns: dated.then_some(counts.latest),
            steps_back: counts.steps_back,
            drops,
            other_protocols: counts.other_protocols,
            notes: counts.notes.into_met(),
            stopped,
        })
    }
}

/// The format detected in the first bytes.
enum Beginning {
    Pcap(pcap::Header),
    Pcapng,
}

/// Why the first bytes are refused.
enum Refusal {
    Failed { offset: u64, reason: String },
    Empty,
    Packed { packing: &'static str, unpack: &'static str },
    Foreign { format: &'static str },
    Unknown { start: String },
    Damaged(Stop),
}

impl Refusal {
    fn of(self, name: String) -> CaptureError {
        match self {
            Self::Failed { offset, reason } => CaptureError::Read { name, offset, reason },
            Self::Empty => CaptureError::Empty { name },
            Self::Packed { packing, unpack } => CaptureError::Packed { name, packing, unpack },
            Self::Foreign { format } => CaptureError::Foreign { name, format },
            Self::Unknown { start } => CaptureError::NotACapture { name, start },
            Self::Damaged(Stop { offset, reason }) => CaptureError::Damaged { name, offset, reason },
        }
    }
}

/// Examines the first bytes, and skips pcap's header.
fn begin(input: &mut Input) -> Result<Beginning, Refusal> {
    input.fill(HEADER);
    let bytes = input.available();
    if let Some(Ending::Failed(reason)) = input.ending()
        && bytes.len() < HEADER
    {
        return Err(Refusal::Failed { offset: bytes.len() as u64, reason: reason.clone() });
    }
    let Some(&magic) = bytes.first_chunk::<4>() else {
        return Err(match bytes {
            [] => Refusal::Empty,
            some => Refusal::Unknown { start: error::quoted(some) },
        });
    };
    if magic == SECTION {
        return Ok(Beginning::Pcapng);
    }
    let Some((format, order)) = pcap::recognise(magic) else { return Err(foreign(bytes)) };
    let Some(header) = bytes.first_chunk() else {
        let reason = format!("the capture ends inside its header, {} bytes into {}", bytes.len(), HEADER);
        return Err(Refusal::Damaged(Stop { offset: bytes.len() as u64, reason }));
    };
    let header = pcap::Header::parse(header, format, order).map_err(Refusal::Damaged)?;
    input.consume(HEADER, 0);
    Ok(Beginning::Pcap(header))
}

/// What a file is that is not a supported capture.
fn foreign(bytes: &[u8]) -> Refusal {
    match bytes {
        [0xfd, b'7', b'z', b'X', b'Z', ..] => Refusal::Packed { packing: "xz", unpack: "xz -dc" },
        [b'B', b'Z', b'h', ..] => Refusal::Packed { packing: "bzip2", unpack: "bzip2 -dc" },
        [0x04, 0x22, 0x4d, 0x18, ..] => Refusal::Packed { packing: "lz4", unpack: "lz4 -dc" },
        [0x1f, 0x8b, ..] => Refusal::Packed { packing: "gzip twice", unpack: "gzip -dc" },
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Refusal::Packed { packing: "zstd twice", unpack: "zstd -dc" },
        [b's', b'n', b'o', b'o', b'p', 0, ..] => Refusal::Foreign { format: "snoop" },
        [b'R' | b'G', b'T' | b'M', b'S' | b'B', b'S' | b'U', ..] => {
            Refusal::Foreign { format: "Network Monitor" }
        }
        some => Refusal::Unknown { start: error::quoted(some) },
    }
}
