//! Chores of the slowpath repository: labelled captures, benchmark input, generated documents.

mod captures;

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
    /// Record transfers whose limiting cause is known, at both ends, with the truth beside them (needs root)
    Captures(captures::Captures),
}

fn main() -> anyhow::Result<()> {
    slowpath_lab::signals::remove_namespaces_when_ended()?;
    match Arguments::parse().chore {
        Chore::Captures(captures) => captures.run(),
    }
}
