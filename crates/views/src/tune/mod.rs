//! `slowpath tune`: buffers that a transfer needs; plans that are applied, verified and reverted; connections that are tuned one by
//! one, as JSON and as text.

mod advice;
mod connections;
mod gain;
mod help;
mod in_lab;
mod json;
mod plan;
mod predicted;
mod report;
mod text;
mod verify;

pub use advice::{AdviseDocument, advice};
pub use connections::{ConnectionsDocument, connections, progress};
pub use help::{CONNECTIONS_HELP, HELP};
pub use in_lab::{TuneLabDocument, has_helped, tried};
pub use json::{ApplyDocument, RevertDocument, StatusDocument};
pub use plan::{PlanDocument, planned};
pub use predicted::{PREDICTING, predicting, predictions};
pub use report::report;
pub use text::{applied, is_in_order, reverted, status};
pub use verify::{VerifyDocument, verified};
