//! `slowpath lab check`.

use crate::Outcome;
use crate::console;
use serde_json::json;
use slowpath_lab::machine::{Ability, Found, abilities};
use std::io::Write;

pub fn run(as_json: bool) -> anyhow::Result<Outcome> {
    let abilities = abilities();
    let lacks = |ability: &Ability| matches!(ability.found, Found::Missing { .. });
    let can_run = !abilities.iter().any(|ability| ability.required && lacks(ability));
    let mut out = console::stdout();
    if as_json {
        let abilities: Vec<_> = abilities.iter().map(one).collect();
        let document =
            json!({ "schema": "slowpath/lab-check/1", "can_run": can_run, "abilities": abilities });
        serde_json::to_writer_pretty(&mut out, &document)?;
        writeln!(out)?;
    } else {
        for ability in &abilities {
            print(ability, &mut out)?;
        }
        let verdict = if can_run { "The lab can run here." } else { "The lab cannot run here as it is." };
        writeln!(out, "\n{verdict}")?;
    }
    out.flush()?;
    Ok(if can_run { Outcome::Whole } else { Outcome::Partial })
}

fn print(ability: &Ability, out: &mut impl Write) -> std::io::Result<()> {
    let Ability { name, purpose, required, found } = ability;
    match found {
        Found::There(what) => writeln!(out, "{:<8} {name:<12} {what}", "ok"),
        Found::Missing { why, mend } => {
            let state = if *required { "MISSING" } else { "weak" };
            writeln!(out, "{state:<8} {name:<12} {why}")?;
            writeln!(out, "{:<21} it {purpose}; {mend}", "")
        }
    }
}

fn one(ability: &Ability) -> serde_json::Value {
    let (there, what, mend) = match &ability.found {
        Found::There(what) => (true, what, None),
        Found::Missing { why, mend } => (false, why, Some(mend)),
    };
    json!({
        "name": ability.name,
        "purpose": ability.purpose,
        "required": ability.required,
        "there": there,
        "found": what,
        "mend": mend,
    })
}
