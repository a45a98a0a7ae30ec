//! Reads the records of a perf.data one by one, decompressed if needed, through buffers that never grow.

use super::fields::Order;
use super::unpack::Unpacker;
use crate::error::{At, Stop};
use std::io::{ErrorKind, Read};

/// The buffer's size, many times the longest record, whose length has 16 bits.
const BUFFER: usize = 1024 * 1024;

/// `struct perf_event_header`: type, misc, size.
const HEADER: usize = 8;

/// Types of records (`enum perf_event_type`; from 64 on `enum perf_user_event_type`, tools/lib/perf).
pub(crate) mod kind {
    pub(crate) const MMAP: u32 = 1;
    pub(crate) const LOST: u32 = 2;
    pub(crate) const COMM: u32 = 3;
    pub(crate) const FORK: u32 = 7;
    pub(crate) const SAMPLE: u32 = 9;
    pub(crate) const MMAP2: u32 = 10;
    pub(crate) const LOST_SAMPLES: u32 = 13;
    pub(crate) const KSYMBOL: u32 = 17;
    /// `CALLCHAIN_DEFERRED`, the kernel's last.
    pub(crate) const KERNEL_LAST: u32 = 22;
    pub(crate) const HEADER_ATTR: u32 = 64;
    pub(crate) const TRACING_DATA: u32 = 66;
    pub(crate) const BUILD_ID: u32 = 67;
    pub(crate) const AUXTRACE: u32 = 71;
    pub(crate) const EVENT_UPDATE: u32 = 78;
    pub(crate) const HEADER_FEATURE: u32 = 80;
    pub(crate) const COMPRESSED: u32 = 81;
    /// `COMPRESSED2`, perf's last; it states its number of data bytes (since 6.16).
    pub(crate) const COMPRESSED2: u32 = 83;
}

/// One record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) kind: u32,
    pub(crate) misc: u16,
    /// The bytes after its header.
    pub(crate) body: &'a [u8],
    /// Its offset in the file; for a compressed record, the offset of the record that contains it.
    pub(crate) offset: u64,
}

/// A record's place in one of the buffers.
#[derive(Clone, Copy)]
struct Place {
    kind: u32,
    misc: u16,
    start: usize,
    end: usize,
    offset: u64,
    packed: bool,
}

/// Reads record after record.
pub(crate) struct Records<R> {
    source: R,
    order: Order,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// The offset of `buffer[0]`.
    base: u64,
    /// Bytes of the data section that are not in the buffer yet; `None`: until the end of the input.
    left: Option<u64>,
    unpacker: Option<Unpacker>,
    /// The offset of the record that is being decompressed.
    packed_at: u64,
}

impl<R: Read> Records<R> {
    /// Reads from a source at `offset`, where a data section of `length` bytes begins.
    pub(crate) fn new(source: R, order: Order, offset: u64, length: Option<u64>) -> Self {
        Self {
            source,
            order,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            start: 0,
            end: 0,
            base: offset,
            left: length,
            unpacker: None,
            packed_at: 0,
        }
    }

