//! Reads a plan, which a person may have edited: strictly, so that a slip does not change the wrong thing.

use super::predicted::{Forecast, LIMIT, NOT, NOW, Prediction, THEN, Text};
use super::{ByHand, MOST_CHANGES, Made, Plan, Planned, SCHEMA};
use slowpath_remedies::Setting;
use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The maximum length of a plan in bytes.
const MOST_BYTES: usize = 1 << 20;

/// What is wrong with a plan: all of it, in the order of the lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPlan {
    /// The name of the file.
    pub file: String,
    /// The faults, at least one.
    pub faults: Vec<Fault>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// The key, and what to write instead.
    pub text: String,
}

impl fmt::Display for BadPlan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults = self.faults.iter().map(|fault| format!("{}:{}: {}", self.file, fault.line, fault.text));
        out.write_str(&faults.collect::<Vec<_>>().join("\n"))
    }
}

impl std::error::Error for BadPlan {}

impl Plan {
    /// Reads a plan; `file` is its name in errors.
    ///
    /// # Errors
    /// Everything that is wrong with it: what TOML does not allow, unknown, missing and repeated keys, what is no setting
    /// or no value of one, a setting that is changed twice or not at all.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, BadPlan> {
        let mut reader = Reader { text, faults: Vec::new() };
        let plan = reader.plan();
        reader.faults.sort_by_key(|fault| fault.line);
        match plan {
            Some(plan) if reader.faults.is_empty() => Ok(plan),
            _ => Err(BadPlan { file: file.to_owned(), faults: reader.faults }),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    faults: Vec<Fault>,
}

/// A table's strings: each key, the place of its value, and the value.
struct Strings<'a> {
    whole: Range<usize>,
    found: Vec<(&'a str, Range<usize>, String)>,
}

impl Strings<'_> {
    fn get(&self, key: &str) -> Option<&(&str, Range<usize>, String)> {
        self.found.iter().find(|(known, ..)| *known == key)
    }

    fn text(&self, key: &str) -> String {
        self.get(key).map(|(.., value)| value.clone()).unwrap_or_default()
    }
}

const TOP: [&str; 5] = ["schema", "made", "host", "kernel", "goal"];
const CHANGE: [&str; 8] = ["setting", "now", "then", "finding", "why", "risk", "undo", "source"];
const BY_HAND: [&str; 4] = ["command", "finding", "why", "not-applied"];
const PREDICTED: [&str; 5] = ["changes", NOW, THEN, LIMIT, NOT];

