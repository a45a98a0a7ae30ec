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

/// What all functions are that there was no room for.
const OTHERS: &str = "[others]";

/// All functions of a profile.
#[derive(Clone, Debug)]
pub struct Functions {
    /// Each by its name and the place of its image.
    all: Vec<(String, u32)>,
    images: Vec<Image>,
    /// By image and then by name, so that a function that is known is found without a copy of either.
    by_name: HashMap<Image, (u32, HashMap<String, Function>)>,
    most: usize,
    others: u64,
}

impl Default for Functions {
    fn default() -> Self {
        Self::at_most(usize::MAX)
    }
}

impl Functions {
    /// None yet, and later so many at most.
    pub fn at_most(most: usize) -> Self {
        Self { all: Vec::new(), images: Vec::new(), by_name: HashMap::new(), most, others: 0 }
    }

    /// How often a function was asked for that there was no room for.
    pub fn others(&self) -> u64 {
        self.others
    }

    /// The function with this name; added if new. Where there is no room for it, `[others]`.
    pub fn of(&mut self, name: &str, image: &Image) -> Function {
        if let Some(function) = self.by_name.get(image).and_then(|(_, names)| names.get(name)) {
            return *function;
        }
        if self.all.len() >= self.most && name != OTHERS {
            self.others += 1;
            return self.of(OTHERS, &Image::Unknown);
        }
        let function = Function(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
        let (place, names) = self.by_name.entry(image.clone()).or_insert_with(|| {
            self.images.push(image.clone());
            (u32::try_from(self.images.len() - 1).unwrap_or(u32::MAX), HashMap::new())
        });
        self.all.push((name.to_owned(), *place));
        names.insert(name.to_owned(), function);
        function
    }

    /// Its name; the address, as `[0x…]`, of a function without a symbol.
    pub fn name(&self, function: Function) -> &str {
        &self.all[function.0 as usize].0
    }

    /// Its image.
    pub fn image(&self, function: Function) -> &Image {
        &self.images[self.all[function.0 as usize].1 as usize]
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
