//! Where the CPU went: what a profiler saw on the stacks of a machine, and what can be said of it.
//!
//! - [`profile`]: stacks with their samples, whatever profiler they are from.
//! - [`callgraph`]: who calls whom, of profilers that keep no stacks.

pub mod callgraph;
pub mod functions;
pub mod profile;

pub use callgraph::CallGraph;
pub use functions::{Function, Functions, Image};
pub use profile::{Entry, Event, Frame, Lost, Profile, Stack, Stacks};
