//! `slowpath explain buffer`: from the value that a program asks for to the window that its peer sees (ubik IV-A and B).

use crate::Outcome;
use crate::console;
use anyhow::Context;
use clap::Args;
use slowpath_kernels::{KernelProfile, registry};
use slowpath_model::Rate;
use slowpath_runs::values::{rtt, size};
use slowpath_scenario::sysctl;
use slowpath_views::explain::{self, BufferQuestion};
use std::time::Duration;

/// Arguments of `explain buffer`.
#[derive(Args)]
#[command(after_long_help = explain::BUFFER_HELP)]
pub struct Buffer {
    /// The size that the program sets with SO_RCVBUF and SO_SNDBUF, such as 4MiB; default: none is set
    #[arg(value_name = "SIZE", value_parser = size)]
    size: Option<u32>,
    /// The kernels, separated by commas; `slowpath kernels` lists them
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = registry::find, default_value = "6.18")]
    kernel: Vec<KernelProfile>,
    /// A sysctl, set on all kernels, as for `sysctl -w`; net.ipv4. and net.core. may be omitted; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    sysctl: Vec<String>,
    /// Payload of a full segment, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1448, value_parser = clap::value_parser!(u32).range(88..=9148))]
    mss: u32,
    /// Memory that the receiver charges for a full segment, in bytes, if known for the driver (skmem in ss)
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    truesize: Option<u32>,
    /// The RTT of the path, such as 40ms
    #[arg(long, value_name = "TIME", value_parser = rtt)]
    rtt: Option<Duration>,
    /// The rate of the path, such as 1Gbit/s
    #[arg(long, value_name = "RATE", requires = "rtt")]
    rate: Option<Rate>,
    /// Print JSON (schema slowpath/explain-buffer/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Buffer) -> anyhow::Result<Outcome> {
    let mut kernels = args.kernel.clone();
    for kernel in &mut kernels {
        for sysctl in &args.sysctl {
            sysctl::put(kernel, sysctl).context("--sysctl")?;
        }
    }
    let Buffer { size, mss, truesize, rtt, rate, .. } = *args;
    let document = explain::Buffer::of(&BufferQuestion { size, mss, truesize, rtt, rate }, &kernels);
    console::print_result(args.json, || &document, |out| document.print(out))?;
    Ok(Outcome::Whole)
}
