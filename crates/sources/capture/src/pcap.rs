//! The classic format: a file header, then records.
//!
//! Reading list: draft-ietf-opsawg-pcap, libpcap's `pcap-savefile(5)` and `sf-pcap.c`.

use crate::frames::{Frame, Frames};
use crate::input::{Input, LARGEST, WHOLE};
use crate::link_type::LinkType;
use crate::oddity::Oddity;
use crate::summary::{Format, Stop};
use slowpath_model::Sink;
use slowpath_wire::bytes::Order;
use slowpath_wire::pcap::{self, HEADER};

/// A file header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) order: Order,
    pub(crate) format: Format,
    pub(crate) snap_length: u32,
    pub(crate) link: LinkType,
    pub(crate) lengths: Lengths,
    /// Whether timestamps are in nanoseconds, not in microseconds.
    nanoseconds: bool,
}

/// The order of a record's two lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lengths {
    /// Captured, then on the wire.
    Usual,
    /// On the wire, then captured.
    Swapped,
    /// The smaller one is the captured length.
    Either,
}

/// The format and byte order of a file that starts with `magic`.
pub(crate) fn recognise(magic: [u8; 4]) -> Option<(Format, Order)> {
    let by_order = |number| {
        Some(match number {
            pcap::MICROSECONDS => Format::Pcap,
            pcap::NANOSECONDS => Format::PcapNanoseconds,
            pcap::MODIFIED => Format::PcapModified,
            _ => return None,
        })
    };
    let little = by_order(u32::from_le_bytes(magic)).map(|format| (format, Order::Little));
    little.or_else(|| by_order(u32::from_be_bytes(magic)).map(|format| (format, Order::Big)))
}

impl Header {
    /// Parses the file header, whose magic is known. The major version has been 2 since 1998; others are corrupt.
    pub(crate) fn parse(header: &[u8; HEADER], format: Format, order: Order) -> Result<Self, Stop> {
        let (major, minor) = (order.u16(header, 4), order.u16(header, 6));
        let lengths = match (major, minor) {
            (2, minor) if minor > pcap::LENGTHS_IN_ORDER => Lengths::Usual,
            (2, pcap::LENGTHS_IN_ORDER) => Lengths::Either,
            // DG/UX
            (2, _) | (543, 0) => Lengths::Swapped,
            _ => {
                let reason = format!("version {major} of the format; known is 2");
                return Err(Stop { offset: 4, reason });
            }
        };
        // The six bits above are the length of a frame check sequence; the low 16 hold every existing type.
        let kind = order.u32(header, 20) as u16;
        // AIX has version 2.2, nanosecond timestamps, and numbers interfaces as in RFC 1573 (Wireshark's `libpcap.c`).
        let aix = match (major, minor, kind) {
            (2, 2, 6) => Some(LinkType::ETHERNET),
            (2, 2, 15) => Some(LinkType::FDDI),
            (2, 2, 24) => Some(LinkType::NULL),
            _ => None,
        };
        Ok(Self {
            order,
            format,
            snap_length: order.u32(header, 16),
            link: aix.unwrap_or(LinkType(kind)),
            lengths,
            nanoseconds: aix.is_some() || format == Format::PcapNanoseconds,
        })
    }

    /// The captured length of a record, and its length on the wire.
    pub(crate) fn lengths(self, record: &[u8]) -> (u32, u32) {
        let (first, second) = (self.order.u32(record, 8), self.order.u32(record, 12));
        match self.lengths {
            Lengths::Usual => (first, second),
            Lengths::Swapped => (second, first),
            Lengths::Either => (first.min(second), first.max(second)),
        }
    }

    /// The length of a record's header.
    pub(crate) fn record(self) -> usize {
        match self.format {
            // After the usual fields: interface, protocol, packet type (libpcap's `pcap_sf_patched_pkthdr`).
            Format::PcapModified => 24,
            _ => pcap::RECORD,
        }
    }

