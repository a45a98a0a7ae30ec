//! `xtask score`: slowpath's verdicts on the labelled captures, compared with what was done to them and what the kernel
//! counted.

mod by_time;
mod counts;
mod held;
mod labels;
mod limits;
mod live;
mod print;
mod right;
mod run;
mod stalls;
mod unstamped;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use run::Run;
use serde::Serialize;
use slowpath_lab::case::Set;
use std::path::PathBuf;

/// Hold slowpath's verdicts, labels and counts against the truth next to the labelled captures.
#[derive(Args)]
pub struct Score {
    /// The set: rules are written on `shipped`; `heldout` and `fresh` are regression sets
    #[arg(value_enum, default_value = "shipped")]
    set: Which,
    /// The folder with the sets
    #[arg(long, value_name = "DIR", default_value = "captures")]
    captures: PathBuf,
    /// Only runs whose name begins so
    #[arg(long, value_name = "NAME", default_value = "")]
    only: String,
    /// Score the captures as if neither host had timestamps (RFC 7323)
    #[arg(long)]
    without_timestamps: bool,
    /// Print every run, not only those with something wrong
    #[arg(long)]
    verbose: bool,
    /// Print when a verdict was wrong, and what held then
    #[arg(long, conflicts_with = "json")]
    wrong: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Which {
    Shipped,
    Heldout,
    Fresh,
}

/// Everything that was measured.
#[derive(Serialize)]
struct Scores {
    /// The folder that was scored.
    set: String,
    /// How meaningful a score on it is.
    role: &'static str,
    /// Runs in it.
    runs: usize,
    limits: limits::Limits,
    by_time: by_time::ByTime,
    stalls: stalls::Stalls,
    labels: labels::Labels,
    counts: counts::Counts,
    /// Of the runs whose probe's records were kept.
    live: Live,
}

/// What the probe reported.
#[derive(Default, Serialize)]
struct Live {
    /// Runs with records.
    runs: usize,
    limits: limits::Limits,
    by_time: by_time::ByTime,
}

impl Score {
    pub(crate) fn run(&self) -> Result<()> {
        let set = match self.set {
            Which::Shipped => Set::Shipped,
            Which::Heldout => Set::Heldout,
            Which::Fresh => Set::Fresh,
        };
        let folder = self.captures.join(set.folder());
        let mut names: Vec<PathBuf> = std::fs::read_dir(&folder)
            .with_context(|| format!("{}: `xtask captures` records it", folder.display()))?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        names.retain(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&self.only) && path.join("truth.json").exists()
        });
        names.sort();
        ensure!(!names.is_empty(), "{}: no runs", folder.display());

        let (mut limits, mut by_time, mut stalls, mut labels, mut counts) = Default::default();
        let mut live = Live::default();
        for name in &names {
            let run =
                Run::read(name, !self.without_timestamps).with_context(|| name.display().to_string())?;
            limits::add(&mut limits, &run)?;
            by_time::add(&mut by_time, &run)?;
            stalls::add(&mut stalls, &run);
            labels::add(&mut labels, &run);
            counts::add(&mut counts, &run);
            let is_told = live::add(&mut live.limits, &mut live.by_time, &run, name);
            live.runs += usize::from(is_told.with_context(|| name.display().to_string())?);
        }
        for (limits, by_time) in [(&mut limits, &mut by_time), (&mut live.limits, &mut live.by_time)] {
            limits::sum_up(limits);
            by_time::sum_up(by_time);
        }
        let measured = Scores {
            set: folder.display().to_string(),
            role: set.role(),
            runs: names.len(),
            limits,
            by_time,
            stalls,
            labels,
            counts,
            live,
        };
        if self.json {
            println!("{}", serde_json::to_string_pretty(&measured)?);
        } else if self.wrong {
            print!("{}", print::wrong(&measured.by_time));
        } else {
            print!("{}", print::text(&measured, self.verbose));
        }
        Ok(())
    }
}
