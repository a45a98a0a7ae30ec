//! `slowpath probe`: what a path gives to packets, as JSON and as text.

mod json;
mod text;

pub use json::Document;
pub use text::print;
