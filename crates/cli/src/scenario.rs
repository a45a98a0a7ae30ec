//! `slowpath scenario`: checks, explains and creates scenario files.

use crate::Outcome;
use crate::console;
use clap::{Args, Subcommand, ValueHint};
use slowpath_runs::file;
use slowpath_scenario::Override;
use slowpath_scenario::template::template;
use slowpath_views::scenario::{
    CHECK_HELP, Explanation, HELP, NEW_HELP, ScenarioCheckDocument, created, explain, print_check,
};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `scenario`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Scenario {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Show all errors of scenario files
    #[command(after_help = CHECK_HELP)]
    Check(Check),
    /// Show every value of a run, and where each default comes from
    Explain(Explain),
    /// Write a commented scenario file to start from
    #[command(after_help = NEW_HELP)]
    New {
        /// The file to write, which must not exist yet; by default standard output
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
    },
}

/// What replaces values of a scenario file.
#[derive(Args, Default)]
pub struct Changes {
    /// Replace a value of the file, such as path.delay=50ms; can be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<Override>,
    /// Seed of the random numbers, in place of the file's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl Changes {
    /// What they change.
    pub fn get(&self) -> file::Changes {
        file::Changes { set: self.set.clone(), seed: self.seed }
    }

    /// Reads a scenario file that is to be run.
    pub fn load(&self, path: &Path) -> anyhow::Result<slowpath_scenario::Scenario> {
        Ok(file::load(path, &self.get())?)
    }

    /// Whether any value or the seed is replaced.
    pub fn are_any(&self) -> bool {
        !self.set.is_empty() || self.seed.is_some()
    }
}

#[derive(Args)]
struct Check {
    /// The scenario files, or - for standard input
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    changes: Changes,
    /// Print JSON (schema slowpath/scenario-check/1)
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Explain {
    /// The scenario file, or - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    changes: Changes,
    /// Print JSON (schema slowpath/scenario/1)
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Scenario) -> anyhow::Result<Outcome> {
    match &args.command {
        What::Check(check) => run_check(check),
        What::Explain(explain) => run_explain(explain),
        What::New { file } => run_new(file.as_deref()),
    }
}

fn run_check(args: &Check) -> anyhow::Result<Outcome> {
    let check = |path: &PathBuf| -> anyhow::Result<_> {
        Ok((path.display().to_string(), file::check(path, &args.changes.get())?))
    };
    let results = args.files.iter().map(check).collect::<anyhow::Result<Vec<_>>>()?;
    let print = |out: &mut _| print_check(&results, out, &mut console::stderr());
    console::print_result(args.json, || ScenarioCheckDocument::new(&results), print)?;
    Ok(if results.iter().any(|(_, checked)| checked.is_err()) { Outcome::Partial } else { Outcome::Whole })
}

fn run_explain(args: &Explain) -> anyhow::Result<Outcome> {
    let checked = match file::check(&args.file, &args.changes.get())? {
        Ok(checked) => checked,
        Err(rejected) => {
            write!(console::stderr(), "{rejected}")?;
            return Ok(Outcome::Partial);
        }
    };
    console::print_result(args.json, || Explanation::of(&checked), |out| explain(&checked, out))?;
    Ok(Outcome::Whole)
}

fn run_new(path: Option<&Path>) -> anyhow::Result<Outcome> {
    let Some(path) = path else { return console::print(template("my scenario").as_bytes()) };
    file::create(path)?;
    console::print(created(&path.display().to_string()).as_bytes())
}
