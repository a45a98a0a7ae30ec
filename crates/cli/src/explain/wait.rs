//! `slowpath explain wait`: equations 1 to 12 of Wu and Crawford 2007.

use crate::Outcome;
use crate::console;
use anyhow::bail;
use clap::Args;
use slowpath_model::units::duration_from_text;
use slowpath_papers::wu::equations::Tasks;
use slowpath_runs::values::chance;
use slowpath_views::explain::{self, WaitQuestion};
use std::time::Duration;

/// Arguments of `explain wait`.
#[derive(Args)]
#[command(after_long_help = explain::WAIT_HELP)]
pub struct Wait {
    /// Tasks left in the active array when the reader's time slice ends
    #[arg(long, value_name = "TASKS", allow_hyphen_values = true)]
    active: Option<Tasks>,
    /// Tasks in the expired array that run before the reader
    #[arg(long, value_name = "TASKS", allow_hyphen_values = true)]
    expired: Option<Tasks>,
    /// Tasks in the active array that run before a reader that wakes up
    #[arg(long, value_name = "TASKS", allow_hyphen_values = true)]
    woken: Option<Tasks>,
    /// The RTT of a packet that does not wait, such as 40ms
    #[arg(long, value_name = "TIME", value_parser = duration_from_text)]
    rtt: Duration,
    /// The sender's RTTVAR before the wait
    #[arg(long, value_name = "TIME", value_parser = duration_from_text, default_value = "0s")]
    rttvar: Duration,
    /// The sender's RTO; default: from --rtt and --rttvar
    #[arg(long, value_name = "TIME", value_parser = duration_from_text)]
    rto: Option<Duration>,
    /// The packet loss probability, from 0 to 1, for Reno's throughput
    #[arg(long, value_name = "P", value_parser = chance)]
    loss: Option<f64>,
    /// The path's MSS, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1448, value_parser = clap::value_parser!(u32).range(1..=65_535))]
    mss: u32,
    /// Print JSON (schema slowpath/explain-wait/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Wait) -> anyhow::Result<Outcome> {
    let [active, expired, woken] = [&args.active, &args.expired, &args.woken]
        .map(|tasks| tasks.as_ref().map_or(&[][..], |tasks| &tasks.0));
    if active.is_empty() && expired.is_empty() && woken.is_empty() {
        bail!("no tasks: give --active, --expired or --woken, such as --active 10x0");
    }
    let document = explain::Wait::of(&WaitQuestion {
        active,
        expired,
        woken,
        rtt: args.rtt,
        rttvar: args.rttvar,
        rto: args.rto,
        loss: args.loss,
        mss: args.mss,
    });
    console::print_result(args.json, || &document, |out| document.print(args.rto.is_some(), out))?;
    Ok(Outcome::Whole)
}
