//! `slowpath tune`: plans that are applied and reverted, as JSON and as text.

mod json;
mod text;

pub use json::{ApplyDocument, RevertDocument, StatusDocument};
pub use text::{applied, is_in_order, planned, reverted, status};
