//! `slowpath sweep`: a scenario again and again, each time with other values.

mod columns;
mod document;
mod folder;
mod keys;
mod make;
mod numbers;
mod plan;
mod plot;
mod table;

use crate::Outcome;
use crate::console::{self, Console};
use crate::measured::Measured;
use crate::on_kernel::{CarrierArgument, How};
use crate::scenario::Changes;
use anyhow::ensure;
use clap::{Args, ValueHint};
use folder::Folder;
use make::Made;
use plan::{Places, Plan, Planned};
use plot::Plot;
use slowpath_lab::privilege;
use slowpath_scenario::{Override, Vary};
use std::fs;
use std::io::Write;
use std::num::NonZero;
use std::path::PathBuf;

pub use document::Document;

const HELP: &str = "\
One row for each run: what was transferred, how often packets waited long at the receiving hosts, how long the readers \
waited for a CPU, and what bound the flows. What differs from run to run the scenario says itself, in [[vary]] and \
[[try]], or --vary does instead. With several of these there is a run for every value of each with every value of the \
others. The simulator's runs share all CPUs; each is the same as when it runs alone.

With --lab they run on this machine's kernel, one after the other, as `slowpath lab run` does it, best as root. On a \
busy machine runs differ: with --repeat the table shows medians of those that count. With --compare they run in both, \
and the table shows how far the simulator's rates are from the kernel's.

With --out every run is kept as soon as it is over. Stopped with Ctrl-C or killed, the same command goes on where it was, \
and the files are the same as if nothing had stopped it, whatever --jobs is. The handbook's page on sweeps says what the \
columns are.

Examples:
  slowpath sweep scenarios/bulk-wan.toml --vary path.delay=5ms,25ms,100ms --set duration=10s
  slowpath sweep scenarios/bulk-wan.toml --vary path.queue=0.1bdp,1bdp --vary flows.streams=1,4 --json
  slowpath sweep scenarios/bulk-wan.toml --vary path.delay=5ms,25ms --set duration=5s --out runs --plot rate.svg
  sudo slowpath sweep scenarios/wu/live-bl10.toml --lab --repeat 3
  sudo slowpath sweep scenarios/truth.toml --compare

Exit codes:
  0  there is a row for every run
  1  some runs are missing or do not count
  2  nothing could be done: no such file, a scenario that is refused, nothing that differs, a folder that holds other things";

/// Arguments of `sweep`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Sweep {
    /// The scenario file, or - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    changes: Changes,
    /// A key and its values, such as path.delay=5ms,50ms, instead of what the scenario varies and tries; can be repeated
    #[arg(long, value_name = "KEY=VALUE,...", value_parser = vary)]
    vary: Vec<Vary>,
    /// Run on this machine's kernel instead of the simulator
    #[arg(long)]
    lab: bool,
    /// Run in both, and put them side by side
    #[arg(long, conflicts_with = "lab")]
    compare: bool,
    /// What carries the packets with --lab or --compare, as for `lab run`: veth unless it is given
    #[arg(long, value_name = "KIND")]
    carrier: Option<CarrierArgument>,
    /// Make each run so often, with the seeds that follow the scenario's
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Make so many of the simulator's runs at once: as many as there are CPUs unless it is given
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
    /// Keep the runs in this folder as a Parquet data set, a row for each, and go on with those that it does not have yet
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    #[command(flatten)]
    plot: Plot,
    /// Print JSON (schema slowpath/sweep/1) instead of text
    #[arg(long)]
    json: bool,
}

/// `path.delay=5ms,50ms`: commas inside of quotes and brackets belong to a value.
fn vary(text: &str) -> Result<Vary, String> {
    let (key, values) =
        text.split_once('=').ok_or("write a key, = and values, such as path.delay=5ms,50ms")?;
    let (mut depth, mut quoted) = (0_u32, false);
    let values = values.split(|c| {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0 && !quoted
    });
    let overrides = values.map(|value| format!("{key}={}", value.trim()).parse::<Override>());
    let values = overrides.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    Ok(Vary { key: key.trim().to_owned(), values })
}

/// What came of a case.
struct Row<'a> {
    planned: &'a Planned,
    /// Of each of its runs in the simulator, and on the kernel, as far as they were made.
    model: Vec<Measured>,
    kernel: Vec<Measured>,
}

impl Row<'_> {
    /// Its runs in one place.
    fn of(&self, is_real: bool) -> &[Measured] {
        if is_real { &self.kernel } else { &self.model }
    }

    /// All of its runs, wherever they were made.
    fn runs(&self) -> impl Iterator<Item = &Measured> {
        self.model.iter().chain(&self.kernel)
    }
}

