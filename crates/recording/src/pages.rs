//! Checks the uncompressed size of a row group, by its page headers, before it is decompressed.
//!
//! The library allocates as much memory and as many values as a page's header claims: up to 2 GiB each, from a few
//! kilobytes. The counts in the footer are claims too. slowpath writes row groups of a few megabytes.

use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

/// Limits of a row group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Uncompressed bytes of a column.
    pub chunk_bytes: u64,
    /// Uncompressed bytes of all columns.
    pub group_bytes: u64,
    /// Values of all columns, including dictionaries.
    pub values: u64,
}

/// Limit of a page header, which may have statistics of text.
const LONGEST_HEADER: u64 = 64 * 1024;
/// Limit of nested structures in skipped fields.
const DEEPEST: u32 = 8;

/// Checks that a row group is within the limits.
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn check(file: &File, group: &RowGroupMetaData, limits: Limits) -> Result<(), String> {
    let (mut bytes, mut values) = (0u64, 0u64);
    for column in group.columns() {
        let pages = pages(file, column).map_err(|what| format!("column {}: {what}", column.column_path()))?;
        let is_larger = |bytes, most| {
            let of = column.column_path();
            Err(format!(
                "column {of}: its pages unpack to {bytes} bytes; slowpath writes no more than {most}"
            ))
        };
        bytes = bytes.saturating_add(pages.bytes);
        values = values.saturating_add(pages.values);
        if pages.bytes > limits.chunk_bytes {
            return is_larger(pages.bytes, limits.chunk_bytes);
        }
        if bytes > limits.group_bytes {
            return is_larger(bytes, limits.group_bytes);
        }
    }
    if values > limits.values {
        return Err(format!(
            "its pages have {values} values; slowpath writes no more than {}",
            limits.values
        ));
    }
    Ok(())
}

/// The uncompressed sizes of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pages {
    bytes: u64,
    values: u64,
}

fn pages(file: &File, column: &ColumnChunkMetaData) -> Result<Pages, String> {
    let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
    let (Ok(mut at), Ok(length)) = (u64::try_from(start), u64::try_from(column.compressed_size())) else {
        return Err("it begins before the file does".to_owned());
    };
    let end = at.checked_add(length).ok_or("it ends behind every file")?;
    let mut source = BufReader::new(file);
    let mut all = Pages::default();
    while at < end {
        source.seek(SeekFrom::Start(at)).map_err(|error| error.to_string())?;
        let mut header = Thrift { source: source.by_ref().take(LONGEST_HEADER), read: 0 };
        let page = header.page().ok_or_else(|| format!("no page can be read at offset {at}"))?;
        all.bytes = all.bytes.saturating_add(page.unpacked);
        all.values = all.values.saturating_add(page.values);
        at = at.checked_add(header.read + page.packed).ok_or("a page ends behind every file")?;
    }
    Ok(all)
}

/// The contents of a page header (`PageHeader`, parquet.thrift).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Page {
    unpacked: u64,
    packed: u64,
    values: u64,
}

/// The part of Thrift's compact protocol that page headers use (thrift-compact-protocol.md).
struct Thrift<R> {
    source: R,
    read: u64,
}

/// Types of fields.
mod kind {
    pub(super) const STOP: u8 = 0;
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const MAP: u8 = 11;
    pub(super) const STRUCT: u8 = 12;
}

impl<R: Read> Thrift<R> {
    /// If a field occurs twice, the larger value counts, whichever one the library uses.
    fn page(&mut self) -> Option<Page> {
        let (mut page, mut id) = (Page::default(), 0);
        loop {
            let kind = self.field(&mut id)?;
            match (id, kind) {
                (_, kind::STOP) => return Some(page),
                (2, kind::I16..=kind::I64) => page.unpacked = page.unpacked.max(self.count()?),
                (3, kind::I16..=kind::I64) => page.packed = page.packed.max(self.count()?),
                // `DataPageHeader`, `DictionaryPageHeader` and `DataPageHeaderV2`, whose first field is the number of
                // values.
                (5 | 7 | 8, kind::STRUCT) => page.values = page.values.max(self.values()?),
                _ => self.skip(kind, DEEPEST)?,
            }
        }
    }

