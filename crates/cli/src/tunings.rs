//! `slowpath compare-tunings`: what each technique of sizing buffers gives on a path, and its cost in memory and CPU time.

use crate::Outcome;
use crate::console::{self, Console};
use crate::interrupt::Interrupt;
use anyhow::{Context, bail};
use clap::Args;
use slowpath_lab::privilege;
use slowpath_model::{Bytes, Rate};
use slowpath_papers::tunings::{Path, Technique};
use slowpath_runs::papers::{compare_tunings, table_one};
use slowpath_runs::values::{STREAMS, amount, rate, rtt};
use slowpath_views::tunings as view;
use std::time::Duration;

/// Arguments of `compare-tunings`.
#[derive(Args)]
#[command(after_long_help = view::HELP)]
pub struct CompareTunings {
    /// Rate of the path's bottleneck, such as 1Gbit/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Rate,
    /// RTT of the path, such as 40ms
    #[arg(long, value_name = "TIME", value_parser = rtt)]
    rtt: Duration,
    /// Parallel connections
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(STREAMS))]
    streams: u32,
    /// Memory for the buffers of all connections, on each host, such as 64MiB; by default without a limit
    #[arg(long, value_name = "AMOUNT")]
    memory: Option<Bytes>,
    /// Data of all connections together; by default, what the path carries in ten seconds
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    amount: Option<Bytes>,
    /// Print weigle's table I, with what each technique gives on this machine's kernel too, by FTP in the lab
    #[arg(long, conflicts_with_all = ["streams", "memory"])]
    lab: bool,
    /// With --lab: make each transfer N times, and show the median
    #[arg(long, value_name = "N", requires = "lab", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Print JSON (schema slowpath/tunings/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &CompareTunings, console: &Console) -> anyhow::Result<Outcome> {
    let path = Path {
        rate: args.rate,
        delay: args.rtt,
        streams: args.streams,
        memory: args.memory,
        amount: args.amount.unwrap_or_else(|| args.rate.amount_in(Duration::from_secs(10))),
    };
    let least = u64::from(args.streams) * (16 << 10);
    if let Some(memory) = args.memory.filter(|memory| memory.get() < least) {
        bail!("--memory {memory}: {} connections need at least {}", args.streams, Bytes::new(least));
    }
    if args.lab {
        // While there is one thread only.
        privilege::obtain()?;
    }
    let interrupt = Interrupt::listen()?;
    let measured = args.lab.then(|| {
        let bar = console.steps("transfer", table_one::count(args.repeat), 0);
        table_one::measure(&Technique::ALL, &path, args.repeat, interrupt.flag(), &|| bar.step())
    });
    let measured = measured.transpose()?;
    let bar = console.steps("technique", Technique::ALL.len(), 0);
    let results = compare_tunings(&path, interrupt.flag(), &|| bar.step())?
        .context("interrupted: the techniques are compared together; a smaller --amount takes less time")?;
    drop(bar);
    let print = |out: &mut _| match &measured {
        Some(measured) => view::print_table_one(&path, &results, measured, &console.look(), out),
        None => view::print(&path, &results, &console.look(), out),
    };
    let document = || view::TuningsDocument::new(&path, &results, measured.as_ref());
    console::print_result(args.json, document, print)?;
    Ok(Outcome::Whole)
}
