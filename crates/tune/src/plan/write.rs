//! A plan as TOML.

use super::predicted::{Forecast, LIMIT, NOT, NOW, Prediction, THEN};
use super::{Plan, SCHEMA};
use std::fmt::{self, Write};

const HEAD: &str = "\
# Read it and edit it. `slowpath tune apply FILE` makes the changes, if each setting still has the value of `now`;
# `slowpath tune revert` takes them back. Only setting, now and then have an effect.
";

impl Plan {
    /// The file.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let made = &self.made;
        writeln!(out, "{HEAD}\nschema = {}", quoted(SCHEMA))?;
        for (key, value) in
            [("made", &made.at), ("host", &made.host), ("kernel", &made.kernel), ("goal", &made.goal)]
        {
            writeln!(out, "{key} = {}", quoted(value))?;
        }
        for planned in &self.changes {
            writeln!(out, "\n[[change]]")?;
            for (key, value) in [
                ("setting", planned.setting.to_string()),
                ("now", planned.now.clone()),
                ("then", planned.then.clone()),
                ("finding", planned.finding.clone()),
                ("why", planned.why.clone()),
                ("risk", planned.setting.risk().to_owned()),
                ("undo", planned.undo()),
                ("source", planned.source.clone()),
            ] {
                writeln!(out, "{key} = {}", quoted(&value))?;
            }
        }
        for Prediction { changes, outcome } in &self.predictions {
            writeln!(out, "\n[[predicted]]\nchanges = {}", quoted(changes))?;
            match outcome.as_ref().map(Forecast::text) {
                Ok(text) => {
                    for (key, value) in [(NOW, text.now), (THEN, text.then), (LIMIT, text.limit)] {
                        if !value.is_empty() {
                            writeln!(out, "{key} = {}", quoted(&value))?;
                        }
                    }
                }
                Err(why) => writeln!(out, "{NOT} = {}", quoted(why))?,
            }
        }
        for hand in &self.by_hand {
            writeln!(out, "\n[[by-hand]]")?;
            for (key, value) in [
                ("command", &hand.command),
                ("finding", &hand.finding),
                ("why", &hand.why),
                ("not-applied", &hand.not_applied),
            ] {
                writeln!(out, "{key} = {}", quoted(value))?;
            }
        }
        Ok(())
    }
}

/// A basic string (TOML 1.0): without control characters.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\t' => quoted += "\\t",
            '\n' => quoted += "\\n",
            _ if character.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", character as u32);
            }
            _ => quoted.push(character),
        }
    }
    quoted + "\""
}
