//! The high-level functions among which costs are divided.

use crate::functions::Function;
use crate::profile::Frame;

/// A root by its place in [`Roots`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Root(pub u16);

/// Named functions. A root may have several: `tcp_sendmsg` and `tcp_sendmsg_locked` are one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    names: Vec<String>,
    /// The root of each function that belongs to one, by the function's number.
    of: Vec<Option<Root>>,
    /// What the first does below the second is the second's.
    within: Vec<(Root, Root)>,
}

impl Roots {
    /// None so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a root. A function that is already another's stays that one's.
    ///
    /// `None` if there are 65,536 already.
    pub fn add(&mut self, name: &str, functions: impl IntoIterator<Item = Function>) -> Option<Root> {
        let root = Root(u16::try_from(self.names.len()).ok()?);
        self.names.push(name.to_owned());
        self.extend(root, functions);
        Some(root)
    }

    /// Adds functions to a root that is there, but for those that are another's.
    pub(crate) fn extend(&mut self, root: Root, functions: impl IntoIterator<Item = Function>) {
        for function in functions {
            let at = function.0 as usize;
            if self.of.len() <= at {
                self.of.resize(at + 1, None);
            }
            self.of[at].get_or_insert(root);
        }
    }

    /// What `inner` does below `outer` is `outer`'s from now on, whatever is between: `inner` does its work for it.
    pub fn within(&mut self, inner: Root, outer: Root) {
        self.within.push((inner, outer));
    }

    /// Which of a stack's functions are a root's, and whose they are there; the innermost first, as the stack is.
    ///
    /// What stands at a place of the stack belongs to the first of them that is not before it.
    pub fn on(&self, frames: &[Frame], on: &mut Vec<(usize, Root)>) {
        on.clear();
        let named = frames.iter().enumerate();
        on.extend(named.filter_map(|(at, frame)| Some((at, self.of(frame.function)?))));
        for &(inner, outer) in &self.within {
            let Some(above) = on.iter().rposition(|(_, root)| *root == outer) else { continue };
            on[..above].iter_mut().filter(|(_, root)| *root == inner).for_each(|(_, root)| *root = outer);
        }
    }

    /// The root that a function belongs to.
    pub fn of(&self, function: Function) -> Option<Root> {
        self.of.get(function.0 as usize).copied().flatten()
    }

    /// The root of that name; of several the first.
    pub fn named(&self, name: &str) -> Option<Root> {
        self.iter().find(|root| self.name(*root) == name)
    }

    /// Its name.
    pub fn name(&self, root: Root) -> &str {
        &self.names[usize::from(root.0)]
    }

    /// All of them, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Root> + use<> {
        (0..u16::try_from(self.names.len()).unwrap_or(u16::MAX)).map(Root)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}
