//! `slowpath papers`: published experiments, reproduced.

use crate::Outcome;
use crate::choice::described;
use crate::console::{self, Console};
use crate::output::Force;
use clap::Args;
use slowpath_runs::papers::Request;
use slowpath_views::papers as view;
use std::path::PathBuf;

/// Arguments of `papers`.
#[derive(Args)]
#[command(after_long_help = view::HELP)]
pub struct Papers {
    /// Which paper
    #[arg(value_name = "PAPER", value_parser = described(view::PAPERS))]
    paper: view::Named,
    /// Runs per experiment, each with another seed [default: 5 for wu and ubik, 7 for leith, 3 for weigle]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// Print JSON (schema slowpath/paper/1) instead of text
    #[arg(long)]
    json: bool,
    /// Also write tables, claims and figures as one page for a browser
    #[arg(long, value_name = "PAGE", value_hint = clap::ValueHint::FilePath)]
    html: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// ubik: copies over ssh by real programs, on this machine's kernel
    #[arg(long, conflicts_with_all = ["seeds", "seconds", "from"])]
    lab: bool,
    /// lavoie, ubik --lab: only the cases whose names have these words, such as '8K ten sendfile no-TSO'
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    only: Vec<String>,
    /// lavoie: how long each case is profiled [default: 5]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: Option<u64>,
    /// lavoie, ubik --lab: keep perf.data and counters, or the captures, of each case in this folder, which must not exist
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    keep: Option<PathBuf>,
    /// lavoie: read a folder written by --keep instead of measuring, on the same host
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, conflicts_with_all = ["keep", "seconds"])]
    from: Option<PathBuf>,
    /// lavoie: compare with a folder written by --keep under another kernel or setting
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, requires = "from")]
    compare: Option<PathBuf>,
}

pub fn run(args: &Papers, console: &Console) -> anyhow::Result<Outcome> {
    args.force.check(args.html.as_deref(), &[], "--html")?;
    let [keep, from, compare] = [&args.keep, &args.from, &args.compare].map(Option::as_deref);
    let (paper, in_lab, seeds) = (args.paper.simulated, args.lab, args.seeds);
    let (only, seconds) = (&args.only[..], args.seconds);
    let report =
        Request { paper, in_lab, seeds, only, seconds, keep, from, compare }.report(|what, all| {
            let bar = console.steps(what, all, 0);
            move || bar.step()
        })?;
    if let Some(page) = &args.html {
        args.force.write(page, view::page(&report))?;
    }
    let print = |out: &mut _| view::print(&report, out);
    console::print_result(args.json, || view::PaperDocument::from(report.clone()), print)?;
    Ok(Outcome::Whole)
}
