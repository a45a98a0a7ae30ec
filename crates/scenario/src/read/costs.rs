//! A host's CPU costs: a machine, with some costs changed.

use crate::costs::{COSTS, Cost, CostKind, CostTable};
use crate::file::{Entry, Value};
use crate::machines::{MACHINES, machine};
use crate::schema::nearest::nearest;
use crate::schema::table::origin;
use crate::schema::{Key, Reader, Setting, Sub};

/// Reads the machine and applies single costs to its table.
pub fn read(host: &Reader<'_>, key: &'static Key<String>, costs: &'static Sub) -> CostTable {
    let name = host.get(key);
    let mut table = machine(&name).unwrap_or_else(|| {
        host.refuse(key, "there is no such machine here", format!("there are {}", MACHINES.join(", ")));
        machine("free").unwrap_or_else(|| unreachable!("it is one of them"))
    });
    if let Some((written, _)) = host.table(costs) {
        let mut changed = false;
        for entry in &written.entries {
            changed |= put(host, costs, &mut table, entry);
        }
        if changed {
            table.machine.push('+');
        }
    }
    table
}

fn put(host: &Reader<'_>, key: &'static Sub, table: &mut CostTable, entry: &Entry) -> bool {
    let Some(kind) = COSTS.iter().find(|kind| kind.name == entry.key) else {
        let hint = match nearest(&entry.key, COSTS.iter().map(|kind: &CostKind| kind.name)) {
            Some(meant) => format!("did you mean {meant}?"),
            None => {
                format!("there are {}", COSTS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", "))
            }
        };
        host.context().refuse(entry.place.clone(), "there is no such cost", hint);
        return false;
    };
    let Some(cost) = (match &entry.node.value {
        Value::Text(text) => cost(text),
        _ => None,
    }) else {
        let place = entry.node.place.clone();
        host.context().refuse(
            place,
            "this is not a cost",
            "write a time up to 1 s, such as \"120 ns\" or \"60 ps\"",
        );
        return false;
    };
    let before = shown(kind.of(table));
    kind.put(table, cost);
    host.context().note(Setting {
        key: format!("{}{}", host.prefix_of(key), kind.name),
        value: Some(shown(cost)),
        origin: origin(&entry.node),
        meaning: kind.meaning().to_owned(),
        reason: format!("{before} on this machine"),
    });
    true
}

/// Parses a cost, exact to a picosecond; `None` for other text, and for more than a second.
fn cost(text: &str) -> Option<Cost> {
    const MOST_PICOS: f64 = 1e12;
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let number: f64 = text[..split].parse().ok()?;
    let factor = match text[split..].trim_start() {
        "ps" => 1.0,
        "ns" => 1e3,
        "us" | "µs" => 1e6,
        "ms" => 1e9,
        "s" => 1e12,
        _ => return None,
    };
    let picos = (number * factor).round();
    (picos <= MOST_PICOS).then_some(Cost::picos(picos as u64))
}

/// A cost as written in a file.
fn shown(cost: Cost) -> String {
    if cost.as_picos().is_multiple_of(1000) {
        format!("{} ns", cost.as_picos() / 1000)
    } else {
        format!("{} ps", cost.as_picos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_exact_to_a_picosecond() {
        assert_eq!(cost("60 ps"), Some(Cost::picos(60)));
        assert_eq!(cost("0.06ns"), Some(Cost::picos(60)));
        assert_eq!(cost("1.5 us"), Some(Cost::nanos(1500)));
        for wrong in ["60", "2 s", "-1 ns", "ns", "1 h", "999999999999999999999999 ps"] {
            assert_eq!(cost(wrong), None, "{wrong}");
        }
        assert_eq!((shown(Cost::picos(60)), shown(Cost::nanos(3))), ("60 ps".to_owned(), "3 ns".to_owned()));
    }
}
