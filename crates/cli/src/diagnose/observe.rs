//! One recording, read and analysed.

use super::Diagnose;
use crate::choice::Place;
use crate::console::Console;
use crate::diagnose::FLOWS_ON_PAGE;
use crate::recording::{self, Read};
use slowpath_analyses::in_order::InOrder;
use slowpath_analyses::pairing::{Both, Collector};
use slowpath_analyses::picture::{PictureOptions, Pictures};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, Options, VantageOverride};
use slowpath_model::{End, FlowId, Sink};
use slowpath_views::Skipped;
use slowpath_views::quantity::duration;
use slowpath_views::rank::{Ranker, Selection};
use std::path::Path;
use std::time::Duration;

/// What came of it.
pub struct Seen {
    pub read: Read,
    pub not_kept: u64,
    pub pictures: Option<Pictures>,
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
    let (read, not_kept, pictures) = match &args.html {
        None => {
            let mut analysis = Analysis::new(options);
            let mut read = read(file, &mut analysis, collector, console)?;
            let late = analysis.stamped_late();
            let in_disorder = read.out_of_order.is_some() && analysis.is_out_of_order();
            if file.is_file() && (in_disorder || !late.is_empty()) {
                analysis = Analysis::new(options);
                let window = read.out_of_order.unwrap_or(0);
                let mut in_order = InOrder::new(&mut analysis, window).with_stamped_late(&late);
                recording::read(file, &mut in_order, console)?;
                in_order.finish();
                read.recording.skipped.extend(late.iter().map(put_back));
            }
            (read, analysis.finish_each(each).0, None)
        }
        Some(_) => {
            let only = args.choice.flow.map(|flow| [flow].into());
            let wanted = PictureOptions { only, ..PictureOptions::default() };
            let mut analysis = Analysis::with_labels(options, Pictures::new(wanted));
            let read = read(file, &mut analysis, collector, console)?;
            let (not_kept, pictures) = analysis.finish_each(each);
            (read, not_kept, Some(pictures))
        }
    };
    Ok(Seen { read, not_kept: not_kept.flows, pictures })
}

/// Says that segments were stamped too late, and that their times were corrected.
fn put_back((flow, end, by): &(FlowId, End, i64)) -> Skipped {
    let by = duration(Duration::from_nanos(by.unsigned_abs()));
    let what = format!("number {flow}: segments of {end} stamped {by} late, corrected");
    Skipped { count: 1, unit: "flow", what, matters: false }
}

fn read(
    file: &Path,
    analysis: &mut impl Sink,
    collector: Option<&mut Collector>,
    console: &Console,
) -> anyhow::Result<Read> {
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

/// What the analysis is told: where the recording was made, as the user or the recording itself says.
pub fn options(vantage: Option<Place>, file: &Path) -> Options {
    let vantage = vantage.map(|place| match place {
        Place::Sender => VantageOverride::Sender,
        Place::Receiver => VantageOverride::Receiver,
        Place::Between => VantageOverride::Between,
    });
    Options { vantage: vantage.or_else(|| recording::vantage(file)), ..Options::default() }
}
