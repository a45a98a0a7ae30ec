//! `slowpath sweep`: a scenario again and again, each time with other values.

mod document;
mod numbers;
mod table;

use crate::Outcome;
use crate::console::{self, Console};
use crate::interrupt::Interrupt;
use crate::measured::Measured;
use crate::on_kernel::How;
use crate::scenario::{self, Changes};
use anyhow::{Context, ensure};
use clap::{Args, ValueHint};
use slowpath_lab::privilege;
use slowpath_scenario::{Case, Override, Scenario, Vary};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

pub use document::Document;

const HELP: &str = "\
One row for each run: what was transferred, how often packets waited long at the receiving hosts, how long the readers \
waited for a CPU, and what bound the flows. What differs from run to run the scenario says itself, in [[vary]] and \
[[try]], or --vary does instead. With several of these there is a run for every value of each with every value of the \
others. The simulator's runs share all CPUs; each is the same as when it runs alone.

With --lab they run on this machine's kernel, one after the other, as `slowpath lab run` does it, best as root. On a \
busy machine runs differ: with --repeat the table shows medians of those that count. With --compare they run in both, \
and the table shows how far the simulator's rates are from the kernel's.

Examples:
  slowpath sweep scenarios/bulk-wan.toml --vary path.delay=5ms,25ms,100ms --set duration=10s
  slowpath sweep scenarios/bulk-wan.toml --vary path.queue=0.1bdp,1bdp --vary flows.streams=1,4 --json
  sudo slowpath sweep scenarios/wu/live-bl10.toml --lab --repeat 3
  sudo slowpath sweep scenarios/truth.toml --compare

Exit codes:
  0  there is a row for every run
  1  some runs are missing or do not count
  2  nothing could be done: no such file, a scenario that is refused, nothing that differs";

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
    /// Make each run so often, with the seeds that follow the scenario's
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
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

/// One of the sweep's cases, ready to run.
struct Planned {
    case: Case,
    /// The same scenario with one seed after the other.
    scenarios: Vec<Scenario>,
}

/// What came of a case.
struct Row {
    planned: Planned,
    /// Of each of its runs in the simulator, and on the kernel, as far as they were made.
    model: Vec<Measured>,
    kernel: Vec<Measured>,
}

impl Row {
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
    // While there is one thread only.
    if args.lab || args.compare {
        privilege::obtain()?;
    }
    let (base, plan) = plan(args)?;
    let each: usize = plan.iter().map(|planned| planned.scenarios.len()).sum();
    let all = if args.compare { 2 * each } else { each };
    let none = || plan.iter().map(|_| Vec::new()).collect();
    let kernel = if args.lab || args.compare { on_kernel(&plan, console)? } else { none() };
    let model = if args.lab { none() } else { in_simulator(&plan, console)? };
    let found = plan.into_iter().zip(model.into_iter().zip(kernel));
    let rows: Vec<Row> = found.map(|(planned, (model, kernel))| Row { planned, model, kernel }).collect();
    let runs = || rows.iter().flat_map(Row::runs);
    let whole = runs().count() == all && runs().all(|run| run.invalid.is_empty());
    let mut out = console::stdout();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &Document::of(&base, &rows))?;
        writeln!(out)?;
    } else {
        table::heading(&base, &rows, &mut out)?;
        if args.compare {
            table::compare(&rows, &mut out)?
        } else {
            table::print(&rows, &mut out)?
        }
        let done = runs().count();
        if done < all {
            writeln!(out, "\n{} of {all} runs were not made.", all - done)?;
        }
    }
    out.flush()?;
    Ok(if whole { Outcome::Whole } else { Outcome::Partial })
}

/// Every scenario is checked before the first one runs.
fn plan(args: &Sweep) -> anyhow::Result<(Scenario, Vec<Planned>)> {
    let text = scenario::text(&args.file)?;
    let base = scenario::load_text(&args.file, &text, &args.changes, &[])?;
    let mut sweep = base.sweep.clone();
    if !args.vary.is_empty() {
        sweep = slowpath_scenario::Sweep { vary: args.vary.clone(), tries: Vec::new() };
    }
    ensure!(
        !sweep.is_empty(),
        "{}: nothing differs from run to run; write --vary KEY=VALUE,VALUE, or [[vary]] in the file",
        args.file.display()
    );
    let most = slowpath_scenario::sweep::MOST_CASES;
    let runs = sweep.len().saturating_mul(args.repeat as usize);
    ensure!(runs <= most, "these are {runs} runs; a sweep has at most {most}");
    let ready = |case: Case| {
        let scenario = scenario::load_text(&args.file, &text, &args.changes, &case.set)?;
        let seeds = (0..args.repeat).map(|n| scenario.seed.wrapping_add(n.into()));
        let scenarios = seeds.map(|seed| Scenario { seed, ..scenario.clone() }).collect();
        Ok(Planned { case, scenarios })
    };
    let plan = sweep.cases().into_iter().map(ready).collect::<anyhow::Result<_>>()?;
    Ok((base, plan))
}

fn on_kernel(plan: &[Planned], console: &Console) -> anyhow::Result<Vec<Vec<Measured>>> {
    let bar = console.steps("run", plan.iter().map(|planned| planned.scenarios.len()).sum());
    let (mut cases, mut failed): (Vec<Vec<Measured>>, Vec<anyhow::Error>) = (Vec::new(), Vec::new());
    for planned in plan {
        let mut runs = Vec::new();
        for scenario in &planned.scenarios {
            // What one run cannot do says nothing of the others.
            match Measured::of_kernel(scenario, How::default(), &Console::silent()) {
                Ok(measured) => runs.push(measured),
                Err(error) => failed.push(error.context(table::name(&planned.case))),
            }
            bar.step();
        }
        cases.push(runs);
    }
    if cases.iter().all(Vec::is_empty)
        && let Some(first) = failed.drain(..).next()
    {
        return Err(first);
    }
    for error in failed {
        bar.say(&format!("{error:#}"));
    }
    Ok(cases)
}

/// Each CPU takes the next run; they are in order all the same.
fn in_simulator(plan: &[Planned], console: &Console) -> anyhow::Result<Vec<Vec<Measured>>> {
    let interrupt = Interrupt::listen()?;
    let scenarios: Vec<(usize, &Scenario)> = plan
        .iter()
        .enumerate()
        .flat_map(|(case, planned)| planned.scenarios.iter().map(move |scenario| (case, scenario)))
        .collect();
    let bar = console.steps("run", scenarios.len());
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || -> anyhow::Result<()> {
        while !interrupt.has_come()
            && let Some((case, scenario)) = scenarios.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let measured = Measured::of_model(scenario)?;
            found.lock().expect("no run panics").push((*case, measured));
            bar.step();
        }
        Ok(())
    };
    let cpus = thread::available_parallelism().map_or(1, usize::from).min(scenarios.len());
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cpus).map(|_| scope.spawn(work)).collect();
        let ends = workers.into_iter().map(|worker| worker.join().expect("no run panics"));
        ends.collect::<anyhow::Result<Vec<()>>>()
    })
    .context("a run failed")?;
    let mut found = found.into_inner().expect("no run panics");
    found.sort_by_key(|(case, run): &(usize, Measured)| (*case, run.seed));
    let mut cases: Vec<Vec<Measured>> = plan.iter().map(|_| Vec::new()).collect();
    for (case, measured) in found {
        cases[case].push(measured);
    }
    Ok(cases)
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
