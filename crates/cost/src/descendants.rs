//! Greatest n Descendants (lavoie, section 3.1.2): the most expensive descendants of the top functions, at any depth.

use crate::edges::Edges;
use crate::functions::Function;
use std::collections::VecDeque;

/// A function and the greatest of its descendants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// The function.
    pub function: Function,
    /// Its own cost.
    pub own: u64,
    /// Its descendants with the highest own costs, in descending order; equal ones by number. It is not among them.
    pub descendants: Vec<Descendant>,
}

/// A direct or indirect callee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descendant {
    /// The function.
    pub function: Function,
    /// Its own cost, for all callers: attribution determines how much of that is the ancestor's.
    pub own: u64,
    /// The minimum number of calls between them.
    pub depth: u32,
}

impl Edges {
    /// The greatest `most` descendants of each of the `top` functions by own cost: the paper's n and m.
    pub fn greatest_descendants(&self, top: usize, most: usize) -> Vec<Ancestor> {
        self.greatest_descendants_of(&self.top(top), most)
    }

    /// The greatest `most` descendants of each of these functions.
    ///
    /// Each is the root of a breadth-first search over callees. The searches share the same nodes, which are these
    /// edges; a call of an ancestor ends only that path.
    pub fn greatest_descendants_of(&self, functions: &[Function], most: usize) -> Vec<Ancestor> {
        let mut search = Search { seen: vec![0; self.functions()], generation: 0, queue: VecDeque::new() };
        functions
            .iter()
            .filter(|function| (function.0 as usize) < self.functions())
            .map(|function| {
                let mut descendants = search.descendants(self, *function);
                descendants.sort_unstable_by_key(|found| (std::cmp::Reverse(found.own), found.function));
                descendants.truncate(most);
                Ancestor { function: *function, own: self.own(*function), descendants }
            })
            .collect()
    }
}

/// The visited nodes of a search; marks of earlier searches have another generation.
struct Search {
    seen: Vec<u32>,
    generation: u32,
    queue: VecDeque<(Function, u32)>,
}

impl Search {
    fn descendants(&mut self, edges: &Edges, root: Function) -> Vec<Descendant> {
        self.generation += 1;
        self.seen[root.0 as usize] = self.generation;
        self.queue.push_back((root, 0));
        let mut found = Vec::new();
        while let Some((caller, depth)) = self.queue.pop_front() {
            for &(callee, _) in edges.callees(caller) {
                let seen = &mut self.seen[callee.0 as usize];
                if *seen == self.generation {
                    continue;
                }
                *seen = self.generation;
                self.queue.push_back((callee, depth + 1));
                if edges.own(callee) > 0 {
                    found.push(Descendant { function: callee, own: edges.own(callee), depth: depth + 1 });
                }
            }
        }
        found
    }
}
