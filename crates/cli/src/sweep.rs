//! `slowpath sweep`: a scenario run many times, each time with other values.

use crate::Outcome;
use crate::console::{self, Console};
use crate::lab::carriers;
use crate::output::Force;
use crate::scenario::Changes;
use anyhow::{Context, ensure};
use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, ValueHint};
use slowpath_lab::privilege;
use slowpath_lab::settings::Carrier;
use slowpath_runs::kernel::How;
use slowpath_runs::sweep::{Made, NUMBERS, Places, Plan, RATE, Row, identity};
use slowpath_scenario::Vary;
use slowpath_views::chart;
use slowpath_views::sweep::{self as view, Axes};
use std::num::NonZero;
use std::path::PathBuf;
use std::slice;

/// Arguments of `sweep`.
#[derive(Args)]
#[command(after_long_help = view::HELP, group = ArgGroup::new("kernel").args(["lab", "compare"]))]
pub struct Sweep {
    /// The scenario file, or - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    changes: Changes,
    // No doc comment, in which rustdoc would take the tables' names for links.
    #[arg(long, value_name = "KEY=VALUE,...", help = view::VARY)]
    vary: Vec<Vary>,
    /// Run on this machine's kernel instead of the simulator
    #[arg(long)]
    lab: bool,
    /// Run in both, and compare them
    #[arg(long)]
    compare: bool,
    /// What carries the packets on this machine's kernel, as for `lab run`; veth by default
    #[arg(long, value_name = "KIND", requires = "kernel", value_parser = carriers())]
    carrier: Option<Carrier>,
    /// Make each run N times, with increasing seeds
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Simulate N runs at once; by default as many as there are CPUs
    #[arg(long, value_name = "N", conflicts_with = "lab")]
    jobs: Option<NonZero<usize>>,
    /// Store the runs in this folder as a Parquet data set, and continue with those that it does not have yet
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    #[command(flatten)]
    plot: Plot,
    /// Print JSON (schema slowpath/sweep/1) instead of text
    #[arg(long)]
    json: bool,
}

/// What to plot.
#[derive(Args)]
struct Plot {
    /// Plot the runs as an SVG picture: a number over a key, a line for every combination of the other keys
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    plot: Option<PathBuf>,
    /// Also write the runs as one HTML page: a plot of each number, and the table
    #[arg(long, value_name = "PAGE", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// The key on the horizontal axis; by default the first one whose values are numbers
    #[arg(long, value_name = "KEY")]
    x: Option<String>,
    /// The number on the vertical axis, by its column in the data set
    #[arg(long, value_name = "NUMBER", requires = "plot", default_value = RATE.column)]
    #[arg(value_parser = PossibleValuesParser::new(NUMBERS.iter().map(|number| number.column)))]
    y: String,
}

pub fn run(args: &Sweep, console: &Console) -> anyhow::Result<Outcome> {
    let (places, carrier) = (Places::of(args.lab, args.compare), args.carrier.unwrap_or_default());
    // While there is one thread only.
    if places != Places::Simulator {
        privilege::obtain()?;
    }
    let changes = args.changes.get();
    let plan = Plan::of(&args.file, &changes, &args.vary, args.repeat, places)?;
    let force = args.plot.force;
    let Plot { plot, html, x, y, .. } = &args.plot;
    let outputs = [plot.as_deref(), html.as_deref()];
    force.check_all(&outputs, slice::from_ref(&args.file), "--plot or --html")?;
    ensure!(x.is_none() || outputs != [None; 2], "--x: nothing is plotted; it goes with --plot or --html");
    let axes = || Axes::choose(&plan, x.as_deref(), y, places == Places::Both);
    let axes = (plot.is_some() || x.is_some()).then(axes).transpose()?;
    let identity = identity(&plan, &changes.texts(), args.repeat, places.describe(carrier.name()));
    let mut made = Made::begin(&plan, args.out.as_deref().map(|path| (path, identity)))?;
    let how = How { carrier, ..How::default() };
    let failed = made.make(places, how, args.jobs, |all, done| {
        let bar = console.steps("run", all, done);
        move || bar.step()
    });
    for error in failed.context("a run failed")? {
        console::warn(&format!("{:#}", anyhow::Error::from(error)));
    }
    let rows = made.end()?;
    let (look, how) = (console.look(), (args.compare, plan.jobs.len(), args.out.is_some()));
    let print = |out: &mut _| view::print_sweep(&plan.base, &rows, how, &look, out);
    console::print_result(args.json, || view::SweepDocument::new(&plan.base, &rows), print)?;
    let runs = || rows.iter().flat_map(Row::runs);
    if let (Some((file, axes)), true) = (plot.as_deref().zip(axes), runs().next().is_some()) {
        let chart = axes.chart(&plan, &rows, &view::place(&rows)).with_context(|| {
            let (file, y) = (file.display(), axes.y());
            format!("{file}: is not written: no run has a value of {y}; choose another number with --y")
        })?;
        force.write(file, chart::svg(&chart))?;
    }
    if let Some(file) = html {
        force.write(file, view::page(&plan, &rows, x.as_deref(), (args.compare, args.out.is_some())))?;
    }
    let whole = runs().count() == plan.jobs.len() && runs().all(|run| run.invalid.is_empty());
    Ok(if whole { Outcome::Whole } else { Outcome::Partial })
}
