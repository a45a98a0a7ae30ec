//! Resolves addresses to functions: kernel addresses by the kernel's symbols, user addresses by the mapped file.

use super::header::About;
use super::room::Room;
use super::spaces::{File, Space, Spaces};
use crate::SymbolSources;
use crate::images::{image, module};
use crate::notes::{Notes, Oddity};
use crate::symbols::demangle::demangled;
use crate::symbols::elf::Elf;
use crate::symbols::host::Host;
use crate::symbols::inlined::Inlined;
use crate::symbols::kernel::{Kernel, Profiled};
use crate::symbols::unread::Unread;
use slowpath_cost::{Function, Functions, Image};
use slowpath_files::Root;
use std::collections::HashMap;
use std::path::Path;

/// Files whose symbols are held at the same time.
const MOST_FILES: usize = 4096;

/// The name of the kernel's own mapping in perf.
const KERNEL: &str = "[kernel.kallsyms]";

/// A part of the kernel with its own addresses: a module or a BPF program.
#[derive(Clone, Debug)]
pub(crate) struct KernelPart {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The module's name, or the symbol of a part that has one (`PERF_RECORD_KSYMBOL`).
    pub(crate) name: String,
    pub(crate) is_symbol: bool,
}

/// What the records say about the kernel's addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelMap {
    pub(crate) reference: Option<(String, u64)>,
    pub(crate) parts: Vec<KernelPart>,
}

/// Limit of kernel parts; a host with many BPF programs has some thousands.
const MOST_PARTS: usize = 256 * 1024;

impl KernelMap {
    /// Handles `PERF_RECORD_MMAP` of the kernel: of the kernel itself, whose name ends with perf's reference symbol
    /// (`perf_event__synthesize_kernel_mmap`), or of a module, by its file or in brackets.
    pub(crate) fn mapped(&mut self, room: &mut Room, file: &str, [start, end, offset]: [u64; 3]) -> bool {
        if let Some(reference) = file.strip_prefix(KERNEL) {
            self.reference.get_or_insert_with(|| (reference.to_owned(), offset));
            true
        } else {
            self.part(room, KernelPart { start, end, name: module(file), is_symbol: false })
        }
    }

    /// Adds a part; returns false if there was no room, as [`KernelMap::mapped`] does.
    pub(crate) fn part(&mut self, room: &mut Room, part: KernelPart) -> bool {
        let has_room = self.parts.len() < MOST_PARTS && room.text(part.name.len());
        if has_room {
            self.parts.push(part);
        }
        has_room
    }

    /// Sorts the parts by address, for lookups.
    fn order(&mut self) {
        self.parts.sort_by_key(|part| part.start);
    }

    fn find(&self, address: u64) -> Option<&KernelPart> {
        let after = self.parts.partition_point(|part| part.start <= address);
        self.parts[..after].last().filter(|part| address < part.end)
    }
}

/// The symbols of a program or library.
enum Loaded {
    Elf(Box<Elf>),
    Missing(Oddity),
}

/// A function's name, or the address that is shown instead.
type Named = Result<String, u64>;

/// Resolves functions.
pub(crate) struct Names<'a> {
    options: &'a SymbolSources,
    about: &'a About,
    spaces: &'a Spaces,
    kernel_map: KernelMap,
    /// Read at the first kernel address.
    kernel: Option<Kernel>,
    images: Images,
    files: HashMap<File, Loaded>,
    known: HashMap<(Option<Space>, u64), Function>,
    /// Debug information of files, read at the first address of each.
    debug: HashMap<File, Result<Inlined, Unread>>,
    inlined: HashMap<(Space, u64), Vec<Function>>,
    /// Samples with an unresolved frame, by reason and, where it applies, file.
    unnamed: HashMap<Option<File>, (u64, usize)>,
    /// The current stack, and its number of samples.
    stack: (usize, u64),
}