impl Reader<'_> {
    fn fault(&mut self, place: &Range<usize>, text: impl Into<String>) {
        let before = self.text.get(..place.start).unwrap_or_default();
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        self.faults.push(Fault { line, text: text.into() });
    }

    fn plan(&mut self) -> Option<Plan> {
        if self.text.len() > MOST_BYTES {
            self.fault(
                &(0..0),
                format!("this file has {} bytes; a plan has at most {MOST_BYTES}", self.text.len()),
            );
            return None;
        }
        let table = match DeTable::parse(self.text) {
            Ok(table) => table,
            Err(error) => {
                self.fault(&error.span().unwrap_or(0..0), error.message());
                return None;
            }
        };
        let mut tops = Vec::new();
        let (mut changes, mut by_hand, mut predicted) = (Vec::new(), Vec::new(), Vec::new());
        for (key, value) in table.get_ref() {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("change", DeValue::Array(list)) => changes.extend(list.iter()),
                ("by-hand", DeValue::Array(list)) => by_hand.extend(list.iter()),
                ("predicted", DeValue::Array(list)) => predicted.extend(list.iter()),
                (name @ ("change" | "by-hand" | "predicted"), _) => {
                    self.fault(&key.span(), format!("{name}: write a table for each, under [[{name}]]"));
                }
                _ => tops.push((key, value)),
            }
        }
        let top = self.strings(0..0, tops, &TOP, "a key of a plan");
        match top.get("schema") {
            Some((.., schema)) if schema == SCHEMA => {}
            Some((_, place, other)) => {
                let text = format!("schema: \"{other}\" cannot be read; this slowpath reads \"{SCHEMA}\"");
                self.fault(&place.clone(), text);
            }
            None => self.fault(&(0..0), format!("schema is missing: write schema = \"{SCHEMA}\"")),
        }
        if changes.len() > MOST_CHANGES {
            self.fault(&changes[MOST_CHANGES].span(), format!("a plan has at most {MOST_CHANGES} changes"));
            return None;
        }
        let mut plan = Plan {
            made: Made {
                at: top.text("made"),
                host: top.text("host"),
                kernel: top.text("kernel"),
                goal: top.text("goal"),
            },
            changes: Vec::new(),
            by_hand: Vec::new(),
            predictions: Vec::new(),
        };
        for value in changes {
            let planned = self.change(value, &plan.changes);
            plan.changes.extend(planned);
        }
        for value in by_hand {
            let Some(strings) = self.table(value, &BY_HAND, "by-hand") else { continue };
            let [command, finding, why, not_applied] = BY_HAND.map(|key| strings.text(key));
            plan.by_hand.push(ByHand { command, finding, why, not_applied });
        }
        for value in predicted {
            let predicted = self.predicted(value);
            plan.predictions.extend(predicted);
        }
        Some(plan)
    }

    fn table<'b>(
        &mut self,
        value: &'b Spanned<DeValue<'_>>,
        known: &[&str],
        name: &str,
    ) -> Option<Strings<'b>> {
        let DeValue::Table(table) = value.get_ref() else {
            self.fault(&value.span(), format!("{name}: write a table for each, under [[{name}]]"));
            return None;
        };
        Some(self.strings(value.span(), table.iter(), known, &format!("a key of [[{name}]]")))
    }

    fn strings<'b, 'c: 'b>(
        &mut self,
        whole: Range<usize>,
        pairs: impl IntoIterator<Item = (&'b Spanned<toml::de::DeString<'c>>, &'b Spanned<DeValue<'c>>)>,
        known: &[&str],
        what: &str,
    ) -> Strings<'b> {
        let mut found = Vec::new();
        for (key, value) in pairs {
            let name: &'b str = key.get_ref().as_ref();
            if !known.contains(&name) {
                self.fault(&key.span(), format!("\"{name}\" is not {what}; known are {}", known.join(", ")));
                continue;
            }
            match value.get_ref() {
                DeValue::String(text) => found.push((name, value.span(), text.clone().into_owned())),
                _ => self.fault(&value.span(), format!("{name}: write text in quotes")),
            }
        }
        Strings { whole, found }
    }

    fn predicted(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Prediction> {
        let strings = self.table(value, &PREDICTED, "predicted")?;
        let has = |key| strings.get(key).is_some();
        let is_whole =
            has(NOW) && has(THEN) && !has(NOT) || has(NOT) && !has(NOW) && !has(THEN) && !has(LIMIT);
        if !has("changes") || !is_whole {
            let text = format!("[[predicted]]: write changes, and either {NOW} and {THEN} or {NOT}");
            self.fault(&strings.whole, text);
            return None;
        }
        let changes = strings.text("changes");
        if has(NOT) {
            return Some(Prediction { changes, outcome: Err(strings.text(NOT)) });
        }
        let [now, then, limit] = [NOW, THEN, LIMIT].map(|key| strings.text(key));
        match Forecast::parse(&Text { now, then, limit }) {
            Ok(forecast) => Some(Prediction { changes, outcome: Ok(forecast) }),
            Err(error) => {
                let place = strings.get(error.key).map_or(&strings.whole, |(_, place, _)| place);
                self.fault(place, error.to_string());
                None
            }
        }
    }

    fn change(&mut self, value: &Spanned<DeValue<'_>>, others: &[Planned]) -> Option<Planned> {
        let strings = self.table(value, &CHANGE, "change")?;
        let missing: Vec<&str> =
            ["setting", "now", "then"].into_iter().filter(|key| strings.get(key).is_none()).collect();
        if !missing.is_empty() {
            let text = format!("{} missing from this [[change]]", missing.join(" and "));
            self.fault(&strings.whole, text);
            return None;
        }
        let (_, place, text) = strings.get("setting")?;
        let setting: Setting = match text.parse() {
            Ok(setting) => setting,
            Err(error) => {
                self.fault(place, format!("setting: {error}"));
                return None;
            }
        };
        if setting.is_of_unknown() {
            self.fault(place, format!("setting: {setting}: write the number of the process in place of PID"));
            return None;
        }
        if others.iter().any(|other| other.setting == setting) {
            self.fault(place, format!("setting: {setting} is changed above already; keep one of the two"));
            return None;
        }
        let mut fits = true;
        for key in ["now", "then"] {
            let (_, place, value) = strings.get(key)?;
            if let Err(error) = setting.check(value) {
                self.fault(place, format!("{key}: {error}"));
                fits = false;
            }
        }
        let [now, then] = ["now", "then"].map(|key| strings.text(key));
        if fits && setting.canonical(&now) == setting.canonical(&then) {
            let (_, place, _) = strings.get("then")?;
            self.fault(place, "then: is the same as now; remove this [[change]], or write another value");
            return None;
        }
        let [finding, why, source] = ["finding", "why", "source"].map(|key| strings.text(key));
        fits.then_some(Planned { setting, now, then, finding, why, source })
    }
}

#[cfg(test)]
mod tests;