pub fn run(args: &Sweep, console: &Console) -> anyhow::Result<Outcome> {
    let places = args.places();
    ensure!(
        places != Places::Simulator || args.carrier.is_none(),
        "--carrier: says what carries real packets; add --lab or --compare"
    );
    // While there is one thread only.
    if places != Places::Simulator {
        privilege::obtain()?;
    }
    let plan = Plan::of(&args.file, &args.changes, &args.vary, args.repeat, places)?;
    let drawing = args.plot.of(&plan, places == Places::Both)?;
    let opened = args.out.as_deref().map(|path| {
        let identity = folder::identity(&plan, &args.changes.texts(), args.repeat, args.runs_on());
        Folder::open(path, &plan, identity)
    });
    let (folder, found) = opened.transpose()?.unzip();
    let found = found.unwrap_or_else(|| plan.jobs.iter().map(|_| None).collect());
    let mut made = Made { plan: &plan, folder: folder.as_ref(), found };
    if places != Places::Simulator {
        made.on_kernel(How { carrier: args.carrier().carrier(), ..How::default() }, console)?;
    }
    if places != Places::Kernel {
        made.in_simulator(args.jobs, console)?;
    }
    if let Some(folder) = &folder {
        folder.pack()?;
    }
    let rows = rows(&plan, made.found);
    tell(args, &plan, &rows)?;
    let runs = || rows.iter().flat_map(Row::runs);
    if let (Some(drawing), true) = (drawing, runs().next().is_some()) {
        drawing.write(&plan, &rows, &table::place(&rows))?;
    }
    let whole = runs().count() == plan.jobs.len() && runs().all(|run| run.invalid.is_empty());
    Ok(if whole { Outcome::Whole } else { Outcome::Partial })
}

impl Sweep {
    fn places(&self) -> Places {
        match (self.lab, self.compare) {
            (true, _) => Places::Kernel,
            (_, true) => Places::Both,
            _ => Places::Simulator,
        }
    }

    fn carrier(&self) -> CarrierArgument {
        self.carrier.unwrap_or_default()
    }

    /// What its runs would have in common with another sweep's of the same scenario.
    fn runs_on(&self) -> String {
        let kernel = || {
            let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
            format!("Linux {} over {}", release.trim(), self.carrier().name())
        };
        match self.places() {
            Places::Simulator => "the simulator".to_owned(),
            Places::Kernel => kernel(),
            Places::Both => format!("the simulator and {}", kernel()),
        }
    }
}

/// What was found, by case.
fn rows(plan: &Plan, found: Vec<Option<Measured>>) -> Vec<Row<'_>> {
    let row = |planned| Row { planned, model: Vec::new(), kernel: Vec::new() };
    let mut rows: Vec<Row<'_>> = plan.cases.iter().map(row).collect();
    for (job, run) in plan.jobs.iter().zip(found) {
        let row = &mut rows[job.case];
        let of = if job.is_real { &mut row.kernel } else { &mut row.model };
        of.extend(run);
    }
    rows
}

fn tell(args: &Sweep, plan: &Plan, rows: &[Row<'_>]) -> anyhow::Result<()> {
    let mut out = console::stdout();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &Document::of(&plan.base, rows))?;
        writeln!(out)?;
    } else {
        table::heading(&plan.base, rows, &mut out)?;
        if args.compare {
            table::compare(rows, &mut out)?;
        } else {
            table::print(rows, &mut out)?;
        }
        let (done, all) = (rows.iter().flat_map(Row::runs).count(), plan.jobs.len());
        if done < all {
            writeln!(out, "\n{} of {all} runs were not made.", all - done)?;
            if args.out.is_some() {
                writeln!(out, "The same command goes on with them.")?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_between_commas() {
        let texts = |text: &str| -> Vec<String> {
            vary(text).unwrap().values.iter().map(|value| value.text().to_owned()).collect()
        };
        assert_eq!(texts("path.delay=5ms, 50ms"), ["path.delay=5ms", "path.delay=50ms"]);
        assert_eq!(
            texts(r#"a=[{ hogs = 1, cpu = 0 }],"b,c""#),
            [r#"a=[{ hogs = 1, cpu = 0 }]"#, r#"a="b,c""#]
        );
        assert!(vary("path.delay").is_err() && vary("a..b=1").is_err());
    }
}
