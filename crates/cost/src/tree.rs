//! Stacks merged from their outermost functions: the data of a flame graph.

use crate::functions::Function;
use crate::own::add;
use crate::profile::Profile;
use std::collections::HashMap;

/// A function on one call path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The function; `None` for the first node, which is all stacks.
    pub function: Option<Function>,
    /// The weight of the stacks with this path.
    pub weight: u64,
    /// Its callees, in the order of first appearance.
    pub callees: Vec<usize>,
}

impl Profile {
    /// All call paths in an event, the first node being all of them; each callee comes after its caller. If `of` is not
    /// empty, only stacks with one of its functions, from the outermost of them inwards.
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
