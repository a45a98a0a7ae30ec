//! `slowpath scenario`: scenario files checked, explained and begun.

use crate::Outcome;
use crate::console;
use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueHint};
use serde_json::{Value, json};
use slowpath_scenario::explain::Explanation;
use slowpath_scenario::template::template;
use slowpath_scenario::{Checked, Estimate, Override, Rejected};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

const HELP: &str = "\
A scenario file says what a run is made of: hosts with their kernels, CPUs and network cards; the paths between them; \
what they transfer. Everything has a default. docs/src/scenario-reference.md lists every key; scenarios/ has files to \
begin with.

Examples:
  slowpath scenario new my-path.toml
  slowpath scenario check my-path.toml
  slowpath scenario explain my-path.toml --set path.delay=50ms";

/// Arguments of `scenario`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Scenario {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Say everything that is wrong with scenario files
    #[command(after_help = "\
Exit codes:
  0  all of them are scenarios
  1  at least one of them is refused; every error is shown with its line and what to write instead
  2  a file could not be read")]
    Check(Check),
    /// Say what a run will be: every value, and for each default why it is that
    Explain(Explain),
    /// Write a scenario with comments to begin with
    #[command(
        after_help = "Examples:\n  slowpath scenario new my-path.toml\n  slowpath scenario new > my-path.toml"
    )]
    New {
        /// The file to write, which must not exist yet; without it, standard output
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
    },
}

/// What takes the place of a file's values.
#[derive(Args, Default)]
pub struct Changes {
    /// Put a value in the place of the file's, such as path.delay=50ms; can be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<Override>,
    /// Draw all chance from this number instead of the file's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl Changes {
    /// Whether any value or the seed is replaced.
    pub fn are_any(&self) -> bool {
        !self.set.is_empty() || self.seed.is_some()
    }

    /// What is put in the place of the file's values, as it was written.
    pub fn texts(&self) -> Vec<String> {
        self.set.iter().map(|one| one.text().to_owned()).collect()
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

/// Reads and checks a scenario, with what the command line changes in it.
///
/// # Errors
///
/// Outside, a file that cannot be read; inside, a scenario that is refused.
fn read(file: &Path, changes: &Changes) -> anyhow::Result<Result<Checked, Rejected>> {
    Ok(slowpath_scenario::check(&file.to_string_lossy(), &text(file)?, &changes.set, changes.seed))
}

/// What is in a scenario's file, or on standard input.
pub fn text(file: &Path) -> anyhow::Result<String> {
    // One byte more than the longest scenario, so that a longer one is refused as that without being read whole.
    const MOST_BYTES: u64 = (1 << 20) + 1;
    let name = file.to_string_lossy();
    let mut bytes = Vec::new();
    let read = if name == "-" {
        io::stdin().take(MOST_BYTES).read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes))
    };
    read.with_context(|| name.clone().into_owned())?;
    String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{name}: this is not text (UTF-8)"))
}

/// Reads a scenario that has to be right.
pub fn load(file: &Path, changes: &Changes) -> anyhow::Result<slowpath_scenario::Scenario> {
    load_text(file, &text(file)?, changes, &[])
}

/// The same of a file whose text is known, with more changes.
pub fn load_text(
    file: &Path,
    text: &str,
    changes: &Changes,
    more: &[Override],
) -> anyhow::Result<slowpath_scenario::Scenario> {
    let set = [changes.set.as_slice(), more].concat();
    match slowpath_scenario::check(&file.to_string_lossy(), text, &set, changes.seed) {
        Ok(checked) => Ok(checked.scenario),
        Err(rejected) => bail!("{rejected}"),
    }
}

fn run_check(args: &Check) -> anyhow::Result<Outcome> {
    let mut out = console::stdout();
    let mut documents = Vec::new();
    let mut outcome = Outcome::Whole;
    for file in &args.files {
        let checked = read(file, &args.changes)?;
        if checked.is_err() {
            outcome = Outcome::Partial;
        }
        match &checked {
            _ if args.json => documents.push(document(file, &checked)),
            Ok(checked) => {
                writeln!(out, "{}: right; it needs {}", file.display(), Estimate::of(&checked.scenario))?;
            }
            Err(rejected) => {
                out.flush()?;
                write!(io::stderr(), "{rejected}")?;
            }
        }
    }
    if args.json {
        let all = json!({ "schema": "slowpath/scenario-check/1", "files": documents });
        serde_json::to_writer_pretty(&mut out, &all)?;
        writeln!(out)?;
    }
    out.flush()?;
    Ok(outcome)
}

fn document(file: &Path, checked: &Result<Checked, Rejected>) -> Value {
    match checked {
        Ok(checked) => {
            json!({ "file": file.to_string_lossy(), "estimate": Estimate::of(&checked.scenario), "errors": [] })
        }
        Err(rejected) => json!({ "file": file.to_string_lossy(), "errors": rejected.findings() }),
    }
}

fn run_explain(args: &Explain) -> anyhow::Result<Outcome> {
    let checked = match read(&args.file, &args.changes)? {
        Ok(checked) => checked,
        Err(rejected) => {
            write!(io::stderr(), "{rejected}")?;
            return Ok(Outcome::Partial);
        }
    };
    let explanation = Explanation::of(&checked);
    console::tell(args.json, || &explanation, |out| write!(out, "{explanation}"))?;
    Ok(Outcome::Whole)
}

fn run_new(file: Option<&Path>) -> anyhow::Result<Outcome> {
    let Some(file) = file else { return console::print(template("my scenario").as_bytes()) };
    let name = file.file_stem().map_or_else(|| "my scenario".into(), |stem| stem.to_string_lossy());
    let created = fs::OpenOptions::new().write(true).create_new(true).open(file);
    let mut created = match created {
        Ok(created) => created,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{} exists already and is left as it is; choose another name", file.display())
        }
        Err(error) => return Err(error).with_context(|| file.display().to_string()),
    };
    created.write_all(template(&name).as_bytes()).with_context(|| file.display().to_string())?;
    let text = format!("{} written; `slowpath scenario explain {0}` says what it is\n", file.display());
    console::print(text.as_bytes())
}
