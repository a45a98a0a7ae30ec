//! `slowpath diagnose`: what bound each flow.

mod both_ends;
mod conclude;
mod observe;

pub use conclude::require;
pub use observe::options;

use crate::Outcome;
use crate::args::Diagnose;
use crate::console::Console;
use crate::live;
use conclude::{Found, conclude};
use observe::{observe, ranker};
use slowpath_analyses::report::FlowReport;
use std::path::{Path, PathBuf};

/// A page shows more flows in full than a terminal, since one need not scroll past them.
const FLOWS_ON_PAGE: usize = 50;

pub fn run(args: &Diagnose, console: &Console) -> anyhow::Result<Outcome> {
    if args.live.live {
        let only = (args.choice.flow, args.choice.min_bytes);
        return live::run(&args.live, only, (args.top, args.json), console);
    }
    if let [one] = args.files.as_slice()
        && let Ok(Some(raw)) = slowpath_live::open_raw(one)
    {
        let needs_packets = args.html.is_some() || args.vantage.is_some();
        anyhow::ensure!(
            !needs_packets,
            "{}: has no packets: --html and --vantage do not go with it",
            one.display()
        );
        let only = (args.choice.flow, args.choice.min_bytes);
        return live::replay(one, raw, only, (args.top, args.json));
    }
    if let Some(page) = &args.html {
        refuse_input(page, &args.files)?;
    }
    match args.files.as_slice() {
        [one] => {
            let options = options(args.vantage, one);
            let mut ranker = ranker(args);
            let seen = observe(args, one, options, None, console, |flow| ranker.add(flow))?;
            let recordings = vec![seen.read.recording.clone()];
            let mut ranking = ranker.finish();
            ranking.full.iter_mut().for_each(FlowReport::explain);
            conclude(args, console, Found { seen, options, ranking, recordings, paired: None })
        }
        [first, second] => both_ends::run(args, [first, second], console),
        _ => anyhow::bail!("give one recording, or two of the same transfer"),
    }
}

/// Refuses to write a page or a picture over what it is made of.
pub fn refuse_input(page: &Path, inputs: &[PathBuf]) -> anyhow::Result<()> {
    let same = |input: &PathBuf| match (page.canonicalize(), input.canonicalize()) {
        (Ok(page), Ok(input)) => page == input,
        _ => false,
    };
    anyhow::ensure!(
        !inputs.iter().any(same),
        "{}: is what is read; give what is written another name",
        page.display()
    );
    Ok(())
}
