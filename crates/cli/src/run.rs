//! `slowpath run`: a scenario, simulated.

mod document;
mod files;
mod table;
mod watch;

use crate::console::{self, Console};
use crate::interrupt::Interrupt;
use crate::scenario::{self, Changes};
use crate::waits::Waiting;
use crate::{Outcome, recording};
use clap::{Args, ValueHint};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, Options, VantageOverride};
use slowpath_model::{Bytes, Instant};
use slowpath_recording::Ending;
use slowpath_scenario::{HostId, Scenario};
use slowpath_simulator::{Progress, Simulation, Tap};
use slowpath_views::rank::{Ranker, Selection};
use slowpath_views::{Diagnosis, Recording, json as views, terminal};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

pub use document::Document;
pub use watch::Watchers;

const HELP: &str = "\
The run is simulated: hosts with their CPUs, interrupts, schedulers, queues and the TCP of their kernel, and the paths \
between them. The same scenario and seed give the same run, byte by byte. Behind the tables stands the verdict, as \
`slowpath diagnose` would give it of a recording made on the sending host.

Interrupted with Ctrl-C it shows what came so far, and the files it wrote can be read.

Examples:
  slowpath run scenarios/bulk-wan.toml
  slowpath run scenarios/bulk-wan.toml --set path.delay=50ms --seed 7
  slowpath run scenarios/bulk-wan.toml --pcap out/
  slowpath run scenarios/slow-reader.toml --record recorded/";

/// Arguments of `run`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Run {
    /// The scenario file, or - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    changes: Changes,
    /// Record what happens on every host as Parquet in this folder, for `slowpath diagnose`, `show` and `flows` and for
    /// any other program
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    record: Option<PathBuf>,
    /// Write every host's packets as pcapng into this folder, for Wireshark and `slowpath diagnose`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pcap: Option<PathBuf>,
    /// How many flows of the verdict to show in full
    #[arg(long, value_name = "N", default_value_t = 3)]
    top: usize,
    /// Print JSON (schema slowpath/run/1) instead of text
    #[arg(long)]
    json: bool,
}

/// How much is simulated between two looks at the clock and at Ctrl-C.
const STRETCH: Duration = Duration::from_millis(20);

pub fn run(args: &Run, console: &Console) -> anyhow::Result<Outcome> {
    let scenario = scenario::load(&args.file, &args.changes)?;
    let vantage = scenario.vantage();
    let side = files::side(&scenario, vantage).map(|_| VantageOverride::Sender);
    let analysis = Analysis::new(Options { vantage: side, ..Options::default() });
    let mut watchers = Watchers::new(Tap::new(vantage, analysis), Waiting::new(&scenario));
    if let Some(folder) = &args.pcap {
        watchers.pcaps = files::captures(folder, &scenario)?;
    }
    if let Some(folder) = &args.record {
        watchers.records = files::records(folder, &scenario)?;
    }
    let mut simulation = Simulation::new(&scenario);
    let whole = simulate(&mut simulation, &mut watchers, console, &scenario.title)?;
    let frames = watchers.analysis.frames();
    let end = if whole { Ending::Complete } else { Ending::Interrupted };
    let (analysis, waiting) = watchers.finish(end)?;

    let mut ranker = Ranker::new(Selection { flow: None, min_bytes: Bytes::ZERO, top: args.top });
    let (not_kept, ()) = analysis.finish_each(|flow| ranker.add(flow));
    let mut ranking = ranker.finish();
    ranking.full.iter_mut().for_each(FlowReport::explain);
    let recording = describe(args, &scenario, vantage, frames, &simulation, whole);
    let recordings = vec![recording];
    let outcome = recording::outcome(&recordings);
    let advise = &slowpath_remedies::advise;
    let diagnosis = Diagnosis { recordings, ranking, flows_not_kept: not_kept.flows, paired: None, advise };
    tell(args, console, &scenario, (&simulation, &waiting), &diagnosis)?;
    Ok(outcome)
}

/// Runs to the end, or until it is interrupted; says whether it came to the end.
fn simulate(
    simulation: &mut Simulation,
    watchers: &mut Watchers,
    console: &Console,
    title: &str,
) -> anyhow::Result<bool> {
    let interrupt = Interrupt::listen()?;
    let bar = console.shows_progress().then(|| bar(title, simulation.end()));
    let mut progress = Progress::Running;
    while progress == Progress::Running && !interrupt.has_come() {
        progress = simulation.run_until(simulation.now() + STRETCH, watchers);
        watchers.flush()?;
        if let Some(bar) = &bar {
            bar.set_position(simulation.now().nanos().unsigned_abs() / 1_000_000);
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    Ok(progress == Progress::Finished)
}

fn bar(title: &str, end: Instant) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos} of {len} ms, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let target = ProgressDrawTarget::stderr_with_hz(8);
    let length = end.nanos().unsigned_abs() / 1_000_000;
    ProgressBar::with_draw_target(Some(length), target).with_style(style).with_message(title.to_owned())
}

/// What the views are told of the run.
fn describe(
    args: &Run,
    scenario: &Scenario,
    vantage: HostId,
    frames: u64,
    simulation: &Simulation,
    whole: bool,
) -> Recording {
    let name = &scenario.host(vantage).name;
    let stopped = || format!("Interrupted after {} s of simulated time.", simulation.now());
    Recording {
        name: args.file.display().to_string(),
        format: format!("simulated, seen at {name}"),
        frames,
        segments: frames,
        span: (frames > 0).then(|| (Instant::START, simulation.now())),
        gone: false,
        skipped: Vec::new(),
        damage: (!whole).then(stopped),
        account: json!({ "seed": scenario.seed, "host": name, "events": simulation.events() }),
    }
}

fn tell(
    args: &Run,
    console: &Console,
    scenario: &Scenario,
    (simulation, waiting): (&Simulation, &Waiting),
    diagnosis: &Diagnosis<'_>,
) -> anyhow::Result<()> {
    let mut out = console::stdout();
    if args.json {
        let document = Document::of(scenario, simulation, waiting, views::Diagnosis::of(diagnosis));
        serde_json::to_writer_pretty(&mut out, &document)?;
        writeln!(out)?;
    } else {
        table::print(scenario, simulation, waiting, &mut out)?;
        if scenario.has_tcp() {
            writeln!(out)?;
            terminal::diagnosis(diagnosis, &console.look(), &mut out)?;
        }
    }
    out.flush()?;
    Ok(())
}
