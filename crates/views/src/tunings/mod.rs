//! `slowpath compare-tunings`: the results of buffer tuning techniques on a path, as JSON and as text.

mod help;
mod json;
mod text;

pub use help::HELP;
pub use json::TuningsDocument;
pub use text::print;

use slowpath_papers::tunings::{Outcome, Technique};

/// A technique with its result.
pub type Result = (Technique, Outcome);
