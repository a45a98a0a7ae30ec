//! The keys of a scenario file, declared once, and reading tables with them.
//!
//! - [`key`]: a key with its type, range, default and source.
//! - [`quantity`]: the types of values, and how each is written.
//! - [`table`]: reading one table by its keys, collecting all errors.
//! - [`nearest`]: suggestions for misspelt keys.

pub mod key;
pub mod nearest;
pub mod quantity;
pub mod table;

pub use key::{Describe, Fallback, Key, Section, Sub};
pub use quantity::Quantity;
pub use table::{Context, Origin, Reader, Setting};
