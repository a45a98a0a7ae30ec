//! The pieces of a capture file as they are stored, for a program that writes the file anew: pcap's file header and its
//! records, pcapng's blocks. They are the pieces that [`Capture::run`] takes its frames from, with its bounds.

use crate::error::CaptureError;
use crate::input::{Input, WHOLE};
use crate::link_type::LinkType;
use crate::pcap::{self, Lengths};
use crate::pcapng::{self, Block};
use crate::summary::Stop;
use crate::{Beginning, Capture, begin};
use slowpath_wire::bytes::Order;
use slowpath_wire::pcapng::FRAME;

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
    let mut goes_on = take(&Piece::Header(shown));
    while goes_on && input.fill(header.record()) {
        let stop = pcap::record(header, input, |&pcap::Record { head, data, captured, wire, .. }| {
            goes_on = take(&Piece::Record { head, data, captured, wire });
        });
        if stop.is_some() {
            return stop;
        }
    }
    if goes_on { input.broken_off("a record", header.record()) } else { None }
}

fn blocks(input: &mut Input, take: &mut impl FnMut(&Piece<'_>) -> bool) -> Option<Stop> {
    let (mut order, mut goes_on) = (Order::Little, true);
    while goes_on && input.fill(FRAME) {
        let offset = input.offset();
        let length = match pcapng::begin(input.available(), offset, &mut order) {
            Ok(length) => length,
            Err(stop) => return Some(stop),
        };
        let mut show = |&Block { kind, body, .. }: &Block<'_>| {
            goes_on = take(&Piece::Block { order, kind, body, length: length - FRAME });
            Ok(())
        };
        if length > WHOLE {
            let stop = pcapng::large(length, order, input, show);
            if stop.is_some() {
                return stop;
            }
        } else if input.fill(length) {
            let whole = Block::whole(order, &input.available()[..length], offset);
            if let Err(stop) = whole.and_then(|block| show(&block)) {
                return Some(stop);
            }
            input.consume(length, 1);
        } else {
            return input.broken_off("a block", length);
        }
    }
    if goes_on { input.broken_off("a block", FRAME) } else { None }
}
