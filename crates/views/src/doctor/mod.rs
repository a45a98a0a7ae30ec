//! `slowpath doctor`: which settings of a host would limit a transfer, as JSON and as text.

mod help;
mod host;
mod json;
mod text;

pub use help::HELP;
pub use json::DoctorDocument;
pub use text::print;
