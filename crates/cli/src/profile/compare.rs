//! `slowpath profile compare`: two profiles beside each other.

use super::Names;
use super::load::{About, Loaded, percent, shortened, spelt, work_beside};
use crate::Outcome;
use crate::console::{self, Console};
use clap::{Args, ValueHint};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_cost::Category;
use slowpath_cost::compare::{Comparison, Part, categories, functions};
use slowpath_cost::names::Known;
use slowpath_views::quantity::share;
use slowpath_views::table::align;
use std::io::{self, Write};
use std::path::PathBuf;

const HELP: &str = "\
Functions are matched by name, also where a newer kernel calls them otherwise. Beside each difference stands how likely chance alone \
makes one as large somewhere among all that are compared, from the counts of samples (Fisher's exact test, Holm's correction): that the two runs \
did the same work it cannot say. What each function cost for each TCP segment stands there too if both were recorded by `slowpath profile \
record`, which writes beside a profile what the host did; with --work, for each unit of any other work.

Examples:
  slowpath profile compare before.perf.data after.perf.data
  slowpath profile compare a.perf.data b.perf.data --work 120000,180000";

/// Arguments of `profile compare`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Compare {
    /// The profile to compare with
    #[arg(value_name = "BEFORE", value_hint = ValueHint::FilePath)]
    before: PathBuf,
    /// The other profile
    #[arg(value_name = "AFTER", value_hint = ValueHint::FilePath)]
    after: PathBuf,
    /// How much work was done in each, in the same unit: requests, bytes or packets; without it, TCP segments, where both tell of them
    #[arg(long, value_name = "BEFORE,AFTER", value_delimiter = ',')]
    work: Vec<f64>,
    /// How many functions to list, the largest differences first
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    #[command(flatten)]
    names: Names,
    /// Print JSON (schema slowpath/profile-comparison/1) instead of text
    #[arg(long)]
    json: bool,
}

/// Two profiles (schema slowpath/profile-comparison/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/profile-comparison/1")]
pub struct Document<'a> {
    /// `slowpath/profile-comparison/1`.
    schema: &'static str,
    /// The first profile.
    before: About<'a>,
    /// The second.
    after: About<'a>,
    /// Whether both count the same event: only then do costs for a unit of work mean the same.
    is_same_event: bool,
    /// What costs for a unit of work are for: `--work`, or `TCP segment` as told beside the profiles; null without either.
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
    /// How likely chance makes such a difference of shares of this part.
    by_chance: Option<f64>,
    /// How likely chance makes one as unlikely anywhere among all parts.
    among_all: Option<f64>,
}

pub fn run(args: &Compare, console: &Console) -> anyhow::Result<Outcome> {
    if !matches!(args.work.len(), 0 | 2) {
        anyhow::bail!(
            "--work: give two numbers, such as 120000,180000: how much was done in BEFORE and in AFTER"
        );
    }
    if let Some(work) = args.work.iter().find(|work| !(work.is_finite() && **work > 0.0)) {
        anyhow::bail!("--work: {work} is no amount of work; give two numbers above 0");
    }
    let [before, after] = [&args.before, &args.after].map(|file| Loaded::open(file, &args.names, console));
    let (before, after) = (before?, after?);
    let (of, work) = work(args);
    let (first, second) = (before.run(work.map(|work| work[0])), after.run(work.map(|work| work[1])));
    let (by_category, by_function) = (categories(&first, &second), functions(&first, &second));
    let document = Document {
        schema: "slowpath/profile-comparison/1",
        before: before.about(),
        after: after.about(),
        is_same_event: by_function.is_same_event,
        work: of,
        categories: by_category.parts.iter().map(|part| line(part, category(part.of))).collect(),
        functions: by_function
            .parts
            .iter()
            .take(args.top)
            .map(|part| line(part, Some(spelt(&part.of.name, &part.of.image))))
            .collect(),
    };
    console::tell(
        args.json,
        || &document,
        |out| {
            before.head(out)?;
            after.head(out)?;
            print(&document, &by_function, out)
        },
    )?;
    let outcomes = [before.outcome(), after.outcome()];
    Ok(if outcomes == [Outcome::Whole; 2] { Outcome::Whole } else { Outcome::Partial })
}

/// How much was done in each, and of what: as given, else what both tell beside them.
fn work(args: &Compare) -> (Option<&'static str>, Option<[f64; 2]>) {
    if let [before, after] = args.work[..] {
        return (Some("--work"), Some([before, after]));
    }
    let segments = |file| Some(work_beside(file)?.segments().filter(|segments| *segments > 0)? as f64);
    let both = segments(&args.before).zip(segments(&args.after));
    both.map_or((None, None), |(before, after)| (Some("TCP segment"), Some([before, after])))
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

fn print(document: &Document<'_>, compared: &Comparison<Known>, out: &mut impl Write) -> io::Result<()> {
    table("category", &document.categories, out)?;
    writeln!(out)?;
    table("function", &document.functions, out)?;
    if document.work == Some("TCP segment") {
        writeln!(
            out,
            "\nFor each TCP segment that the hosts sent or received, as told in the .work.json beside the profiles."
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
        let mut row = vec![shortened(name)];
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
