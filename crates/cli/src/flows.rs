//! `slowpath flows`: the measures of each flow.

use crate::args::Flows;
use crate::console::{self, Console};
use crate::{Outcome, diagnose, recording};
use slowpath_analyses::Analysis;
use slowpath_views::rank::Selection;
use slowpath_views::{json, terminal};
use std::io::Write;

pub fn run(args: &Flows, console: &Console) -> anyhow::Result<Outcome> {
    let mut analysis = Analysis::new(diagnose::options(args.vantage));
    let summary = recording::read(&args.file, &mut analysis, console)?;
    let read = recording::describe(&summary)?;
    let report = analysis.finish();
    if let Some(flow) = args.choice.flow {
        diagnose::require(flow, report.flows.iter().any(|report| report.id == flow), &read, summary.flows)?;
    }
    let selection = Selection { flow: args.choice.flow, min_bytes: args.choice.min_bytes, top: 0 };
    let flows: Vec<_> = report.flows.iter().filter(|flow| selection.takes(flow)).collect();
    recording::warn_of(&read);
    let outcome = recording::outcome(std::slice::from_ref(&read));
    let mut out = console::stdout();
    if args.json {
        let list = json::FlowList::of(&read, flows, report.not_kept.flows);
        serde_json::to_writer_pretty(&mut out, &list)?;
        writeln!(out)?;
    } else if args.long {
        terminal::flows_long(&flows, &console.look(), &mut out)?;
    } else {
        terminal::flows_table(&flows, &console.table_look(), &mut out)?;
    }
    out.flush()?;
    Ok(outcome)
}
