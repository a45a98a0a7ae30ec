//! `slowpath scenario explain`: every value of a run with its default and where it comes from.

use super::check::Needs;
use crate::mirror::{each, mirrored};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::shown;
use slowpath_scenario::{Checked, Estimate, schema};
use std::io::{self, Write};

/// The values of a run (schema slowpath/scenario/1).
#[derive(Serialize, JsonSchema)]
pub struct Explanation<'c> {
    /// Version of this layout.
    schema: &'static str,
    /// The scenario's title.
    title: &'c str,
    /// Every value that applies.
    settings: Vec<Setting>,
    /// What the run needs.
    estimate: Needs,
}

mirrored! {
    /// A value that applies in a run.
    struct Setting of schema::Setting {
        /// Its whole key, such as `path.forward.delay`.
        key: String,
        /// Its value as written in a file; `None` if the thing does not exist.
        value: Option<String>,
        /// Where it comes from.
        origin: Origin,
        /// What it says.
        meaning: String,
        /// For a default: why it is this, or what its absence means.
        #[serde(skip_serializing_if = "String::is_empty")]
        reason: String,
    }

    /// Where a value comes from.
    enum Origin of schema::Origin {
        /// The file.
        File,
        /// The command line.
        Override,
        /// Neither.
        Default,
    }
}

impl<'c> Explanation<'c> {
    /// The explanation of a checked scenario.
    pub fn of(checked: &'c Checked) -> Self {
        Self {
            schema: "slowpath/scenario/1",
            title: &checked.scenario.title,
            settings: each(checked.settings.clone()),
            estimate: Estimate::of(&checked.scenario).into(),
        }
    }
}

/// The table of a key: `path.forward` for `path.forward.delay`.
fn table_of(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(table, _)| table)
}

/// Prints a line for each value, by table. Values from the file or the command line are marked; defaults have their
/// reason.
///
/// # Errors
///
/// The errors of `out`.
pub fn explain(checked: &Checked, out: &mut impl Write) -> io::Result<()> {
    let title = &checked.scenario.title;
    if !title.is_empty() {
        writeln!(out, "{}\n", shown::line(title))?;
    }
    writeln!(out, "It needs {}.", Estimate::of(&checked.scenario))?;
    writeln!(out, "* from the file, + from the command line; the others are defaults, with their reason.")?;
    let names = checked.settings.iter().map(|setting| setting.key.len() - table_of(&setting.key).len());
    let width = names.max().unwrap_or(0);
    let mut table = None;
    for setting in &checked.settings {
        let here = table_of(&setting.key);
        if table != Some(here) {
            table = Some(here);
            writeln!(out)?;
            if !here.is_empty() {
                writeln!(out, "[{}]", shown::line(here))?;
            }
        }
        let mark = match setting.origin {
            schema::Origin::File => '*',
            schema::Origin::Override => '+',
            schema::Origin::Default => ' ',
        };
        let name = setting.key.rsplit('.').next().unwrap_or(&setting.key);
        let value = shown::line(setting.value.as_deref().unwrap_or("–"));
        let line = format!("{mark} {name:width$}  {value:16}  {}", setting.reason);
        writeln!(out, "{}", shown::line(line.trim_end()))?;
    }
    Ok(())
}
