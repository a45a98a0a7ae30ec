//! `slowpath diagnose` of two recordings of one transfer: one verdict of both.

use super::Diagnose;
use crate::Outcome;
use crate::console::{self, Console};
use crate::diagnose::conclude::{Found, conclude};
use crate::diagnose::observe::{observe, ranker};
use slowpath_analyses::AnalysisOptions;
use slowpath_analyses::pairing::{Collector, CollectorOptions, Pairing, pair, verdict};
use slowpath_analyses::report::FlowReport;
use slowpath_views::{Paired, rank};
use std::collections::HashMap;
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
        console::warn("--vantage is left aside: where each of two recordings was made follows from both");
    }
    let options = AnalysisOptions::default();
    let read = |file| -> anyhow::Result<_> {
        let mut collector = Collector::new(CollectorOptions::default());
        let mut flows = Vec::new();
        let keep = |flow| flows.push(explained(flow));
        let seen = observe(args, file, options, Some(&mut collector), console, keep)?;
        Ok((seen, flows, collector))
    };
    let mut both = [read(files[0])?, read(files[1])?];
    // Times are given by the clock of the first. Whichever is named first, the result is the same.
    if both.iter().all(|(seen, ..)| seen.read.flows > 0) {
        both.sort_by_key(|(seen, ..)| (seen.read.epoch_ns, seen.read.flows));
    }
    let [(seen_one, flows_one, one), (seen_two, flows_two, two)] = both;
    let [epoch_one, epoch_two] = [&seen_one, &seen_two].map(|seen| seen.read.epoch_ns.unwrap_or(0));
    let pairing = pair(&one.finish(epoch_one), &two.finish(epoch_two))?;
    let base = nearer_to_sender(&pairing, &flows_one);
    let recordings = [&seen_one, &seen_two].map(|seen| seen.read.recording.clone()).into();
    let (seen, reported, others) =
        if base == 0 { (seen_one, flows_one, flows_two) } else { (seen_two, flows_two, flows_one) };
    let others: HashMap<_, _> = others.iter().map(|flow| (flow.id, flow)).collect();
    let mut ranker = ranker(args);
    for flow in reported {
        let other = pairing.of(base, flow.id).and_then(|pair| others.get(&pair.flows[1 - base]).copied());
        // Ranked by what both say of it: one recording alone may have blamed the wrong cause.
        ranker.add(verdict::merge(flow, other, &pairing, base));
    }
    let ranking = ranker.finish();
    let paired = Some(Paired { base, pairing });
    conclude(args, console, Found { seen, options, ranking, recordings, paired })
}

/// With the evidence, to which the other recording will add.
fn explained(mut flow: FlowReport) -> FlowReport {
    flow.explain();
    flow
}

/// The recording that sees most of what the sender of the slowest flow in both does.
fn nearer_to_sender(pairing: &Pairing, flows: &[FlowReport]) -> usize {
    let in_both = flows.iter().filter_map(|flow| Some((flow, pairing.of(0, flow.id)?)));
    let slowest = in_both.max_by_key(|(flow, _)| rank::time_lost(flow));
    slowest.and_then(|(flow, pair)| pair.beside(flow.sender)).unwrap_or(0)
}
