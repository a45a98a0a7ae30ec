//! `slowpath kernels`: the kernels as lists of choices, side by side.

use crate::Outcome;
use crate::console;
use clap::Args;
use slowpath_kernels::Release;
use slowpath_views::help;
use slowpath_views::kernels::{Layout, Table};
use std::io::Write;

/// Arguments of `kernels`.
#[derive(Args)]
#[command(after_long_help = help::KERNELS)]
pub struct Kernels {
    /// The kernels to show, such as 6.18 or linux-2.6.14; all without any
    #[arg(value_name = "NAME")]
    names: Vec<Release>,
    /// Also say what each choice means, where the kernel has it, and what changed it between these kernels
    #[arg(long)]
    sources: bool,
    /// Also show the sysctls as they are after boot
    #[arg(long)]
    sysctls: bool,
    /// Print JSON (schema slowpath/kernels/1) with all of that
    #[arg(long, conflicts_with_all = ["sources", "sysctls"])]
    json: bool,
}

pub fn run(args: &Kernels) -> anyhow::Result<Outcome> {
    let all = if args.names.is_empty() { &Release::ALL[..] } else { &args.names };
    let table = Table::of(&all.iter().map(|kernel| kernel.profile()).collect::<Vec<_>>());
    let text = || table.text(Layout { sources: args.sources, sysctls: args.sysctls });
    console::print_result(args.json, || &table, |out| write!(out, "{}", text()))?;
    Ok(Outcome::Whole)
}
