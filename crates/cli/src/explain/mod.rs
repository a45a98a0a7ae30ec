//! `slowpath explain`: the arithmetic behind a cause, step by step.

mod buffer;
mod wait;

use crate::Outcome;
use clap::{Args, Subcommand};

/// Arguments of `explain`.
#[derive(Args)]
pub struct Explain {
    #[command(subcommand)]
    what: What,
}

/// What to explain.
#[derive(Subcommand)]
enum What {
    /// Show how a socket buffer becomes a window, kernel by kernel: getsockopt, window, scale, rate
    Buffer(buffer::Buffer),
    /// Show how long a packet waits for a process that waits for a CPU, and whether the sender times out
    Wait(wait::Wait),
}

pub fn run(args: &Explain) -> anyhow::Result<Outcome> {
    match &args.what {
        What::Buffer(args) => buffer::run(args),
        What::Wait(args) => wait::run(args),
    }
}
