//! How much is kept of a file: what differs takes bytes on the disk, packed or not, and what does not is kept once.
//!
//! Packed records (`perf record -z`) of one pattern, counted up, take a few bytes each and name ever new files, threads and
//! addresses. What a megabyte packs of them would take gigabytes to keep.

/// Things that are kept of any file, and names' bytes.
const FREE_THINGS: u64 = 128 * 1024;
const FREE_TEXT: u64 = 16 * 1024 * 1024;
/// Of a larger one, a thing for so many of its bytes. Unpacked, a record of each has 40 at least; packed, that of a stack or a
/// mapping which was not there before has 20.
const BYTES_OF_THING: u64 = 8;
/// Addresses of stacks, for each thing that may be kept.
const ADDRESSES: u64 = 2;

/// What may still be kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    things: u64,
    text: u64,
}

impl Room {
    /// For a file of so many bytes.
    pub(crate) fn of(bytes: u64) -> Self {
        Self { things: FREE_THINGS + bytes / BYTES_OF_THING, text: FREE_TEXT.saturating_add(bytes) }
    }

    /// How many more things there is room for.
    pub(crate) fn things(&self) -> usize {
        usize::try_from(self.things).unwrap_or(usize::MAX)
    }

    /// How many addresses there is room for.
    pub(crate) fn addresses(&self) -> usize {
        usize::try_from(self.things.saturating_mul(ADDRESSES)).unwrap_or(usize::MAX)
    }

    /// So many things are kept.
    pub(crate) fn take(&mut self, things: usize) {
        self.things = self.things.saturating_sub(things as u64);
    }

    /// Keeps a thing with a name of so many bytes; says whether there is room for it.
    pub(crate) fn text(&mut self, bytes: usize) -> bool {
        let has_room = self.things > 0 && self.text >= bytes as u64;
        if has_room {
            self.things -= 1;
            self.text -= bytes as u64;
        }
        has_room
    }

    /// Keeps a thing without a name; says whether there is room for it.
    pub(crate) fn thing(&mut self) -> bool {
        self.text(0)
    }
}
