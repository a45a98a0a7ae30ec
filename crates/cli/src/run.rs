//! `slowpath run`: a scenario in the simulator.

use crate::console::{self, Console};
use crate::interrupt::Interrupt;
use crate::output::Force;
use crate::scenario::Changes;
use crate::{Outcome, recording};
use anyhow::Context;
use clap::{Args, ValueHint};
use slowpath_analyses::report::FlowReport;
use slowpath_model::Instant;
use slowpath_runs::simulated::{self, Folders};
use slowpath_views::rank::{Ranker, Selection};
use slowpath_views::{Diagnosis, Recording, json, page, run as view};
use std::path::PathBuf;
use std::slice;

/// Arguments of `run`.
#[derive(Args)]
#[command(after_long_help = view::HELP)]
pub struct Run {
    /// The scenario file, or - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    changes: Changes,
    /// Record the events of every host as Parquet in this folder, for `slowpath diagnose`, `show` and `flows` and for
    /// other programs
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    record: Option<PathBuf>,
    /// Write every host's packets as pcapng into this folder, for Wireshark and `slowpath diagnose`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pcap: Option<PathBuf>,
    /// Also write the diagnosis as one HTML page, with plots
    #[arg(long, value_name = "PAGE", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// How many flows of the diagnosis to show in full
    #[arg(long, value_name = "N", default_value_t = 3)]
    top: usize,
    /// Print JSON (schema slowpath/run/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Run, console: &Console) -> anyhow::Result<Outcome> {
    args.force.goes_with(args.pcap.is_some() || args.html.is_some(), "--pcap or --html")?;
    let inputs = slice::from_ref(&args.file);
    args.html.iter().try_for_each(|page| args.force.check(Some(page), inputs, "--html"))?;
    let scenario = args.changes.load(&args.file)?;
    let (record, pcap) = (args.record.as_deref(), args.pcap.as_deref());
    let folders = Folders { record, pcap, existing: args.force.existing(), pictures: args.html.is_some() };
    let selection = Selection { top: Some(args.top), ..Selection::default() };
    let mut ranker = Ranker::new(selection).with_page(args.html.is_some());
    let interrupt = Interrupt::listen()?;
    let bar = console.lasting(&scenario.title, scenario.duration);
    let run = simulated::run(
        &scenario,
        folders,
        interrupt.flag(),
        |now| bar.at_time(now.since(Instant::START).unwrap_or_default()),
        |flow| ranker.add(flow),
    )?;
    drop(bar);
    let mut ranking = ranker.finish();
    ranking.full.iter_mut().for_each(FlowReport::explain);
    let recordings = vec![Recording::of_run(args.file.display().to_string(), &scenario, &run)];
    let outcome = recording::outcome(&recordings);
    let advise = &slowpath_remedies::advise;
    let mut diagnosis = Diagnosis { recordings, ranking, flows_not_kept: run.not_kept, paired: None, advise };
    if let Some((path, pictures)) = args.html.as_ref().zip(run.pictures.as_ref()) {
        let page = page::of_pictures(&diagnosis, pictures).with_context(|| path.display().to_string())?;
        args.force.write(path, page)?;
    }
    diagnosis.ranking = diagnosis.ranking.narrowed(Some(args.top));
    let document = || view::RunDocument::new(&scenario, &run, json::Diagnosis::of(&diagnosis));
    let print = |out: &mut _| view::print(&scenario, &run, &diagnosis, &console.look(), out);
    console::print_result(args.json, document, print)?;
    Ok(outcome)
}
