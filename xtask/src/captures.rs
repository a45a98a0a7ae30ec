//! `xtask captures`: runs the lab's cases and keeps their captures.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use slowpath_lab::case::{LabelledCase, Set};
use slowpath_lab::cases;
use slowpath_lab::run::{Keep, Outcome, Packing, run_labelled};
use std::path::PathBuf;
use std::sync::Mutex;

/// Record labelled transfers.
#[derive(Args)]
pub struct Captures {
    /// Which collection to record
    #[arg(long, value_enum)]
    set: WhichSet,
    /// Record only cases whose name or name-variant starts so; may be given several times
    #[arg(long, value_name = "CASE", num_args = 1..)]
    only: Vec<String>,
    /// Where to write, one folder per set and case
    #[arg(long, value_name = "DIR", default_value = "captures")]
    out: PathBuf,
    /// Cases at the same time; more than one makes the path late on a small machine
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// How often a case may be tried until all its checks hold; a machine that is busy with other things
    /// makes the path late now and then
    #[arg(long, value_name = "N", default_value_t = 3)]
    attempts: u32,
    /// Leave cases alone that have been recorded
    #[arg(long)]
    missing: bool,
    /// Print the cases and record nothing
    #[arg(long)]
    list: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum WhichSet {
    Shipped,
    Heldout,
    Fresh,
}

/// They are kept for good.
const KEEP: Keep = Keep { packing: Packing::Small, probe: true };

impl Captures {
    pub(crate) fn run(&self) -> Result<()> {
        let set = match self.set {
            WhichSet::Shipped => Set::Shipped,
            WhichSet::Heldout => Set::Heldout,
            WhichSet::Fresh => Set::Fresh,
        };
        let folder = self.out.join(set.folder());
        let wanted = |case: &LabelledCase| {
            let named = self.only.is_empty() || self.only.iter().any(|only| case.id().starts_with(only));
            named && !(self.missing && folder.join(case.id()).exists())
        };
        let cases: Vec<LabelledCase> = cases::all(set).into_iter().filter(wanted).collect();
        if self.list {
            for case in &cases {
                println!(
                    "{:<60} {}/{}",
                    case.id(),
                    case.expectation.expected.limit,
                    case.expectation.expected.cause
                );
            }
            return Ok(());
        }
        let total = cases.len();
        let queue = Mutex::new(cases.into_iter());
        let failed = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                scope.spawn(|| {
                    while let Some(case) = queue.lock().ok().and_then(|mut queue| queue.next()) {
                        let id = case.id();
                        let holds = (0..self.attempts)
                            .any(|_| report(&id, run_labelled(&case, &folder.join(&id), KEEP)));
                        if !holds && let Ok(mut failed) = failed.lock() {
                            failed.push(id);
                        }
                    }
                });
            }
        });
        let failed = failed.into_inner().unwrap_or_default();
        if !failed.is_empty() {
            bail!(
                "{} of {total} cases are invalid and were not written: {}",
                failed.len(),
                failed.join(", ")
            );
        }
        Ok(())
    }
}

/// Prints one line per case, and one more for each check that does not hold. Returns whether the run counts.
fn report(id: &str, outcome: Result<Outcome, slowpath_lab::error::LabError>) -> bool {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            println!("FAILED  {id}: {:#}", anyhow::Error::from(error));
            return false;
        }
    };
    let truth = &outcome.truth;
    let late = truth.path.forward.report.lateness;
    let share = truth
        .expected
        .as_ref()
        .and_then(|e| e.share_at_least)
        .map_or(String::new(), |s| format!(" share {:.3}", s.of_transfer));
    println!(
        "{} {id}: {} kB, {} packets, late p99 {} us max {} us{share}",
        if outcome.written { "ok     " } else { "INVALID" },
        outcome.stored_bytes / 1000,
        truth.captures.sender.captured_packets,
        late.p99_ns / 1000,
        late.max_ns / 1000,
    );
    for check in truth.checks.iter().filter(|c| !c.holds) {
        println!("        {:?}: measured {}", check.required, check.measured);
    }
    outcome.written
}
