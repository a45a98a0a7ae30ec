//! The high-level functions among which costs are divided.

use crate::functions::Function;

/// A root by its place in [`Roots`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Root(pub u16);

/// Named functions. A root may have several: `tcp_sendmsg` and `tcp_sendmsg_locked` are one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    names: Vec<String>,
    /// Of each function that is of a root, which; by the function's number.
    of: Vec<Option<Root>>,
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
        for function in functions {
            let at = function.0 as usize;
            if self.of.len() <= at {
                self.of.resize(at + 1, None);
            }
            self.of[at].get_or_insert(root);
        }
        Some(root)
    }

    /// Of which root a function is.
    pub fn of(&self, function: Function) -> Option<Root> {
        self.of.get(function.0 as usize).copied().flatten()
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
