//! `slowpath run`: a simulated run, as JSON and as text.

mod help;
mod json;
mod text;

pub use help::HELP;
pub use json::RunDocument;
pub use text::print;
