//! `slowpath papers`: published experiments made again.

mod kept;
mod measured;
mod page;

use crate::Outcome;
use crate::console::{self, Console};
use crate::interrupt::Interrupt;
use anyhow::{bail, ensure};
use clap::{Args, ValueEnum};
use measured::Asked;
use page::Folder;
use slowpath_papers::{Case, Measured, Report, Trace, leith, measure, ubik, weigle, wu};
use slowpath_runs::parallel;
use slowpath_views::papers as view;
use std::path::PathBuf;

const HELP: &str = "\
Each experiment is a scenario in the simulator, run with several seeds; what is shown is the median, and beside it the \
least and the most. Where a paper does not say what its machines took for a packet, one of its own cells is used to find \
out, and marked as fitted: all other numbers come of the mechanism. Below the tables are the commands that run each \
experiment by itself. Figures over time are of the first seed's runs; --html draws all of them, --json has their points.

lavoie is about where the CPU of a busy web server goes. It is not simulated but measured on this machine's kernel: nginx is \
loaded by wrk, in two network namespaces with a CPU each, and perf samples the server's. It runs as root, needs nginx, wrk and \
perf, takes about three minutes, and says of each of the paper's claims whether it is still so. --html draws who works for whom \
(figures 14 to 19). With --beside what was kept of another kernel, or of another setting, is compared function by function \
(figures 20 to 22).

Examples:
  slowpath papers wu
  slowpath papers wu --html wu
  slowpath papers weigle --html weigle
  slowpath papers ubik
  slowpath papers wu --seeds 1 --json
  sudo slowpath papers lavoie --html lavoie --keep profiles
  sudo slowpath papers lavoie --only '64K one sendfile'
  slowpath papers lavoie --from profiles-6.18 --beside profiles-6.12";

/// Arguments of `papers`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Papers {
    /// Which paper
    #[arg(value_name = "PAPER")]
    paper: Paper,
    /// How often to run each experiment, each time with another seed; without it, five times for wu and ubik, seven for leith, three for weigle
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// Print JSON (schema slowpath/paper/1) instead of text
    #[arg(long)]
    json: bool,
    /// Also write a page with the tables and claims, and with the figures drawn, as index.html in a folder
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    html: Option<PathBuf>,
    /// Of lavoie: run only the cases whose names have these words, such as '8K ten sendfile no-TSO'
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    only: Vec<String>,
    /// Of lavoie: for how long each case is profiled [default: 5]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: Option<u64>,
    /// Of lavoie: keep the perf.data and the counters of each case in a folder that is not there yet
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    keep: Option<PathBuf>,
    /// Of lavoie: make the report again from what --keep has kept, on the host where it was measured
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath, conflicts_with_all = ["keep", "seconds"])]
    from: Option<PathBuf>,
    /// Of lavoie: compare it with what --keep has kept before, under another kernel or setting
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath, requires = "from")]
    beside: Option<PathBuf>,
}

/// How long a case is profiled where nobody says.
const SECONDS: u64 = 5;

/// A paper, by its short name.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Paper {
    /// Wu and Crawford 2007, Potential performance bottleneck in Linux TCP
    Wu,
    /// Weigle 2002, A Comparison of TCP Automatic Tuning Techniques for Distributed Computing: a thousand experiments
    Weigle,
    /// Leith 2004, Linux TCP implementation issues in high-speed networks
    Leith,
    /// Ubik and Cimbal 2003, Debugging end-to-end performance in commodity operating systems
    Ubik,
    /// LaVoie, Nahum and Flynn 2006, Profiling TCP: measured on this machine's kernel, as root
    Lavoie,
}

/// A paper whose experiments are simulated.
#[derive(Clone, Copy)]
enum Simulated {
    Wu,
    Weigle,
    Leith,
    Ubik,
}

impl Paper {
    /// `None` of one whose experiments are measured on a real kernel.
    const fn simulated(self) -> Option<Simulated> {
        match self {
            Self::Wu => Some(Simulated::Wu),
            Self::Weigle => Some(Simulated::Weigle),
            Self::Leith => Some(Simulated::Leith),
            Self::Ubik => Some(Simulated::Ubik),
            Self::Lavoie => None,
        }
    }
}

