//! What a run will be: every value with its default and where it comes from.

use crate::estimate::Estimate;
use crate::read::Checked;
use crate::schema::{Origin, Setting};
use serde::Serialize;
use std::fmt;

/// What a run will be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation<'c> {
    /// Version of this layout.
    pub schema: &'static str,
    /// What it is about.
    pub title: &'c str,
    /// Every value that holds.
    pub settings: &'c [Setting],
    /// What the run needs.
    pub estimate: Estimate,
}

impl<'c> Explanation<'c> {
    /// The explanation of a checked scenario.
    pub fn of(checked: &'c Checked) -> Self {
        Self {
            schema: "slowpath/scenario/1",
            title: &checked.scenario.title,
            settings: &checked.settings,
            estimate: Estimate::of(&checked.scenario),
        }
    }
}

/// The table that a key stands in: `path.forward` of `path.forward.delay`.
fn table_of(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(table, _)| table)
}

impl fmt::Display for Explanation<'_> {
    /// A line for each value, by table; what the file or the command line says is marked, what is a default has its
    /// reason.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.title.is_empty() {
            writeln!(f, "{}\n", self.title)?;
        }
        writeln!(f, "It needs {}.", self.estimate)?;
        writeln!(f, "* from the file, + from the command line; the others are defaults, with their reason.")?;
        let names = self.settings.iter().map(|setting| setting.key.len() - table_of(&setting.key).len());
        let width = names.max().unwrap_or(0);
        let mut table = None;
        for setting in self.settings {
            let here = table_of(&setting.key);
            if table != Some(here) {
                table = Some(here);
                writeln!(f)?;
                if !here.is_empty() {
                    writeln!(f, "[{here}]")?;
                }
            }
            let mark = match setting.origin {
                Origin::File => '*',
                Origin::Override => '+',
                Origin::Default => ' ',
            };
            let name = setting.key.rsplit('.').next().unwrap_or(&setting.key);
            let value = setting.value.as_deref().unwrap_or("–");
            let line = format!("{mark} {name:width$}  {value:16}  {}", setting.reason);
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
