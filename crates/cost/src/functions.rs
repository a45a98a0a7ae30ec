//! Functions by name and image, each stored once.

use std::collections::HashMap;

/// A function of a [`Functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Function(pub u32);

/// The image that a function is part of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Image {
    /// The kernel itself, or one of its modules: its name.
    Kernel(Option<String>),
    /// A program or library: its name, without folders.
    User(String),
    /// The profiler does not report it.
    Unknown,
}

/// All functions of a profile.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    all: Vec<(String, Image)>,
    by_name: HashMap<(String, Image), Function>,
}

impl Functions {
    /// The function with this name; added if new.
    pub fn of(&mut self, name: &str, image: &Image) -> Function {
        let key = (name.to_owned(), image.clone());
        if let Some(function) = self.by_name.get(&key) {
            return *function;
        }
        let function = Function(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
        self.all.push(key.clone());
        self.by_name.insert(key, function);
        function
    }

    /// Its name; the address, as `[0x…]`, of a function without a symbol.
    pub fn name(&self, function: Function) -> &str {
        &self.all[function.0 as usize].0
    }

    /// Its image.
    pub fn image(&self, function: Function) -> &Image {
        &self.all[function.0 as usize].1
    }

    /// Whether it is part of a program or library: no kernel function called it.
    pub fn is_in_program(&self, function: Function) -> bool {
        matches!(self.image(function), Image::User(_))
    }

    /// All functions with this name, in any image.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Function> + 'a {
        self.iter().filter(move |function| self.name(*function) == name)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Function> + use<> {
        (0..u32::try_from(self.all.len()).unwrap_or(u32::MAX)).map(Function)
    }

    /// The number of functions.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}
