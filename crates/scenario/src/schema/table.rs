//! Reads one table by its keys. Reading continues after errors: an invalid value is replaced by its default, so that
//! all errors of a file are found, and no scenario is returned.

use crate::file::{Diagnostic, Entry, Node, Place, Table, Value};
use crate::schema::key::{Describe, Fallback, Key, Section, Sub};
use crate::schema::nearest::nearest;
use crate::schema::quantity::{Quantity, Wrong};
use std::cell::RefCell;

/// The errors and settings collected by reading a file.
#[derive(Debug, Default)]
pub struct Context {
    diagnostics: RefCell<Vec<Diagnostic>>,
    settings: RefCell<Vec<Setting>>,
}

impl Context {
    /// All errors, and all values in effect.
    pub fn into_parts(self) -> (Vec<Diagnostic>, Vec<Setting>) {
        (self.diagnostics.into_inner(), self.settings.into_inner())
    }

    /// Records an error.
    pub fn refuse(&self, place: Place, message: impl Into<String>, hint: impl Into<String>) {
        let diagnostic = Diagnostic { message: message.into(), place, hint: hint.into() };
        self.diagnostics.borrow_mut().push(diagnostic);
    }

    /// Whether there were any errors so far.
    pub fn has_errors(&self) -> bool {
        !self.diagnostics.borrow().is_empty()
    }

    /// Records a value in effect.
    pub fn note(&self, setting: Setting) {
        self.settings.borrow_mut().push(setting);
    }
}

/// A value in effect in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its whole key, such as `path.forward.delay`.
    pub key: String,
    /// Its value, as written in a file; `None` if the feature is off.
    pub value: Option<String>,
    /// Where it comes from.
    pub origin: Origin,
    /// Its meaning.
    pub meaning: String,
    /// For a default: its reason, or what its absence means.
    pub reason: String,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The file.
    File,
    /// The command line.
    Override,
    /// Neither.
    Default,
}

/// Reads one table.
#[derive(Clone, Copy)]
pub struct Reader<'d> {
    context: &'d Context,
    section: &'static Section,
    /// The table; `None` if the file does not have it.
    table: Option<&'d Table>,
    /// The table that provides values missing in this one.
    behind: Option<&'d Table>,
    place: &'d Place,
    /// The table's key followed by a dot, or nothing.
    prefix: &'d str,
}

impl<'d> Reader<'d> {
    /// A reader of the table at `prefix`; unknown keys are refused here. Without a table, every default applies, and
    /// missing required keys are reported at `place`.
    pub fn new(
        context: &'d Context,
        section: &'static Section,
        table: Option<&'d Table>,
        place: &'d Place,
        prefix: &'d str,
    ) -> Self {
        let reader = Self { context, section, table, behind: None, place, prefix };
        for entry in table.iter().flat_map(|table| &table.entries) {
            if !section.all_keys().any(|key| key.name() == entry.key) {
                reader.refuse_unknown(entry);
            }
        }
        reader
    }

    /// Takes missing values from another table.
    pub fn with_behind(mut self, behind: Option<&'d Table>) -> Self {
        self.behind = behind;
        self
    }

    fn refuse_unknown(&self, entry: &Entry) {
        let names = self.section.all_keys().map(|key| key.name());
        let hint = match nearest(&entry.key, names.clone()) {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("there are {}", names.collect::<Vec<_>>().join(", ")),
        };
        let short: String = entry.key.chars().take(40).collect();
        self.context.refuse(entry.place.clone(), format!("there is no key \"{short}\" here"), hint);
    }