    fn values(&mut self) -> Option<u64> {
        let (mut values, mut id) = (0, 0);
        loop {
            let kind = self.field(&mut id)?;
            match (id, kind) {
                (_, kind::STOP) => return Some(values),
                (1, kind::I16..=kind::I64) => values = values.max(self.count()?),
                _ => self.skip(kind, DEEPEST)?,
            }
        }
    }

    /// The type of the next field; sets `id` to its number.
    fn field(&mut self, id: &mut i64) -> Option<u8> {
        let byte = self.byte()?;
        if byte & 0x0f != kind::STOP {
            *id = match byte >> 4 {
                0 => self.number()?,
                more => id.checked_add(more.into())?,
            };
        }
        Some(byte & 0x0f)
    }

    fn skip(&mut self, kind: u8, deepest: u32) -> Option<()> {
        let deeper = deepest.checked_sub(1)?;
        match kind {
            kind::TRUE | kind::FALSE => {}
            kind::BYTE => drop(self.byte()?),
            kind::I16..=kind::I64 => drop(self.varint()?),
            kind::DOUBLE => self.pass(8)?,
            kind::BINARY => {
                let length = self.varint()?;
                self.pass(length)?;
            }
            kind::LIST | kind::SET => {
                let byte = self.byte()?;
                let count = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
                for _ in 0..count {
                    self.skip_element(byte & 0x0f, deeper)?;
                }
            }
            kind::MAP => {
                let count = self.varint()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                for _ in 0..count {
                    self.skip_element(kinds >> 4, deeper)?;
                    self.skip_element(kinds & 0x0f, deeper)?;
                }
            }
            kind::STRUCT => {
                let mut id = 0;
                loop {
                    match self.field(&mut id)? {
                        kind::STOP => break,
                        kind => self.skip(kind, deeper)?,
                    }
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// A boolean field has its value in its type; a boolean element takes a byte.
    fn skip_element(&mut self, kind: u8, deepest: u32) -> Option<()> {
        self.skip(if matches!(kind, kind::TRUE | kind::FALSE) { kind::BYTE } else { kind }, deepest)
    }

    /// A number, which must not be negative.
    fn count(&mut self) -> Option<u64> {
        u64::try_from(self.number()?).ok()
    }

    fn number(&mut self) -> Option<i64> {
        let zigzag = self.varint()?;
        Some((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn byte(&mut self) -> Option<u8> {
        let mut byte = [0];
        self.source.read_exact(&mut byte).ok()?;
        self.read += 1;
        Some(byte[0])
    }

    fn pass(&mut self, count: u64) -> Option<()> {
        for _ in 0..count {
            self.byte()?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(bytes: &[u8]) -> Option<(Page, u64)> {
        let mut header = Thrift { source: bytes, read: 0 };
        header.page().map(|page| (page, header.read))
    }

    #[test]
    fn page_header_gives_the_uncompressed_size() {
        // A data page of 100 bytes, 50 compressed, a checksum, 7 values, RLE, then statistics of text.
        let header = [
            0x15, 0x00, 0x15, 0xc8, 0x01, 0x15, 0x64, 0x15, 0x01, 0x1c, 0x15, 0x0e, 0x15, 0x00, 0x3c, 0x18,
            0x02, b'a', b'b', 0x00, 0x00, 0x00, 0xff,
        ];
        let expected = Page { unpacked: 100, packed: 50, values: 7 };
        assert_eq!(page(&header), Some((expected, header.len() as u64 - 1)));
        for cut in 0..header.len() - 1 {
            assert_eq!(page(&header[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn duplicate_size_fields_use_the_larger() {
        let header = [0x25, 0x08, 0x05, 0x04, 0x80, 0x01, 0x05, 0x04, 0x02, 0x15, 0x02, 0x00];
        assert_eq!(page(&header).map(|(page, _)| page.unpacked), Some(64));
    }

    #[test]
    fn negative_size_and_deep_nesting_are_rejected() {
        assert_eq!(page(&[0x25, 0x01, 0x00]), None);
        assert_eq!(page(&[0x1c; 100]), None);
    }
}
