//! `slowpath anonymize`: a copy that can be passed on.

use crate::console::{self, Console};
use crate::output::Force;
use crate::{Outcome, recording};
use clap::{Args, ValueHint};
use slowpath_runs::anonymize::{self, Ports};
use slowpath_runs::values::ports;
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
    /// The copy; compressed if its name ends in .zst or .gz
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// A file that nobody else may read, with the key, 64 hexadecimal digits [default: a random key]
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

pub fn run(args: &Anonymize, console: &Console) -> anyhow::Result<Outcome> {
    let Anonymize { input, output, key_file, ports, json, force } = args;
    let (progress, key) = (recording::progress(input, console), anonymize::key(key_file.as_deref())?);
    let done = anonymize::anonymize(input, output, force.existing(), (&key, *ports), progress)?;
    let document = || AnonymizeDocument::of(&done, output);
    console::print_result(*json, document, |out| print(&done, output, out))?;
    Ok(if done.incomplete().is_none() { Outcome::Whole } else { Outcome::Partial })
}
