//! Sections of debug information, decompressed, with their units and entries, and limits on reading them.

use super::pieces::Pieces;
use super::unread::Unread;
use gimli::{
    Abbreviation, Abbreviations, Attribute, AttributeValue, DebugAbbrev, DebugAddrBase, DebugInfo,
    DebugInfoOffset, DebugRngListsBase, DebugStrOffsetsBase, EndianArcSlice, EntriesRaw, RangeLists,
    RangeListsOffset, Reader, RunTimeEndian, SectionId, UnitHeader, UnitOffset, constants as dw,
};
use object::{CompressionFormat, Object, ObjectSection};
use slowpath_files::{Bound, Packing, Unpacked, allocated};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Limit of all sections of a program: a minimum, a multiple of its bytes on disk, and a maximum. Debug information
/// compresses 2 to 5 times; the largest programs have 2 to 3 GiB.
const SECTIONS: Bound = Bound { free: 32 << 20, ratio: 16, most: 4 << 30 };
/// The part of these that may be abbreviations, which take 30 times their size in memory. In programs they are 1 %.
const ABBREVIATIONS: Bound = Bound { free: 1 << 20, ratio: 1, most: 128 << 20 };
/// Limit of steps: an attribute of an entry, a range of a list, 16 bytes of a name.
const STEPS: Bound = Bound { free: 64 << 20, ratio: 64, most: u64::MAX };
/// Limit of kept function ranges and units.
const KEPT: Bound = Bound { free: 64 << 10, ratio: 1, most: u64::MAX };
const BYTES_OF_KEPT: u64 = 8;

pub(super) type Bytes = EndianArcSlice<RunTimeEndian>;

/// The remaining budget for reading.
pub(super) struct Budget {
    steps: Cell<u64>,
    kept: Cell<u64>,
    is_spent: Cell<bool>,
}

impl Budget {
    /// The budget for a program of `bytes` bytes on disk.
    fn of(bytes: u64) -> Self {
        let kept = KEPT.of(bytes / BYTES_OF_KEPT);
        Self { steps: Cell::new(STEPS.of(bytes)), kept: Cell::new(kept), is_spent: Cell::new(false) }
    }

    fn spend(&self, from: &Cell<u64>, by: usize) -> Option<()> {
        let left = from.get().checked_sub(by as u64);
        self.is_spent.set(self.is_spent.get() || left.is_none());
        from.set(left.unwrap_or(0));
        left.map(drop)
    }

    /// Takes the budget of `count` steps; `None` if it is used up.
    fn steps(&self, count: usize) -> Option<()> {
        self.spend(&self.steps, count)
    }

    /// Takes the budget of a step that adds entry `number`; `None` if it is used up.
    fn step_to(&self, number: usize) -> Option<()> {
        self.spend(&self.steps, if number as u64 > self.kept.get() { usize::MAX } else { 1 })
    }

    /// Takes the budget of `count` kept things; `None` if it is used up.
    pub(super) fn keep(&self, count: usize) -> Option<()> {
        self.spend(&self.kept, count)
    }

    pub(super) fn is_spent(&self) -> bool {
        self.is_spent.get()
    }
}

/// A unit, with the attributes of its first entry that others refer to.
pub(super) struct Unit {
    header: UnitHeader<Bytes>,
    abbreviations: Arc<Abbreviations>,
    low: u64,
    addresses: DebugAddrBase<usize>,
    offsets: DebugStrOffsetsBase<usize>,
    lists: DebugRngListsBase<usize>,
}

impl Unit {
    /// Its offset in the section.
    pub(super) fn offset(&self) -> usize {
        self.header.debug_info_offset().map_or(usize::MAX, |offset| offset.0)
    }

    /// Converts an offset in the section to one in the unit.
    pub(super) fn inside(&self, offset: DebugInfoOffset) -> Option<UnitOffset> {
        let inside = offset.0.checked_sub(self.offset())?;
        (inside < self.header.length_including_self()).then_some(UnitOffset(inside))
    }
}

/// The sections that are needed to find functions.
pub(super) struct Sections {
    info: DebugInfo<Bytes>,
    abbreviations: Bytes,
    strings: gimli::DebugStr<Bytes>,
    line_strings: gimli::DebugLineStr<Bytes>,
    offsets: gimli::DebugStrOffsets<Bytes>,
    addresses: gimli::DebugAddr<Bytes>,
    ranges: RangeLists<Bytes>,
    /// Abbreviation tables by offset; nothing else begins between two of these offsets.
    tables: RefCell<HashMap<usize, Option<Arc<Abbreviations>>>>,
    places: Vec<usize>,
}

