//! `slowpath cookbook`: cases for others to learn from.

use crate::Outcome;
use crate::console;
use clap::{Args, Subcommand, ValueHint};
use slowpath_runs::cookbook::{self, Entry};
use slowpath_views::cookbook as view;
use std::path::PathBuf;

/// Arguments of `cookbook`.
#[derive(Args)]
#[command(after_long_help = view::HELP)]
pub struct Cookbook {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Write a case: an anonymised recording, its verdict, and what helped
    Add(Add),
    /// Diagnose the recordings of cases again, and compare the verdicts with the stored ones
    Check {
        /// A case, or a folder of cases
        #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
        /// Print JSON (schema slowpath/cookbook/1) instead of text
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
struct Add {
    /// The capture, or those of both ends
    #[arg(required = true, num_args = 1..=2, value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
    captures: Vec<PathBuf>,
    /// What was seen, in one line; it is published as it is
    #[arg(long, value_name = "TEXT")]
    title: String,
    /// What helped, such as a setting with its value; it is published as it is
    #[arg(long, value_name = "TEXT")]
    what_helped: String,
    /// The folder of the case, which must not exist
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    out: PathBuf,
    /// Print JSON (schema slowpath/cookbook/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Cookbook) -> anyhow::Result<Outcome> {
    match &args.command {
        What::Add(Add { captures, title, what_helped, out: folder, json }) => {
            let entry = Entry { captures, title, what_helped, out: folder };
            let case = cookbook::add(&entry, view::main_cause, view::readme)?;
            let document = || view::CookbookDocument::of_added(&case, folder);
            console::print_result(*json, document, |out| view::print_added(&case, folder, out))?;
            Ok(Outcome::Whole)
        }
        What::Check { folder, json } => {
            let cases = cookbook::check(folder, view::main_cause)?;
            let document = || view::CookbookDocument::of_checked(&cases);
            console::print_result(*json, document, |out| view::print_checked(&cases, out))?;
            let is_same = cases.iter().all(|case| case.changes.is_empty());
            Ok(if is_same { Outcome::Whole } else { Outcome::Partial })
        }
    }
}
