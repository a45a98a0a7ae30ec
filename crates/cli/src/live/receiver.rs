//! What held a transfer back at its receiver, in words, and what would help.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::hosts::{EndAccount, Receiver};
use slowpath_views::quantity::share;
use std::io::{self, Write};

/// What held a transfer back at its receiver.
#[derive(Serialize, JsonSchema)]
pub struct ReceiverResult {
    /// What it was: `holder-off-cpu`, `reader-off-cpu`, `slow-reader`, `small-buffer` or `late-growth`.
    cause: &'static str,
    /// For how long, in seconds.
    seconds: f64,
    /// Of the time in which data came or lay there, from 0 to 1.
    share: f64,
    /// What would help.
    remedy: &'static str,
}

impl ReceiverResult {
    pub fn all(account: &EndAccount) -> Vec<Self> {
        let result = |(what, lasted, share): (Receiver, std::time::Duration, f64)| {
            let [cause, _, remedy] = words(what);
            Self { cause, seconds: lasted.as_secs_f64(), share, remedy }
        };
        account.receiving.bounds().into_iter().map(result).collect()
    }
}

/// Lines for those that are worth it, and what would help.
pub fn print(endpoint: &str, account: &EndAccount, least: f64, out: &mut impl Write) -> io::Result<()> {
    let bounds = account.receiving.bounds();
    let worth: Vec<_> = bounds.into_iter().filter(|(.., share)| *share >= least).collect();
    if !worth.is_empty() {
        writeln!(out, "   held up at {endpoint}, of the time in which data came or lay there:")?;
    }
    for (what, _, of_all) in worth {
        let [cause, means, remedy] = words(what);
        writeln!(out, "{:>10}  {cause}: {means}", share(of_all))?;
        writeln!(out, "            {remedy}")?;
    }
    Ok(())
}

/// Name, meaning and remedy. Those of the first two are what gave the rate back in the lab's runs of `wu`'s experiment
/// (docs/src/lab.md, "A busy host").
fn words(what: Receiver) -> [&'static str; 3] {
    match what {
        Receiver::HolderOffCpu => [
            "holder-off-cpu",
            "the process that had locked the socket was off the CPU, and nothing was answered",
            "If it wanted a CPU (its wait for one is above): run it before the others (chrt -f 1, nice -n -20) or these behind it (chrt -i 0, nice -n 19); have GRO on (ethtool -K). If not, it waited for memory: let it read into what is there (mlock).",
        ],
        Receiver::ReaderOffCpu => [
            "reader-off-cpu",
            "data lay unread and closed the window; the reader was ready and had no CPU",
            "Run it before the others (chrt -f 1, nice -n -20), these behind it (chrt -i 0) or elsewhere (taskset); have GRO on.",
        ],
        Receiver::SlowReader => [
            "slow-reader",
            "data lay unread and closed the window; the reader did something else",
            "See what it waits for (strace, perf trace); let it read in a thread of its own, and more at once.",
        ],
        Receiver::SmallBuffer => [
            "small-buffer",
            "all that the window lets through came in each round trip, and was read",
            "Raise the last of net.ipv4.tcp_rmem; a program that sets SO_RCVBUF should not, or net.core.rmem_max is its limit.",
        ],
        Receiver::LateGrowth => [
            "late-growth",
            "all that the window lets through came in each round trip, until it had grown",
            "Begin with more: raise the middle of net.ipv4.tcp_rmem, the size that a receive buffer has first.",
        ],
    }
}
