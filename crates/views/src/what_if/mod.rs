//! `slowpath what-if`: a fit, its check and its predictions, as text, as JSON and as a scenario file.

mod help;
mod json;
mod scenario;
mod text;
mod upgrade;
mod words;

pub use help::{HELP, TO, TRY};
pub use json::WhatIfDocument;
pub use scenario::scenario;
pub use text::print;
pub use words::stage;
pub(crate) use words::{limited_by, refusal};
