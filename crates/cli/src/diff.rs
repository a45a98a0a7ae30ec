//! `slowpath diff`: two captures next to each other.

use crate::choice::places;
use crate::console::{self, Console};
use crate::{Outcome, recording};
use clap::{Args, ValueHint};
use slowpath_analyses::VantageOverride;
use slowpath_model::FlowId;
use slowpath_runs::diff::{Asked, read};
use slowpath_runs::{filter::Filter, input, values::flow_id};
use slowpath_views::diff::{self as view, Diff, DiffDocument};
use std::path::PathBuf;

/// Arguments of `diff`.
#[derive(Args)]
#[command(after_long_help = view::HELP)]
pub struct Compare {
    /// The good capture, or the one before a change
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    a: PathBuf,
    /// The bad one, or the one after
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    b: PathBuf,
    /// Only the flow with this number in A, and the one with the second number in B, if there is one
    #[arg(long, value_name = "N[,M]", value_delimiter = ',', value_parser = flow_id)]
    flow: Vec<FlowId>,
    /// Only flows that this expression selects, in tcpdump's words, such as 'host 192.0.2.1 and port 443'
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<Filter>,
    /// Where both captures were made, if slowpath should not infer it
    #[arg(long, value_name = "PLACE", value_parser = places())]
    vantage: Option<VantageOverride>,
    /// How many services to show in full, those that cost B most time first
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "json")]
    top: usize,
    /// Print JSON (schema slowpath/diff/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Compare, console: &Console) -> anyhow::Result<Outcome> {
    anyhow::ensure!(args.flow.len() <= 2, "--flow: give one number for both, or two: --flow 3,7");
    let files = [args.a.clone(), args.b.clone()];
    input::are_distinct(&files)?;
    let flows = [args.flow.first(), args.flow.last()].map(|flow| flow.copied());
    let read =
        read(Asked { files: &files, flows, vantage: args.vantage, filter: args.filter.as_ref() }, console)?;
    let diff = Diff::of(read, flows).map_err(anyhow::Error::msg)?;
    let print = |out: &mut _| view::print(&diff, args.top, &console.look(), out);
    console::print_result(args.json, || DiffDocument::new(&diff), print)?;
    Ok(recording::outcome(&diff.recordings))
}
