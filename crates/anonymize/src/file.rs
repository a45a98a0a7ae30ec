//! A capture file, written anew: the same format, byte order, clocks and frame numbers.
//!
//! Reading list: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.
//!
//! Of a pcap file the header and the records' headers are kept. Of a pcapng file sections, interfaces, packets and
//! statistics are kept, without their options but these: an interface's clock, and how many packets were dropped. Names,
//! secrets and unknown blocks are left out. A block that is numbered like a frame, such as a journal entry, leaves an empty
//! one in its place.

use crate::frame::{Content, Frames};
use crate::names::Names;
use slowpath_capture::pieces::{PcapHeader, Piece};
use slowpath_capture::{Capture, CaptureError, LinkType, Protocol, Stop};
use slowpath_wire::bytes::Order;
use slowpath_wire::pcapng::{
    DECRYPTION_SECRETS, ENHANCED_PACKET, FRAME, IF_TSOFFSET, IF_TSRESOL, INTERFACE, INTERFACE_STATISTICS,
    ISB_IFDROP, ISB_OSDROP, NAME_RESOLUTION, OBSOLETE_PACKET, OPT_END, SECTION, SIMPLE_PACKET, options,
};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A custom block that tools do not copy.
const CUSTOM_NOT_COPIED: u32 = 0x4000_0bad;
/// As many interfaces of a section are known to the reader of captures.
const MOST_INTERFACES: usize = 1 << 16;

/// What was copied, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Frames.
    pub frames: u64,
    /// TCP segments among these.
    pub segments: u64,
    /// Captured bytes of the frames.
    pub captured_bytes: u64,
    /// Bytes of these in the copy.
    pub kept_bytes: u64,
    /// Bytes of TCP payload that are not in the copy.
    pub payload_bytes: u64,
    /// Frames of other protocols, of which the copy has the headers before these.
    pub other_protocols: BTreeMap<Protocol, u64>,
    /// Frames whose headers contradict themselves or were cut off, and later fragments.
    pub unreadable: u64,
    /// Options, blocks and other parts of the file that were left out, by what they are.
    pub left_out: BTreeMap<&'static str, u64>,
    /// Where and why reading stopped before the end.
    pub stopped: Option<Stop>,
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The original cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The copy cannot be written.
    #[error("the copy cannot be written: {0}")]
    Write(#[from] io::Error),
}

/// Copies a capture, as far as it can be read.
///
/// # Errors
///
/// If nothing of it can be read, or the copy cannot be written.
pub fn copy(capture: Capture, names: &mut Names, into: &mut dyn Write) -> Result<Copied, CopyError> {
    let mut writer = Writer {
        frames: Frames::new(names),
        into,
        copied: Copied::default(),
        pcap: None,
        links: Vec::new(),
        body: Vec::new(),
    };
    let mut failed = None;
    let stopped = capture.pieces(&mut |piece| {
        failed = writer.take(piece).err();
        failed.is_none()
    })?;
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(Copied { stopped, ..writer.copied }),
    }
}

struct Writer<'w> {
    frames: Frames<'w>,
    into: &'w mut dyn Write,
    copied: Copied,
    /// Byte order, link type, and whether records have the length on the wire first.
    pcap: Option<(Order, LinkType, bool)>,
    /// The link types of the section's interfaces.
    links: Vec<LinkType>,
    /// The body of a block.
    body: Vec<u8>,
}

