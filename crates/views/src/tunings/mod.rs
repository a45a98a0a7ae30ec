//! `slowpath compare-tunings`: the results of buffer tuning techniques on a path, as JSON and as text.

mod help;
mod json;
mod table_one;
mod text;

pub use help::HELP;
pub use json::TuningsDocument;
pub use table_one::print as print_table_one;
pub use text::print;

use slowpath_papers::tunings::{Outcome, Technique};

/// A technique with its result.
pub type Result = (Technique, Outcome);
