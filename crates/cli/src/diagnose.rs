//! `slowpath diagnose`: what bound each flow.

use crate::args::{Diagnose, Place};
use crate::console::{self, Console};
use crate::{Outcome, recording};
use anyhow::Context;
use slowpath_analyses::pairing::{Both, Collector, CollectorOptions, Pairing, pair, verdict};
use slowpath_analyses::picture::{PictureOptions, Pictures};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, Options, VantageOverride};
use slowpath_capture::Summary;
use slowpath_model::{FlowId, Sink};
use slowpath_views::rank::{Ranker, Ranking, Selection};
use slowpath_views::{Diagnosis, Paired, Recording, json, page, terminal};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A page shows more flows in full than a terminal, since one need not scroll past them.
const FLOWS_ON_PAGE: usize = 50;

pub fn run(args: &Diagnose, console: &Console) -> anyhow::Result<Outcome> {
    if let Some(page) = &args.html {
        refuse_input(page, &args.files)?;
    }
    match args.files.as_slice() {
        [one] => {
            let tap = observe(args, one, None, console)?;
            conclude(args, console, vec![tap.read], tap.seen, None)
        }
        [first, second] => {
            let stdin = |file: &PathBuf| file.as_os_str() == "-";
            anyhow::ensure!(
                !(stdin(first) && stdin(second)),
                "only one of the two recordings can be standard input"
            );
            let mut collectors = [(); 2].map(|()| Collector::new(CollectorOptions::default()));
            let [one, two] = &mut collectors;
            let taps =
                [observe(args, first, Some(one), console)?, observe(args, second, Some(two), console)?];
            let [one, two] = collectors;
            let [epoch_one, epoch_two] = taps.each_ref().map(|tap| tap.seen.summary.epoch_ns.unwrap_or(0));
            let pairing = pair(&one.finish(epoch_one), &two.finish(epoch_two))?;
            let base = nearer_to_sender(&pairing, &taps);
            let [one, two] = taps;
            let (mut seen, other) = if base == 0 { (one.seen, two.seen) } else { (two.seen, one.seen) };
            seen.ranking.full = merged(seen.ranking.full, &other.ranking.full, &pairing, base);
            conclude(args, console, vec![one.read, two.read], seen, Some(Paired { base, pairing }))
        }
        _ => anyhow::bail!("give one recording, or two of the same transfer"),
    }
}

/// One recording, read and analysed.
struct Tap {
    read: Recording,
    seen: Seen,
}

struct Seen {
    summary: Summary,
    ranking: Ranking,
    not_kept: u64,
    pictures: Option<Pictures>,
}

/// Reads one recording.
fn observe(
    args: &Diagnose,
    file: &Path,
    collector: Option<&mut Collector>,
    console: &Console,
) -> anyhow::Result<Tap> {
    let paired = collector.is_some();
    let top = match (args.json, &args.html) {
        (true, _) => usize::MAX,
        (false, Some(_)) => args.top.max(FLOWS_ON_PAGE),
        (false, None) => args.top,
    };
    let mut ranker = Ranker::new(Selection { flow: args.choice.flow, min_bytes: args.choice.min_bytes, top });
    // Where a recording is one of two, its place follows from its timing: the place given would be that of both.
    let options = options(args.vantage.filter(|_| !paired));
    let (summary, not_kept, pictures) = match &args.html {
        None => {
            let mut analysis = Analysis::new(options);
            let summary = read_both(file, &mut analysis, collector, console)?;
            let (not_kept, ()) = analysis.finish_each(|flow| ranker.add(flow));
            (summary, not_kept, None)
        }
        Some(_) => {
            let only = PictureOptions {
                only: args.choice.flow.map(|flow| [flow].into()),
                ..PictureOptions::default()
            };
            let mut analysis = Analysis::with_labels(options, Pictures::new(only));
            let summary = read_both(file, &mut analysis, collector, console)?;
            let (not_kept, pictures) = analysis.finish_each(|flow| ranker.add(flow));
            (summary, not_kept, Some(pictures))
        }
    };
    let read = recording::describe(&summary)?;
    let ranking = ranker.finish();
    let pictures = pictures.map(|pictures| complete(args, file, &ranking, pictures, console)).transpose()?;
    let seen = Seen { summary, ranking, not_kept: not_kept.flows, pictures };
    Ok(Tap { read, seen })
}

/// The pictures of all flows that are shown in full. Which these are is known only when all was read: where one of them
/// had to make room for others, a file is read once more for their pictures alone.
fn complete(
    args: &Diagnose,
    file: &Path,
    ranking: &Ranking,
    pictures: Pictures,
    console: &Console,
) -> anyhow::Result<Pictures> {
    let shown = || ranking.full.iter().take(args.top.max(FLOWS_ON_PAGE));
    let all_there = shown().all(|flow| pictures.picture(flow.id, flow.sender).is_some());
    if all_there || !file.is_file() {
        return Ok(pictures);
    }
    let only = Some(shown().map(|flow| flow.id).collect());
    let options = PictureOptions { only, ..PictureOptions::default() };
    let mut analysis = Analysis::with_labels(self::options(args.vantage), Pictures::new(options));
    recording::read(file, &mut analysis, console)?;
    Ok(analysis.finish_each(|_| ()).1)
}

fn read_both(
    file: &Path,
    analysis: &mut impl Sink,
    collector: Option<&mut Collector>,
    console: &Console,
) -> anyhow::Result<Summary> {
    match collector {
        Some(collector) => recording::read(file, &mut Both(analysis, collector), console),
        None => recording::read(file, analysis, console),
    }
}

/// The recording that sees most of what the sender of the slowest flow in both does.
fn nearer_to_sender(pairing: &Pairing, taps: &[Tap; 2]) -> usize {
    let slowest =
        taps[0].seen.ranking.full.iter().find_map(|flow| Some((flow.sender, pairing.of(0, flow.id)?)));
    slowest.and_then(|(sender, pair)| pair.beside(sender)).unwrap_or(0)
}

/// The reports of recording `base`, each with what the other recording adds.
fn merged(flows: Vec<FlowReport>, others: &[FlowReport], pairing: &Pairing, base: usize) -> Vec<FlowReport> {
    let others: BTreeMap<FlowId, &FlowReport> = others.iter().map(|flow| (flow.id, flow)).collect();
    let merged = flows.into_iter().map(|flow| {
        let other = pairing.of(base, flow.id).and_then(|pair| others.get(&pair.flows[1 - base]).copied());
        verdict::merge(flow, other, pairing, base)
    });
    merged.collect()
}

/// Says what was found.
fn conclude(
    args: &Diagnose,
    console: &Console,
    recordings: Vec<Recording>,
    seen: Seen,
    paired: Option<Paired>,
) -> anyhow::Result<Outcome> {
    let Seen { summary, ranking, not_kept, pictures } = seen;
    if let Some(flow) = args.choice.flow {
        let base = paired.as_ref().map_or(0, |paired| paired.base);
        require(flow, ranking.taken() > 0, &recordings[base], summary.flows)?;
    }
    let outcome = recording::outcome(&recordings);
    let diagnosis = Diagnosis {
        recordings,
        ranking,
        flows_not_kept: not_kept,
        paired,
        advise: &slowpath_remedies::advise,
    };
    tell(args, console, diagnosis, args.html.as_ref().zip(pictures))?;
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
