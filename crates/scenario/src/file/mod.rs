//! Scenario files as text: values with their places, and errors.
//!
//! - [`source`]: the file and the overrides of the command line.
//! - [`tree`]: their values, each with its place.
//! - [`overrides`]: applying `--set KEY=VALUE` to the tree.
//! - [`diagnostic`]: errors with line, caret and hint.

pub mod diagnostic;
pub mod overrides;
pub mod source;
pub mod tree;

pub use diagnostic::{Diagnostic, Rejected};
pub use overrides::Override;
pub use source::{Place, Sources};
pub use tree::{Entry, Node, Table, Value};
