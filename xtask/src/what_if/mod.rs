//! `xtask what-if`: the labelled captures fitted, the fits held against the truth next to them, and what is predicted of
//! their remedies measured: in the simulator with the label's own path and hosts, and on this machine's kernel.

mod measure;
mod print;
mod right;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Serialize;
use slowpath_analyses::{Analysis, AnalysisOptions};
use slowpath_capture::Capture;
use slowpath_lab::experiment::Experiment;
use slowpath_lab::host::Host;
use slowpath_lab::run::recording_file;
use slowpath_lab::truth;
use slowpath_runs::what_if::Wanted;
use slowpath_runs::{parallel, what_if};
use slowpath_whatif::Traces;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Fit the labelled captures, and measure what is predicted of their remedies.
#[derive(Args)]
pub struct WhatIf {
    /// The folder with the sets
    #[arg(long, value_name = "DIR", default_value = "captures")]
    captures: PathBuf,
    /// Only runs whose set and name contain one of these
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Measure the remedies on this machine's kernel too (needs root)
    #[arg(long)]
    kernel: bool,
    /// Measure on the kernel only every nth prediction
    #[arg(long, value_name = "N", default_value_t = 1, requires = "kernel")]
    every: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const SETS: [&str; 3] = ["shipped", "heldout", "fresh"];

/// A capture, and what came of it.
#[derive(Serialize)]
struct Row {
    /// Its set and its folder's name.
    name: String,
    /// Whether it is one bulk transfer over a path that a fit can have.
    bulk: bool,
    /// Why nothing is predicted, by its name and in full; `None` if something is.
    refused: Option<(String, String)>,
    /// By how much the checked run's rate is off, as a part.
    off: Option<f64>,
    /// Where the fit contradicts the truth.
    wrong: Vec<String>,
    /// Its predictions with one remedy.
    predictions: Vec<Prediction>,
    /// How long it all took, in seconds.
    took_s: f64,
}

/// A prediction and what was measured, in bit/s.
#[derive(Serialize)]
struct Prediction {
    /// What was tried.
    remedy: String,
    /// Its range, with its middle.
    predicted: [f64; 3],
    /// The captured rate.
    captured: f64,
    /// The label's own path and hosts with the remedy, in the simulator.
    simulated: Option<f64>,
    /// The label's own experiment with the remedy, on the kernel.
    kernel: Option<f64>,
    /// Why it was not measured there.
    not_measured: Option<String>,
}

/// A fitted capture that is measured later.
struct Fitted {
    row: Row,
    experiment: Experiment,
    bytes: u64,
}

impl WhatIf {
    pub(crate) fn run(&self) -> Result<()> {
        let mut folders = Vec::new();
        for set in SETS {
            for entry in std::fs::read_dir(self.captures.join(set)).context(set)? {
                folders.push(entry?.path());
            }
        }
        let is_wanted = |folder: &PathBuf| {
            let name = folder.to_string_lossy();
            self.only.is_empty() || self.only.iter().any(|only| name.contains(only))
        };
        folders.retain(is_wanted);
        folders.sort();
        ensure!(!folders.is_empty(), "no runs");
        let stop = AtomicBool::new(false);
        let work = |folder: &PathBuf| one(folder).map(Some).with_context(|| folder.display().to_string());
        let fitted = parallel::each(&folders, None, &stop, &|| (), work)?;
        let mut fitted: Vec<Fitted> = fitted.into_iter().flatten().collect();
        if self.kernel {
            on_kernel(&mut fitted, self.every.max(1))?;
        }
        let rows: Vec<Row> = fitted.into_iter().map(|fitted| fitted.row).collect();
        if self.json {
            println!("{}", serde_json::to_string_pretty(&rows)?);
        } else {
            print!("{}", print::text(&rows));
        }
        Ok(())
    }
}

/// One run at a time: others would make the machine late.
fn on_kernel(fitted: &mut [Fitted], every: usize) -> Result<()> {
    let mut number = 0;
    for Fitted { row, experiment, bytes } in fitted {
        for prediction in &mut row.predictions {
            let remedy = prediction.remedy.parse()?;
            let Some(experiment) = measure::remedied(experiment, &remedy) else { continue };
            number += 1;
            if number % every != 0 {
                continue;
            }
            match measure::on_kernel(&experiment, *bytes) {
                Ok(rate) => prediction.kernel = Some(rate),
                Err(error) => prediction.not_measured = Some(format!("{error:#}")),
            }
            eprintln!("{} {} {:?}", row.name, prediction.remedy, prediction.kernel);
        }
    }
    Ok(())
}

fn one(folder: &Path) -> Result<Fitted> {
    let begun = std::time::Instant::now();
    let truth = truth::read(folder).context("truth.json")?;
    let experiment = truth.case.experiment().clone();
    let mut analysis = Analysis::with_labels(AnalysisOptions::default(), Traces::new(None));
    Capture::open(folder.join(recording_file(Host::Sender, experiment.recording.format)))?
        .run(&mut analysis)?;
    let stop = AtomicBool::new(false);
    let answer = what_if::answer(analysis, None, Wanted::SUGGESTED, &stop, &|_| ()).context("no flow")?;
    let names: Vec<_> =
        folder.components().rev().take(2).map(|part| part.as_os_str().to_string_lossy()).collect();
    let name = format!("{}/{}", names[1], names[0]);
    let bulk = right::is_bulk(&experiment);
    let mut row =
        Row { name, bulk, refused: None, off: None, wrong: Vec::new(), predictions: Vec::new(), took_s: 0.0 };
    let bytes = answer.captured.as_ref().map_or(0, |seen| seen.amount.get());
    match (&answer.result, &answer.captured) {
        (Ok(found), Some(captured)) => {
            let model = &found.found.models[0];
            row.off = Some(model.off);
            row.wrong = right::contradictions(&experiment, model, captured.segments);
            for tried in found.tried.iter().filter(|tried| tried.remedies.len() == 1) {
                let simulated = measure::remedied(&experiment, &tried.remedies[0])
                    .and_then(|experiment| measure::in_simulator(&experiment, bytes, &model.fitted));
                row.predictions.push(Prediction {
                    remedy: tried.remedies[0].to_string(),
                    predicted: tried.rates.map(|rate| rate.get() as f64),
                    captured: captured.rate.get() as f64,
                    simulated,
                    kernel: None,
                    not_measured: None,
                });
            }
        }
        (Err(refusal), _) => row.refused = Some((refusal.slug().to_owned(), format!("{refusal:?}"))),
        (Ok(_), None) => {}
    }
    row.took_s = begun.elapsed().as_secs_f64();
    Ok(Fitted { row, experiment, bytes })
}
