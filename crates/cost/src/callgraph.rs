//! Call graphs of profilers that keep no stacks.

use crate::functions::{Function, Functions};
use crate::profile::Event;

/// Functions with their own samples, and the number of sampled stacks with each call: the output of `opreport
/// --callgraph`.
#[derive(Clone, Debug, Default)]
pub struct CallGraph {
    /// The event counted, if stated.
    pub event: Option<Event>,
    /// The functions.
    pub functions: Functions,
    /// Samples in the function itself, by the function's number.
    pub self_samples: Vec<u64>,
    /// Caller, callee, and the number of samples with the call on the stack. Pairs are unique. A function that calls
    /// itself is its own caller.
    pub edges: Vec<(Function, Function, u64)>,
}