impl Simulated {
    /// How often each experiment is run where nobody says.
    const fn seeds(self) -> u64 {
        match self {
            Self::Wu | Self::Ubik => 5,
            Self::Weigle => 3,
            Self::Leith => 7,
        }
    }

    fn cases(self) -> Vec<Case> {
        match self {
            Self::Wu => wu::cases(),
            Self::Weigle => weigle::cases(),
            Self::Leith => leith::cases(),
            Self::Ubik => ubik::cases(),
        }
    }

    /// How many of the cases, from the first on, are traced in a run for the paper's figures.
    fn traced(self) -> usize {
        match self {
            Self::Wu => wu::TRACED,
            Self::Leith => leith::TRACED,
            Self::Weigle | Self::Ubik => 0,
        }
    }

    fn report(self, found: &Found) -> Report {
        match self {
            Self::Wu => wu::report(&found.runs, &found.traces),
            Self::Weigle => weigle::report(&found.runs),
            Self::Leith => leith::report(&found.runs, &found.traces),
            Self::Ubik => ubik::report(&found.runs),
        }
    }
}

/// What was found in the runs of all cases.
struct Found {
    runs: Vec<Vec<Measured>>,
    /// Of the first run of each case that is traced.
    traces: Vec<Trace>,
}

pub fn run(args: &Papers, console: &Console) -> anyhow::Result<Outcome> {
    let folder = args.html.as_deref().map(Folder::open).transpose()?;
    let report = match args.paper.simulated() {
        Some(paper) => {
            // --beside takes --from.
            let others =
                !args.only.is_empty() || args.seconds.is_some() || args.keep.is_some() || args.from.is_some();
            ensure!(
                !others,
                "--only, --seconds, --keep, --from and --beside are for lavoie, which is measured; this paper is simulated"
            );
            paper.report(&find(paper, args.seeds.unwrap_or(paper.seeds()), console)?)
        }
        None => {
            ensure!(args.seeds.is_none(), "--seeds is for papers that are simulated; lavoie is measured");
            let [keep, from, beside] = [&args.keep, &args.from, &args.beside].map(Option::as_deref);
            let (only, seconds) = (&args.only[..], args.seconds.unwrap_or(SECONDS));
            measured::report(&Asked { only, seconds, keep, from, beside }, console)?
        }
    };
    let page = folder.map(|folder| folder.write(&report)).transpose()?;
    console::tell(args.json, || &report, |out| view::print(&report, out))?;
    if let Some(page) = page {
        // Standard output may be a document.
        eprintln!("the page is {}", page.display());
    }
    Ok(Outcome::Whole)
}

/// Runs every case with every seed, on all CPUs.
fn find(paper: Simulated, seeds: u64, console: &Console) -> anyhow::Result<Found> {
    let cases = paper.cases();
    let jobs: Vec<(u64, usize)> =
        (1..=seeds).flat_map(|seed| (0..cases.len()).map(move |case| (seed, case))).collect();
    let work = |(seed, case): &(u64, usize)| -> anyhow::Result<Option<(Measured, Option<Trace>)>> {
        Ok(Some(if *seed == 1 && *case < paper.traced() {
            let (measured, trace) = measure::traced(&cases[*case], *seed)?;
            (measured, Some(trace))
        } else {
            (measure::measure(&cases[*case], *seed)?, None)
        }))
    };
    let interrupt = Interrupt::listen()?;
    let bar = console.steps("experiment", jobs.len(), 0);
    let done: Option<Vec<_>> =
        parallel::each(&jobs, None, interrupt.flag(), &|| bar.step(), work)?.into_iter().collect();
    let Some(done) = done else {
        bail!("interrupted: a paper is compared as a whole; with --seeds 1 it takes the least time");
    };
    let mut found = Found { runs: vec![Vec::new(); cases.len()], traces: Vec::new() };
    for ((_, case), (measured, trace)) in jobs.iter().zip(done) {
        found.runs[*case].push(measured);
        found.traces.extend(trace);
    }
    Ok(found)
}
