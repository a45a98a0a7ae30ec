//! `slowpath run`: a simulated run, as JSON and as text.

mod json;
mod text;

pub use json::Document;
pub use text::print;
