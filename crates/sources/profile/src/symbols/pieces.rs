//! Reads a file in pieces, with a limit on their size that depends on the file's.

use object::read::{ReadCache, ReadRef};
use slowpath_files::allocated;
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::ops::Range;

/// Bytes that may be held of any file.
const FREE: u64 = 16 << 20;
/// For larger files, this multiple of the size on disk: symbols, and the name of each.
const TIMES: u64 = 4;
/// The limit for any file. The largest programs have 400 MB of symbols and names.
const MOST: u64 = 2 << 30;
/// The cost of a held name besides its bytes.
const NAME: u64 = 64;

/// A file that is read in pieces. Each piece is held once.
///
/// A symbol table can claim to lie in a hole of the file, which reads as gigabytes of zeros, and thousands of symbols
/// can share one long name. A plain ELF reader would hold both.
pub(crate) struct Pieces<'a> {
    cache: ReadCache<&'a File>,
    left: Cell<u64>,
    were_too_many: Cell<bool>,
}

impl<'a> Pieces<'a> {
    pub(crate) fn of(file: &'a File) -> io::Result<Self> {
        let left = TIMES.saturating_mul(allocated(&file.metadata()?)).saturating_add(FREE).min(MOST);
        Ok(Self { cache: ReadCache::new(file), left: Cell::new(left), were_too_many: Cell::new(false) })
    }

    /// Whether a piece was withheld because of the limit.
    pub(crate) fn were_too_many(&self) -> bool {
        self.were_too_many.get()
    }

    fn charge(&self, bytes: u64) -> Result<(), ()> {
        let left = self.left.get().checked_sub(bytes);
        self.were_too_many.set(self.were_too_many.get() || left.is_none());
        self.left.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or(())
    }
}

impl<'a> ReadRef<'a> for &'a Pieces<'_> {
    fn len(self) -> Result<u64, ()> {
        self.cache.len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        // Beyond the end there is nothing, which costs nothing.
        if offset.checked_add(size).is_none_or(|end| self.len().is_ok_and(|length| end > length)) {
            return Err(());
        }
        self.charge(size)?;
        self.cache.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        let bytes = self.cache.read_bytes_at_until(range, delimiter)?;
        self.charge(NAME + bytes.len() as u64)?;
        Ok(bytes)
    }
}
