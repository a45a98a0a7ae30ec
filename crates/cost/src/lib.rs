//! Where the CPU time went: analyses of the stacks that a profiler sampled.
//!
//! The analyses are those of J. LaVoie, E. Nahum and R. Flynn, "Profiling TCP: An In-depth Analysis of Processing Costs" (IBM Research
//! Report; `lavoie`), on the call graphs that it had and on whole stacks.
//!
//! - [`profile`]: stacks with their samples, whatever profiler they are from.
//! - [`calls`]: the calls in these stacks, without interrupted code: every attribution reads them.
//! - [`callgraph`]: call graphs of profilers that keep no stacks.
//! - [`edges`]: the call graph in them, or one that came without stacks.
//! - [`descendants`]: what costs most of all that a function called, however deep.
//! - [`calltree`]: the callers that caused a cost, through the callers that matter.
//! - [`attribution`]: which high-level function each cost belongs to, by counting stacks ([`exact`]) and by the call graph
//!   ([`estimate`]).
//! - [`categories`], [`operations`]: what kind of work a kernel function is, and which of the paper's operations.
//! - [`share`], [`significance`]: confidence intervals, and differences that chance can make.
//! - [`subgraph`]: the call graph below a root.
//! - [`tree`]: stacks merged from where they began.
//! - [`compare`]: two profiles side by side, across the kernels' renames ([`names`]).
//! - [`each`]: what a packet, a byte and an ACK cost.
//! - [`work`]: what the host did meanwhile.
//!
//! # Decisions
//!
//! **A cost belongs to the innermost named function above it.** Each sample belongs to one function at most, so that
//! parts add up to the whole. How many samples each function stands above at all is reported next to that. With whole
//! stacks this is counted. With only a call graph, which is what lavoie had, it is the probability that a walk from
//! caller to caller reaches a named function first. A profile with stacks has both, which shows what a call graph
//! loses.
//!
//! **Only calls can be divided.** [`calls`] removes what an interrupt came upon and restores callers that a jump
//! removed. Its result is a type of its own, so that raw stacks cannot be attributed by mistake.

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
