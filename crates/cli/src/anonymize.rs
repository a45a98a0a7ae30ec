//! `slowpath anonymize`: a copy that can be passed on.

use crate::console::{self, Console};
use crate::output::Force;
use crate::{Outcome, recording};
use clap::{Args, ValueHint};
use slowpath_runs::anonymize::{self, Ports};
use slowpath_runs::values::ports;
use slowpath_views::Recording;
use slowpath_views::anonymize::{AnonymizeDocument, HELP, print};
use std::path::PathBuf;

/// Arguments of `anonymize`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Anonymize {
    /// The capture (pcap or pcapng, plain, gzip or zstd), a folder from `slowpath run --record`, a file from --raw, or - for
    /// standard input
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    input: PathBuf,
    /// The copy; compressed if its name ends in .zst
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// The key, 64 hexadecimal digits in a file that nobody else may read: the same addresses in all files [default: a random
    /// key]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    key_file: Option<PathBuf>,
    /// What to do with ports from 32768 up, those of clients: keep, or map
    #[arg(long, value_name = "WHAT", default_value = "keep", value_parser = ports)]
    ports: Ports,
    /// Print JSON (schema slowpath/anonymize/1) instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    force: Force,
}

/// Arguments of a report without names.
#[derive(Args)]
#[group(skip)]
pub struct Anonymous {
    /// Replace addresses as `slowpath anonymize` does, and leave the names of files, interfaces and hosts out
    #[arg(long, conflicts_with_all = ["live", "summary"])]
    anonymize: bool,
    /// With --anonymize, the key, for the addresses that other files have under it [default: a random key]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "anonymize")]
    key_file: Option<PathBuf>,
}

impl Anonymous {
    /// The replacements, if they are wanted.
    pub fn names(&self) -> anyhow::Result<Option<anonymize::Names>> {
        let key = self.anonymize.then(|| anonymize::key(self.key_file.as_deref())).transpose()?;
        Ok(key.map(|key| anonymize::Names::new(&key, Ports::Keep)))
    }

    /// Whether they are.
    pub const fn are_wanted(&self) -> bool {
        self.anonymize
    }

    /// The recordings, without names if that is wanted.
    pub fn recordings(&self, recordings: Vec<Recording>) -> Vec<Recording> {
        let numbered = recordings.into_iter().zip(1..);
        numbered.map(|(one, n)| if self.anonymize { one.without_names(n) } else { one }).collect()
    }
}

pub fn run(args: &Anonymize, console: &Console) -> anyhow::Result<Outcome> {
    let Anonymize { input, output, force, .. } = args;
    force.check(Some(output).filter(|_| !input.is_dir()).map(PathBuf::as_path), &[input.clone()], "a file")?;
    let key = anonymize::key(args.key_file.as_deref())?;
    let progress = recording::progress(input, console);
    let done = anonymize::anonymize(input, output, force.existing(), (&key, args.ports), progress)?;
    console::print_result(args.json, || AnonymizeDocument::of(&done, output), |out| print(&done, output, out))?;
    Ok(if done.incomplete().is_none() { Outcome::Whole } else { Outcome::Partial })
}
