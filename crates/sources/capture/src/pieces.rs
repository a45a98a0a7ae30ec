//! The pieces of a capture file as they are stored, for a program that writes the file anew: pcap's file header and its
//! records, pcapng's blocks. They are the pieces that [`Capture::run`] takes its frames from, with its bounds.

use crate::error::CaptureError;
use crate::input::{Input, LARGEST, WHOLE};
use crate::link_type::LinkType;
use crate::pcap::{self, Lengths};
use crate::summary::Stop;
use crate::{Beginning, Capture, begin, pcapng};
use slowpath_wire::bytes::Order;
use slowpath_wire::pcapng::{FRAME, SECTION};

/// A piece of a capture file.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// The header of a pcap file, the first piece.
    Header(PcapHeader<'a>),
    /// A record of a pcap file.
    Record {
        /// Its header.
        head: &'a [u8],
        /// The captured bytes, as far as they are examined.
        data: &'a [u8],
        /// The number of captured bytes.
        captured: u32,
        /// The packet's length on the wire, according to the file.
        wire: u32,
    },
    /// A block of a pcapng file.
    Block {
        /// The byte order of its section.
        order: Order,
        /// Its type.
        kind: u32,
        /// Its body, as far as it is examined.
        body: &'a [u8],
        /// The length of its body in the file.
        length: usize,
    },
}

/// The header of a pcap file.
#[derive(Clone, Copy, Debug)]
pub struct PcapHeader<'a> {
    /// All of it.
    pub bytes: &'a [u8],
    /// Its byte order.
    pub order: Order,
    /// The link type of its frames.
    pub link: LinkType,
    /// Whether a record has the length on the wire before the captured one.
    pub is_swapped: bool,
}

/// Whether a pcapng block of this type, which has no packet, is numbered as a frame.
pub fn is_numbered(kind: u32) -> bool {
    pcapng::NUMBERED.contains(&kind)
}

impl Capture {
    /// Shows the pieces to `take`, as long as it returns true. Returns where and why reading stopped before the end, as
    /// [`CaptureSummary::stopped`](crate::CaptureSummary::stopped).
    ///
    /// # Errors
    ///
    /// If it is not a capture, or its first bytes cannot be read.
    pub fn pieces(self, take: &mut impl FnMut(&Piece<'_>) -> bool) -> Result<Option<Stop>, CaptureError> {
        let Self { name, reader, total, progress, .. } = self;
        let mut input = match Input::open(reader, total, progress) {
            Ok((input, _)) => input,
            Err(error) => return Err(CaptureError::Read { name, offset: 0, reason: error.to_string() }),
        };
        input.fill(slowpath_wire::pcap::HEADER);
        let first = input.available().first_chunk().copied();
        match begin(&mut input) {
            Ok(Beginning::Pcap(header)) => Ok(records(header, first, &mut input, take)),
            Ok(Beginning::Pcapng) => Ok(blocks(&mut input, take)),
            Err(refusal) => Err(refusal.of(name)),
        }
    }
}

fn records(
    header: pcap::Header,
    first: Option<[u8; slowpath_wire::pcap::HEADER]>,
    input: &mut Input,
    take: &mut impl FnMut(&Piece<'_>) -> bool,
) -> Option<Stop> {
    let pcap::Header { order, link, lengths, .. } = header;
    // Of a file in either order, the smaller length is the captured one wherever it is.
    let shown = PcapHeader { bytes: first.as_ref()?, order, link, is_swapped: lengths == Lengths::Swapped };
    if !take(&Piece::Header(shown)) {
        return None;
    }
    let size = header.record();
    while input.fill(size) {
        let offset = input.offset();
        let (captured, wire) = header.lengths(input.available());
        if u64::from(captured) > LARGEST {
            return Some(Stop { offset, reason: format!("a record that claims to hold {captured} bytes") });
        }
        let (length, here) = (size + captured as usize, size + WHOLE.min(captured as usize));
        if !input.fill(here) {
            return input.broken_off("a record", length);
        }
        let (head, data) = input.available()[..here].split_at(size);
        if !take(&Piece::Record { head, data, captured, wire }) {
            return None;
        }
        input.consume(0, 1);
        if !input.skip(length as u64) {
            let here = (input.offset() - offset) as usize;
            return Some(input.broken_off_inside("a record", offset, here, length));
        }
    }
    input.broken_off("a record", size)
}

fn blocks(input: &mut Input, take: &mut impl FnMut(&Piece<'_>) -> bool) -> Option<Stop> {
    let mut order = Order::Little;
    while input.fill(FRAME) {
        let offset = input.offset();
        let bytes = input.available();
        if bytes[..4] == SECTION {
            match pcapng::byte_order(bytes, offset) {
                Ok(found) => order = found,
                Err(stop) => return Some(stop),
            }
        }
        let (kind, length) = (order.u32(bytes, 0), order.u32(bytes, 4) as usize);
        if length < FRAME || !length.is_multiple_of(4) || length as u64 > LARGEST {
            let reason = format!("a block that claims to be {length} bytes long");
            return Some(Stop { offset, reason });
        }
        if !input.fill(length.min(WHOLE)) {
            return input.broken_off("a block", length);
        }
        let bytes = input.available();
        let end = if length <= WHOLE { length - 4 } else { WHOLE };
        let trailer = if length <= WHOLE { order.u32(bytes, length - 4) as usize } else { length };
        if trailer != length {
            let reason = format!("a block that is {length} bytes long by its start, {trailer} by its end");
            return Some(Stop { offset, reason });
        }
        if !take(&Piece::Block { order, kind, body: &bytes[8..end], length: length - FRAME }) {
            return None;
        }
        input.consume(0, 1);
        if !input.skip(length as u64) {
            let here = (input.offset() - offset) as usize;
            return Some(input.broken_off_inside("a block", offset, here, length));
        }
    }
    input.broken_off("a block", FRAME)
}
