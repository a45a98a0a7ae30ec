//! `slowpath sweep`: the runs of a sweep, as JSON, as text and as a plot.

mod help;
mod json;
mod numbers;
mod page;
mod plot;
mod text;

pub use help::{HELP, VARY};
pub use json::SweepDocument;
pub use page::page;
pub use plot::{Axes, AxesError};
pub use text::{place, print_sweep};
