//! `slowpath flows`: the measures of each flow.

use crate::choice::{Choice, keys, places};
use crate::console::{self, Console};
use crate::{Outcome, recording};
use clap::{Args, ValueHint};
use slowpath_analyses::{Analysis, VantageOverride};
use slowpath_runs::input;
use slowpath_views::flow_list::{self, Form, SortKey};
use slowpath_views::{help, services::By};
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `flows`.
#[derive(Args)]
#[command(after_long_help = help::FLOWS)]
pub struct Flows {
    /// The capture, or - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    #[command(flatten)]
    pub choice: Choice,
    /// Where the capture was made, if slowpath should not infer it
    #[arg(long, value_name = "PLACE", value_parser = places())]
    pub vantage: Option<VantageOverride>,
    /// Sort by flow (its number), lost (time), bytes, goodput, time, rtt or retr, the most first
    #[arg(long, value_name = "KEY", default_value = "flow", hide_possible_values = true, value_parser = keys(SortKey::ALL, SortKey::name))]
    #[arg(conflicts_with = "long")]
    pub sort: SortKey,
    /// Print every measure of every flow, both directions next to each other
    #[arg(long, conflicts_with = "json")]
    pub long: bool,
    /// Print CSV, a line per flow
    #[arg(long, conflicts_with_all = ["long", "json"])]
    pub csv: bool,
    /// Print JSON (schema slowpath/flows/1) with every measure
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Flows, console: &Console) -> anyhow::Result<Outcome> {
    let fresh = || Analysis::new(input::options(args.vantage, &args.file));
    let (read, analysis) = recording::analyse(&args.file, None, console, fresh)?;
    if let Some(flow) = args.choice.flow {
        recording::require(flow, analysis.has(flow), &read)?;
    }
    recording::warn_of(&read.recording);
    let (form, look) = match args {
        Flows { long: true, .. } => (Form::Long, console.look()),
        Flows { csv: true, .. } => (Form::Csv, console.look()),
        Flows { json: true, .. } => (Form::Json, console.look()),
        _ => (Form::Table, console.table_look()),
    };
    let (selection, mut out) = (args.choice.selection(None, By::default()), console::stdout());
    flow_list::write(analysis, &read.recording, &selection, (form, args.sort), &look, &mut out)?;
    out.flush()?;
    Ok(recording::outcome(&[read.recording]))
}
