//! `slowpath copy`: a finished copy, as JSON and as text, and its progress.

mod help;
mod json;
mod text;

pub use help::HELP;
pub use json::CopyDocument;
pub use text::print;

use slowpath_copy::real::{Phase, Progress};
use slowpath_model::Rate;
use slowpath_model::units::counted;

/// The current activity, in words.
pub fn progress(progress: &Progress) -> String {
    match progress.phase {
        Phase::Begins => "comparing what is there".to_owned(),
        Phase::Syncs => "writing to disk".to_owned(),
        Phase::Moves => {
            let rate = Rate::bits_per_second(progress.rate.saturating_mul(8));
            let bound = progress.bound.map(|bound| format!(", limited by {}", bound.title()));
            let streams = counted(u64::from(progress.streams), "stream");
            match bound.filter(|_| progress.rate > 0) {
                Some(bound) => format!("{rate}, {streams}{bound}"),
                None => streams,
            }
        }
    }
}
