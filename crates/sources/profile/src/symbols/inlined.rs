//! Functions that the compiler has put into their callers, by a program's debug information (DWARF 2 to 5): no call was made, and no
//! frame is on the stack.
//!
//! The sections that say so are read whole, packed ones too. Not followed is what lies in other files yet: split DWARF (`.dwo`),
//! and names that `dwz` has moved into a file of several programs'.

use addr2line::Context;
use flate2::read::ZlibDecoder;
use gimli::{Dwarf, EndianArcSlice, RunTimeEndian, SectionId};
use object::read::ReadCache;
use object::{CompressionFormat, Object, ObjectSection};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// A section that is larger is not read: the greatest programs have 2 to 3 GiB of debug information.
const MOST_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// So deep no compiler puts functions into each other; what goes on longer is damage.
const MOST_DEEP: usize = 256;

type Bytes = EndianArcSlice<RunTimeEndian>;

/// The debug information of a program or library.
pub(crate) struct Inlined {
    context: Context<Bytes>,
}

impl Inlined {
    /// Of a file that has it, by itself or as what a distribution keeps apart. `None` if it has none or cannot be read.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let cache = ReadCache::new(&file);
        let object = object::File::parse(&cache).ok()?;
        object.section_by_name(SectionId::DebugInfo.name())?;
        let endian = if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let load = |id: SectionId| -> Result<Bytes, gimli::Error> {
            // Where variables are is much, and not asked.
            let is_wanted = !matches!(id, SectionId::DebugLoc | SectionId::DebugLocLists);
            let bytes = is_wanted.then(|| section(&object, id.name(), &file)).flatten().unwrap_or_default();
            Ok(Bytes::new(Arc::from(bytes), endian))
        };
        let context = Context::from_dwarf(Dwarf::load(load).ok()?).ok()?;
        Some(Self { context })
    }

    /// The names, as the compiler has them, of what was put into the function at an address of the file; the innermost first.
    pub(crate) fn at(&self, address: u64) -> Vec<String> {
        let mut names = Vec::new();
        let Ok(mut frames) = self.context.find_frames(address).skip_all_loads() else { return names };
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|function| function.raw_name().ok());
            names.push(name.map_or_else(|| "[unknown]".to_owned(), |name| name.into_owned()));
            if names.len() > MOST_DEEP {
                break;
            }
        }
        // The outermost is the function itself, whose symbol has its name.
        names.pop();
        names
    }
}

/// A section's bytes, past the cache, which would hold them as long as the file.
fn section<'data>(object: &impl Object<'data>, name: &str, file: &File) -> Option<Vec<u8>> {
    let range = object.section_by_name(name)?.compressed_file_range().ok()?;
    if range.compressed_size.max(range.uncompressed_size) > MOST_BYTES {
        return None;
    }
    let packed = Part { file, at: range.offset }.take(range.compressed_size);
    let mut bytes = Vec::new();
    match range.format {
        CompressionFormat::None => read(packed, range.uncompressed_size, &mut bytes),
        CompressionFormat::Zlib => read(ZlibDecoder::new(packed), range.uncompressed_size, &mut bytes),
        CompressionFormat::Zstandard => {
            read(zstd::Decoder::new(packed).ok()?, range.uncompressed_size, &mut bytes)
        }
        _ => None,
    }?;
    Some(bytes)
}

fn read(source: impl Read, size: u64, bytes: &mut Vec<u8>) -> Option<usize> {
    source.take(size).read_to_end(bytes).ok()
}

/// A file from some place on.
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
