//! The copy of a frame while it is written: what is not written is not in it.

use crate::names::Names;
use std::ops::Range;

/// The copy of a frame, which ends after the last field that was written.
pub(crate) struct Draft<'f> {
    /// The original.
    from: &'f [u8],
    into: Vec<u8>,
}

impl<'f> Draft<'f> {
    /// An empty one of `from`, in memory that is used again.
    pub(crate) fn new(from: &'f [u8], mut into: Vec<u8>) -> Self {
        into.clear();
        Self { from, into }
    }

    /// What is written.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.into
    }

    /// Writes a field, as far as the original has it.
    pub(crate) fn put(&mut self, at: usize, bytes: &[u8]) {
        let end = self.from.len().min(at + bytes.len());
        if at < end {
            self.reach(end);
            self.into[at..end].copy_from_slice(&bytes[..end - at]);
        }
    }

    /// Copies fields.
    pub(crate) fn keep(&mut self, fields: Range<usize>) {
        let end = self.from.len().min(fields.end);
        if fields.start < end {
            self.reach(end);
            self.into[fields.start..end].copy_from_slice(&self.from[fields.start..end]);
        }
    }

    /// Copies a MAC address' replacement. Of one that was cut off there is nothing.
    pub(crate) fn keep_mac(&mut self, at: usize, names: &mut Names) {
        match self.from.get(at..).and_then(<[u8]>::first_chunk) {
            Some(mac) => self.put(at, &names.mac(*mac)),
            None => self.reach(self.from.len().min(at + 6)),
        }
    }

    /// Makes the copy at least this long, with zeros, but no longer than the original.
    pub(crate) fn reach(&mut self, end: usize) {
        let end = end.min(self.from.len());
        if self.into.len() < end {
            self.into.resize(end, 0);
        }
    }

    /// What is written from a place on.
    pub(crate) fn written(&self, from: usize) -> &[u8] {
        self.into.get(from..).unwrap_or_default()
    }
}
