//! A key with its type, range, default and source, for reading files and for the reference page.

use crate::schema::quantity::Quantity;
use std::marker::PhantomData;

/// What applies if a key is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// Nothing: it must be written.
    Required,
    /// This value, as written in a file but without quotes.
    Is(&'static str),
    /// A value that depends on others, in words.
    Computed(&'static str),
    /// The feature is off; in words, what that means.
    Absent(&'static str),
}

/// A key of a table, with a value of type `T`.
pub struct Key<T> {
    name: &'static str,
    meaning: &'static str,
    range: Option<(&'static str, &'static str)>,
    fallback: Fallback,
    source: &'static str,
    value: PhantomData<fn() -> T>,
}

impl<T> Key<T> {
    /// A required key, with any value of its type.
    pub const fn new(name: &'static str, meaning: &'static str) -> Self {
        Self { name, meaning, range: None, fallback: Fallback::Required, source: "", value: PhantomData }
    }

    /// Inclusive bounds, as written in a file but without quotes.
    pub const fn range(mut self, least: &'static str, most: &'static str) -> Self {
        self.range = Some((least, most));
        self
    }

    /// A default, and where it comes from.
    pub const fn default(mut self, text: &'static str, source: &'static str) -> Self {
        self.fallback = Fallback::Is(text);
        self.source = source;
        self
    }

    /// A default that depends on other values.
    pub const fn computed(mut self, words: &'static str, source: &'static str) -> Self {
        self.fallback = Fallback::Computed(words);
        self.source = source;
        self
    }

    /// No default: without the key, the feature is off.
    pub const fn absent(mut self, words: &'static str) -> Self {
        self.fallback = Fallback::Absent(words);
        self
    }
}

/// A key whose value is a table or a list of tables.
pub struct Sub {
    name: &'static str,
    meaning: &'static str,
    form: &'static str,
}

impl Sub {
    /// A key whose value is one table.
    pub const fn table(name: &'static str, meaning: &'static str) -> Self {
        Self { name, meaning, form: "table" }
    }

    /// A key whose value is a table, or a list of them.
    pub const fn tables(name: &'static str, meaning: &'static str) -> Self {
        Self { name, meaning, form: "table, or a list of tables" }
    }

    /// A key whose value is text or a table.
    pub const fn text_or_table(name: &'static str, meaning: &'static str) -> Self {
        Self { name, meaning, form: "text, or a table" }
    }
}

/// What the reference page says about a key.
pub trait Describe: Sync {
    /// The key.
    fn name(&self) -> &'static str;
    /// The meaning of its value.
    fn meaning(&self) -> &'static str;
    /// The kind of value.
    fn form(&self) -> String;
    /// The bounds of its value.
    fn range(&self) -> Option<(&'static str, &'static str)>;
    /// What applies without it; `None` for tables, whose own keys say that.
    fn fallback(&self) -> Option<Fallback>;
    /// Where the default comes from; empty if there is none.
    fn source(&self) -> &'static str;
    /// Whether its default and its bounds are valid values of its type.
    fn is_sound(&self) -> bool;
}

impl<T: Quantity> Describe for Key<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn meaning(&self) -> &'static str {
        self.meaning
    }

    fn form(&self) -> String {
        T::form()
    }

    fn range(&self) -> Option<(&'static str, &'static str)> {
        self.range
    }

    fn fallback(&self) -> Option<Fallback> {
        Some(self.fallback)
    }

    fn source(&self) -> &'static str {
        self.source
    }

    fn is_sound(&self) -> bool {
        let within = |value: &T| self.bounds().is_none_or(|(least, most)| least <= *value && *value <= most);
        let default_is = match self.fallback {
            Fallback::Is(text) => T::bare(text).as_ref().is_some_and(within),
            _ => true,
        };
        default_is && (self.range.is_none() || self.bounds().is_some_and(|(least, most)| least <= most))
    }
}

impl<T: Quantity> Key<T> {
    /// The bounds as values; `None` if there are none.
    pub(crate) fn bounds(&self) -> Option<(T, T)> {
        let (least, most) = self.range?;
        Some((T::bare(least)?, T::bare(most)?))
    }
}

impl Describe for Sub {
    fn name(&self) -> &'static str {
        self.name
    }

    fn meaning(&self) -> &'static str {
        self.meaning
    }

    fn form(&self) -> String {
        self.form.to_owned()
    }

    fn range(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    fn fallback(&self) -> Option<Fallback> {
        None
    }

    fn source(&self) -> &'static str {
        ""
    }

    fn is_sound(&self) -> bool {
        true
    }
}

/// A kind of table, with all of its keys.
pub struct Section {
    /// Its heading, as in a file; empty for the keys before the first heading.
    pub heading: &'static str,
    /// What it describes, in a sentence or two.
    pub meaning: &'static str,
    /// Its keys, in the order of the reference page.
    pub keys: &'static [&'static dyn Describe],
    /// A kind of table whose keys are allowed here too.
    pub also: Option<&'static Section>,
}

impl Section {
    /// All keys that are allowed here.
    pub fn all_keys(&self) -> impl Iterator<Item = &'static dyn Describe> + Clone {
        let also = self.also.map_or(&[] as &[_], |section| section.keys);
        self.keys.iter().chain(also).copied()
    }
}
