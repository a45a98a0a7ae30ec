//! `slowpath diagnose` of two recordings of one transfer: one verdict of both.

use super::Diagnose;
use crate::Outcome;
use crate::console::{self, Console};
use crate::diagnose::conclude::{Found, conclude};
use crate::diagnose::observe::{observe, ranker};
use slowpath_analyses::AnalysisOptions;
use slowpath_analyses::pairing::{Collector, CollectorOptions};
use slowpath_analyses::report::FlowReport;
use slowpath_views::both_ends::{Half, Joined, join};
use std::path::PathBuf;

pub fn run(args: &Diagnose, files: [&PathBuf; 2], console: &Console) -> anyhow::Result<Outcome> {
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
        let (seen, ()) = observe(args, file, options, Some(&mut collector), console, &(), keep)?;
        let (recording, input) = (seen.read.recording.clone(), seen.read.input.clone());
        Ok((seen, Half { recording, input, flows, collector }))
    };
    let ((one, first), (other, second)) = (read(files[0])?, read(files[1])?);
    let Joined { reported, recordings, flows, paired } = join([first, second])?;
    if paired.is_none() {
        let empty = files[1 - reported].display();
        console::warn(&format!(
            "{empty}: has no TCP in it; if the transfer should have passed there, it did not"
        ));
    }
    // Ranked by what both say of it: one recording alone may have blamed the wrong cause.
    let mut ranker = ranker(args)?;
    flows.into_iter().for_each(|flow| ranker.add(flow));
    let (seen, ranking) = (if reported == 0 { one } else { other }, ranker.finish());
    conclude(args, console, Found { seen, options, ranking, recordings, paired })
}
