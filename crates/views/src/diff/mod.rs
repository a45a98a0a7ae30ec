//! `slowpath diff`: two captures next to each other, as text and as JSON.

mod facts;
mod help;
mod json;
mod text;
mod words;

pub use help::HELP;
pub use json::DiffDocument;
pub use text::print;

use crate::recording::Recording;
use slowpath_runs::diff::{Compared, Read, compare};

/// Two captures, and their comparison.
pub struct Diff {
    /// A and B.
    pub recordings: [Recording; 2],
    /// Flows of each that were not kept, to save memory.
    pub not_kept: [u64; 2],
    /// The comparison.
    pub compared: Compared,
}

impl Diff {
    /// Compares what was read of A and of B; `is_chosen` if the user chose the flows.
    pub fn of(read: [Read; 2], is_chosen: bool) -> Self {
        let recordings = read.each_ref().map(|read| Recording::of(&read.input, &read.stamps));
        let not_kept = read.each_ref().map(|read| read.not_kept);
        Self { recordings, not_kept, compared: compare(read.map(|read| read.collected), is_chosen) }
    }
}
