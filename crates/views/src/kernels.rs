//! `slowpath kernels`: a row for each choice, a column for each kernel.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_kernels::{KernelProfile, choices, sysctls};
use std::fmt::{self, Display};

/// Kernels side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Table {
    /// Version of this layout.
    pub schema: &'static str,
    /// The kernels, in the order of each row's values.
    pub kernels: Vec<String>,
    /// The choices, by subject.
    pub choices: Vec<Row>,
    /// The sysctls after boot.
    pub sysctls: Vec<Row>,
}

/// One choice or sysctl of all kernels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// What it belongs to.
    pub subject: &'static str,
    /// What is chosen; empty for a sysctl, which the kernel's ip-sysctl.rst explains.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub meaning: &'static str,
    /// Where the kernel has it, and since when; empty for a sysctl.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub source: &'static str,
    /// What each kernel chose.
    pub values: Vec<String>,
}

impl Table {
    /// The table of these kernels.
    pub fn of(kernels: &[KernelProfile]) -> Self {
        let choices = choices().map(|choice| Row {
            name: choice.name,
            subject: choice.subject.name(),
            meaning: choice.meaning,
            source: choice.source,
            values: kernels.iter().map(|kernel| choice.of(kernel)).collect(),
        });
        let sysctls = sysctls().map(|sysctl| Row {
            name: sysctl.name,
            subject: "sysctls",
            meaning: "",
            source: "",
            values: kernels.iter().map(|kernel| sysctl.of(kernel)).collect(),
        });
        Self {
            schema: "slowpath/kernels/1",
            kernels: kernels.iter().map(|kernel| kernel.name.clone()).collect(),
            choices: choices.collect(),
            sysctls: sysctls.collect(),
        }
    }

    /// The table as text.
    pub fn text(&self, layout: Layout) -> impl Display + '_ {
        Text { table: self, layout }
    }
}

/// The optional parts of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The meaning of each choice, and its source in the kernel.
    pub sources: bool,
    /// The sysctls.
    pub sysctls: bool,
}

struct Text<'t> {
    table: &'t Table,
    layout: Layout,
}

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sysctls: &[Row] = if self.layout.sysctls { &self.table.sysctls } else { &[] };
        let rows: Vec<&Row> = self.table.choices.iter().chain(sysctls).collect();
        let first = rows.iter().map(|row| row.name.len() + 2).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.table.kernels.len())
            .map(|column| {
                let values = rows.iter().map(|row| row.values[column].chars().count());
                values.max().unwrap_or(0).max(self.table.kernels[column].len())
            })
            .collect();
        line(f, first, "", &self.table.kernels, &widths)?;
        let mut subject = "";
        for row in rows {
            if row.subject != subject {
                subject = row.subject;
                writeln!(f, "\n{subject}")?;
            }
            line(f, first, row.name, &row.values, &widths)?;
            if self.layout.sources && !row.source.is_empty() {
                writeln!(f, "      {}\n      {}", row.meaning, row.source)?;
            }
        }
        Ok(())
    }
}

/// Formats a line of the table, without trailing spaces.
fn line(
    f: &mut fmt::Formatter<'_>,
    first: usize,
    name: &str,
    values: &[String],
    widths: &[usize],
) -> fmt::Result {
    let mut text = format!("{:first$}", format!("  {name}"));
    for (value, width) in values.iter().zip(widths) {
        text.push_str("  ");
        text.push_str(&format!("{value:width$}"));
    }
    writeln!(f, "{}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_kernels::registry;

    #[test]
    fn kernels_are_columns_of_the_table() {
        let table = Table::of(&[registry::named("2.4.17").unwrap(), registry::named("6.18").unwrap()]);
        let text = table.text(Layout::default()).to_string();
        let lines: Vec<&str> = text.lines().collect();
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(lines[0]), ["linux-2.4.17", "linux-6.18"]);
        let scheduler = lines.iter().find(|line| line.contains("scheduler")).unwrap();
        assert_eq!(words(scheduler), ["scheduler", "goodness", "eevdf", "700", "µs"]);
        assert!(lines.contains(&"receive path"));
        assert!(!text.contains("net/core/dev.c"));
        assert!(lines.iter().all(|line| line.trim_end() == *line));
    }

    #[test]
    fn sources_and_sysctls_are_shown_on_request() {
        let table = Table::of(&registry::all());
        let text = table.text(Layout { sources: true, sysctls: true }).to_string();
        assert!(text.contains("net/core/dev.c"));
        assert!(text.contains("net.ipv4.tcp_rmem"));
    }
}