    /// The errors and settings collected so far.
    pub fn context(&self) -> &'d Context {
        self.context
    }

    /// The entry of a key, if it is written.
    pub fn entry(&self, key: &dyn Describe) -> Option<&'d Entry> {
        let find = |table: Option<&'d Table>| table.and_then(|table| table.entry(key.name()));
        find(self.table).or_else(|| find(self.behind))
    }

    /// Whether a key is written.
    pub fn has(&self, key: &dyn Describe) -> bool {
        self.entry(key).is_some()
    }

    /// The place of a key's value, or where it is missing.
    pub fn place(&self, key: &dyn Describe) -> Place {
        self.entry(key).map_or_else(|| self.place.clone(), |entry| entry.node.place.clone())
    }

    /// Records that a key's value is wrong, at its place.
    pub fn refuse(&self, key: &dyn Describe, message: impl Into<String>, hint: impl Into<String>) {
        self.context.refuse(self.place(key), message, hint);
    }

    /// Records an error if more than one of these mutually exclusive keys is written.
    pub fn refuse_all_but_one(&self, keys: &[&dyn Describe]) {
        let mut written = keys.iter().filter_map(|key| self.entry(*key));
        let Some(first) = written.next() else { return };
        for other in written {
            self.context.refuse(
                other.place.clone(),
                format!("{} and {} exclude each other", first.key, other.key),
                "keep one of them",
            );
        }
    }

    /// Records an error if a key is written that requires another.
    pub fn refuse_without(&self, key: &dyn Describe, needed: &dyn Describe) {
        if let Some(entry) = self.entry(key)
            && !self.has(needed)
        {
            let message = format!("{} means nothing without {}", key.name(), needed.name());
            self.context.refuse(
                entry.place.clone(),
                message,
                format!("write {} too, or leave this out", needed.name()),
            );
        }
    }

    /// The value of a key with a default; also the default if the written value is wrong.
    ///
    /// # Panics
    ///
    /// If the key has no default, which no file can cause; the tests of the reference page read every key.
    pub fn get<T: Quantity>(&self, key: &Key<T>) -> T {
        let Some(Fallback::Is(text)) = key.fallback() else { panic!("{} has no default", key.name()) };
        let default = T::bare(text).unwrap_or_else(|| panic!("{text} is no value of {}", key.name()));
        self.or(key, default, key.source())
    }

    /// The value of a key whose default depends on others; `why` is the reason for the default.
    pub fn or<T: Quantity>(&self, key: &Key<T>, default: T, why: &str) -> T {
        let (value, origin) = match self.written(key) {
            Some((value, origin)) => (value, origin),
            None => (default, Origin::Default),
        };
        let reason = if origin == Origin::Default { why } else { "" };
        self.note(key, Some(value.show()), origin, reason);
        value
    }

    /// The value of an optional key.
    pub fn optional<T: Quantity>(&self, key: &Key<T>) -> Option<T> {
        let written = self.written(key);
        let absent = match key.fallback() {
            Some(Fallback::Absent(words)) => words,
            _ => "",
        };
        let origin = written.as_ref().map_or(Origin::Default, |(_, origin)| *origin);
        let shown = written.as_ref().map(|(value, _)| value.show());
        self.note(key, shown, origin, if written.is_some() { "" } else { absent });
        written.map(|(value, _)| value)
    }

    /// The value of a required key; `None`, and an error, if it is missing.
    pub fn required<T: Quantity>(&self, key: &Key<T>) -> Option<T> {
        if !self.has(key) {
            let hint = format!("write {} = …: {}", key.name(), key.form().replace('`', ""));
            self.context.refuse(self.place.clone(), format!("{} is missing here", key.name()), hint);
            return None;
        }
        let (value, origin) = self.written(key)?;
        self.note(key, Some(value.show()), origin, "");
        Some(value)
    }

    /// The value of a key, or its default, without recording it: for values needed early.
    pub fn peek<T: Quantity>(&self, key: &Key<T>) -> Option<T> {
        let written = self.entry(key).and_then(|entry| T::read(&entry.node).ok());
        written.or_else(|| match key.fallback() {
            Some(Fallback::Is(text)) => T::bare(text),
            _ => None,
        })
    }

    /// The written value of a key, if it is valid.
    fn written<T: Quantity>(&self, key: &Key<T>) -> Option<(T, Origin)> {
        let entry = self.entry(key)?;
        match T::read(&entry.node).and_then(|value| within(key, value)) {
            Ok(value) => Some((value, origin(&entry.node))),
            Err(wrong) => {
                self.context.refuse(entry.node.place.clone(), wrong.message, wrong.hint);
                None
            }
        }
    }

    /// Records the value of a key in the run.
    pub fn note(&self, key: &dyn Describe, value: Option<String>, origin: Origin, reason: &str) {
        self.context.note(Setting {
            key: format!("{}{}", self.prefix, key.name()),
            value,
            origin,
            meaning: key.meaning().to_owned(),
            reason: reason.to_owned(),
        });
    }

    /// The table under a key, if there is one.
    pub fn table(&self, key: &Sub) -> Option<(&'d Table, &'d Place)> {
        let entry = self.entry(key)?;
        self.as_table(&entry.node)
    }

    /// The tables under a key: one, or a list of them.
    pub fn tables(&self, key: &Sub) -> Vec<(&'d Table, &'d Place)> {
        let Some(entry) = self.entry(key) else { return Vec::new() };
        match &entry.node.value {
            Value::List(list) => list.iter().filter_map(|node| self.as_table(node)).collect(),
            _ => self.as_table(&entry.node).into_iter().collect(),
        }
    }

    /// The tables of a key; with more than `most`, the first excess one is refused and none is read.
    pub fn tables_up_to(&self, key: &Sub, most: usize) -> Vec<(&'d Table, &'d Place)> {
        let tables = self.tables(key);
        let Some((_, place)) = tables.get(most) else { return tables };
        let message = format!("there are more than {most} in {}", key.name());
        self.context.refuse((*place).clone(), message, "leave some out");
        Vec::new()
    }

    fn as_table(&self, node: &'d Node) -> Option<(&'d Table, &'d Place)> {
        if let Value::Table(table) = &node.value {
            return Some((table, &node.place));
        }
        let message = format!("this is {}, not a table", node.value.kind());
        self.context.refuse(
            node.place.clone(),
            message,
            "write it as a heading in brackets, or as { key = value }",
        );
        None
    }

    /// The prefix of the keys of the table under a key: `path.forward.` for `forward`.
    pub fn prefix_of(&self, key: &dyn Describe) -> String {
        format!("{}{}.", self.prefix, key.name())
    }
}

/// Where a written value comes from.
pub fn origin(node: &Node) -> Origin {
    if node.place.source == 0 { Origin::File } else { Origin::Override }
}

/// The value, if it is within the key's bounds.
fn within<T: Quantity>(key: &Key<T>, value: T) -> Result<T, Wrong> {
    let Some((least, most)) = key.bounds() else { return Ok(value) };
    let too = match () {
        () if value < least => "small",
        () if value > most => "large",
        () => return Ok(value),
    };
    Err(Wrong {
        message: format!("{} is too {too} for {}", value.show(), key.name()),
        hint: format!("write a value from {} to {}", least.show(), most.show()),
    })
}
