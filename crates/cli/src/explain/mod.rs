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
    /// What a socket buffer's size becomes, kernel by kernel: what getsockopt says, the window, its scale, the rate
    Buffer(buffer::Buffer),
    /// How long a packet waits for a process that others keep off the CPU, and whether its sender times out
    Wait(wait::Wait),
}

pub fn run(args: &Explain) -> anyhow::Result<Outcome> {
    match &args.what {
        What::Buffer(args) => buffer::run(args),
        What::Wait(args) => wait::run(args),
    }
}
