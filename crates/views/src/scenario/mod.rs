//! `slowpath scenario`: errors of scenario files, and the values of a run, as JSON and as text.

mod check;
mod explain;
mod help;

pub use check::{ScenarioCheckDocument, print_check};
pub use explain::{Explanation, explain};
pub use help::{CHECK_HELP, HELP, NEW_HELP, created};
