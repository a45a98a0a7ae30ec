//! `slowpath profile flame`: a flame graph.

use super::{Source, load};
use crate::Outcome;
use crate::console::Console;
use crate::output::Force;
use clap::{Args, ValueHint};
use slowpath_views::profile::{flame, help};
use std::path::PathBuf;
use std::slice;

/// Arguments of `profile flame`.
#[derive(Args)]
#[command(after_long_help = help::FLAME)]
pub struct Flame {
    #[command(flatten)]
    source: Source,
    /// The SVG file to write
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    #[command(flatten)]
    force: Force,
    /// Draw only these functions and what they call: names of functions, or of operations such as "TCP receive"
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',')]
    of: Vec<String>,
    /// Draw callees below their callers
    #[arg(long)]
    icicle: bool,
}

pub fn run(args: &Flame, console: &Console) -> anyhow::Result<Outcome> {
    args.force.check(Some(&args.out), slice::from_ref(&args.source.file), "--out")?;
    let mut loaded = load::open(&args.source, console)?;
    let title = args.source.file.display().to_string();
    let picture = flame::picture(&mut loaded, &title, &args.of, args.icicle)?;
    args.force.write(&args.out, picture)?;
    Ok(load::outcome(&loaded))
}
