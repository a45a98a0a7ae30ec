//! Applies `--set KEY=VALUE` to the tree.

use crate::file::diagnostic::Diagnostic;
use crate::file::source::Place;
use crate::file::tree::{Entry, Node, Table, Value, parse_value};

/// A value from the command line that replaces the file's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    text: String,
    /// The position of the `=`.
    equals: usize,
}

/// Text that is not an override.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" sets nothing; write a key, = and a value, such as path.delay=50ms")]
pub struct NotAnOverride(String);

impl std::str::FromStr for Override {
    type Err = NotAnOverride;

    /// `path.delay=50ms`: everything after the first `=` is the value.
    fn from_str(text: &str) -> Result<Self, NotAnOverride> {
        let equals = text.find('=').ok_or_else(|| NotAnOverride(text.to_owned()))?;
        if text[..equals].trim().split('.').any(|part| part.trim().is_empty()) {
            return Err(NotAnOverride(text.to_owned()));
        }
        Ok(Self { text: text.to_owned(), equals })
    }
}

/// No scenario has more deeply nested tables.
const DEEPEST: usize = 16;

impl Override {
    /// The override as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Applies the value to a tree, adding missing tables. In a list of tables it is applied to all of them, unless the
    /// key selects one by its number, from 0, or by its `name`.
    ///
    /// # Errors
    ///
    /// A key that leads through a value that is not a table.
    pub fn apply(&self, table: &mut Table, source: usize) -> Result<(), Diagnostic> {
        let place = |from, to| Place { source, from, to };
        let value = self.text[self.equals + 1..].trim();
        let whole = place(self.equals + 1, self.text.len());
        let node = Node { value: parse_value(value, &whole), place: whole };
        let mut path = Vec::new();
        let mut from = 0;
        for part in self.text[..self.equals].split('.') {
            path.push(Step { key: part.trim(), place: place(from, from + part.len()) });
            from += part.len() + 1;
        }
        if path.len() > DEEPEST {
            return Err(refuse(&path[DEEPEST], "no key is as deep as this"));
        }
        put(table, &path, &node)
    }
}

/// One part of the dotted key.
struct Step<'k> {
    key: &'k str,
    place: Place,
}

fn refuse(step: &Step<'_>, message: &str) -> Diagnostic {
    Diagnostic { message: message.to_owned(), place: step.place.clone(), hint: String::new() }
}

fn put(table: &mut Table, path: &[Step<'_>], node: &Node) -> Result<(), Diagnostic> {
    let Some((step, rest)) = path.split_first() else { return Ok(()) };
    let position = table.entries.iter().position(|entry| entry.key == step.key).unwrap_or_else(|| {
        let value = Value::Table(Table::default());
        let place = step.place.clone();
        let empty = Node { value, place: place.clone() };
        table.entries.push(Entry { key: step.key.to_owned(), place, node: empty });
        table.entries.len() - 1
    });
    let entry = &mut table.entries[position];
    if rest.is_empty() {
        entry.node = node.clone();
        return Ok(());
    }
    if step.key == "kernel" && matches!(entry.node.value, Value::Text(_)) {
        begin_own_kernel(&mut entry.node);
    }
    match &mut entry.node.value {
        Value::Table(inner) => put(inner, rest, node),
        Value::List(list) => put_into_list(list, step, rest, node),
        other => Err(refuse(step, &format!("{} is {}, not a table", step.key, other.kind()))),
    }
}

/// `kernel = "6.18"` becomes `kernel = { base = "6.18" }`, to which choices can be added.
fn begin_own_kernel(node: &mut Node) {
    let base = Entry { key: "base".to_owned(), place: node.place.clone(), node: node.clone() };
    node.value = Value::Table(Table { entries: vec![base] });
}

fn put_into_list(
    list: &mut [Node],
    step: &Step<'_>,
    rest: &[Step<'_>],
    node: &Node,
) -> Result<(), Diagnostic> {
    let named = |node: &Node, key: &str| match &node.value {
        Value::Table(table) => {
            table.entry("name").is_some_and(|name| name.node.value == Value::Text(key.to_owned()))
        }
        _ => false,
    };
    let chosen = rest[0].key;
    let number: Option<usize> =
        chosen.parse().ok().or_else(|| list.iter().position(|node| named(node, chosen)));
    let (range, rest) = match number {
        Some(number) if number >= list.len() => {
            return Err(refuse(&rest[0], &format!("{} has only {}", step.key, list.len())));
        }
        Some(number) => (number..number + 1, &rest[1..]),
        None => (0..list.len(), rest),
    };
    for element in &mut list[range] {
        match &mut element.value {
            _ if rest.is_empty() => *element = node.clone(),
            Value::Table(table) => put(table, rest, node)?,
            other => return Err(refuse(step, &format!("{} holds {}, not tables", step.key, other.kind()))),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::tree::parse;

    fn set(text: &str, with: &str) -> Result<Table, String> {
        let (mut table, _) = parse(text);
        let with: Override = with.parse().map_err(|error: NotAnOverride| error.to_string())?;
        with.apply(&mut table, 1).map_err(|diagnostic| diagnostic.message)?;
        Ok(table)
    }

    /// A tree as text, without places.
    fn shown(value: &Value) -> String {
        match value {
            Value::Text(text) => format!("'{text}'"),
            Value::Integer(number) => number.to_string(),
            Value::Other(text) => text.clone(),
            Value::Bool(switch) => switch.to_string(),
            Value::List(list) => {
                format!("[{}]", list.iter().map(|node| shown(&node.value)).collect::<Vec<_>>().join(" "))
            }
            Value::Table(table) => table_shown(table),
        }
    }

    fn table_shown(table: &Table) -> String {
        let entries = table.entries.iter().map(|entry| format!("{}={}", entry.key, shown(&entry.node.value)));
        format!("{{{}}}", entries.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn overrides_replace_or_add_values() {
        let shown = |text, with| table_shown(&set(text, with).unwrap());
        assert_eq!(shown("path.delay = \"1 ms\"", "path.delay=50ms"), "{path={delay='50ms'}}");
        assert_eq!(shown("", "path.policer.rate=1 Mbit/s"), "{path={policer={rate='1 Mbit/s'}}}");
        assert_eq!(shown("kernel = \"6.18\"", "kernel.hz=100"), "{kernel={base='6.18' hz=100}}");
    }

    #[test]
    fn override_in_a_list_applies_to_all_or_one() {
        let text = "[[flows]]\nname = \"a\"\n[[flows]]\nname = \"b\"\n";
        let shown = |with| table_shown(&set(text, with).unwrap());
        assert_eq!(shown("flows.streams=8"), "{flows=[{name='a' streams=8} {name='b' streams=8}]}");
        assert_eq!(shown("flows.1.streams=8"), "{flows=[{name='a'} {name='b' streams=8}]}");
        assert_eq!(shown("flows.a.streams=8"), "{flows=[{name='a' streams=8} {name='b'}]}");
        assert_eq!(set(text, "flows.2.streams=8").unwrap_err(), "flows has only 2");
    }

    #[test]
    fn override_keys_through_other_values_are_refused() {
        assert_eq!(set("seed = 1", "seed.x=1").unwrap_err(), "seed is a number, not a table");
        assert!(set("", "path.delay").unwrap_err().contains("sets nothing"));
        assert!(set("", ".=1").unwrap_err().contains("sets nothing"));
        assert!(set("", &format!("{}=1", vec!["a"; 1000].join("."))).unwrap_err().contains("deep"));
        assert_eq!(set("a = [1]", "a.b=1").unwrap_err(), "a holds a number, not tables");
    }
}
