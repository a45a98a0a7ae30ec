//! `slowpath diagnose` of two recordings of one transfer: one verdict of both.

use super::Diagnose;
use crate::Outcome;
use crate::console::{self, Console};
use crate::diagnose::conclude::{Found, conclude};
use crate::diagnose::observe::{observe, ranker};
use slowpath_analyses::AnalysisOptions;
use slowpath_analyses::pairing::{Collector, CollectorOptions, pair, verdict};
use slowpath_analyses::report::FlowReport;
use slowpath_views::{Paired, rank::Ranking};
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
        let seen = observe(args, file, options, Some(&mut collector), console, keep)?;
        Ok((seen, flows, collector))
    };
    let mut both = [read(files[0])?, read(files[1])?];
    let has_tcp = both.each_ref().map(|(seen, ..)| seen.read.input.flows() > 0);
    if has_tcp[0] != has_tcp[1] {
        let empty = files[usize::from(has_tcp[0])].display();
        console::warn(&format!(
            "{empty}: has no TCP in it; if the transfer should have passed there, it did not"
        ));
        let (seen, flows, _) =
            both.into_iter().find(|(seen, ..)| seen.read.input.flows() > 0).expect("one has");
        let (ranking, recordings) = (ranked(args, flows), vec![seen.read.recording.clone()]);
        return conclude(args, console, Found { seen, options, ranking, recordings, paired: None });
    }
    // Times are given by the clock of the first. Whichever is named first, the result is the same.
    if has_tcp == [true; 2] {
        both.sort_by_key(|(seen, ..)| (seen.read.input.epoch_ns(), seen.read.input.flows()));
    }
    let [(seen_one, flows_one, one), (seen_two, flows_two, two)] = both;
    let [epoch_one, epoch_two] = [&seen_one, &seen_two].map(|seen| seen.read.input.epoch_ns().unwrap_or(0));
    let pairing = pair(&one.finish(epoch_one), &two.finish(epoch_two))?;
    let recordings = [&seen_one, &seen_two].map(|seen| seen.read.recording.clone()).into();
    let (base, flows) = verdict::merge_all(&pairing, [flows_one, flows_two]);
    let seen = if base == 0 { seen_one } else { seen_two };
    // Ranked by what both say of it: one recording alone may have blamed the wrong cause.
    let ranking = ranked(args, flows);
    let paired = Some(Paired { base, pairing });
    conclude(args, console, Found { seen, options, ranking, recordings, paired })
}

fn ranked(args: &Diagnose, flows: Vec<FlowReport>) -> Ranking {
    let mut ranker = ranker(args);
    flows.into_iter().for_each(|flow| ranker.add(flow));
    ranker.finish()
}
