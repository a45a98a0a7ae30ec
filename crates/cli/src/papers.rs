//! `slowpath papers`: published experiments made again.

mod page;

use crate::Outcome;
use crate::console::{self, Console};
use crate::interrupt::Interrupt;
use crate::parallel;
use crate::transfers::align;
use anyhow::bail;
use clap::{Args, ValueEnum};
use page::Folder;
use slowpath_papers::{
    Case, Cell, Claim, Figure, Judged, Measured, Report, Table, Trace, leith, measure, ubik, weigle, wu,
};
use slowpath_views::quantity::{count, counted};
use std::io::{self, Write};
use std::path::PathBuf;

const HELP: &str = "\
Each experiment is a scenario in the simulator, run with several seeds; what is shown is the median, and beside it the \
least and the most. Where a paper does not say what its machines took for a packet, one of its own cells is used to find \
out, and marked as fitted: all other numbers come of the mechanism. Below the tables are the commands that run each \
experiment by itself. Figures over time are of the first seed's runs; --html draws all of them, --json has their points.

Examples:
  slowpath papers wu
  slowpath papers wu --html wu
  slowpath papers weigle --html weigle
  slowpath papers ubik
  slowpath papers wu --seeds 1 --json";

/// Arguments of `papers`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Papers {
    /// Which paper
    #[arg(value_name = "PAPER")]
    paper: Paper,
    /// How often to run each experiment, each time with another seed; without it, five times for wu and ubik, three for weigle and leith
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// Print JSON (schema slowpath/paper/1) instead of text
    #[arg(long)]
    json: bool,
    /// Also write a page with the tables and claims, and with the figures drawn, as index.html in a folder
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    html: Option<PathBuf>,
}

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
}

impl Paper {
    /// How often each experiment is run where nobody says.
    const fn seeds(self) -> u64 {
        match self {
            Self::Wu | Self::Ubik => 5,
            Self::Weigle | Self::Leith => 3,
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
    let report = args.paper.report(&find(args.paper, args.seeds.unwrap_or(args.paper.seeds()), console)?);
    let page = folder.map(|folder| folder.write(&report)).transpose()?;
    let mut out = console::stdout();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
    } else {
        print(&report, &mut out)?;
    }
    out.flush()?;
    if let Some(page) = page {
        // Standard output may be a document.
        eprintln!("the page is {}", page.display());
    }
    Ok(Outcome::Whole)
}

/// Runs every case with every seed, on all CPUs.
fn find(paper: Paper, seeds: u64, console: &Console) -> anyhow::Result<Found> {
    let cases = paper.cases();
    let jobs: Vec<(u64, usize)> =
        (1..=seeds).flat_map(|seed| (0..cases.len()).map(move |case| (seed, case))).collect();
    let work =
        |(seed, case): &(u64, usize), _: &Interrupt| -> anyhow::Result<Option<(Measured, Option<Trace>)>> {
            Ok(Some(if *seed == 1 && *case < paper.traced() {
                let (measured, trace) = measure::traced(&cases[*case], *seed)?;
                (measured, Some(trace))
            } else {
                (measure::measure(&cases[*case], *seed)?, None)
            }))
        };
    let bar = console.steps("experiment", jobs.len(), 0);
    let done: Option<Vec<_>> = parallel::each(&jobs, None, &bar, work)?.into_iter().collect();
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

fn print(report: &Report, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", report.title)?;
    writeln!(out, "simulated; the median of {}", counted(report.seeds, "seed"))?;
    for table in &report.tables {
        print_table(table, out)?;
    }
    writeln!(out, "\nWhat it says beside")?;
    for Claim { place, says, seen, holds } in &report.claims {
        writeln!(out, "  {} {says} ({place})", if *holds { "holds:" } else { "DOES NOT HOLD:" })?;
        writeln!(out, "      here: {seen}")?;
    }
    writeln!(out, "\nFigures, which --html draws")?;
    for Figure { name, about, says, seen, .. } in &report.figures {
        writeln!(out, "  {name}: {about}\n      in the paper: {says}\n      here: {seen}")?;
    }
    writeln!(out, "\nThe experiments")?;
    let width = report.runs.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, command) in &report.runs {
        writeln!(out, "  {name:width$}  {command}")?;
    }
    Ok(())
}

fn print_table(table: &Table, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n{}: {}", table.name, table.about)?;
    let heading = ["", "", "published", "ours", "error", "our runs", ""].map(str::to_owned).to_vec();
    let mut before = "";
    let mut rows = vec![heading];
    for cell in &table.cells {
        let name = if cell.row == before { String::new() } else { format!("  {}", cell.row) };
        before = &cell.row;
        rows.push(
            [name, cell.quantity.to_owned(), number(cell.published), number(cell.ours), error(cell)]
                .into_iter()
                .chain([format!("{} to {}", number(cell.least), number(cell.most)), verdict(cell).to_owned()])
                .collect(),
        );
    }
    align(&rows, out)
}

fn number(value: f64) -> String {
    if value >= 1000.0 || value.fract() == 0.0 { count(value.round() as u64) } else { format!("{value:.1}") }
}

fn error(cell: &Cell) -> String {
    match (cell.judged, cell.error()) {
        (_, None) => "–".to_owned(),
        (Judged::Factor, Some(error)) => format!("× {:.2}", error + 1.0),
        (_, Some(error)) => format!("{:+.1} %", error * 100.0),
    }
}

fn verdict(cell: &Cell) -> &'static str {
    match cell.judged {
        Judged::Fitted => "fitted",
        _ if cell.is_near() => "",
        _ => "FAR",
    }
}
