//! Inlined functions, from a program's debug information (DWARF 2 to 5): there was no call, and the stack has no frame
//! for them.
//!
//! References to other files are not followed: split DWARF (`.dwo`), and names that `dwz` moved to a shared file.
//!
//! Debug information comes from the builder of the program, who may be hostile. A megabyte can hold units, functions
//! and ranges that refer to each other so that the work grows quadratically, and it can be compressed a thousand times.
//! Therefore each step takes from a `Budget`, and only the places of a unit's functions are kept. The crate addr2line,
//! which gives the same results, keeps everything that it has read.

use super::dwarf::{Budget, Bytes, Entries, Sections, Unit};
use super::unread::Unread;
use gimli::{Abbreviation, AttributeValue, DebugInfoOffset, UnitOffset, constants as dw};
use std::cell::OnceCell;
use std::fs::File;

/// Limit of nested inlining, which no compiler reaches; deeper nesting is damage.
const MOST_DEEP: usize = 256;
/// Limit of references from entry to entry until a name is found. Compilers use three.
const MOST_REFERENCES: usize = 16;
/// Bytes of a name that are kept.
const LONGEST_NAME: usize = 4096;
/// How many earlier spans are searched for one that contains others.
const NESTED: usize = 8;

/// Address ranges: start and end, exclusive.
type Ranges = Vec<(u64, u64)>;

/// An address range, start and end (exclusive), and its owner.
type Span<T> = (u64, u64, T);

/// The debug information of a program or library.
pub(crate) struct Inlined {
    sections: Sections,
    units: Vec<Known>,
    /// Units by index, in the order of their addresses.
    spans: Vec<Span<usize>>,
    budget: Budget,
}

/// A unit, and its functions once they were looked up.
struct Known {
    unit: Unit,
    functions: OnceCell<Vec<Span<UnitOffset>>>,
}

impl Inlined {
    /// Reads debug information from a program or its separate debug file.
    ///
    /// # Errors
    ///
    /// If it has no debug information, or it cannot be read or would take too much memory.
    pub(crate) fn read(file: &File) -> Result<Self, Unread> {
        let (sections, budget) = Sections::read(file)?;
        let mut inlined = Self { sections, units: Vec::new(), spans: Vec::new(), budget };
        let headers = inlined.sections.headers(&inlined.budget);
        for header in headers {
            // A unit that cannot be read has no functions.
            let Some(unit) = inlined.sections.unit(header, &inlined.budget) else { continue };
            let known = Known { unit, functions: OnceCell::new() };
            let mut spans = inlined.root(&known.unit).unwrap_or_default();
            if spans.is_empty() {
                let functions = inlined.functions(&known).iter();
                let (from, to): (Vec<u64>, Vec<u64>) = functions.map(|(from, to, _)| (*from, *to)).unzip();
                spans.extend(from.iter().min().copied().zip(to.iter().max().copied()));
            }
            if inlined.budget.keep(spans.len()).is_none() {
                break;
            }
            let place = inlined.units.len();
            inlined.spans.extend(spans.into_iter().map(|(from, to)| (from, to, place)));
            inlined.units.push(known);
        }
        inlined.spans.sort_unstable();
        if inlined.budget.is_spent() { Err(Unread::TooMuch) } else { Ok(inlined) }
    }

    /// Whether a lookup was given up because it would have taken too long.
    pub(crate) fn gave_up(&self) -> bool {
        self.budget.is_spent()
    }

    /// The linkage names of the functions inlined at an address of the file, the innermost first.
    pub(crate) fn at(&self, address: u64) -> Vec<String> {
        let mut found = Vec::new();
        for unit in containing(&self.spans, address) {
            let known = &self.units[unit];
            if let Some(function) = containing(self.functions(known), address).next() {
                self.inside(&known.unit, function, address, &mut found);
                break;
            }
        }
        found.reverse();
        found
    }

    /// The address ranges of a unit.
    fn root(&self, unit: &Unit) -> Option<Ranges> {
        let mut entries = self.sections.entries(unit, None)?;
        let abbreviation = entries.next(&self.budget)??;
        self.addresses(unit, &mut entries, abbreviation).map(|(ranges, _)| ranges)
    }

