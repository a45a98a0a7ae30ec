//! `xtask what-if`: the labelled captures fitted, and what is predicted of their remedies measured.

use anyhow::{Context, Result, ensure};
use clap::Args;
use slowpath_analyses::{Analysis, AnalysisOptions};
use slowpath_capture::Capture;
use slowpath_lab::host::Host;
use slowpath_lab::run::recording_file;
use slowpath_lab::truth::Truth;
use slowpath_whatif::{Refusal, Reproduced, Seen, Traces, fit, reproduce};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Fit the labelled captures.
#[derive(Args)]
pub struct WhatIf {
    /// The folder with the sets
    #[arg(long, value_name = "DIR", default_value = "captures")]
    captures: PathBuf,
    /// Only runs whose set and name contain this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
}

const SETS: [&str; 3] = ["shipped", "heldout", "fresh"];

impl WhatIf {
    pub(crate) fn run(&self) -> Result<()> {
        let mut folders = Vec::new();
        for set in SETS {
            for entry in std::fs::read_dir(self.captures.join(set)).context(set)? {
                folders.push(entry?.path());
            }
        }
        folders.retain(|folder| folder.to_string_lossy().contains(&self.only));
        folders.sort();
        ensure!(!folders.is_empty(), "no runs");
        let jobs = std::sync::Mutex::new(folders.iter());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    loop {
                        let Some(folder) = jobs.lock().unwrap().next() else { break };
                        if let Err(error) = one(folder) {
                            println!("{}: {error:#}", folder.display());
                        }
                    }
                });
            }
        });
        Ok(())
    }
}

fn one(folder: &Path) -> Result<()> {
    let text = std::fs::read_to_string(folder.join("truth.json")).context("truth.json")?;
    let truth: Truth = serde_json::from_str(&text).context("truth.json")?;
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let path = folder.join(recording_file(Host::Sender, truth.case.experiment().recording.format));
    let mut analysis = Analysis::with_labels(AnalysisOptions::default(), Traces::new(None));
    Capture::open(&path)?.run(&mut analysis)?;
    let mut reports = Vec::new();
    let (_, mut traces) = analysis.finish_each(|report| reports.push(report));
    reports.sort_by_key(|report| std::cmp::Reverse(report.main().measures.unique_bytes));
    let report = reports.first().context("no flow")?;
    let trace = traces.take(report.id, report.sender).context("no trace")?;
    let seen = Seen::of(report, &trace).context("no data")?;
    let shared = reports[1..].iter().filter(|other| other.main().measures.unique_bytes.get() * 20 > seen.amount.get() && other.first < report.last && report.first < other.last).count() as u64;
    if std::env::var("HIST").is_ok() { println!("{name} link {:?} {:?} of {:?}", truth.path.forward.config.link.as_ref().map(|l| l.rate), seen.pace, trace.histogram().len()); }
    let begin = std::time::Instant::now();
    let result: Result<Reproduced, Refusal> = fit(&seen, shared).and_then(|fitted| reproduce(&seen, &fitted, &AtomicBool::new(false)));
    let took = begin.elapsed();
    match result {
        Err(refusal) => println!("REFUSED {name} ({:?}) main {:?} loss {} {:?}", took, seen.main_limit(), seen.losses.len(), refusal),
        Ok(found) => {
            let model = &found.models[0];
            let f = &model.fitted;
            println!("OK {name} ({took:?}) pacedist {:.3} off {:.3} {:?} rate {} rtt {:?} queue {} [{} {}] {:?} {:?} send {:?} iw {} pace {:?}", model.simulated.pace.zip(seen.pace).map_or(9.0, |(a,b)| a.distance(&b)), model.off, found.models.iter().map(|m| m.control).collect::<Vec<_>>(), f.rate.value, f.rtt.value, f.queue.value, f.queue.low, f.queue.high, f.loss, f.receive, f.send.map(|s| s.value), f.initial_window.value, seen.pace);
        }
    }
    Ok(())
}
