//! Maintenance commands of the slowpath repository: labelled captures, benchmark input, generated documents.

mod bench_input;
mod captures;
mod compare_live;
mod cures;
mod score;
mod tcpdump;
mod what_if;

use clap::{Parser, Subcommand};

/// Chores of the slowpath repository.
#[derive(Parser)]
#[command(name = "xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Record transfers whose limiting cause is known, at both ends, with the truth next to them (needs root)
    Captures(captures::Captures),
    /// Make the benchmarks' large captures from real traffic (needs root, 5 GB and some minutes)
    BenchInput(bench_input::BenchInput),
    /// Run scenarios in the simulator and on this machine's kernel, number by number (needs root)
    CompareLive(compare_live::CompareLive),
    /// Hold verdicts, labels and counts against the truth next to the labelled captures
    Score(score::Score),
    /// Hold verdicts against what takes the limit away, in random transfers of the simulator
    Cures(cures::Cures),
    /// Fit the labelled captures, and hold what is predicted of their remedies against the simulator and the kernel
    WhatIf(what_if::WhatIf),
}

fn main() -> anyhow::Result<()> {
    slowpath_lab::signals::clean_up_when_ended()?;
    match Arguments::parse().chore {
        Chore::Captures(captures) => captures.run(),
        Chore::BenchInput(bench_input) => bench_input.run(),
        Chore::CompareLive(compare_live) => compare_live.run(),
        Chore::Score(score) => score.run(),
        Chore::Cures(cures) => cures.run(),
        Chore::WhatIf(what_if) => what_if.run(),
    }
}