impl Writer<'_> {
    fn take(&mut self, piece: &Piece<'_>) -> io::Result<()> {
        match *piece {
            Piece::Header(header) => self.pcap_header(header),
            Piece::Record { head, data, captured, wire } => self.record(head, data, captured, wire),
            Piece::Block { order, kind, body, length } => self.block(order, kind, body, length),
        }
    }

    fn pcap_header(&mut self, header: PcapHeader<'_>) -> io::Result<()> {
        let PcapHeader { bytes, order, link, is_swapped } = header;
        self.pcap = Some((order, link, is_swapped));
        // Magic and version; a time zone and its accuracy, which nobody uses; snapshot length, link type.
        let mut copy = [0; slowpath_wire::pcap::HEADER];
        copy[..8].copy_from_slice(&bytes[..8]);
        copy[16..20].copy_from_slice(&bytes[16..20]);
        copy[20..].copy_from_slice(&order.bytes_of_u32(order.u32(bytes, 20) & 0xffff));
        self.into.write_all(&copy)
    }

    fn record(&mut self, head: &[u8], data: &[u8], captured: u32, wire: u32) -> io::Result<()> {
        let Some((order, link, is_swapped)) = self.pcap else { return Ok(()) };
        let frame = Original { link, data, captured, wire };
        let kept = copied_frame(&mut self.frames, &mut self.copied, frame, captured > wire);
        let lengths = [kept.len() as u32, wire].map(|length| order.bytes_of_u32(length));
        // A record of Kuznetzov's format has an interface and a type after them.
        let mut copy = [0; 24];
        copy[..8].copy_from_slice(&head[..8]);
        copy[8..12].copy_from_slice(&lengths[usize::from(is_swapped)]);
        copy[12..16].copy_from_slice(&lengths[usize::from(!is_swapped)]);
        self.into.write_all(&copy[..head.len().min(copy.len())])?;
        self.into.write_all(kept)
    }

    fn block(&mut self, order: Order, kind: u32, body: &[u8], length: usize) -> io::Result<()> {
        self.body.clear();
        match kind {
            section if section.to_ne_bytes() == SECTION => {
                self.links.clear();
                // Byte-order magic and version; the section's length, which is unknown; no options.
                self.body.extend_from_slice(&body[..body.len().min(8)]);
                self.body.resize(body.len().min(16), 0xff);
                self.count(
                    "section options",
                    body.get(16..).is_some_and(|rest| options(order, rest).next().is_some()),
                );
            }
            INTERFACE => self.interface(order, body),
            ENHANCED_PACKET | OBSOLETE_PACKET => self.packet(order, kind, body, length),
            SIMPLE_PACKET => self.simple_packet(order, body, length),
            INTERFACE_STATISTICS => self.statistics(order, body),
            NAME_RESOLUTION => return self.leave_out("name resolution blocks"),
            DECRYPTION_SECRETS => return self.leave_out("decryption secrets"),
            other if slowpath_capture::pieces::is_numbered(other) => {
                self.count("custom blocks, journal entries and other events", true);
                // Of no one's format, and empty.
                self.body.extend([0; 4]);
                return self.write(order, CUSTOM_NOT_COPIED);
            }
            _ => return self.leave_out("unknown blocks"),
        }
        self.write(order, kind)
    }

    /// Writes the body as a block.
    fn write(&mut self, order: Order, kind: u32) -> io::Result<()> {
        self.body.resize(self.body.len().next_multiple_of(4), 0);
        let length = order.bytes_of_u32((self.body.len() + FRAME) as u32);
        self.into.write_all(&order.bytes_of_u32(kind))?;
        self.into.write_all(&length)?;
        self.into.write_all(&self.body)?;
        self.into.write_all(&length)
    }

    fn leave_out(&mut self, what: &'static str) -> io::Result<()> {
        self.count(what, true);
        Ok(())
    }

    fn count(&mut self, what: &'static str, is_there: bool) {
        if is_there {
            *self.copied.left_out.entry(what).or_default() += 1;
        }
    }

    /// A body that is too short for its block's fixed part is as short in the copy.
    fn too_short(&mut self, body: &[u8], least: usize) -> bool {
        let is_short = body.len() < least;
        if is_short {
            self.body.resize(body.len(), 0);
        }
        is_short
    }

    fn interface(&mut self, order: Order, body: &[u8]) {
        if self.too_short(body, 8) {
            return;
        }
        if self.links.len() < MOST_INTERFACES {
            self.links.push(LinkType(order.u16(body, 0)));
        }
        // Link type, reserved, snapshot length.
        self.body.extend([body[0], body[1], 0, 0]);
        self.body.extend_from_slice(&body[4..8]);
        self.options(order, &body[8..], &[(IF_TSRESOL, 1), (IF_TSOFFSET, 8)], "interface names and options");
    }

    fn statistics(&mut self, order: Order, body: &[u8]) {
        if !self.too_short(body, 12) {
            self.body.extend_from_slice(&body[..12]);
            self.options(order, &body[12..], &[(ISB_IFDROP, 8), (ISB_OSDROP, 8)], "statistics options");
        }
    }

    /// Copies options of these kinds, with a value of this length.
    fn options(&mut self, order: Order, from: &[u8], kept: &[(u16, usize)], what: &'static str) {
        let (mut has_kept, mut has_other) = (false, false);
        for (code, value) in options(order, from) {
            if !kept.contains(&(code, value.len())) {
                has_other = true;
                continue;
            }
            has_kept = true;
            self.body.extend(order.bytes_of_u16(code));
            self.body.extend(order.bytes_of_u16(value.len() as u16));
            self.body.extend_from_slice(value);
            self.body.resize(self.body.len().next_multiple_of(4), 0);
        }
        if has_kept {
            self.body.extend(order.bytes_of_u16(OPT_END));
            self.body.extend([0; 2]);
        }
        self.count(what, has_other);
    }

    fn packet(&mut self, order: Order, kind: u32, body: &[u8], length: usize) {
        const FIXED: usize = 20;
        if self.too_short(body, FIXED) {
            return;
        }
        let number = match kind {
            OBSOLETE_PACKET => u32::from(order.u16(body, 0)),
            _ => order.u32(body, 0),
        };
        let (captured, wire) = (order.u32(body, 12), order.u32(body, 16));
        self.body.extend_from_slice(&body[..FIXED]);
        if kind == OBSOLETE_PACKET {
            // The count of drops, which nothing is read from.
            self.body[2..4].fill(0);
        }
        if captured as usize > length - FIXED {
            // One that claims more than it has still does.
            return;
        }
        let Some(link) = self.links.get(number as usize) else {
            self.body[12..16].fill(0);
            return;
        };
        let end = (FIXED + captured as usize).min(body.len());
        let frame = Original { link: *link, data: &body[FIXED..end], captured, wire };
        let kept = copied_frame(&mut self.frames, &mut self.copied, frame, captured > wire);
        self.body[12..16].copy_from_slice(&order.bytes_of_u32(kept.len() as u32));
        self.body.extend_from_slice(kept);
        let padded = FIXED + (captured as usize).next_multiple_of(4);
        self.count("packet comments and options", length > padded);
    }

    /// A packet of the first interface, without a time. How much of it was captured is only in its block's length.
    fn simple_packet(&mut self, order: Order, body: &[u8], length: usize) {
        if self.too_short(body, 4) {
            return;
        }
        self.body.extend_from_slice(&body[..4]);
        let Some(link) = self.links.first() else { return };
        let wire = order.u32(body, 0);
        let captured = (length - 4).min(wire as usize);
        let end = (4 + captured).min(body.len());
        let frame = Original { link: *link, data: &body[4..end], captured: captured as u32, wire };
        self.body.extend_from_slice(copied_frame(&mut self.frames, &mut self.copied, frame, false));
    }
}

/// A frame in a file.
#[derive(Clone, Copy)]
struct Original<'f> {
    link: LinkType,
    data: &'f [u8],
    captured: u32,
    wire: u32,
}

/// The copy of a frame, counted; in its full length if that matters, filled with zeros.
fn copied_frame<'c>(
    frames: &'c mut Frames<'_>,
    copied: &mut Copied,
    Original { link, data, captured, wire }: Original<'_>,
    in_full: bool,
) -> &'c [u8] {
    let (kept, content) = frames.copy(link, data, wire.max(captured), in_full);
    copied.frames += 1;
    copied.captured_bytes += u64::from(captured);
    copied.kept_bytes += kept.len() as u64;
    match content {
        Content::Segment { payload } => {
            copied.segments += 1;
            copied.payload_bytes += payload;
        }
        Content::Icmp(number) => *copied.other_protocols.entry(Protocol::Ip(number)).or_default() += 1,
        Content::Other(protocol) => *copied.other_protocols.entry(protocol).or_default() += 1,
        Content::Unreadable => copied.unreadable += 1,
    }
    kept
}
