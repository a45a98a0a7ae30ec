//! `slowpath diagnose`: what bound each flow.

use crate::args::{Diagnose, Place};
use crate::console::{self, Console};
use crate::{Outcome, both_ends, recording};
use anyhow::Context;
use slowpath_analyses::pairing::{Both, Collector};
use slowpath_analyses::picture::{PictureOptions, Pictures};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, Options, VantageOverride};
use slowpath_capture::Summary;
use slowpath_model::{FlowId, Sink};
use slowpath_views::rank::{Ranker, Ranking, Selection};
use slowpath_views::{Diagnosis, Paired, Recording, json, page, terminal};
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
            let options = options(args.vantage);
            let mut ranker = ranker(args);
            let seen = observe(args, one, options, None, console, |flow| ranker.add(flow))?;
            let recordings = vec![seen.recording.clone()];
            let mut ranking = ranker.finish();
            ranking.full.iter_mut().for_each(FlowReport::explain);
            conclude(args, console, Found { seen, options, ranking, recordings, paired: None })
        }
        [first, second] => both_ends::run(args, [first, second], console),
        _ => anyhow::bail!("give one recording, or two of the same transfer"),
    }
}

/// One recording, read and analysed.
pub struct Seen {
    pub recording: Recording,
    pub summary: Summary,
    not_kept: u64,
    pictures: Option<Pictures>,
}

/// Reads one recording, and reports its flows one after the other; [`FlowReport::explain`] adds the evidence.
pub fn observe(
    args: &Diagnose,
    file: &Path,
    options: Options,
    collector: Option<&mut Collector>,
    console: &Console,
    each: impl FnMut(FlowReport),
) -> anyhow::Result<Seen> {
    let (summary, not_kept, pictures) = match &args.html {
        None => {
            let mut analysis = Analysis::new(options);
            let summary = read(file, &mut analysis, collector, console)?;
            (summary, analysis.finish_each(each).0, None)
        }
        Some(_) => {
            let only = args.choice.flow.map(|flow| [flow].into());
            let wanted = PictureOptions { only, ..PictureOptions::default() };
            let mut analysis = Analysis::with_labels(options, Pictures::new(wanted));
            let summary = read(file, &mut analysis, collector, console)?;
            let (not_kept, pictures) = analysis.finish_each(each);
            (summary, not_kept, Some(pictures))
        }
    };
    let recording = recording::describe(&summary)?;
    Ok(Seen { recording, summary, not_kept: not_kept.flows, pictures })
}

fn read(
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

/// What puts the flows in order, and keeps those that are shown in full.
pub fn ranker(args: &Diagnose) -> Ranker {
    let top = match (args.json, &args.html) {
        (true, _) => usize::MAX,
        (false, Some(_)) => args.top.max(FLOWS_ON_PAGE),
        (false, None) => args.top,
    };
    Ranker::new(Selection { flow: args.choice.flow, min_bytes: args.choice.min_bytes, top })
}

/// All that is to be said.
pub struct Found {
    /// The recording that the flows are of.
    pub seen: Seen,
    /// How it was analysed.
    pub options: Options,
    pub ranking: Ranking,
    pub recordings: Vec<Recording>,
    pub paired: Option<Paired>,
}

/// Says what was found.
pub fn conclude(args: &Diagnose, console: &Console, found: Found) -> anyhow::Result<Outcome> {
    let Found { seen, options, ranking, recordings, paired } = found;
    if let Some(flow) = args.choice.flow {
        require(flow, ranking.taken() > 0, &seen.recording, seen.summary.flows)?;
    }
    let outcome = recording::outcome(&recordings);
    let file = &args.files[paired.as_ref().map_or(0, |paired| paired.base)];
    let pictures = match seen.pictures {
        Some(pictures) => Some(complete(args, file, options, &ranking, pictures, console)?),
        None => None,
    };
    let diagnosis = Diagnosis {
        recordings,
        ranking,
        flows_not_kept: seen.not_kept,
        paired,
        advise: &slowpath_remedies::advise,
    };
    tell(args, console, diagnosis, args.html.as_ref().zip(pictures))?;
    Ok(outcome)
}

/// The pictures of all flows that are shown in full. Which these are is known only when all was read: where one of
/// them had to make room for others, a file is read once more for their pictures alone.
fn complete(
    args: &Diagnose,
    file: &Path,
    options: Options,
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
    let wanted = PictureOptions { only, ..PictureOptions::default() };
    let mut analysis = Analysis::with_labels(options, Pictures::new(wanted));
    recording::read(file, &mut analysis, console)?;
    Ok(analysis.finish_each(|_| ()).1)
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
