//! `slowpath diagnose --live`: this host's connections, as JSON and as text.

mod drops;
mod json;
mod page;
mod receiver;
mod sender;
mod spells;
mod text;

pub use json::LiveDocument;
pub use page::html;
pub use text::{print, print_summary};