    /// The next record, or `None` at the end.
    ///
    /// # Errors
    ///
    /// Where and why nothing more can be read.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>, Stop> {
        let Some(place) = self.advance()? else { return Ok(None) };
        let bytes = match &self.unpacker {
            Some(unpacker) if place.packed => unpacker.bytes(),
            _ => &self.buffer,
        };
        let Place { kind, misc, start, end, offset, .. } = place;
        Ok(Some(Record { kind, misc, body: &bytes[start..end], offset }))
    }

    fn advance(&mut self) -> Result<Option<Place>, Stop> {
        loop {
            if let Some(place) = self.advance_unpacked()? {
                return Ok(Some(place));
            }
            let Some(place) = self.advance_plain()? else { return Ok(None) };
            match place.kind {
                kind::COMPRESSED | kind::COMPRESSED2 => self.unpack(place)?,
                kind::TRACING_DATA | kind::AUXTRACE => {
                    self.skip_data_behind(place)?;
                    return Ok(Some(place));
                }
                _ => return Ok(Some(place)),
            }
        }
    }

    fn advance_plain(&mut self) -> Result<Option<Place>, Stop> {
        let offset = self.base + self.start as u64;
        let available = self.fill(HEADER, offset)?;
        if available == 0 {
            return Ok(None);
        }
        let (kind, misc, size) = header(&self.buffer[self.start..self.end], self.order)
            .ok_or_else(|| ends_inside(offset, available, HEADER))?;
        check(size, offset)?;
        let available = self.fill(size, offset)?;
        if available < size {
            return Err(ends_inside(offset, available, size));
        }
        let start = self.start + HEADER;
        self.start += size;
        Ok(Some(Place { kind, misc, start, end: self.start, offset, packed: false }))
    }

    fn advance_unpacked(&mut self) -> Result<Option<Place>, Stop> {
        let offset = self.packed_at;
        let Some(unpacker) = &mut self.unpacker else { return Ok(None) };
        let failed = |reason| Stop { at: At::Offset(offset), reason };
        if unpacker.fill(HEADER).map_err(failed)? < HEADER {
            return Ok(None);
        }
        let Some((kind, misc, size)) = header(unpacker.available(), self.order) else { return Ok(None) };
        check(size, offset)?;
        if unpacker.fill(size).map_err(failed)? < size {
            return Ok(None);
        }
        let start = unpacker.consume(size);
        Ok(Some(Place { kind, misc, start: start + HEADER, end: start + size, offset, packed: true }))
    }

    /// Decompresses a record into records.
    fn unpack(&mut self, place: Place) -> Result<(), Stop> {
        let failed = |reason: String| Stop { at: At::Offset(place.offset), reason };
        let mut body = &self.buffer[place.start..place.end];
        if place.kind == kind::COMPRESSED2 {
            let length = self.order.word(body, 0).and_then(|length| usize::try_from(length).ok());
            body = length
                .and_then(|length| body.get(8..)?.get(..length))
                .ok_or_else(|| failed("a packed record is shorter than it says".to_owned()))?;
        }
        if self.unpacker.is_none() {
            self.unpacker = Some(Unpacker::new().map_err(failed)?);
        }
        if let Some(unpacker) = &mut self.unpacker {
            unpacker.give(body);
        }
        self.packed_at = place.offset;
        Ok(())
    }

    /// Skips data that follows two types of records and is not part of them (`perf_event__synthesize_tracing_data`,
    /// `perf_event__process_auxtrace`).
    fn skip_data_behind(&mut self, place: Place) -> Result<(), Stop> {
        let body = &self.buffer[place.start..place.end];
        let size = match place.kind {
            kind::AUXTRACE => self.order.word(body, 0),
            _ => body.first_chunk().map(|size| u64::from(self.order.u32(*size)).next_multiple_of(8)),
        };
        let mut left = size.unwrap_or(0);
        while left > 0 {
            let available = self.fill(1, place.offset)?;
            if available == 0 {
                let reason = format!("the file ends {left} bytes before the data of a record does");
                return Err(Stop { at: At::Offset(place.offset), reason });
            }
            let step = available.min(usize::try_from(left).unwrap_or(usize::MAX));
            self.start += step;
            left -= step as u64;
        }
        Ok(())
    }

    /// Buffers `want` bytes if there are as many; returns how many there are.
    fn fill(&mut self, want: usize, offset: u64) -> Result<usize, Stop> {
        if self.end - self.start >= want {
            return Ok(self.end - self.start);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.base += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        while self.end < want {
            let room = self.buffer.len() - self.end;
            let most = self.left.map_or(room, |left| room.min(usize::try_from(left).unwrap_or(usize::MAX)));
            match self.source.read(&mut self.buffer[self.end..self.end + most]) {
                Ok(0) => break,
                Ok(n) => {
                    self.end += n;
                    self.left = self.left.map(|left| left - n as u64);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Stop { at: At::Offset(offset), reason: error.to_string() }),
            }
        }
        Ok(self.end)
    }

    /// Bytes of the data section that are missing at the end.
    pub(crate) fn missing(&self) -> u64 {
        self.left.unwrap_or(0)
    }

    /// Reports compressed data that ends within a record.
    pub(crate) fn ends_packed(&self) -> Option<Stop> {
        let left = self.unpacker.as_ref().map_or(0, |unpacker| unpacker.available().len());
        let reason = "what is packed ends inside a record".to_owned();
        (left > 0).then_some(Stop { at: At::Offset(self.packed_at), reason })
    }
}

#[inline]
fn header(bytes: &[u8], order: Order) -> Option<(u32, u16, usize)> {
    let &[a, b, c, d, e, f, g, h] = bytes.first_chunk::<HEADER>()?;
    Some((order.u32([a, b, c, d]), order.u16([e, f]), order.u16([g, h]).into()))
}

/// A record shorter than its own header is damage, after which no record can be found.
fn check(size: usize, offset: u64) -> Result<(), Stop> {
    if size >= HEADER {
        return Ok(());
    }
    let reason = format!("a record's field `size` is {size}, less than its header's {HEADER} bytes,");
    Err(Stop { at: At::Offset(offset), reason })
}

fn ends_inside(offset: u64, available: usize, size: usize) -> Stop {
    let reason = format!("the file ends {available} bytes into a record of {size}");
    Stop { at: At::Offset(offset), reason }
}
