//! `slowpath diagnose`: what limited each flow.

mod both_ends;
mod conclude;
mod observe;

use crate::Outcome;
use crate::choice::{Choice, keys, places};
use crate::console::{self, Console};
use crate::live;
use crate::output::Force;
use crate::recording;
use clap::{Args, ValueHint};
use conclude::{Found, conclude, present};
use observe::{observe, ranker};
use slowpath_analyses::{Analysis, VantageOverride, report::FlowReport};
use slowpath_runs::input::{self, options};
use slowpath_runs::watch;
use slowpath_views::{json, services::By, summary::Summary, terminal};
use std::path::PathBuf;

/// Arguments of `diagnose`.
#[derive(Args)]
#[command(after_long_help = slowpath_views::diagnosis::HELP)]
pub struct Diagnose {
    /// The capture (pcap or pcapng, plain, gzip or zstd; a folder from `slowpath run --record`; a file from --raw; a
    /// scenario), or - for standard input; two files for both ends of the same transfer; with --summary, any number
    #[arg(required_unless_present = "live", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) live: live::Asked,
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Where the capture was made, if slowpath should not infer it (it always infers it for two captures)
    #[arg(long, value_name = "PLACE", value_parser = places())]
    pub(crate) vantage: Option<VantageOverride>,
    /// How many flows to show in full below the table of several (with --live 10); with --summary, its rows
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Print only a table of services: one screen, however many flows there are
    #[arg(long, conflicts_with_all = ["flow", "html"])]
    pub(crate) summary: bool,
    /// What the flows of a row of the table have in common: service (the server's address and port), port, peer, server,
    /// client, hosts, process (with --live) or file
    #[arg(long, value_name = "WHAT", default_value = "service", hide_possible_values = true, value_parser = keys(By::ALL, By::name))]
    pub(crate) by: By,
    /// Print JSON instead of text (schema slowpath/diagnosis/1, with --live slowpath/live/1, with --summary
    /// slowpath/summary/1)
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the verdict, all flows and plots over time as one HTML page, which needs no network
    #[arg(long, value_name = "PAGE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
    /// Replace addresses as `slowpath anonymize` does, with a random key or the one in the file, and leave other names out
    #[arg(long, value_name = "KEY-FILE", num_args = 0..=1, require_equals = true, conflicts_with_all = ["live", "summary"])]
    pub(crate) anonymize: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub(crate) force: Force,
}

pub fn run(args: &Diagnose, console: &Console) -> anyhow::Result<Outcome> {
    let outputs = [args.html.as_deref(), args.live.raw.as_deref()];
    args.force.check_all(&outputs, &args.files, "--html or --raw")?;
    if args.live.live {
        return present(live::watch(&args.live, args.force, console)?, args, console);
    }
    if let [one] = args.files.as_slice()
        && let Some(watched) = watch::replay(one)?
    {
        let may = args.vantage.is_none() && args.anonymize.is_none();
        let not = "--vantage and --anonymize do not go with it";
        anyhow::ensure!(may, "{}: has no packets: {not}", one.display());
        return present(watched, args, console);
    }
    input::are_distinct(&args.files)?;
    anyhow::ensure!(args.by != By::Process, "--by process goes with --live, or with a file from --raw");
    if args.summary {
        return summary(args, console);
    }
    match args.files.as_slice() {
        [one] => {
            let options = options(args.vantage, one);
            let (seen, ranker) = observe(args, one, options, None, console, &ranker(args)?, |_| ())?;
            let mut ranking = ranker.finish();
            ranking.full.iter_mut().for_each(FlowReport::explain);
            let recordings = vec![seen.read.recording.clone()];
            conclude(args, console, Found { seen, options, ranking, recordings, paired: None })
        }
        [first, second] => both_ends::run(args, [first, second], console),
        _ => anyhow::bail!("give one recording, two of the same transfer, or --summary with any number"),
    }
}

fn summary(args: &Diagnose, console: &Console) -> anyhow::Result<Outcome> {
    let mut summary = Summary::new(args.choice.selection(None, args.by));
    for file in &args.files {
        let options = options(args.vantage, file);
        let (read, analysis) = recording::analyse(file, None, console, || Analysis::new(options))?;
        summary.add(read.recording, analysis);
    }
    let text = |out: &mut _| terminal::summary(&summary, args.top, &console.look(), out);
    console::print_result(args.json, || json::Summary::of(&summary), text)?;
    Ok(recording::outcome(&summary.recordings))
}
