//! `slowpath probe`: measurements of a path, as JSON and as text.

mod help;
mod json;
mod measured;
mod text;

pub use help::HELP;
pub use json::ProbeDocument;
pub use text::print;

use slowpath_model::Rate;
use slowpath_probe::measure::Progress;

/// The current activity, in words.
pub fn progress(progress: Progress) -> String {
    match progress {
        Progress::Echoes => "echoes".to_owned(),
        Progress::Trains => "trains of packets".to_owned(),
        Progress::Available(rate) => format!("available: trying {}", Rate::bits_per_second(rate)),
        Progress::Ramp(rate) => format!("UDP at {}", Rate::bits_per_second(rate)),
        Progress::Transfers => "TCP transfers".to_owned(),
    }
}
