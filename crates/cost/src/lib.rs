//! Where CPU time was spent: analyses of sampled stacks.
//!
//! The analyses are those of J. LaVoie, E. Nahum and R. Flynn, "Profiling TCP: An In-depth Analysis of Processing
//! Costs" (IBM Research Report; `lavoie`), on their call graphs and on whole stacks.
//!
//! - [`profile`]: stacks with their samples, from any profiler.
//! - [`calls`]: the calls in these stacks, without interrupted code, for all attributions.
//! - [`callgraph`]: call graphs of profilers that keep no stacks.
//! - [`edges`]: the call graph of stacks, or one that came without stacks.
//! - [`descendants`]: the most expensive direct and indirect callees of a function.
//! - [`calltree`]: the callers that caused a cost, through the callers that matter.
//! - [`attribution`]: which high-level function each cost belongs to, by counting stacks ([`exact`]) and by the call graph
//!   ([`estimate`]).
//! - [`categories`], [`operations`]: the kind of work of a kernel function, and the paper's operations.
//! - [`share`], [`significance`]: confidence intervals, and the significance of differences.
//! - [`subgraph`]: the call graph below a root.
//! - [`tree`]: stacks merged from their outermost functions.
//! - [`compare`]: two profiles compared across the kernels' renames ([`names`]).
//! - [`each`]: the cost of a packet, a byte and an ACK.
//! - [`work`]: the host's work during a profile.
//!
//! # Decisions
//!
//! **A cost belongs to the innermost named function above it.** Each sample belongs to at most one function, so that
//! parts add up to the whole. The samples below each function at any distance are reported next to that. With whole
//! stacks this is counted. With only a call graph, as in lavoie, it is the probability that a walk from caller to
//! caller reaches a named function first. A profile with stacks has both, which shows what a call graph loses.
//!
//! **Only calls can be attributed.** [`calls`] removes interrupted code and restores callers removed by tail calls. Its
//! result has its own type, so that raw stacks cannot be attributed by mistake.

pub mod attribution;
pub mod callgraph;
pub mod calls;
pub mod calltree;
pub mod categories;
pub mod compare;
pub mod descendants;
pub mod each;
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
pub mod share;
pub mod significance;
pub mod subgraph;
pub mod tree;
pub mod work;

pub use attribution::{Attributed, Attribution};
pub use callgraph::CallGraph;
pub use calls::Calls;
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
pub use share::Share;
pub use subgraph::Subgraph;
pub use work::Work;