    #[inline(always)]
    fn stamp(self, record: &[u8]) -> i64 {
        let unit = if self.nanoseconds { 1 } else { 1000 };
        let (seconds, fraction) = (self.order.u32(record, 0), self.order.u32(record, 4));
        i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * unit
    }
}

/// Reads records until none is left; returns where and why if that is before the end.
pub(crate) fn read<S: Sink>(header: Header, input: &mut Input, frames: &mut Frames<'_, S>) -> Option<Stop> {
    if header.lengths != Lengths::Usual {
        return one_by_one(header, input, frames);
    }
    // Two loops, so that neither checks the byte order at every integer.
    match header.order {
        Order::Little => records(Header { order: Order::Little, ..header }, input, frames),
        Order::Big => records(Header { order: Order::Big, ..header }, input, frames),
    }
}

/// Reads records of old versions.
#[cold]
fn one_by_one<S: Sink>(header: Header, input: &mut Input, frames: &mut Frames<'_, S>) -> Option<Stop> {
    while input.fill(header.record()) {
        if let Some(stop) = one(header, input, frames) {
            return Some(stop);
        }
    }
    input.broken_off("a record", header.record())
}

#[inline(always)]
fn records<S: Sink>(header: Header, input: &mut Input, frames: &mut Frames<'_, S>) -> Option<Stop> {
    let record = header.record();
    let order = header.order;
    loop {
        let bytes = input.available();
        let offset = input.offset();
        let (mut at, mut count) = (0, 0);
        // All records that are completely in the buffer; then what the next one needs.
        let want = loop {
            let rest = &bytes[at..];
            if rest.len() < record {
                break record;
            }
            let captured = order.u32(rest, 8);
            let length = record + captured as usize;
            if captured as usize > WHOLE || rest.len() < length {
                break length;
            }
            frames.accept(Frame {
                link: header.link,
                stamp: Some(header.stamp(rest)),
                data: &rest[record..length],
                captured,
                wire: order.u32(rest, 12),
                offset: offset + at as u64,
            });
            at += length;
            count += 1;
        };
        input.consume(at, count);
        if want > record + WHOLE {
            if let Some(stop) = one(header, input, frames) {
                return Some(stop);
            }
        } else if !input.fill(want) {
            return input.broken_off("a record", want);
        }
    }
}

/// A record.
pub(crate) struct Record<'a> {
    pub(crate) head: &'a [u8],
    /// The captured bytes, as far as they are examined.
    pub(crate) data: &'a [u8],
    pub(crate) captured: u32,
    pub(crate) wire: u32,
    pub(crate) offset: u64,
}

/// Shows a single record to `take`: it may be too large for the buffer. Its header is available.
#[cold]
pub(crate) fn record(header: Header, input: &mut Input, take: impl FnOnce(&Record<'_>)) -> Option<Stop> {
    let (size, offset) = (header.record(), input.offset());
    let (captured, wire) = header.lengths(input.available());
    if u64::from(captured) > LARGEST {
        return Some(Stop { offset, reason: format!("a record that claims to hold {captured} bytes") });
    }
    let (length, here) = (size + captured as usize, size + WHOLE.min(captured as usize));
    if !input.fill(here) {
        return input.broken_off("a record", length);
    }
    let (head, data) = input.available()[..here].split_at(size);
    take(&Record { head, data, captured, wire, offset });
    input.consume(0, 1);
    if !input.skip(length as u64) {
        let here = (input.offset() - offset) as usize;
        return Some(input.broken_off_inside("a record", offset, here, length));
    }
    None
}

/// Reads a single record.
fn one<S: Sink>(header: Header, input: &mut Input, frames: &mut Frames<'_, S>) -> Option<Stop> {
    record(header, input, |&Record { head, data, captured, wire, offset }| {
        frames.accept(Frame {
            link: header.link,
            stamp: Some(header.stamp(head)),
            data,
            captured,
            wire,
            offset,
        });
        if data.len() < captured as usize {
            frames.note(Oddity::LargeRecord, offset);
        }
    })
}
