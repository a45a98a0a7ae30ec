//! `slowpath show`: events as text.

mod held;
mod printer;

use crate::args::Show;
use crate::console::{self, Console};
use crate::recording::Read;
use crate::{Outcome, diagnose, recording};
use held::Held;
use printer::Printer;
use slowpath_analyses::Analysis;

pub fn run(args: &Show, console: &Console) -> anyhow::Result<Outcome> {
    if let (Some(from), Some(to)) = (args.from, args.to) {
        anyhow::ensure!(from <= to, "--to {to} is before --from {from}");
    }
    if args.limit == Some(0) {
        return Ok(Outcome::Whole);
    }
    let (read, printer) = if args.label.is_empty() { all(args, console)? } else { labelled(args, console)? };
    let Read { recording: read, flows, .. } = read;
    if let Some(flow) = args.flow {
        diagnose::require(flow, printer.met_flow, &read, flows)?;
    }
    let shown = printer.finish()?;
    if shown == 0 && read.segments > 0 && args.label.is_empty() {
        console::warn(&format!("{}: nothing passed in that time", read.name));
    }
    recording::warn_of(&read);
    Ok(recording::outcome(&[read]))
}

fn all<'a>(args: &'a Show, console: &Console) -> anyhow::Result<(Read, Printer<'a>)> {
    let mut printer = Printer::new(args);
    let read = recording::read(&args.file, &mut printer, console)?;
    Ok((read, printer))
}

/// Data of the labels asked for, which only an analysis knows.
fn labelled<'a>(args: &'a Show, console: &Console) -> anyhow::Result<(Read, Printer<'a>)> {
    let mut analysis = Analysis::with_labels(diagnose::options(args.vantage, &args.file), Held::new(args));
    let read = recording::read(&args.file, &mut analysis, console)?;
    let (not_kept, held) = analysis.finish_each(|_| ());
    if not_kept.flows > 0 {
        console::warn(&format!("{} flows were not labelled, to save memory", not_kept.flows));
    }
    Ok((read, held.finish()))
}
