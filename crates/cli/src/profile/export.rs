//! `slowpath profile export`: a profile for other tools.

use super::{Source, load};
use crate::Outcome;
use crate::console::Console;
use crate::output::Force;
use anyhow::Context;
use clap::{Args, ValueEnum, ValueHint};
use slowpath_files::Output;
use slowpath_profile::{Measure, write_folded, write_pprof};
use slowpath_views::profile::help;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::slice;

/// Arguments of `profile export`.
#[derive(Args)]
#[command(after_long_help = help::EXPORT)]
pub struct Export {
    #[command(flatten)]
    source: Source,
    /// The format
    #[arg(long = "as", value_name = "FORMAT")]
    format: Format,
    /// The file to write
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    #[command(flatten)]
    force: Force,
}

/// A format that other tools read.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// One stack per line with its samples, for flamegraph.pl, speedscope and others
    Folded,
    /// pprof's profile.proto, compressed with gzip
    Pprof,
}

pub fn run(args: &Export, console: &Console) -> anyhow::Result<Outcome> {
    args.force.check(Some(&args.out), slice::from_ref(&args.source.file), "--out")?;
    let loaded = load::open(&args.source, console)?;
    let (profile, event) = loaded.whole_stacks()?;
    let cannot = || format!("{}: cannot be written", args.out.display());
    let mut output = Output::create(&args.out, args.force.existing())?;
    let mut out = BufWriter::new(&mut output);
    match args.format {
        Format::Folded => write_folded(profile, event, Measure::Samples, &mut out),
        Format::Pprof => write_pprof(profile, event, &mut out),
    }
    .and_then(|()| out.flush())
    .with_context(cannot)?;
    drop(out);
    output.finish()?;
    Ok(load::outcome(&loaded))
}
