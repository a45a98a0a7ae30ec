//! `slowpath ftp`: a finished transfer, as JSON and as text, and its progress.

mod help;
mod json;
mod text;

pub use help::HELP;
pub use json::FtpDocument;
pub use text::print;

use slowpath_ftp::real::Progress;
use slowpath_model::Rate;

/// The current activity, in words; and bytes that are done, of all.
pub fn progress(progress: &Progress) -> (String, u64, u64) {
    match progress {
        Progress::Measures => ("measuring the path".to_owned(), 0, 0),
        Progress::Ends => ("writing to disk".to_owned(), 0, 0),
        Progress::Moves { done, total, rate, bound } => {
            let rate = Rate::bits_per_second(rate.saturating_mul(8));
            let bound = bound.map_or_else(String::new, |bound| format!(", limited by {}", bound.title()));
            (format!("{rate}{bound}"), *done, total.unwrap_or(*done))
        }
    }
}
