//! `slowpath lab check`: what this machine can do, as JSON and as text.

use crate::terminal::Look;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_lab::machine::{Ability, Found};
use std::io::{self, Write};

/// What this machine can do (schema slowpath/lab-check/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Check")]
pub struct LabCheckDocument<'a> {
    /// `slowpath/lab-check/1`.
    schema: &'static str,
    /// Whether the lab can run here.
    can_run: bool,
    /// What the lab uses.
    abilities: Vec<AbilityResult<'a>>,
}

/// Something that the lab uses.
#[derive(Serialize, JsonSchema)]
struct AbilityResult<'a> {
    /// Its name.
    name: &'a str,
    /// What the lab needs it for.
    purpose: &'a str,
    /// Whether the lab cannot run without it.
    required: bool,
    /// Whether it is available.
    there: bool,
    /// What was found, or why it is missing.
    found: &'a str,
    /// How to fix it; `null` if nothing is missing.
    fix: Option<&'a str>,
}

impl<'a> LabCheckDocument<'a> {
    /// The document of everything that the lab uses.
    pub fn new(abilities: &'a [Ability], can_run: bool) -> Self {
        let one = |ability: &'a Ability| {
            let (there, found, fix) = match &ability.found {
                Found::There(found) => (true, found.as_str(), None),
                Found::Missing { why, fix } => (false, why.as_str(), Some(fix.as_str())),
            };
            let Ability { name, purpose, required, .. } = ability;
            AbilityResult { name, purpose, required: *required, there, found, fix }
        };
        Self { schema: "slowpath/lab-check/1", can_run, abilities: abilities.iter().map(one).collect() }
    }
}

/// Prints a line for each ability, and what fixes those that are missing.
///
/// # Errors
///
/// The errors of `out`.
pub fn print_check(
    abilities: &[Ability],
    can_run: bool,
    look: &Look,
    out: &mut impl Write,
) -> io::Result<()> {
    for Ability { name, purpose, required, found } in abilities {
        match found {
            Found::There(what) => look.paragraph(out, &format!("{:<8} {name:<12} ", "ok"), what)?,
            Found::Missing { why, fix } => {
                let state = if *required { "MISSING" } else { "weak" };
                look.paragraph(out, &format!("{state:<8} {name:<12} "), why)?;
                look.paragraph(out, &format!("{:<22}", ""), &format!("it {purpose}; {fix}"))?;
            }
        }
    }
    let verdict = if can_run { "The lab can run here." } else { "The lab cannot run here as it is." };
    writeln!(out, "\n{verdict}")
}
