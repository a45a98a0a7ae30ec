//! Prints and writes a diagnosis.

use super::Diagnose;
use crate::console::{self, Console};
use crate::diagnose::observe::Seen;
use crate::{Outcome, recording};
use anyhow::Context;
use slowpath_analyses::AnalysisOptions;
use slowpath_analyses::picture::Pictures;
use slowpath_runs::input::all_pictures;
use slowpath_runs::watch::Watched;
use slowpath_views::live::{self, LiveDocument};
use slowpath_views::recording::without_names;
use slowpath_views::{
    Diagnosis, Paired, Recording, json, page,
    rank::{Ranking, on_page},
    summary::Summary,
    terminal,
};
use std::io::Write;
use std::path::PathBuf;

/// All that is to be said.
pub struct Found {
    /// The recording that the flows are of.
    pub seen: Seen,
    /// How it was analysed.
    pub options: AnalysisOptions,
    pub ranking: Ranking,
    pub recordings: Vec<Recording>,
    pub paired: Option<Paired>,
}

/// Says what was found.
pub fn conclude(args: &Diagnose, console: &Console, found: Found) -> anyhow::Result<Outcome> {
    let Found { seen, options, ranking, recordings, paired } = found;
    if let Some(flow) = args.choice.flow {
        recording::require(flow, ranking.taken() > 0, &seen.read)?;
    }
    let outcome = recording::outcome(&recordings);
    let recordings = if args.anonymize.is_some() { without_names(recordings) } else { recordings };
    let shown =
        ranking.full.iter().take(on_page(args.top).unwrap_or_default()).map(|flow| (flow.id, flow.sender));
    let shown: Vec<_> = shown.collect();
    let progress = || recording::progress(&seen.file, console);
    let whole = |pictures| all_pictures(&seen.file, options, &shown, pictures, &progress);
    let pictures = seen.pictures.map(whole).transpose()?;
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

/// Writes the page if one is asked for, and prints the verdict.
fn tell(
    args: &Diagnose,
    console: &Console,
    mut diagnosis: Diagnosis<'_>,
    pictures: Option<(&PathBuf, Pictures)>,
) -> anyhow::Result<()> {
    let mut out = console::stdout();
    if args.json {
        json::write(&json::Diagnosis::of(&diagnosis), &mut out)?;
    }
    if let Some((path, pictures)) = pictures {
        diagnosis.ranking = diagnosis.ranking.narrowed(on_page(args.top));
        let page = page::of_pictures(&diagnosis, &pictures).with_context(|| path.display().to_string())?;
        args.force.write(path, page)?;
    }
    if !args.json {
        diagnosis.ranking = diagnosis.ranking.narrowed(args.top);
        terminal::diagnosis(&diagnosis, &console.look(), &mut out)?;
    }
    out.flush()?;
    Ok(())
}

/// Prints what was seen of the connections that were asked for.
pub fn present(mut watched: Watched, args: &Diagnose, console: &Console) -> anyhow::Result<Outcome> {
    let (choice, look) = (&args.choice, console.look());
    watched.choose(choice.flow, choice.min_bytes, choice.filter.as_ref());
    if let Some(path) = &args.html {
        args.force.write(path, live::html(&watched)?)?;
    }
    if args.summary {
        let summary = Summary::of_watched(&watched, choice.selection(None, args.by));
        let text = |out: &mut _| live::print_summary(&watched, &summary, args.top, &look, out);
        console::print_result(args.json, || json::Summary::of(&summary), text)?;
    } else {
        let text = |out: &mut _| live::print(&watched, args.by, args.top, &look, out);
        console::print_result(args.json, || LiveDocument::of(&watched), text)?;
    }
    Ok(if watched.is_whole() { Outcome::Whole } else { Outcome::Partial })
}
