//! `slowpath lab`: scenarios on this machine's kernel.

mod programs;

use crate::Outcome;
use crate::choice::described;
use crate::console::{self, Console};
use crate::recording;
use crate::scenario::Changes;
use clap::builder::TypedValueParser;
use clap::{Args, Subcommand, ValueHint};
use programs::Programs;
use slowpath_lab::machine::{Ability, abilities};
use slowpath_lab::privilege;
use slowpath_lab::scenario::Instead;
use slowpath_lab::settings::Carrier;
use slowpath_runs::Measured;
use slowpath_runs::kernel::{self, How};
use slowpath_views::rank::{Ranker, Selection};
use slowpath_views::{help, json, lab as view};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Arguments of `lab`.
#[derive(Args)]
#[command(after_long_help = view::HELP)]
pub struct Lab {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Check what this machine can do, what is missing and how to fix it
    #[command(after_help = view::CHECK_HELP)]
    Check {
        /// Print JSON (schema slowpath/lab-check/1)
        #[arg(long)]
        json: bool,
    },
    /// Run a scenario on this machine's kernel, and diagnose its flows
    #[command(after_help = view::EXIT_CODES)]
    Run(Run),
    /// Run a scenario in the simulator and on this machine's kernel, and compare the numbers
    #[command(after_help = view::EXIT_CODES)]
    Compare(Asked),
}

/// What `lab run` and `lab compare` have in common.
#[derive(Args)]
struct Asked {
    /// The scenario file, or - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    changes: Changes,
    /// Write the captures of both hosts, the kernel's events and the record of the run into this folder, which must not
    /// exist yet
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// What carries the packets from one host to the other
    #[arg(long, value_name = "KIND", default_value = "veth", value_parser = carriers())]
    carrier: Carrier,
    /// Print JSON (schema slowpath/lab-run/1 or slowpath/lab-compare/1) instead of text
    #[arg(long)]
    json: bool,
}

/// Arguments of `lab run`.
#[derive(Args)]
#[command(after_long_help = view::RUN_HELP)]
struct Run {
    #[command(flatten)]
    asked: Asked,
    /// How many flows of the diagnosis to show in full
    #[arg(long, value_name = "N", default_value_t = 3, conflicts_with = "json")]
    top: usize,
    #[command(flatten)]
    programs: Programs,
}

/// What carries the packets.
pub fn carriers() -> impl TypedValueParser<Value = Carrier> {
    described(help::CARRIERS)
}

impl Asked {
    fn how(&self) -> How<'_> {
        How { instead: None, carrier: self.carrier, keep: self.out.as_deref() }
    }
}

pub fn run(args: &Lab, console: &Console) -> anyhow::Result<Outcome> {
    // While there is one thread only.
    if !matches!(args.command, What::Check { .. }) {
        privilege::obtain()?;
    }
    match &args.command {
        What::Check { json } => check(*json, console),
        What::Run(asked) => run_scenario(asked, console),
        What::Compare(asked) => compare(asked, console),
    }
}

fn check(as_json: bool, console: &Console) -> anyhow::Result<Outcome> {
    let abilities = abilities();
    let can_run = !abilities.iter().any(Ability::prevents);
    let print = |out: &mut _| view::print_check(&abilities, can_run, &console.look(), out);
    console::print_result(as_json, || view::LabCheckDocument::new(&abilities, can_run), print)?;
    Ok(if can_run { Outcome::Whole } else { Outcome::Partial })
}

fn run_scenario(Run { asked, top, programs }: &Run, console: &Console) -> anyhow::Result<Outcome> {
    let instead = programs.instead();
    let mut scenario = asked.changes.load(&asked.file)?;
    if instead.is_some() {
        scenario = Instead::of(&scenario);
    }
    let top = if asked.json { usize::MAX } else { *top };
    let mut ranker = Ranker::new(Selection { top: Some(top), ..Selection::default() });
    let working = console.working(&scenario.title);
    let how = How { instead: instead.as_ref(), ..asked.how() };
    let live = kernel::run(&scenario, how, |flow| ranker.add(flow))?;
    drop(working);
    let diagnosis = view::diagnosis(&scenario, &live, ranker.finish(), asked.out.is_some());
    let is_valid = live.invalid.is_empty();
    let outcome = if is_valid { recording::outcome(&diagnosis.recordings) } else { Outcome::Partial };
    let lost = privilege::lost();
    console::print_result(
        asked.json,
        || view::LabRunDocument::new(&scenario, &live, lost, json::Diagnosis::of(&diagnosis)),
        |out| {
            let look = console.look();
            view::print(&scenario, &live, lost, &look, out)?;
            view::print_run(&diagnosis, asked.out.is_some(), &look, out)
        },
    )?;
    Ok(outcome)
}

fn compare(asked: &Asked, console: &Console) -> anyhow::Result<Outcome> {
    let scenario = asked.changes.load(&asked.file)?;
    let working = console.working(&scenario.title);
    let kernel = Measured::on_kernel(&scenario, asked.how())?;
    let Some(model) = Measured::in_simulator(&scenario, &AtomicBool::new(false))? else {
        unreachable!("nothing stops it")
    };
    drop(working);
    let comparison = view::LabComparisonDocument::new(&scenario, &model, &kernel);
    let print = |out: &mut _| comparison.print(&scenario.heading(), &console.look(), out);
    console::print_result(asked.json, || &comparison, print)?;
    Ok(if kernel.invalid.is_empty() { Outcome::Whole } else { Outcome::Partial })
}
