//! `slowpath run`: a simulated run, as JSON and as text.

mod json;
mod text;

pub use json::RunDocument;
pub use text::print;
