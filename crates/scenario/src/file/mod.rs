//! Scenario files as text: what is written where, and what is wrong with it.
//!
//! - [`source`]: the file and the overrides of the command line.
//! - [`tree`]: their values, each with its place.
//! - [`overrides`]: `--set KEY=VALUE` put into the tree.
//! - [`diagnostic`]: errors with line, caret and hint.

pub mod diagnostic;
pub mod overrides;
pub mod source;
pub mod tree;

pub use diagnostic::{Diagnostic, Rejected};
pub use overrides::Override;
pub use source::{Place, Sources};
pub use tree::{Entry, Node, Table, Value};
