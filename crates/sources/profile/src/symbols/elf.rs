//! Symbols of programs, libraries and kernels, read from their ELF files.

use super::inlined::Inlined;
use super::pieces::Pieces;
use super::table::{Binding, Table};
use super::unread::Unread;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SectionFlags, SymbolKind};
use slowpath_files::Root;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The bytes at the entry point that are named `_start` without symbols: glibc's has about 40.
const START: u64 = 64;
/// Bytes of a build-id: SHA-512 has 64.
const LONGEST_ID: usize = 64;

/// An ELF file with functions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elf {
    pub(crate) build_id: Option<Vec<u8>>,
    pub(crate) table: Table,
    /// Loaded segments: file offset, length and address.
    segments: Vec<[u64; 3]>,
    has_symtab: bool,
    entry: u64,
    /// The file below the root with its debug information, if there is any.
    debug: Option<PathBuf>,
}

impl Elf {
    /// Reads an open file; `path` is where it can be opened again.
    pub(crate) fn read(file: &File, path: &Path) -> Result<Self, Unread> {
        let pieces = Pieces::of(file).map_err(Unread::refused)?;
        let elf = Self::parse(&pieces, path).map_err(Unread::refused);
        // The ELF parser takes a withheld table for a missing one.
        if pieces.were_too_many() { Err(Unread::TooMuch) } else { elf }
    }

    fn parse(pieces: &Pieces<'_>, path: &Path) -> Result<Self, object::Error> {
        let object = object::File::parse(pieces)?;
        let mut elf = Self {
            build_id: object.build_id().ok().flatten().map(<[u8]>::to_vec),
            entry: object.entry(),
            ..Self::default()
        };
        for segment in object.segments() {
            let (offset, length) = segment.file_range();
            elf.segments.push([offset, length, segment.address()]);
        }
        elf.debug = object.section_by_name(".debug_info").map(|_| path.to_owned());
        elf.add_symbols(&object);
        elf.table.finish();
        Ok(elf)
    }

    fn add_symbols<'data>(&mut self, object: &impl Object<'data>) {
        self.has_symtab = object.symbols().next().is_some();
        if self.has_symtab {
            object.symbols().for_each(|symbol| self.add(object, &symbol));
        } else {
            object.dynamic_symbols().for_each(|symbol| self.add(object, &symbol));
        }
        if self.entry != 0 && !self.has_symtab && !self.table.has("_start") {
            self.table.push(self.entry, START, "_start", Binding::Weak, "");
        }
    }

    fn add<'data>(&mut self, object: &impl Object<'data>, symbol: &impl ObjectSymbol<'data>) {
        let Ok(name) = symbol.name() else { return };
        // Assembly symbols often have no type.
        let is_code = match symbol.kind() {
            SymbolKind::Text => !symbol.is_undefined(),
            SymbolKind::Data | SymbolKind::Section | SymbolKind::File | SymbolKind::Tls => false,
            _ => symbol.section_index().is_some_and(|index| is_executable(object, index)),
        };
        if !is_code {
            return;
        }
        let binding = match (symbol.is_weak(), symbol.is_global()) {
            (true, _) => Binding::Weak,
            (false, true) => Binding::Global,
            (false, false) => Binding::Local,
        };
        self.table.push(symbol.address(), symbol.size(), name, binding, "");
    }

    /// The ELF address of the byte at a file offset.
    pub(crate) fn address_of(&self, offset: u64) -> Option<u64> {
        let is_in = |[start, length, _]: &&[u64; 3]| offset >= *start && offset - start < *length;
        let [start, _, address] = self.segments.iter().find(is_in)?;
        Some(address.wrapping_add(offset - start))
    }

    /// Whether it has the build-id of the file that ran.
    pub(crate) fn is(&self, ran: &[u8]) -> bool {
        let Some(here) = self.build_id.as_deref().filter(|id| !id.is_empty()) else { return false };
        // perf truncates or pads build-ids to 20 bytes (`BUILD_ID_SIZE`, tools/perf/util/build-id.h).
        let here = &here[..here.len().min(20)];
        ran.split_at_checked(here.len())
            .is_some_and(|(id, padding)| id == here && padding.iter().all(|byte| *byte == 0))
    }

    /// Reads its debug information.
    pub(crate) fn inlined(&self, root: &Root) -> Result<Inlined, Unread> {
        let path = self.debug.as_deref().ok_or_else(|| Unread::Refused("it has none".to_owned()))?;
        Inlined::read(&root.file(path).map_err(Unread::refused)?)
    }

    /// Adds symbols from the separate debug file, if there is one and the file's own are few, and finds its debug
    /// information.
    pub(crate) fn complete(&mut self, root: &Root) {
        if self.has_symtab && self.debug.is_some() {
            return;
        }
        let Some(path) = self.build_id.as_deref().and_then(debug_file) else { return };
        let Ok(other) =
            root.file(&path).map_err(drop).and_then(|file| Self::read(&file, &path).map_err(drop))
        else {
            return;
        };
        if other.build_id != self.build_id {
            return;
        }
        if other.has_symtab && !self.has_symtab {
            self.table = other.table;
        }
        self.debug = self.debug.take().or(other.debug);
    }
}

fn is_executable<'data>(object: &impl Object<'data>, index: object::SectionIndex) -> bool {
    let flags = object.section_by_index(index).map(|section| section.flags());
    matches!(flags, Ok(SectionFlags::Elf { sh_flags, .. }) if sh_flags.contains(object::elf::SHF_EXECINSTR))
}

/// The path of a build-id's debug file below a root (gdb's manual, "Debugging Information in Separate Files"). Links in
/// the file itself (`.gnu_debuglink`, `.gnu_debugaltlink`) are not followed.
fn debug_file(id: &[u8]) -> Option<PathBuf> {
    let hex: String = id.iter().take(LONGEST_ID).map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = hex.split_at_checked(2)?;
    Some(Path::new("usr/lib/debug/.build-id").join(first).join(format!("{rest}.debug")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_id_matches_when_padded_or_truncated_to_20_bytes() {
        let here = |id: &[u8]| Elf { build_id: Some(id.to_vec()), ..Elf::default() };
        assert!(here(b"0123456789abcdefghij").is(b"0123456789abcdefghij"));
        assert!(here(b"0123456789abcdef").is(b"0123456789abcdef\0\0\0\0"), "padded");
        assert!(here(b"0123456789abcdefghijklmnopqrstuv").is(b"0123456789abcdefghij"), "cut");
        for (id, ran) in [
            (&b"0123"[..], &b"01"[..]),
            (b"0123", b"0124"),
            (b"0123", b"01234"),
            (b"", b"0123"),
            (b"0123", b""),
        ] {
            assert!(!here(id).is(ran), "{id:?} {ran:?}");
        }
        assert!(!Elf::default().is(b"0123"), "it has none here");
    }
}
