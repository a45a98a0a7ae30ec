//! The classic format: a file header, then records.
//!
//! Reading list: draft-ietf-opsawg-pcap, libpcap's `pcap-savefile(5)` and `sf-pcap.c`.

use crate::frames::{Frame, Frames};
use crate::input::{Input, LARGEST, WHOLE};
use crate::link::LinkType;
use crate::oddity::Oddity;
use crate::summary::{Format, Stop};
use slowpath_model::Sink;
use slowpath_wire::bytes::Order;
use slowpath_wire::pcap::{self, HEADER};

/// A file header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    order: Order,
    pub(crate) format: Format,
    pub(crate) snap_length: u32,
    pub(crate) link: LinkType,
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
    /// Reads the file header, whose magic is known. The major version is 2 since 1998; other ones are damage.
    pub(crate) fn parse(header: &[u8; HEADER], format: Format, order: Order) -> Result<Self, Stop> {
        match order.u16(header, 4) {
            2 => Ok(Self {
                order,
                format,
                snap_length: order.u32(header, 16),
                // The six bits above say how long a frame check sequence is; the low 16 hold every type there is.
                link: LinkType(order.u32(header, 20) as u16),
            }),
            version => {
                Err(Stop { offset: 4, reason: format!("version {version} of the format; known is 2") })
            }
        }
    }

    /// The length of a record's header.
    fn record(self) -> usize {
        match self.format {
            // Behind the usual fields: interface, protocol, packet type (libpcap's `pcap_sf_patched_pkthdr`).
            Format::PcapModified => 24,
            _ => pcap::RECORD,
        }
    }

    #[inline(always)]
    fn stamp(self, record: &[u8]) -> i64 {
        let unit = if self.format == Format::PcapNanoseconds { 1 } else { 1000 };
        let (seconds, fraction) = (self.order.u32(record, 0), self.order.u32(record, 4));
        i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * unit
    }
}

/// Reads records until none is left; says where and why if that is before the end.
pub(crate) fn read<S: Sink>(header: Header, input: &mut Input, frames: &mut Frames<'_, S>) -> Option<Stop> {
    // Two loops, so that none asks for the byte order at every integer.
    match header.order {
        Order::Little => records(Header { order: Order::Little, ..header }, input, frames),
        Order::Big => records(Header { order: Order::Big, ..header }, input, frames),
    }
}

#[inline(always)]
fn records<S: Sink>(header: Header, input: &mut Input, frames: &mut Frames<'_, S>) -> Option<Stop> {
    let record = header.record();
    let order = header.order;
    loop {
        let bytes = input.available();
        let offset = input.offset();
        let mut at = 0;
        // All records that are in the buffer as a whole; then what the next one needs.
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
        };
        input.consume(at);
        if want > record + WHOLE {
            if let Some(stop) = large(header, input, frames) {
                return Some(stop);
            }
        } else if !input.fill(want) {
            return input.broken_off("a record", want);
        }
    }
}

/// A record that is too large for the buffer.
#[cold]
fn large<S: Sink>(header: Header, input: &mut Input, frames: &mut Frames<'_, S>) -> Option<Stop> {
    let (record, offset) = (header.record(), input.offset());
    let captured = header.order.u32(input.available(), 8);
    if u64::from(captured) > LARGEST {
        return Some(Stop { offset, reason: format!("a record that claims to hold {captured} bytes") });
    }
    if !input.fill(record + WHOLE) {
        return input.broken_off("a record", record + captured as usize);
    }
    let bytes = input.available();
    let frame = Frame {
        link: header.link,
        stamp: Some(header.stamp(bytes)),
        data: &bytes[record..record + WHOLE],
        captured,
        wire: header.order.u32(bytes, 12),
        offset,
    };
    frames.accept(frame);
    frames.note(Oddity::LargeRecord, offset);
    if !input.skip((record + captured as usize) as u64) {
        let here = (input.offset() - offset) as usize;
        return Some(input.broken_off_inside("a record", offset, here, record + captured as usize));
    }
    None
}
