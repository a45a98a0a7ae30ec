//! `slowpath profile compare`: two profiles, function by function.

use super::{Names, load};
use crate::Outcome;
use crate::console::{self, Console, warn};
use clap::{Args, ValueHint};
use slowpath_cost::compare::{categories, functions};
use slowpath_runs::work::of_both;
use slowpath_views::profile::{compare as view, head, help};
use std::path::PathBuf;

/// Arguments of `profile compare`.
#[derive(Args)]
#[command(after_long_help = help::COMPARE)]
pub struct Compare {
    /// The first profile
    #[arg(value_name = "BEFORE", value_hint = ValueHint::FilePath)]
    before: PathBuf,
    /// The second profile
    #[arg(value_name = "AFTER", value_hint = ValueHint::FilePath)]
    after: PathBuf,
    /// The work done in each, in the same unit: requests, bytes or packets; default: TCP segments, if both have a work file
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

pub fn run(args: &Compare, console: &Console) -> anyhow::Result<Outcome> {
    if !matches!(args.work.len(), 0 | 2) {
        anyhow::bail!(
            "--work: give two numbers, the work done in BEFORE and in AFTER, such as 120000,180000"
        );
    }
    if let Some(work) = args.work.iter().find(|work| !(work.is_finite() && **work > 0.0)) {
        anyhow::bail!("--work: {work} is not above 0");
    }
    let [before, after] = [&args.before, &args.after].map(|file| load::open_file(file, &args.names, console));
    let (before, after) = (before?, after?);
    let (of, work) = of_both(&args.work, [&args.before, &args.after], &warn);
    let (first, second) = (before.run(work.map(|work| work[0])), after.run(work.map(|work| work[1])));
    let (by_category, by_function) = (categories(&first, &second), functions(&first, &second));
    let document = view::document([&before, &after], &by_category, &by_function, of, args.top);
    console::print_result(
        args.json,
        || &document,
        |out| {
            head(&before, out)?;
            head(&after, out)?;
            view::print(&document, &by_function, out)
        },
    )?;
    let outcomes = [&before, &after].map(load::outcome);
    Ok(if outcomes == [Outcome::Whole; 2] { Outcome::Whole } else { Outcome::Partial })
}
