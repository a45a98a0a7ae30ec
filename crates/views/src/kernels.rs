//! `slowpath kernels`: a row for each choice, a column for each kernel.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_kernels::{KernelProfile, Release, changes, choices, sysctls};
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
    /// The changes that made a kernel differ from the one before it in this document, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// A change of a choice or sysctl.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Change {
    /// The first known kernel that has it.
    pub kernel: &'static str,
    /// Where it comes from: the first version of Linux, whose patch, or how distributions configure the kernel.
    pub since: String,
    /// The first twelve digits of its commit in Linus Torvalds' tree, if it was looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<&'static str>,
    /// The address of that commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The function and its file.
    pub function: &'static str,
    /// What it changed, and why.
    pub what: &'static str,
}

impl Change {
    pub(crate) fn of(change: &slowpath_kernels::Change) -> Self {
        Self {
            kernel: change.release.name(),
            since: change.origin.text(),
            commit: change.commit,
            url: change.url(),
            function: change.function,
            what: change.what,
        }
    }
}

/// The changes of a choice or sysctl from each kernel to the next one with another value.
fn changes_of(name: &str, kernels: &[KernelProfile], values: &[String]) -> Vec<Change> {
    let mut found: Vec<&slowpath_kernels::Change> = Vec::new();
    for (pair, values) in kernels.windows(2).zip(values.windows(2)) {
        let releases = Release::named(&pair[0].name).zip(Release::named(&pair[1].name));
        if let Some((from, to)) = releases.filter(|_| values[0] != values[1]) {
            found.extend(changes::between(name, from, to));
        }
    }
    changes::all().filter(|change| found.contains(change)).map(Change::of).collect()
}

impl Table {
    /// The table of these kernels.
    pub fn of(kernels: &[KernelProfile]) -> Self {
        let choices = choices().map(|choice| {
            let values: Vec<String> = kernels.iter().map(|kernel| choice.of(kernel)).collect();
            Row {
                name: choice.name,
                subject: choice.subject.name(),
                meaning: choice.meaning,
                source: choice.source,
                changes: changes_of(choice.name, kernels, &values),
                values,
            }
        });
        let sysctls = sysctls().map(|sysctl| {
            let values: Vec<String> = kernels.iter().map(|kernel| sysctl.of(kernel)).collect();
            Row {
                name: sysctl.name,
                subject: "sysctls",
                meaning: "",
                source: "",
                changes: changes_of(sysctl.name, kernels, &values),
                values,
            }
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
            if self.layout.sources {
                for change in &row.changes {
                    writeln!(f, "      * {change}")?;
                }
            }
        }
        Ok(())
    }
}

impl Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({}", self.since, self.what, self.function)?;
        match &self.url {
            Some(url) => write!(f, "; {url})"),
            None => write!(f, ")"),
        }
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
    fn differences_of_two_kernels_name_their_changes() {
        let table = Table::of(&[registry::named("5.15").unwrap(), registry::named("6.6").unwrap()]);
        let row = |name: &str| {
            let rows = table.choices.iter().chain(&table.sysctls);
            rows.clone().find(|row| row.name == name).unwrap().clone()
        };
        let arithmetic = row("buffer-arithmetic");
        assert_eq!(arithmetic.values, ["adv-win-scale 1", "scaling-ratio"]);
        let [change] = &arithmetic.changes[..] else { panic!("{:?}", arithmetic.changes) };
        assert_eq!((change.since.as_str(), change.commit), ("Linux 6.6", Some("dfa2f0483360")));
        assert_eq!(change.url.as_deref(), Some("https://git.kernel.org/linus/dfa2f0483360"));
        for row in table.choices.iter().chain(&table.sysctls) {
            assert_eq!(row.values[0] == row.values[1], row.changes.is_empty(), "{}", row.name);
        }
        let text = table.text(Layout { sources: true, sysctls: true }).to_string();
        assert!(text.contains("* Linux 6.0: back to one reply"), "{text}");
        assert!(!table.text(Layout::default()).to_string().contains("Linux 6.0"));
        // One kernel alone differs from none.
        let alone = Table::of(&[registry::named("6.6").unwrap()]);
        assert!(alone.choices.iter().all(|row| row.changes.is_empty()));
    }

    #[test]
    fn sources_and_sysctls_are_shown_on_request() {
        let table = Table::of(&registry::all());
        let text = table.text(Layout { sources: true, sysctls: true }).to_string();
        assert!(text.contains("net/core/dev.c"));
        assert!(text.contains("net.ipv4.tcp_rmem"));
    }
}
