//! Limits of what is kept of a file, by its size on disk. Equal things are kept once.
//!
//! Compressed records (`perf record -z`) with a counting pattern take a few bytes each and can name ever new files,
//! threads and addresses. A megabyte of them would take gigabytes to keep.

/// Things, and bytes of names, that any file may have.
const FREE_THINGS: u64 = 128 * 1024;
const FREE_TEXT: u64 = 16 * 1024 * 1024;
/// One more thing per this many bytes of a larger file. Uncompressed, a record has at least 40 bytes; compressed, that
/// of a new stack or mapping has 20.
const BYTES_OF_THING: u64 = 8;
/// Stack addresses per thing.
const ADDRESSES: u64 = 2;

/// The remaining budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    things: u64,
    text: u64,
}

impl Room {
    /// The budget for a file of `bytes` bytes.
    pub(crate) fn of(bytes: u64) -> Self {
        Self { things: FREE_THINGS + bytes / BYTES_OF_THING, text: FREE_TEXT.saturating_add(bytes) }
    }

    /// How many more things fit.
    pub(crate) fn things(&self) -> usize {
        usize::try_from(self.things).unwrap_or(usize::MAX)
    }

    /// How many more addresses fit.
    pub(crate) fn addresses(&self) -> usize {
        usize::try_from(self.things.saturating_mul(ADDRESSES)).unwrap_or(usize::MAX)
    }

    /// Takes the budget of `things` things.
    pub(crate) fn take(&mut self, things: usize) {
        self.things = self.things.saturating_sub(things as u64);
    }

    /// Takes the budget of a thing with a name of `bytes` bytes; returns false if there is none left.
    pub(crate) fn text(&mut self, bytes: usize) -> bool {
        let has_room = self.things > 0 && self.text >= bytes as u64;
        if has_room {
            self.things -= 1;
            self.text -= bytes as u64;
        }
        has_room
    }

    /// Takes the budget of a thing without a name; returns false if there is none left.
    pub(crate) fn thing(&mut self) -> bool {
        self.text(0)
    }
}
