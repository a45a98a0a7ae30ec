//! `slowpath explain`: the arithmetic behind a cause, step by step.

mod wait;

use crate::Outcome;
use clap::{Args, Subcommand};

#[cfg(test)]
pub use wait::Document as WaitDocument;

/// Arguments of `explain`.
#[derive(Args)]
pub struct Explain {
    #[command(subcommand)]
    what: What,
}

/// What to explain.
#[derive(Subcommand)]
enum What {
    /// How long a packet waits for a process that others keep off the CPU, and whether its sender times out
    Wait(wait::Wait),
}

pub fn run(args: &Explain) -> anyhow::Result<Outcome> {
    match &args.what {
        What::Wait(args) => wait::run(args),
    }
}
