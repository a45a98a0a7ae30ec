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
use crate::words::no_such_flow;
use slowpath_model::FlowId;
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
    /// Compares what was read of A and of B; `chosen` are the flows that the user chose.
    ///
    /// # Errors
    ///
    /// If a capture does not have the flow that was chosen, in words.
    pub fn of(read: [Read; 2], chosen: [Option<FlowId>; 2]) -> Result<Self, String> {
        let recordings = read.each_ref().map(|read| Recording::of(&read.input, &read.stamps));
        for ((read, recording), flow) in read.iter().zip(&recordings).zip(chosen) {
            if let Some(flow) = flow.filter(|_| read.collected.flows() == 0) {
                return Err(no_such_flow(recording, flow, read.input.flows()));
            }
        }
        let not_kept = read.each_ref().map(|read| read.not_kept);
        let compared = compare(read.map(|read| read.collected), chosen != [None; 2]);
        Ok(Self { recordings, not_kept, compared })
    }
}
