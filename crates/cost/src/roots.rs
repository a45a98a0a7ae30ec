//! The high-level functions among which costs are divided.

use crate::functions::Function;
use crate::profile::Frame;

/// A root, by its index in [`Roots`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Root(pub u16);

/// Named roots. A root may have several functions: `tcp_sendmsg` and `tcp_sendmsg_locked` are one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    names: Vec<String>,
    /// The root of each function, by function number.
    of: Vec<Option<Root>>,
    /// The first root below the second belongs to the second.
    within: Vec<(Root, Root)>,
}

impl Roots {
    /// No roots.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a root. A function that already belongs to another stays there.
    ///
    /// `None` if there are 65,536 already.
    pub fn add(&mut self, name: &str, functions: impl IntoIterator<Item = Function>) -> Option<Root> {
        let root = Root(u16::try_from(self.names.len()).ok()?);
        self.names.push(name.to_owned());
        self.extend(root, functions);
        Some(root)
    }

    /// Adds functions to an existing root, except those that belong to another.
    pub(crate) fn extend(&mut self, root: Root, functions: impl IntoIterator<Item = Function>) {
        for function in functions {
            let at = function.0 as usize;
            if self.of.len() <= at {
                self.of.resize(at + 1, None);
            }
            self.of[at].get_or_insert(root);
        }
    }

    /// From now on `inner` below `outer`, at any distance, belongs to `outer`: it works for it.
    pub fn within(&mut self, inner: Root, outer: Root) {
        self.within.push((inner, outer));
    }

    /// Which of a stack's functions belong to a root, and to which one there; innermost first, like the stack.
    ///
    /// A place on the stack belongs to the first of them at or after it.
    pub fn on(&self, frames: &[Frame], on: &mut Vec<(usize, Root)>) {
        on.clear();
        let named = frames.iter().enumerate();
        on.extend(named.filter_map(|(at, frame)| Some((at, self.of(frame.function)?))));
        for &(inner, outer) in &self.within {
            let Some(above) = on.iter().rposition(|(_, root)| *root == outer) else { continue };
            on[..above].iter_mut().filter(|(_, root)| *root == inner).for_each(|(_, root)| *root = outer);
        }
    }

    /// The root of a function.
    pub fn of(&self, function: Function) -> Option<Root> {
        self.of.get(function.0 as usize).copied().flatten()
    }

    /// The root with this name; the first of several.
    pub fn named(&self, name: &str) -> Option<Root> {
        self.iter().find(|root| self.name(*root) == name)
    }

    /// Its name.
    pub fn name(&self, root: Root) -> &str {
        &self.names[usize::from(root.0)]
    }

    /// All of them, in the order of adding.
    pub fn iter(&self) -> impl Iterator<Item = Root> + use<> {
        (0..u16::try_from(self.names.len()).unwrap_or(u16::MAX)).map(Root)
    }

    /// The number of roots.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}
