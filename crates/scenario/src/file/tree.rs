//! The values of a file, each with its place. The `toml` crate parses TOML, and continues after an error.

use crate::file::diagnostic::Diagnostic;
use crate::file::source::Place;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `"text"`.
    Text(String),
    /// `12`.
    Integer(i64),
    /// `1.5`, or a date: written without quotes, never valid, kept to be named in the error.
    Other(String),
    /// `true`.
    Bool(bool),
    /// `[…]`, or `[[…]]`.
    List(Vec<Node>),
    /// `{…}`, or `[…]` as a heading.
    Table(Table),
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Its place.
    pub place: Place,
}

/// A key, its place, and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The key's place.
    pub place: Place,
    /// Its value.
    pub node: Node,
}

/// Keys and values in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// All of them; no key twice.
    pub entries: Vec<Entry>,
}

impl Table {
    /// The entry of a key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

impl Value {
    /// The kind of value, with an article.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "a number",
            Self::Other(_) => "a value without quotes",
            Self::Bool(_) => "a switch",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }

    /// The value of bare text, as in defaults and on the command line: `true`, a whole number, or text.
    pub fn bare(text: &str) -> Self {
        match (text, text.parse()) {
            ("true", _) => Self::Bool(true),
            ("false", _) => Self::Bool(false),
            (_, Ok(number)) => Self::Integer(number),
            _ => Self::Text(text.to_owned()),
        }
    }
}

/// Parses a whole file; returns the values, and the errors.
pub fn parse(text: &str) -> (Table, Vec<Diagnostic>) {
    let (table, errors) = DeTable::parse_recoverable(text);
    let errors = errors.iter().map(|error| Diagnostic {
        message: format!("this is not TOML: {}", error.message().replace('\n', ", ")),
        place: Place::in_file(error.span().unwrap_or(0..0)),
        hint: String::new(),
    });
    let mut reading = Reading { place: Place::in_file, diagnostics: errors.collect() };
    let table = reading.table(table.into_inner());
    (table, reading.diagnostics)
}

/// Parses the value of an override: TOML if it is valid, otherwise bare text. All of it has the same place.
pub fn parse_value(text: &str, place: &Place) -> Value {
    let Ok(value) = DeValue::parse(text) else { return Value::bare(text) };
    let mut reading = Reading { place: |_| place.clone(), diagnostics: Vec::new() };
    let node = reading.node(value);
    match node.value {
        // 1.5 Gbit/s begins like a number, and a date may be meant as a name.
        Value::Other(_) => Value::Text(text.to_owned()),
        value if reading.diagnostics.is_empty() => value,
        _ => Value::bare(text),
    }
}

/// Converts the parser's tree to ours.
struct Reading<P> {
    place: P,
    diagnostics: Vec<Diagnostic>,
}

impl<P: Fn(Range<usize>) -> Place> Reading<P> {
    fn table(&mut self, table: DeTable<'_>) -> Table {
        let mut entries: Vec<Entry> = table
            .into_iter()
            .map(|(key, node)| Entry {
                place: (self.place)(key.span()),
                key: key.into_inner().into_owned(),
                node: self.node(node),
            })
            .collect();
        // The parser sorts by key.
        entries.sort_by(|a, b| a.place.cmp(&b.place));
        Table { entries }
    }

    fn node(&mut self, node: Spanned<DeValue<'_>>) -> Node {
        let place = (self.place)(node.span());
        let value = match node.into_inner() {
            DeValue::String(text) => Value::Text(text.into_owned()),
            DeValue::Integer(number) => {
                Value::Integer(i64::from_str_radix(number.as_str(), number.radix()).unwrap_or_else(|_| {
                    self.diagnostics.push(Diagnostic {
                        message: "this number is too large".to_owned(),
                        place: place.clone(),
                        hint: format!("no number here is over {}", i64::MAX),
                    });
                    i64::MAX
                }))
            }
            DeValue::Float(number) => Value::Other(number.as_str().to_owned()),
            DeValue::Datetime(date) => Value::Other(date.to_string()),
            DeValue::Boolean(switch) => Value::Bool(switch),
            DeValue::Array(list) => Value::List(list.into_iter().map(|node| self.node(node)).collect()),
            DeValue::Table(table) => Value::Table(self.table(table)),
        };
        Node { value, place }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_order_and_places() {
        let text = "b = 1\na.c = \"x\"\na.b = [true, 2]\n";
        let (table, diagnostics) = parse(text);
        assert!(diagnostics.is_empty());
        let keys: Vec<&str> = table.entries.iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, ["b", "a"]);
        let Value::Table(inner) = &table.entry("a").unwrap().node.value else { panic!("a table") };
        let c = inner.entry("c").unwrap();
        assert_eq!(c.node.value, Value::Text("x".to_owned()));
        assert_eq!(&text[c.node.place.from..c.node.place.to], "\"x\"");
        assert_eq!(&text[c.place.from..c.place.to], "c");
    }

    #[test]
    fn parsing_continues_after_an_error() {
        let (table, diagnostics) = parse("a = \nb = 2\nc = 3 4\nd = 99999999999999999999\ne = 5\n");
        assert!(diagnostics.len() >= 3, "{diagnostics:?}");
        assert_eq!(table.entry("e").unwrap().node.value, Value::Integer(5));
    }

    #[test]
    fn override_values_need_no_quotes() {
        let place = Place { source: 1, from: 0, to: 1 };
        let value = |text| parse_value(text, &place);
        assert_eq!(value("50ms"), Value::Text("50ms".to_owned()));
        assert_eq!(value("\"50 ms\""), Value::Text("50 ms".to_owned()));
        assert_eq!(value("0.5"), Value::Text("0.5".to_owned()));
        assert_eq!(value("8"), Value::Integer(8));
        assert_eq!(value("true"), Value::Bool(true));
        assert_eq!(value("99999999999999999999"), Value::Text("99999999999999999999".to_owned()));
        assert!(matches!(value("[1, 2]"), Value::List(list) if list.len() == 2));
        assert_eq!(value(""), Value::Text(String::new()));
    }
}
