//! `slowpath paths`: what is known of paths, as JSON and as text.

mod help;
mod json;
mod text;

pub use help::HELP;
pub use json::{ForgetDocument, HistoryDocument, ImportDocument, MeasureDocument, ShowDocument};
pub use text::{forgotten, history, imported, learning, measured, show};