impl<'a> Names<'a> {
    pub(crate) fn new(
        options: &'a SymbolSources,
        about: &'a About,
        spaces: &'a Spaces,
        mut map: KernelMap,
    ) -> Self {
        map.order();
        Self {
            options,
            about,
            spaces,
            kernel_map: map,
            kernel: None,
            images: Images::of(options, about),
            files: HashMap::new(),
            known: HashMap::new(),
            debug: HashMap::new(),
            inlined: HashMap::new(),
            unnamed: HashMap::new(),
            stack: (0, 0),
        }
    }

    /// Starts the next stack, of `samples` samples.
    pub(crate) fn next_stack(&mut self, samples: u64) {
        self.stack = (self.stack.0 + 1, samples);
    }

    /// The function at an address minus some bytes: a kernel address, or a user address if a space is given.
    pub(crate) fn at(
        &mut self,
        space: Option<Space>,
        address: u64,
        back: u64,
        functions: &mut Functions,
    ) -> Function {
        let key = (space, address - back);
        if let Some(function) = self.known.get(&key) {
            return *function;
        }
        let (name, image) = match space {
            None => self.kernel(key.1),
            Some(space) => self.program(space, key.1),
        };
        // An address without a name is looked up again, so that its samples are counted.
        match name {
            Ok(name) => *self.known.entry(key).or_insert_with(|| functions.of(&name, &image)),
            Err(address) => functions.of(&format!("[{:#x}]", address.wrapping_add(back)), &image),
        }
    }

    /// The functions inlined at a user address that [`Names::at`] resolved, the innermost first; empty if inlined
    /// functions were not requested.
    pub(crate) fn inlined(
        &mut self,
        space: Space,
        address: u64,
        back: u64,
        functions: &mut Functions,
    ) -> &[Function] {
        if !self.options.inlined {
            return &[];
        }
        let key = (space, address - back);
        if !self.inlined.contains_key(&key) {
            let found = self.find_inlined(key, functions).unwrap_or_default();
            self.inlined.insert(key, found);
        }
        &self.inlined[&key]
    }

    fn find_inlined(
        &mut self,
        (space, address): (Space, u64),
        functions: &mut Functions,
    ) -> Option<Vec<Function>> {
        let spaces = self.spaces;
        let map = spaces.find(space, address)?;
        let path = &spaces.files()[map.file.0 as usize];
        // Not loaded: an address in no file, or in a file other than the one that ran.
        let Loaded::Elf(elf) = self.files.get(&map.file)? else { return None };
        let address = elf.address_of((address - map.start).wrapping_add(map.offset))?;
        let root = self.images.root.as_ref()?;
        let debug = self.debug.entry(map.file).or_insert_with(|| elf.inlined(root)).as_ref().ok()?;
        let image = image(path);
        Some(debug.at(address).iter().map(|name| functions.of(&demangled(name), &image)).collect())
    }

    fn kernel(&mut self, address: u64) -> (Named, Image) {
        let (options, about, map) = (self.options, self.about, &self.kernel_map);
        let kernel = self.kernel.get_or_insert_with(|| {
            let build_id = about.build_ids.get(KERNEL).cloned();
            Kernel::of(&Profiled { build_id, reference: map.reference.clone() }, options)
        });
        if let Some((name, module)) = kernel.find(address) {
            return (Ok(demangled(name)), Image::Kernel(module.map(str::to_owned)));
        }
        match map.find(address).cloned() {
            Some(part) if part.is_symbol => (Ok(part.name), Image::Kernel(Some("bpf".to_owned()))),
            part => {
                self.count_unnamed(None);
                (Err(address), Image::Kernel(part.map(|part| part.name)))
            }
        }
    }

    fn program(&mut self, space: Space, address: u64) -> (Named, Image) {
        let Some(map) = self.spaces.find(space, address) else { return (Err(address), Image::Unknown) };
        let path = &self.spaces.files()[map.file.0 as usize];
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        let image = image(path);
        if !path.starts_with('/') || path.starts_with("//") {
            // `[vdso]`, `//anon`: not in a file.
            return (Err(address), image);
        }
        // The offset in the file, which is the same in every process.
        let offset = (address - map.start).wrapping_add(map.offset);
        let name = match self.load(map.file, path) {
            Loaded::Elf(elf) => named(elf, offset).ok_or(offset),
            Loaded::Missing(_) => Err(offset),
        };
        if name.is_err() {
            self.count_unnamed(Some(map.file));
        }
        (name, image)
    }

