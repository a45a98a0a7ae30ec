//! `slowpath diagnose`: what limited each flow.

mod both_ends;
mod conclude;
mod observe;

use crate::Outcome;
use crate::choice::{Choice, Place};
use crate::console::Console;
use crate::live::{self, Shown};
use crate::output::Force;
use crate::recording::options;
use clap::{Args, ValueHint};
use conclude::{Found, conclude};
use observe::{observe, ranker};
use slowpath_analyses::report::FlowReport;
use slowpath_runs::watch;
use std::path::PathBuf;

/// Arguments of `diagnose`.
#[derive(Args)]
#[command(after_long_help = slowpath_views::diagnosis::HELP)]
pub struct Diagnose {
    /// The capture (pcap or pcapng, plain, gzip or zstd; a folder from `slowpath run --record`; a file from --raw; a
    /// scenario), or - for standard input; two files for both ends of the same transfer
    #[arg(required_unless_present = "live", num_args = 1..=2, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) live: live::Asked,
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Where the capture was made, if slowpath should not infer it (it always infers it for two captures)
    #[arg(long, value_name = "PLACE")]
    pub(crate) vantage: Option<Place>,
    /// How many flows to show in full; the others are shown in groups
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// Print JSON (schema slowpath/diagnosis/1, with --live slowpath/live/1) instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the verdict, the limits over time and a time–sequence plot as one HTML page
    #[arg(long, value_name = "PAGE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: Force,
}

/// A page shows more flows in full than a terminal, since one need not scroll past them.
const FLOWS_ON_PAGE: usize = 50;

pub fn run(args: &Diagnose, console: &Console) -> anyhow::Result<Outcome> {
    let shown = Shown { top: args.top, json: args.json };
    let output = args.html.as_deref().or(args.live.raw.as_deref());
    args.force.check(output, &args.files, "--html or --raw")?;
    if args.live.live {
        return live::run(&args.live, args.force, &args.choice, shown, console);
    }
    if let [one] = args.files.as_slice()
        && let Some(watched) = watch::replay(one)?
    {
        let needs_packets = args.html.is_some() || args.vantage.is_some();
        anyhow::ensure!(
            !needs_packets,
            "{}: has no packets: --html and --vantage do not go with it",
            one.display()
        );
        return live::present(watched, &args.choice, shown);
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