    /// The functions of a unit, in the order of their addresses.
    fn functions<'a>(&self, known: &'a Known) -> &'a [Span<UnitOffset>] {
        known.functions.get_or_init(|| {
            let mut functions = Vec::new();
            // A damaged unit has the functions before the damage.
            self.find_functions(&known.unit, &mut functions);
            functions.sort_unstable_by_key(|(from, to, entry)| (*from, *to, entry.0));
            functions.shrink_to_fit();
            functions
        })
    }

    fn find_functions(&self, unit: &Unit, functions: &mut Vec<Span<UnitOffset>>) -> Option<()> {
        let mut entries = self.sections.entries(unit, None)?;
        while !entries.are_over() {
            let offset = entries.offset();
            let Some(abbreviation) = entries.next(&self.budget)? else { continue };
            if abbreviation.tag() == dw::DW_TAG_subprogram {
                let (ranges, _) = self.addresses(unit, &mut entries, abbreviation)?;
                for (from, to) in ranges {
                    self.budget.keep(1)?;
                    functions.push((from, to, offset));
                }
            } else {
                entries.skip(abbreviation)?;
            }
        }
        Some(())
    }

    /// The names of the functions inlined at an address within a function, the outermost first.
    fn inside(&self, unit: &Unit, function: UnitOffset, address: u64, names: &mut Vec<String>) -> Option<()> {
        let mut entries = self.sections.entries(unit, Some(function))?;
        let mut outer = entries.depth();
        let abbreviation = entries.next(&self.budget)??;
        entries.skip(abbreviation)?;
        while entries.depth() > outer && names.len() < MOST_DEEP {
            let depth = entries.depth();
            let Some(abbreviation) = entries.next(&self.budget)? else { continue };
            match abbreviation.tag() {
                dw::DW_TAG_inlined_subroutine => {
                    let (ranges, origin) = self.addresses(unit, &mut entries, abbreviation)?;
                    if ranges.iter().any(|(from, to)| (*from..*to).contains(&address)) {
                        let name = origin.and_then(|origin| self.name(unit, origin));
                        names.push(name.unwrap_or_else(|| "[unknown]".to_owned()));
                        // Other entries with the address are inside of this one.
                        outer = depth;
                    } else {
                        entries.skip_below(depth, &self.budget)?;
                    }
                }
                // A nested function with its own addresses.
                dw::DW_TAG_subprogram => {
                    entries.skip(abbreviation)?;
                    entries.skip_below(depth, &self.budget)?;
                }
                _ => entries.skip(abbreviation)?,
            }
        }
        Some(())
    }

    /// Reads an entry with addresses: its ranges, and the entry that it refers to.
    fn addresses<'a>(
        &self,
        unit: &Unit,
        entries: &mut Entries<'a>,
        abbreviation: &'a Abbreviation,
    ) -> Option<(Ranges, Option<AttributeValue<Bytes>>)> {
        let (mut low, mut high, mut length, mut list, mut origin) = (None, None, None, None, None);
        for attribute in entries.attributes(abbreviation) {
            let attribute = attribute?;
            match (attribute.name(), attribute.value()) {
                (dw::DW_AT_low_pc, value) => low = self.sections.address(unit, &value),
                (dw::DW_AT_high_pc, AttributeValue::Udata(bytes)) => length = Some(bytes),
                (dw::DW_AT_high_pc, value) => high = self.sections.address(unit, &value),
                (dw::DW_AT_ranges, value) => list = Some(value),
                (dw::DW_AT_abstract_origin, value) => origin = Some(value),
                _ => {}
            }
        }
        let mut ranges = Vec::new();
        if let Some(list) = list {
            self.sections.ranges(unit, list, &self.budget, &mut ranges)?;
        } else if let Some(low) = low {
            ranges.extend(high.or(length.and_then(|length| low.checked_add(length))).map(|high| (low, high)));
        }
        ranges.retain(|(from, to)| from < to);
        Some((ranges, origin))
    }

    /// The name of the entry that another refers to: the linkage name, else the source name.
    fn name(&self, unit: &Unit, reference: AttributeValue<Bytes>) -> Option<String> {
        let (mut unit, mut reference) = (unit, reference);
        for _ in 0..MOST_REFERENCES {
            let offset = match reference {
                AttributeValue::UnitRef(offset) => offset,
                AttributeValue::DebugInfoRef(offset) => {
                    unit = self.unit_at(offset)?;
                    unit.inside(offset)?
                }
                _ => return None,
            };
            let mut entries = self.sections.entries(unit, Some(offset))?;
            let abbreviation = entries.next(&self.budget)??;
            let (mut name, mut next) = (None, None);
            for attribute in entries.attributes(abbreviation) {
                let attribute = attribute?;
                match attribute.name() {
                    dw::DW_AT_linkage_name | dw::DW_AT_MIPS_linkage_name => {
                        return self.sections.text(unit, attribute.value(), LONGEST_NAME, &self.budget);
                    }
                    dw::DW_AT_name => name = Some(attribute.value()),
                    dw::DW_AT_abstract_origin | dw::DW_AT_specification => next = Some(attribute.value()),
                    _ => {}
                }
            }
            match (next, name) {
                (None, name) => return self.sections.text(unit, name?, LONGEST_NAME, &self.budget),
                (Some(next), _) => reference = next,
            }
        }
        None
    }

    /// The unit that contains an offset of the section.
    fn unit_at(&self, offset: DebugInfoOffset) -> Option<&Unit> {
        let after = self.units.partition_point(|known| known.unit.offset() <= offset.0);
        self.units[..after].last().map(|known| &known.unit)
    }
}

/// The owners of the spans that contain an address, the latest start first; spans are sorted by address.
fn containing<T: Copy>(spans: &[Span<T>], address: u64) -> impl Iterator<Item = T> {
    let after = spans.partition_point(|(from, _, _)| *from <= address);
    let nearest = spans[..after].iter().rev().take(NESTED);
    nearest.filter(move |(_, to, _)| address < *to).map(|(_, _, of)| *of)
}
