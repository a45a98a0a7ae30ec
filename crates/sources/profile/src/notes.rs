//! What was odd about a profile, or is missing next to it, and how to fix it.

use crate::error::At;
use std::fmt;

/// There are few kinds of notes, but there may be many images: beyond this number, notes are counted under the last.
const MOST: usize = 256;

/// Something odd about a profile that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Oddity {
    /// Skipped: a record or a line that contradicts itself.
    Malformed,
    /// Skipped: a sample of an event that the file does not describe.
    UnknownEvent,
    /// Skipped: a record of a type not known to slowpath.
    UnknownRecord,
    /// Skipped: more distinct stacks, tasks or mappings than slowpath keeps.
    TooMany,
    /// The recording was never completed: its header does not give its size, and the tables at its end are missing.
    Unfinished,
    /// User stacks are memory dumps (`--call-graph dwarf`), which slowpath does not unwind.
    MemoryDumps,
    /// The kernel hides its symbols' addresses (`kptr_restrict`).
    KernelSymbolsHidden,
    /// The profiled kernel is not this host's kernel, and its symbols were not given.
    OtherKernel,
    /// A symbol file of the kernel cannot be read.
    NoKernelSymbols,
    /// A program or library cannot be read here, or its name is not a regular file.
    NoImage,
    /// A program or library here differs from the one that ran.
    OtherImage,
    /// A program or library of a recording that is not known to be of this boot of this host, without a build-id to
    /// identify it. It was not opened.
    Elsewhere,
    /// The symbols of a program or library take more memory than a file of its size may.
    TooMuchImage,
    /// The debug information of a program or library takes more memory than a file of its size may.
    TooMuchDebug,
    /// A program or library has no symbols.
    Stripped,
}

impl Oddity {
    /// What is odd.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Malformed => "records or lines contradict themselves and were skipped",
            Self::UnknownEvent => "samples are of events that the file does not describe and were skipped",
            Self::UnknownRecord => "records are of types that are not known and were skipped",
            Self::TooMany => "samples have lost their stack or task, since more of them differ than are kept",
            Self::Unfinished => "the recording was not completed, so that tables at its end are missing",
            Self::MemoryDumps => "stacks of programs were recorded as dumps of memory, which are not unwound",
            Self::KernelSymbolsHidden => "the kernel hides its symbols, so that its functions have no names",
            Self::OtherKernel => {
                "the profiled kernel is not the one that runs here, so that its functions have no names"
            }
            Self::NoKernelSymbols => "the kernel's symbols cannot be read",
            Self::NoImage => "cannot be read here, so that its functions have no names",
            Self::OtherImage => {
                "is another one here than the one that ran (its build-id differs), so that its functions have no names"
            }
            Self::Elsewhere => {
                "not opened, since the profile has no build-id for it and may be of another host or of an earlier boot, so that \
                 its functions have no names"
            }
            Self::TooMuchImage => {
                "its symbols take more memory than a file of its size may, so that its functions have no names"
            }
            Self::TooMuchDebug => {
                "its debug information takes more memory than a file of its size may, so that inlined functions are not shown"
            }
            Self::Stripped => "has no symbols, so that its functions have no names",
        }
    }

    /// How to fix it, if that is known.
    pub const fn fix(self) -> Option<&'static str> {
        Some(match self {
            Self::TooMany => "record for a shorter time or with a lower frequency (perf record -F)",
            Self::Unfinished => "end perf record with SIGINT and wait for it",
            Self::MemoryDumps => {
                "record with --call-graph fp, or give the text of `perf script`, which perf has unwound"
            }
            Self::KernelSymbolsHidden => {
                "as root or with sysctl kernel.kptr_restrict=0, record and read again"
            }
            Self::OtherKernel | Self::NoKernelSymbols => {
                "give the /proc/kallsyms of the profiled host, as its root read it, or its vmlinux"
            }
            Self::NoImage | Self::OtherImage => {
                "read the profile on the host where it was recorded, or give a folder that has that host's files"
            }
            Self::Elsewhere => {
                "give the folder that has the profiled host's files (--root DIR), or --root / if they are this host's"
            }
            Self::Stripped => "install its debug symbols",
            Self::Malformed
            | Self::UnknownEvent
            | Self::UnknownRecord
            | Self::TooMuchImage
            | Self::TooMuchDebug => return None,
        })
    }
}

/// How often an [`Oddity`] occurred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The oddity.
    pub oddity: Oddity,
    /// The file, image or field, if that matters.
    pub subject: String,
    /// How often: samples, records or lines.
    pub count: u64,
    /// The first place.
    pub first: Option<At>,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.subject.is_empty() {
            write!(f, "{}: ", self.subject)?;
        }
        write!(f, "{}", self.oddity.what())?;
        if let Some(first) = self.first {
            write!(f, " ({}, the first {first})", self.count)?;
        } else if self.count > 1 {
            write!(f, " ({} samples)", self.count)?;
        }
        self.oddity.fix().map_or(Ok(()), |fix| write!(f, "; {fix}"))
    }
}

/// All notes, in the order of their first occurrence.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes(Vec<Note>);

impl Notes {
    pub(crate) fn at(&mut self, oddity: Oddity, subject: &str, at: At) {
        self.add(oddity, subject, 1, Some(at));
    }

    pub(crate) fn of(&mut self, oddity: Oddity, subject: &str, samples: u64) {
        self.add(oddity, subject, samples, None);
    }

    pub(crate) fn add(&mut self, oddity: Oddity, subject: &str, count: u64, first: Option<At>) {
        let is_same = |note: &Note| note.oddity == oddity && note.subject == subject;
        if let Some(note) = self.0.iter_mut().find(|note| is_same(note)) {
            note.count = note.count.saturating_add(count);
        } else if self.0.len() < MOST {
            self.0.push(Note { oddity, subject: subject.to_owned(), count, first });
        } else if let Some(last) = self.0.iter_mut().rfind(|note| note.oddity == oddity) {
            last.count = last.count.saturating_add(count);
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Note> {
        self.0
    }
}
