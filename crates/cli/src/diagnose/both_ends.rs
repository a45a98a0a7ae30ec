//! `slowpath diagnose` of two recordings of one transfer: one verdict of both.

use super::Diagnose;
use crate::Outcome;
use crate::console::{self, Console};
use crate::diagnose::conclude::{Found, conclude};
use crate::diagnose::observe::{observe, ranker};
use slowpath_analyses::AnalysisOptions;
use slowpath_analyses::pairing::{Collector, CollectorOptions, pair, verdict};
use slowpath_analyses::report::FlowReport;
use slowpath_views::Paired;
use std::path::PathBuf;

pub fn run(args: &Diagnose, files: [&PathBuf; 2], console: &Console) -> anyhow::Result<Outcome> {
    anyhow::ensure!(
        !files.iter().all(|file| file.as_os_str() == "-"),
        "only one of the two recordings can be standard input"
    );
    let [one, other] = files.map(|file| file.canonicalize().ok());
    anyhow::ensure!(
        one.is_none() || one != other,
        "{}: is given twice; give the recordings of both ends",
        files[0].display()
    );
    if args.vantage.is_some() {
        console::warn("--vantage is ignored: the vantage points of two recordings follow from both");
    }
    let options = AnalysisOptions::default();
    let read = |file| -> anyhow::Result<_> {
        let mut collector = Collector::new(CollectorOptions::default());
        let mut flows = Vec::new();
        let keep = |mut flow: FlowReport| {
            // With the evidence, to which the other recording will add.
            flow.explain();
            flows.push(flow);
        };
        let seen = observe(args, file, options, Some(&mut collector), console, keep)?;
        Ok((seen, flows, collector))
    };
    let mut both = [read(files[0])?, read(files[1])?];
    // Times are given by the clock of the first. Whichever is named first, the result is the same.
    if both.iter().all(|(seen, ..)| seen.read.input.flows() > 0) {
        both.sort_by_key(|(seen, ..)| (seen.read.input.epoch_ns(), seen.read.input.flows()));
    }
    let [(seen_one, flows_one, one), (seen_two, flows_two, two)] = both;
    let [epoch_one, epoch_two] = [&seen_one, &seen_two].map(|seen| seen.read.input.epoch_ns().unwrap_or(0));
    let pairing = pair(&one.finish(epoch_one), &two.finish(epoch_two))?;
    let recordings = [&seen_one, &seen_two].map(|seen| seen.read.recording.clone()).into();
    let (base, flows) = verdict::merge_all(&pairing, [flows_one, flows_two]);
    let seen = if base == 0 { seen_one } else { seen_two };
    let mut ranker = ranker(args);
    // Ranked by what both say of it: one recording alone may have blamed the wrong cause.
    flows.into_iter().for_each(|flow| ranker.add(flow));
    let ranking = ranker.finish();
    let paired = Some(Paired { base, pairing });
    conclude(args, console, Found { seen, options, ranking, recordings, paired })
}
