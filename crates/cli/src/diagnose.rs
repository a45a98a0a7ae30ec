//! `slowpath diagnose`: what bound each flow.

use crate::args::{Diagnose, Place};
use crate::console::{self, Console};
use crate::{Outcome, recording};
use anyhow::Context;
use slowpath_analyses::picture::{PictureOptions, Pictures};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, Options, VantageOverride};
use slowpath_model::FlowId;
use slowpath_views::rank::{Ranker, Selection};
use slowpath_views::{Diagnosis, Recording, json, page, terminal};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A page shows more flows in full than a terminal, since one need not scroll past them.
const FLOWS_ON_PAGE: usize = 50;

pub fn run(args: &Diagnose, console: &Console) -> anyhow::Result<Outcome> {
    let [file] = args.files.as_slice() else {
        anyhow::bail!("two recordings of the same transfer cannot be matched yet; give one");
    };
    let top = match (args.json, &args.html) {
        (true, _) => usize::MAX,
        (false, Some(_)) => args.top.max(FLOWS_ON_PAGE),
        (false, None) => args.top,
    };
    let mut ranker = Ranker::new(Selection { flow: args.choice.flow, min_bytes: args.choice.min_bytes, top });
    let (summary, not_kept, pictures) = match &args.html {
        None => {
            let mut analysis = Analysis::new(options(args.vantage));
            let summary = recording::read(file, &mut analysis, console)?;
            let (not_kept, ()) = analysis.finish_each(|flow| ranker.add(flow));
            (summary, not_kept, None)
        }
        Some(page) => {
            refuse_input(page, &args.files)?;
            let pictures =
                Pictures::new(PictureOptions { only: args.choice.flow, ..PictureOptions::default() });
            let mut analysis = Analysis::with_labels(options(args.vantage), pictures);
            let summary = recording::read(file, &mut analysis, console)?;
            let (not_kept, pictures) = analysis.finish_each(|flow| ranker.add(flow));
            (summary, not_kept, Some((page, pictures)))
        }
    };
    let read = recording::describe(&summary)?;
    let ranking = ranker.finish();
    if let Some(flow) = args.choice.flow {
        require(flow, ranking.taken() > 0, &read, summary.flows)?;
    }
    let outcome = recording::outcome(std::slice::from_ref(&read));
    let diagnosis = Diagnosis {
        recordings: vec![read],
        ranking,
        flows_not_kept: not_kept.flows,
        advise: &slowpath_remedies::advise,
    };
    tell(args, console, diagnosis, pictures)?;
    Ok(outcome)
}

/// Writes the page if one is asked for, and prints the verdict.
fn tell(
    args: &Diagnose,
    console: &Console,
    mut diagnosis: Diagnosis<'_>,
    pictures: Option<(&PathBuf, Pictures)>,
) -> anyhow::Result<()> {
    let mut out = console::stdout();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &json::Diagnosis::of(&diagnosis))?;
        writeln!(out)?;
    }
    if let Some((path, pictures)) = pictures {
        diagnosis.ranking = diagnosis.ranking.narrowed(args.top.max(FLOWS_ON_PAGE));
        let draw = |flow: &FlowReport| pictures.picture(flow.id, flow.sender);
        let drawn = page::Pictures { of: &draw, dropped: pictures.dropped() };
        let mut text = Vec::new();
        page::write(&diagnosis, &drawn, &mut text).with_context(|| path.display().to_string())?;
        std::fs::write(path, text).with_context(|| format!("{}: cannot be written", path.display()))?;
    }
    if !args.json {
        diagnosis.ranking = diagnosis.ranking.narrowed(args.top);
        terminal::diagnosis(&diagnosis, &console.look(), &mut out)?;
    }
    out.flush()?;
    Ok(())
}

/// Refuses to write the page over a recording.
fn refuse_input(page: &Path, inputs: &[PathBuf]) -> anyhow::Result<()> {
    let same = |input: &PathBuf| match (page.canonicalize(), input.canonicalize()) {
        (Ok(page), Ok(input)) => page == input,
        _ => false,
    };
    anyhow::ensure!(
        !inputs.iter().any(same),
        "{}: is the recording; give the page another name",
        page.display()
    );
    Ok(())
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
    anyhow::bail!("{}: there is no flow {flow}; {hint}", read.name)
}
