//! Where the CPU went: what a profiler saw on the stacks of a machine, and what can be said of it.
//!
//! The analyses are those of J. LaVoie, E. Nahum and R. Flynn, "Profiling TCP: An In-depth Analysis of Processing Costs" (IBM Research
//! Report; `lavoie`), on the call graphs that it had and on whole stacks.
//!
//! - [`profile`]: stacks with their samples, whatever profiler they are from.
//! - [`callgraph`]: who calls whom, of profilers that keep no stacks.
//! - [`edges`]: the call graph in them, or one that came without stacks.
//! - [`descendants`]: what costs most of all that a function called, however deep.
//! - [`calltree`]: who called for a cost, through the callers that matter.
//! - [`attribution`]: which high-level function each cost belongs to, by counting stacks ([`exact`]) and by the call graph
//!   ([`estimate`]).
//! - [`categories`], [`operations`]: what kind of work a kernel function is, and which of the paper's operations.
//! - [`tree`]: stacks merged from where they began.
//! - [`compare`]: two profiles beside each other, across the kernels' renames ([`names`]).

pub mod attribution;
pub mod callgraph;
pub mod calltree;
pub mod categories;
pub mod compare;
pub mod descendants;
pub mod edges;
pub mod estimate;
pub mod exact;
pub mod functions;
pub mod names;
pub mod operations;
pub mod own;
pub mod profile;
mod reduction;
pub mod roots;
pub mod significance;
pub mod tree;

pub use attribution::{Attributed, Attribution};
pub use callgraph::CallGraph;
pub use calltree::CallTree;
pub use categories::{Categories, Category};
pub use compare::{Comparison, Run};
pub use edges::Edges;
pub use exact::Count;
pub use functions::{Function, Functions, Image};
pub use operations::Operation;
pub use own::Cost;
pub use profile::{Entry, Event, Frame, Lost, Profile, Stack, Stacks};
pub use roots::{Root, Roots};
