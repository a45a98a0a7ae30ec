//! Where the CPU went: what a profiler saw on the stacks of a machine, and what can be said of it.
//!
//! - [`profile`]: stacks with their samples, whatever profiler they are from.

pub mod functions;
pub mod profile;

pub use functions::{Function, Functions, Image};
pub use profile::{Entry, Event, Frame, Lost, Profile, Stack, Stacks};
