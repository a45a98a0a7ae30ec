//! `slowpath lab`: a run on the kernel, its comparison with the simulator, and the machine's abilities, as JSON and text.

mod check;
mod compare;
mod diagnosis;
mod help;
mod hosts;
mod json;
mod programs;
mod text;

pub use check::{LabCheckDocument, print_check};
pub use compare::LabComparisonDocument;
pub use diagnosis::{diagnosis, print_run};
pub use help::{CHECK_HELP, EXIT_CODES, HELP, RUN_HELP};
pub use json::LabRunDocument;
pub use text::print;
