//! One recording, read and analysed.

use super::Diagnose;
use crate::console::Console;
use crate::recording::{self, Read};
use slowpath_analyses::pairing::Collector;
use slowpath_analyses::picture::{PictureOptions, Pictures};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, AnalysisOptions, Labels};
use slowpath_runs::anonymize;
use slowpath_views::rank::Ranker;
use std::path::{Path, PathBuf};

/// The result.
pub struct Seen {
    pub file: PathBuf,
    pub read: Read,
    pub not_kept: u64,
    pub pictures: Option<Pictures>,
}

/// Reads one recording, and gives the reports of its flows to `takes`, or one after the other to `each`;
/// [`FlowReport::explain`] adds the evidence.
pub fn observe<T: Labels + Clone>(
    args: &Diagnose,
    file: &Path,
    options: AnalysisOptions,
    collector: Option<&mut Collector>,
    console: &Console,
    takes: &T,
    each: impl FnMut(FlowReport),
) -> anyhow::Result<(Seen, T)> {
    let only = args.choice.flow.map(|flow| [flow].into());
    let wanted = args.html.is_some().then(|| PictureOptions::only(only));
    let fresh = || Analysis::with_labels(options, (wanted.clone().map(Pictures::new), takes.clone()));
    let (read, analysis) = recording::analyse(file, collector, console, fresh)?;
    let (not_kept, (pictures, takes)) = analysis.finish_each(each);
    Ok((Seen { file: file.to_owned(), read, not_kept: not_kept.flows, pictures }, takes))
}

/// What puts the flows in order, and keeps those that are shown in full.
pub fn ranker(args: &Diagnose) -> anyhow::Result<Ranker> {
    let top = if args.json { Some(usize::MAX) } else { args.top };
    let names = args.anonymize.as_ref().map(|key_file| anonymize::names(key_file.as_deref())).transpose()?;
    let ranker = Ranker::new(args.choice.selection(top, args.by)).with_names(names);
    Ok(ranker.with_page(args.html.is_some()))
}
