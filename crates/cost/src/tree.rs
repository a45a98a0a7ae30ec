//! Stacks merged from where they began: what a flame graph shows.

use crate::functions::Function;
use crate::own::add;
use crate::profile::Profile;
use std::collections::HashMap;

/// A function as it was called on one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The function; `None` of the first node, which is all stacks.
    pub function: Option<Function>,
    /// What was seen with this on its stack.
    pub weight: u64,
    /// What it called, in the order in which it was first seen.
    pub callees: Vec<usize>,
}

impl Profile {
    /// All ways on which functions were called in an event, the first node being all of them; each callee stands behind its
    /// caller. Of stacks on which one of the functions `of` is, the part from the outermost of them inwards, if any are named.
    pub fn tree(&self, event: u16, of: &[Function]) -> Vec<Node> {
        let mut nodes = vec![Node { function: None, weight: 0, callees: Vec::new() }];
        let mut known: HashMap<(usize, Function), usize> = HashMap::new();
        for (stack, weight) in self.weighed(event) {
            let frames = self.stacks.frames(stack);
            let begin = if of.is_empty() {
                Some(frames.len())
            } else {
                frames.iter().rposition(|frame| of.contains(&frame.function)).map(|at| at + 1)
            };
            let Some(begin) = begin else { continue };
            let mut at = 0;
            add(&mut nodes[at].weight, weight);
            for frame in frames[..begin].iter().rev() {
                let next = nodes.len();
                let callee = *known.entry((at, frame.function)).or_insert(next);
                if callee == next {
                    nodes.push(Node { function: Some(frame.function), weight: 0, callees: Vec::new() });
                    nodes[at].callees.push(callee);
                }
                at = callee;
                add(&mut nodes[at].weight, weight);
            }
        }
        nodes
    }
}
