//! `slowpath flows`: the measures of each flow.

use crate::choice::{Choice, Place};
use crate::console::{self, Console};
use crate::{Outcome, recording};
use clap::{Args, ValueHint};
use slowpath_analyses::Analysis;
use slowpath_views::rank::Selection;
use slowpath_views::{help, json, terminal};
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
    #[arg(long, value_name = "PLACE")]
    pub vantage: Option<Place>,
    /// Print every measure of every flow, both directions next to each other
    #[arg(long, conflicts_with = "json")]
    pub long: bool,
    /// Print JSON (schema slowpath/flows/1) with every measure
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Flows, console: &Console) -> anyhow::Result<Outcome> {
    let options = recording::options(args.vantage, &args.file);
    let (read, analysis) = recording::analyse(&args.file, None, console, || Analysis::new(options))?;
    if let Some(flow) = args.choice.flow {
        recording::require(flow, analysis.has(flow), &read)?;
    }
    let read = read.recording;
    let selection = Selection { flow: args.choice.flow, min_bytes: args.choice.min_bytes, top: 0 };
    recording::warn_of(&read);
    let outcome = recording::outcome(std::slice::from_ref(&read));
    let mut out = console::stdout();
    if args.long && !args.json {
        terminal::flows_long(analysis, &selection, &console.look(), &mut out)?;
    } else {
        let report = analysis.finish();
        let flows: Vec<_> = report.flows.iter().filter(|flow| selection.takes(flow)).collect();
        if args.json {
            json::write(&json::FlowList::of(&read, flows, report.not_kept.flows), &mut out)?;
        } else {
            terminal::flows_table(&flows, &console.table_look(), &mut out)?;
        }
    }
    out.flush()?;
    Ok(outcome)
}
