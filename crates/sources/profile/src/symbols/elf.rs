//! Symbols of programs, libraries and kernels from their ELF files.

use super::inlined::Inlined;
use super::table::{Binding, Table};
use object::read::ReadCache;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SectionFlags, SymbolKind};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The bytes of `_start` that are known as it where there are no symbols: glibc's has about 40.
const START: u64 = 64;

/// A file that functions are in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elf {
    pub(crate) build_id: Option<Vec<u8>>,
    pub(crate) table: Table,
    /// Parts that are mapped: where in the file, how long, and at which address.
    segments: Vec<[u64; 3]>,
    has_symtab: bool,
    entry: u64,
    /// Where its debug information is, if there is any.
    debug: Option<PathBuf>,
}

impl Elf {
    /// Reads one.
    ///
    /// # Errors
    ///
    /// What the system, or whoever reads ELF, says.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err("it is no file".to_owned());
        }
        let cache = ReadCache::new(file);
        let object = object::File::parse(&cache).map_err(|error| error.to_string())?;
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
        // What is written in assembly is often of no type.
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

    /// The address that the file itself gives to the byte at an offset of it.
    pub(crate) fn address_of(&self, offset: u64) -> Option<u64> {
        let is_in = |[start, length, _]: &&[u64; 3]| offset >= *start && offset - start < *length;
        let [start, _, address] = self.segments.iter().find(is_in)?;
        Some(address.wrapping_add(offset - start))
    }

    /// Its debug information.
    pub(crate) fn inlined(&self) -> Option<Inlined> {
        Inlined::read(self.debug.as_deref()?)
    }

    /// Takes the symbols of the file that a distribution keeps them in, if there is one and these are few, and where that has its debug
    /// information.
    pub(crate) fn complete(&mut self, root: &Path) {
        if self.has_symtab && self.debug.is_some() {
            return;
        }
        let Some(debug) = self.build_id.as_deref().and_then(|id| debug_file(root, id)) else { return };
        let Ok(other) = Self::read(&debug) else { return };
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

/// Where debug symbols of a build-id are (gdb's manual, "Debugging Information in Separate Files").
fn debug_file(root: &Path, id: &[u8]) -> Option<PathBuf> {
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = hex.split_at_checked(2)?;
    Some(root.join("usr/lib/debug/.build-id").join(first).join(format!("{rest}.debug")))
}