impl Sections {
    /// Reads a program's sections, and returns the budget for reading them further.
    ///
    /// # Errors
    ///
    /// If it has no debug information, or it cannot be read or is too large.
    pub(super) fn read(file: &File) -> Result<(Self, Budget), Unread> {
        let bytes = allocated(&file.metadata().map_err(Unread::refused)?);
        let pieces = Pieces::of(file).map_err(Unread::refused)?;
        let object = object::File::parse(&pieces).map_err(Unread::refused)?;
        let endian = if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let mut left = SECTIONS.of(bytes);
        let mut load = |id: SectionId| -> Result<Bytes, Unread> {
            let most = if id == SectionId::DebugAbbrev { ABBREVIATIONS.of(bytes).min(left) } else { left };
            let found = section(&object, id.name(), file, most)?.unwrap_or_default();
            left -= found.len() as u64;
            Ok(Bytes::new(Arc::from(found), endian))
        };
        let sections = Self {
            info: load(SectionId::DebugInfo)?.into(),
            abbreviations: load(SectionId::DebugAbbrev)?,
            strings: load(SectionId::DebugStr)?.into(),
            line_strings: load(SectionId::DebugLineStr)?.into(),
            offsets: load(SectionId::DebugStrOffsets)?.into(),
            addresses: load(SectionId::DebugAddr)?.into(),
            ranges: RangeLists::new(
                load(SectionId::DebugRanges)?.into(),
                load(SectionId::DebugRngLists)?.into(),
            ),
            tables: RefCell::default(),
            places: Vec::new(),
        };
        if pieces.were_too_many() {
            return Err(Unread::TooMuch);
        }
        let budget = Budget::of(bytes);
        let mut places: Vec<usize> =
            sections.headers(&budget).iter().map(|header| header.debug_abbrev_offset().0).collect();
        places.sort_unstable();
        places.dedup();
        Ok((Self { places, ..sections }, budget))
    }

    /// The headers of all readable units.
    pub(super) fn headers(&self, budget: &Budget) -> Vec<UnitHeader<Bytes>> {
        let mut headers = self.info.units();
        let next = || headers.next().ok().flatten().filter(|_| budget.keep(HEADER).is_some());
        std::iter::from_fn(next).collect()
    }

    /// The unit of a header.
    pub(super) fn unit(&self, header: UnitHeader<Bytes>, budget: &Budget) -> Option<Unit> {
        let mut unit = Unit {
            abbreviations: self.table(header.debug_abbrev_offset().0)?,
            low: 0,
            addresses: DebugAddrBase(0),
            offsets: DebugStrOffsetsBase::default_for_encoding_and_file(
                header.encoding(),
                gimli::DwarfFileType::Main,
            ),
            lists: DebugRngListsBase::default_for_encoding_and_file(
                header.encoding(),
                gimli::DwarfFileType::Main,
            ),
            header,
        };
        let mut low = None;
        let mut entries = self.entries(&unit, None)?;
        let abbreviation = entries.next(budget)??;
        let (mut addresses, mut offsets, mut lists) = (unit.addresses, unit.offsets, unit.lists);
        for attribute in entries.attributes(abbreviation) {
            let attribute = attribute?;
            match (attribute.name(), attribute.value()) {
                (dw::DW_AT_low_pc, value) => low = Some(value),
                (_, AttributeValue::DebugAddrBase(base)) => addresses = base,
                (_, AttributeValue::DebugStrOffsetsBase(base)) => offsets = base,
                (_, AttributeValue::DebugRngListsBase(base)) => lists = base,
                _ => {}
            }
        }
        drop(entries);
        (unit.addresses, unit.offsets, unit.lists) = (addresses, offsets, lists);
        unit.low = low.and_then(|value| self.address(&unit, &value)).unwrap_or(0);
        Some(unit)
    }

    /// The abbreviation table at an offset. It ends where the next begins, so that none is read twice.
    fn table(&self, place: usize) -> Option<Arc<Abbreviations>> {
        let mut tables = self.tables.borrow_mut();
        let read = || {
            let after = self.places.partition_point(|other| *other <= place);
            let end = self.places.get(after).copied().unwrap_or(usize::MAX).min(self.abbreviations.len());
            let bytes = self.abbreviations.range(place.min(end)..end);
            DebugAbbrev::from(bytes).abbreviations(gimli::DebugAbbrevOffset(0)).ok().map(Arc::new)
        };
        tables.entry(place).or_insert_with(read).clone()
    }

