//! `slowpath show`: events as text.

use crate::Outcome;
use crate::choice::{named, places};
use crate::console::{self, Console};
use crate::recording::{self, Read};
use clap::{Args, ValueHint};
use slowpath_analyses::settled::Settled;
use slowpath_analyses::{Analysis, Label, VantageOverride};
use slowpath_model::{FlowId, Instant};
use slowpath_runs::{filter::Filter, input::options, values::flow_id};
use slowpath_views::events::{self, HELP, Printer, Wanted};
use std::io;
use std::path::PathBuf;

/// Arguments of `show`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Show {
    /// The capture, or - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Only the flow with this number; without it, each line starts with the flow number
    #[arg(long, value_name = "N", value_parser = flow_id)]
    pub flow: Option<FlowId>,
    /// Only flows that this expression selects, in tcpdump's words, such as 'host 192.0.2.1 and port 443'
    #[arg(long, value_name = "EXPRESSION")]
    pub filter: Option<Filter>,
    /// From this time on, in seconds since the first packet
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub from: Option<Instant>,
    /// Up to this time, in seconds since the first packet
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub to: Option<Instant>,
    /// Only data with these labels, comma-separated: new, retransmission, spurious, out-of-order, duplicate,
    /// keep-alive, window-probe; each line then shows its label
    #[arg(long, value_name = "LABELS", value_delimiter = ',', value_parser = named(events::labels()), hide_possible_values = true)]
    pub label: Vec<Label>,
    /// Where the capture was made, if slowpath should not infer it; needed to distinguish a retransmission from a reordered
    /// segment
    #[arg(long, value_name = "PLACE", requires = "label", value_parser = places())]
    pub vantage: Option<VantageOverride>,
    /// At most this many events
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// Print one JSON object a line (schema slowpath/event/1) instead of text
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Show, console: &Console) -> anyhow::Result<Outcome> {
    if let (Some(from), Some(to)) = (args.from, args.to) {
        anyhow::ensure!(from <= to, "--to {to} is before --from {from}");
    }
    if args.limit == Some(0) {
        return Ok(Outcome::Whole);
    }
    let (read, printer) = if args.label.is_empty() { all(args, console)? } else { labelled(args, console)? };
    if let Some(flow) = args.flow {
        recording::require(flow, printer.met_flow, &read)?;
    }
    let read = read.recording;
    let shown = printer.finish()?;
    if shown == 0 && read.segments > 0 && args.label.is_empty() {
        let what = if args.filter.is_some() { "of these flows passed" } else { "passed in that time" };
        console::warn(&format!("{}: nothing {what}", read.name));
    }
    recording::warn_of(&read);
    Ok(recording::outcome(&[read]))
}

fn printer(args: &Show) -> Printer<console::Out> {
    let (flow, from, to, labels, limit) = (args.flow, args.from, args.to, args.label.clone(), args.limit);
    let wanted = Wanted { flow, filter: args.filter.clone(), from, to, labels, limit, json: args.json };
    Printer::new(wanted, console::stdout(), |ended| match ended {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            console::warn(&format!("standard output: {error}"));
            std::process::exit(2)
        }
        _ => std::process::exit(0),
    })
}

fn all(args: &Show, console: &Console) -> anyhow::Result<(Read, Printer<console::Out>)> {
    let mut printer = printer(args);
    let read = recording::read(&args.file, &mut printer, console)?;
    Ok((read, printer))
}

/// Data of the labels asked for, which only an analysis knows.
fn labelled(args: &Show, console: &Console) -> anyhow::Result<(Read, Printer<console::Out>)> {
    let mut analysis = Analysis::with_labels(options(args.vantage, &args.file), Settled::new(printer(args)));
    let read = recording::read(&args.file, &mut analysis, console)?;
    let (not_kept, settled) = analysis.finish_each(|_| ());
    if not_kept.flows > 0 {
        console::warn(&format!("{} flows were not labelled, to save memory", not_kept.flows));
    }
    Ok((read, settled.finish()))
}
