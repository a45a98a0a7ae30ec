//! Call graphs of profilers that keep no stacks.

use crate::functions::{Function, Functions};
use crate::profile::Event;

/// Functions with their own samples, and how often which call was on a sampled stack: what `opreport --callgraph` prints.
#[derive(Clone, Debug, Default)]
pub struct CallGraph {
    /// What was counted, if it is said.
    pub event: Option<Event>,
    /// The functions.
    pub functions: Functions,
    /// Samples in the function itself, by the function's place.
    pub self_samples: Vec<u64>,
    /// Caller, callee, and in how many samples the call was on the stack. No pair is there twice. A function that calls
    /// itself is its own caller.
    pub edges: Vec<(Function, Function, u64)>,
}