    /// The entries of a unit, from a given one or from its first.
    pub(super) fn entries<'a>(&self, unit: &'a Unit, from: Option<UnitOffset>) -> Option<Entries<'a>> {
        unit.header.entries_raw(&unit.abbreviations, from).ok().map(Entries)
    }

    /// Resolves an address attribute.
    pub(super) fn address(&self, unit: &Unit, value: &AttributeValue<Bytes>) -> Option<u64> {
        match value {
            AttributeValue::Addr(address) => Some(*address),
            AttributeValue::DebugAddrIndex(index) => {
                self.addresses.get_address(unit.header.address_size(), unit.addresses, *index).ok()
            }
            _ => None,
        }
    }

    /// The address ranges of a list.
    pub(super) fn ranges(
        &self,
        unit: &Unit,
        list: AttributeValue<Bytes>,
        budget: &Budget,
        ranges: &mut Vec<(u64, u64)>,
    ) -> Option<()> {
        let encoding = unit.header.encoding();
        let offset = match list {
            AttributeValue::RangeListsRef(offset) => RangeListsOffset(offset.0),
            AttributeValue::DebugRngListsIndex(index) => {
                self.ranges.get_offset(encoding, unit.lists, index).ok()?
            }
            _ => return Some(()),
        };
        let list = self.ranges.ranges(offset, encoding, unit.low, &self.addresses, unit.addresses);
        let Ok(mut list) = list else { return Some(()) };
        while let Ok(Some(raw)) = list.next_raw() {
            budget.step_to(ranges.len())?;
            ranges.extend(list.convert_raw(raw).ok().flatten().map(|range| (range.begin, range.end)));
        }
        Some(())
    }

    /// A string attribute, truncated to a number of bytes.
    pub(super) fn text(
        &self,
        unit: &Unit,
        value: AttributeValue<Bytes>,
        most: usize,
        budget: &Budget,
    ) -> Option<String> {
        let bytes = match value {
            AttributeValue::String(text) => text,
            AttributeValue::DebugStrRef(offset) => self.strings.get_str(offset).ok()?,
            AttributeValue::DebugLineStrRef(offset) => self.line_strings.get_str(offset).ok()?,
            AttributeValue::DebugStrOffsetsIndex(index) => {
                let offset = self.offsets.get_str_offset(unit.header.format(), unit.offsets, index).ok()?;
                self.strings.get_str(offset).ok()?
            }
            _ => return None,
        };
        budget.steps(bytes.len() / 16)?;
        Some(String::from_utf8_lossy(bytes.range(0..bytes.len().min(most)).bytes()).into_owned())
    }
}

/// The cost of a unit, in function ranges.
const HEADER: usize = 8;

/// Iterates over the entries of a unit.
pub(super) struct Entries<'a>(EntriesRaw<'a, Bytes>);

impl<'a> Entries<'a> {
    pub(super) fn are_over(&self) -> bool {
        self.0.is_empty()
    }

    /// The offset of the next entry.
    pub(super) fn offset(&self) -> UnitOffset {
        self.0.next_offset()
    }

    /// The depth of the next entry.
    pub(super) fn depth(&self) -> isize {
        self.0.next_depth()
    }

    /// The next entry's abbreviation, whose attributes must then be read or skipped. `Some(None)`: the entry only ends
    /// a list; `None`: no entry is left, or the budget is used up.
    #[expect(clippy::option_option, reason = "as said")]
    pub(super) fn next(&mut self, budget: &Budget) -> Option<Option<&'a Abbreviation>> {
        if self.0.is_empty() {
            return None;
        }
        let abbreviation = self.0.read_abbreviation().ok()?;
        budget.steps(1 + abbreviation.map_or(0, |of| of.attributes().len()))?;
        Some(abbreviation)
    }

    /// Reads the attributes; `None` for a damaged one.
    pub(super) fn attributes(
        &mut self,
        of: &'a Abbreviation,
    ) -> impl Iterator<Item = Option<Attribute<Bytes>>> {
        of.attributes().iter().map(|about| self.0.read_attribute(*about).ok())
    }

    /// Skips the attributes.
    pub(super) fn skip(&mut self, of: &Abbreviation) -> Option<()> {
        self.0.skip_attributes(of.attributes()).ok()
    }

    /// Skips all deeper entries.
    pub(super) fn skip_below(&mut self, depth: isize, budget: &Budget) -> Option<()> {
        while self.depth() > depth {
            if let Some(abbreviation) = self.next(budget)? {
                self.skip(abbreviation)?;
            }
        }
        Some(())
    }
}

/// A section's bytes, read without [`Pieces`], which would hold them as long as the file; `None` if the section does
/// not exist or cannot be read.
fn section<'data>(
    object: &impl Object<'data>,
    name: &str,
    file: &File,
    most: u64,
) -> Result<Option<Vec<u8>>, Unread> {
    let Some(range) = object.section_by_name(name).and_then(|section| section.compressed_file_range().ok())
    else {
        return Ok(None);
    };
    if range.compressed_size.max(range.uncompressed_size) > most {
        return Err(Unread::TooMuch);
    }
    let packed = BufReader::new(Part { file, at: range.offset }.take(range.compressed_size));
    let bound = Bound { free: range.uncompressed_size, ratio: 0, most };
    let unpacked = |packing| Unpacked::new(packing, packed, bound).ok();
    let mut bytes = Vec::new();
    let read = match range.format {
        CompressionFormat::None => return Ok(read_whole(file, range.offset, range.uncompressed_size)),
        CompressionFormat::Zlib => {
            unpacked(Packing::Zlib).and_then(|mut source| source.read_to_end(&mut bytes).ok())
        }
        CompressionFormat::Zstandard => {
            unpacked(Packing::Zstd).and_then(|mut source| source.read_to_end(&mut bytes).ok())
        }
        _ => None,
    };
    Ok(read.map(|_| bytes))
}

fn read_whole(file: &File, at: u64, size: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    Part { file, at }.take(size).read_to_end(&mut bytes).ok().map(|_| bytes)
}

/// The rest of a file from an offset.
struct Part<'a> {
    file: &'a File,
    at: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read_at(into, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}
