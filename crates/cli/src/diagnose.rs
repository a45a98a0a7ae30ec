//! `slowpath diagnose`: what bound each flow.

use crate::args::{Diagnose, Place};
use crate::console::{self, Console};
use crate::{Outcome, recording};
use slowpath_analyses::{Analysis, Options, VantageOverride};
use slowpath_model::FlowId;
use slowpath_views::rank::Selection;
use slowpath_views::{Diagnosis, Recording, json, terminal};
use std::io::Write;
use std::path::Path;

pub fn run(args: &Diagnose, console: &Console) -> anyhow::Result<Outcome> {
    let [file] = args.files.as_slice() else {
        anyhow::bail!("two recordings of the same transfer cannot be matched yet; give one");
    };
    let mut analysis = Analysis::new(options(args.vantage));
    let summary = recording::read(file, &mut analysis, console)?;
    let read = recording::describe(&summary)?;
    let report = analysis.finish();
    if let Some(flow) = args.choice.flow {
        require(flow, report.flows.iter().any(|report| report.id == flow), &read, summary.flows)?;
    }
    let outcome = recording::outcome(std::slice::from_ref(&read));
    let diagnosis = Diagnosis {
        recordings: vec![read],
        flows: &report.flows,
        flows_not_kept: report.not_kept.flows,
        advise: &slowpath_remedies::advise,
    };
    let selection = Selection { flow: args.choice.flow, min_bytes: args.choice.min_bytes, top: args.top };
    let mut out = console::stdout();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &json::Diagnosis::of(&diagnosis, &selection))?;
        writeln!(out)?;
    } else {
        terminal::diagnosis(&diagnosis, &selection, &console.look(), &mut out)?;
    }
    out.flush()?;
    Ok(outcome)
}

/// What the analysis is told.
pub fn options(vantage: Option<Place>) -> Options {
    let vantage = vantage.map(|place| match place {
        Place::Sender => VantageOverride::Sender,
        Place::Receiver => VantageOverride::Receiver,
        Place::Between => VantageOverride::Between,
    });
    Options { vantage, ..Options::default() }
}

/// Refuses a flow number that the recording does not have, or that was not kept.
pub fn require(flow: FlowId, there: bool, read: &Recording, flows: u64) -> anyhow::Result<()> {
    if there {
        return Ok(());
    }
    let hint = match flows {
        0 => "there is no TCP in it".to_owned(),
        1 => "its only flow is 1".to_owned(),
        n if u64::from(flow.0) <= n => "it came after too many others to be kept".to_owned(),
        n => format!("its flows are 1 to {n}"),
    };
    anyhow::bail!("{}: there is no flow {flow}; {hint}", Path::new(&read.name).display())
}
