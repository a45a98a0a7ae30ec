//! `slowpath tune`: buffers that a transfer needs; plans that are applied, verified and reverted, as JSON and as text.

mod advice;
mod help;
mod in_lab;
mod json;
mod text;
mod verify;

pub use advice::{AdviseDocument, advice};
pub use help::HELP;
pub use in_lab::{TuneLabDocument, has_helped, tried};
pub use json::{ApplyDocument, RevertDocument, StatusDocument};
pub use text::{applied, is_in_order, planned, reverted, status};
pub use verify::{VerifyDocument, verified};
