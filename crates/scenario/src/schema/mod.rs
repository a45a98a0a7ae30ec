//! What a scenario file may hold: its keys, declared once, and the reading of tables by them.
//!
//! - [`key`]: a key with its type, range, default and source.
//! - [`quantity`]: the types of values, and how each is written.
//! - [`table`]: reading one table by its keys, so that everything wrong with it is found.
//! - [`nearest`]: what was meant by a key that does not exist.

pub mod key;
pub mod nearest;
pub mod quantity;
pub mod table;

pub use key::{Describe, Fallback, Key, Section, Sub};
pub use quantity::Quantity;
pub use table::{Context, Origin, Reader, Setting};
