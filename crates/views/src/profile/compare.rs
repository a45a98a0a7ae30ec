//! `slowpath profile compare`: two profiles next to each other.

use super::{About, about, full_name, percent, shortened};
use crate::quantity::share;
use crate::table::align;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_cost::Category;
use slowpath_cost::compare::{Comparison, Part};
use slowpath_cost::names::Known;
use slowpath_profile::Loaded;
use std::io::{self, Write};

/// Two profiles (schema slowpath/profile-comparison/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/profile-comparison/1")]
pub struct ProfileComparisonDocument<'a> {
    /// `slowpath/profile-comparison/1`.
    schema: &'static str,
    /// The first profile.
    before: About<'a>,
    /// The second.
    after: About<'a>,
    /// Whether both count the same event: only then do costs for a unit of work mean the same.
    is_same_event: bool,
    /// The unit of work that costs are for: `--work`, or `TCP segment` from the files next to the profiles; null without either.
    work: Option<&'static str>,
    /// By category; null is what is in none.
    categories: Vec<Line>,
    /// By function, the largest differences first.
    functions: Vec<Line>,
}

/// A part of both profiles.
#[derive(Serialize, JsonSchema)]
struct Line {
    /// The function or the category; null for what is in no category.
    name: Option<String>,
    /// Its part of all before, 0 to 1.
    before: Option<f64>,
    /// Its part of all after, 0 to 1.
    after: Option<f64>,
    /// Cost for a unit of work before; null where the work is not known.
    each_before: Option<f64>,
    /// Cost for a unit of work after.
    each_after: Option<f64>,
    /// The probability that chance alone makes such a difference of shares.
    by_chance: Option<f64>,
    /// That probability, corrected for all parts.
    among_all: Option<f64>,
}

/// The document of a comparison; `work` is the unit of work.
pub fn document<'a>(
    [before, after]: [&'a Loaded; 2],
    by_category: &Comparison<Option<Category>>,
    by_function: &Comparison<Known>,
    work: Option<&'static str>,
    top: usize,
) -> ProfileComparisonDocument<'a> {
    ProfileComparisonDocument {
        schema: "slowpath/profile-comparison/1",
        before: about(before),
        after: about(after),
        is_same_event: by_function.is_same_event,
        work,
        categories: by_category.parts.iter().map(|part| line(part, category(part.of))).collect(),
        functions: by_function
            .parts
            .iter()
            .take(top)
            .map(|part| line(part, Some(full_name(&part.of.name, &part.of.image))))
            .collect(),
    }
}

fn category(category: Option<Category>) -> Option<String> {
    category.map(|category| category.to_string())
}

fn line<K>(part: &Part<K>, name: Option<String>) -> Line {
    Line {
        name,
        before: part.share.before,
        after: part.share.after,
        each_before: part.each.before,
        each_after: part.each.after,
        by_chance: part.by_chance,
        among_all: part.among_all,
    }
}

/// Prints categories, then functions.
///
/// # Errors
/// The errors of `out`.
pub fn print(
    document: &ProfileComparisonDocument<'_>,
    compared: &Comparison<Known>,
    out: &mut impl Write,
) -> io::Result<()> {
    table("category", &document.categories, out)?;
    writeln!(out)?;
    table("function", &document.functions, out)?;
    if document.work == Some("TCP segment") {
        writeln!(
            out,
            "\nFor each TCP segment that the hosts sent or received, as the .work.json files next to the profiles say."
        )?;
    }
    if !document.is_same_event && compared.work.before.is_some() {
        writeln!(out, "\nThe two count different events: costs for a unit of work cannot be compared.")?;
    }
    Ok(())
}

fn table(what: &str, lines: &[Line], out: &mut impl Write) -> io::Result<()> {
    let has_work = lines.iter().any(|line| line.each_before.is_some() || line.each_after.is_some());
    let mut head = [what, "before", "after", "by chance"].map(str::to_owned).to_vec();
    if has_work {
        head.extend(["for each before", "after"].map(str::to_owned));
    }
    let mut rows = vec![head];
    let dash = || "-".to_owned();
    for line in lines {
        let name = line.name.clone().unwrap_or_else(|| "in no category".to_owned());
        let mut row = vec![shortened(&name)];
        row.extend([line.before, line.after].map(|part| part.map_or_else(dash, percent)));
        row.push(line.among_all.map_or_else(dash, share));
        if has_work {
            row.extend(
                [line.each_before, line.each_after]
                    .map(|each| each.map_or_else(dash, |each| format!("{each:.3}"))),
            );
        }
        rows.push(row);
    }
    align(&rows, out)
}