    fn load(&mut self, file: File, path: &str) -> &Loaded {
        let has_room = self.files.len() < MOST_FILES;
        let (images, about) = (&self.images, self.about);
        self.files.entry(file).or_insert_with(|| {
            if has_room {
                images.load(Path::new(path), about.build_ids.get(path).map(Vec::as_slice))
            } else {
                Loaded::Missing(Oddity::TooMany)
            }
        })
    }

    fn count_unnamed(&mut self, file: Option<File>) {
        let (stack, samples) = self.stack;
        let count = self.unnamed.entry(file).or_insert((0, 0));
        // Counted once per stack.
        if count.1 != stack {
            *count = (count.0.saturating_add(samples), stack);
        }
    }

    /// Reports samples with unresolved frames, and why.
    pub(crate) fn finish(self, notes: &mut Notes) {
        let mut unnamed: Vec<_> = self.unnamed.iter().collect();
        unnamed.sort();
        for (file, (samples, _)) in unnamed {
            let Some(file) = file else {
                let missing = self.kernel.as_ref().and_then(|kernel| kernel.missing.clone());
                // A few addresses lie between symbols.
                if let Some((oddity, subject)) = missing {
                    notes.of(oddity, &subject, *samples);
                }
                continue;
            };
            let oddity = match self.files.get(file) {
                Some(Loaded::Missing(oddity)) => *oddity,
                Some(Loaded::Elf(elf)) if elf.table.is_empty() => Oddity::Stripped,
                _ => continue,
            };
            notes.of(oddity, &self.spaces.files()[file.0 as usize], *samples);
        }
        let mut unread: Vec<File> = self
            .debug
            .iter()
            .filter(|(_, debug)| match debug {
                Ok(debug) => debug.gave_up(),
                Err(unread) => matches!(unread, Unread::TooMuch),
            })
            .map(|(file, _)| *file)
            .collect();
        unread.sort();
        for file in unread {
            notes.of(Oddity::TooMuchDebug, &self.spaces.files()[file.0 as usize], 1);
        }
    }
}

/// The folders of programs and libraries.
struct Images {
    /// `None` if the folder does not exist.
    root: Option<Root>,
    /// Whether a file without a build-id counts as the one that ran: below a given folder, or for a recording of this
    /// boot of this host.
    are_known: bool,
}

impl Images {
    fn of(options: &SymbolSources, about: &About) -> Self {
        let folder = options.root.as_deref();
        let root = Root::open(folder.unwrap_or(Path::new("/"))).ok();
        let are_known = folder.is_some() || Host::this().is_some_and(|here| here.made(&about.recorded));
        Self { root, are_known }
    }

    /// Reads the file at a path of the recording, if it is the one that ran.
    fn load(&self, path: &Path, ran: Option<&[u8]>) -> Loaded {
        let ran = ran.filter(|id| !id.is_empty());
        if ran.is_none() && !self.are_known {
            return Loaded::Missing(Oddity::Elsewhere);
        }
        let Some((root, file)) = self.root.as_ref().and_then(|root| Some((root, root.file(path).ok()?)))
        else {
            return Loaded::Missing(Oddity::NoImage);
        };
        let mut elf = match Elf::read(&file, path) {
            Ok(elf) => elf,
            Err(Unread::Refused(_)) => return Loaded::Missing(Oddity::NoImage),
            Err(Unread::TooMuch) => return Loaded::Missing(Oddity::TooMuchImage),
        };
        if ran.is_some_and(|ran| !elf.is(ran)) {
            return Loaded::Missing(Oddity::OtherImage);
        }
        elf.complete(root);
        Loaded::Elf(Box::new(elf))
    }
}

fn named(elf: &Elf, offset: u64) -> Option<String> {
    let (name, _) = elf.table.find(elf.address_of(offset)?)?;
    Some(demangled(name))
}
