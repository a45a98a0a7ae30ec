//! `slowpath profile costs`: what a packet, a byte and an ACK cost.

use super::{Source, load};
use crate::Outcome;
use crate::console::{self, Console, warn};
use anyhow::Context;
use clap::{Args, ValueHint};
use slowpath_cost::each::costs;
use slowpath_runs::values::host_name;
use slowpath_runs::work::{work_beside, work_in};
use slowpath_views::profile::{costs as view, help};
use std::path::PathBuf;

/// Arguments of `profile costs`.
#[derive(Args)]
#[command(after_long_help = help::COSTS)]
pub struct Costs {
    #[command(flatten)]
    source: Source,
    /// The work file (schema slowpath/work/1); default: the one next to the profile
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    work: Option<PathBuf>,
    /// The CPU's frequency, for a profile in cycles
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    cpu_mhz: Option<u32>,
    /// Print the costs as a table for a scenario file
    #[arg(long, conflicts_with = "json")]
    as_cost_table: bool,
    /// The host in the scenario
    #[arg(long, value_name = "NAME", default_value = "receiver", requires = "as_cost_table", value_parser = host_name)]
    host: String,
    /// Print JSON (schema slowpath/profile-costs/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Costs, console: &Console) -> anyhow::Result<Outcome> {
    let loaded = load::open(&args.source, console)?;
    let work = match &args.work {
        Some(file) => work_in(file, &warn)?,
        None => work_beside(&args.source.file, &warn).with_context(|| {
            format!(
                "{}: there is no work file next to it; record with `slowpath profile record --system 10s`, or give --work",
                loaded.name()
            )
        })?,
    };
    let (calls, event) = loaded.whole_calls()?;
    let hertz = args.cpu_mhz.map(|megahertz| f64::from(megahertz) * 1e6).or(work.cpu_hz);
    let found = costs(calls, event, &work, loaded.nanos_of_weight(hertz)?);
    if work.is_whole_host == Some(false) {
        warn(
            "only a part of the host was profiled: costs lack the work of the other processes; record with --system",
        );
    }
    if args.as_cost_table {
        console::print(view::table(&loaded, &work, &found.each, &args.host).as_bytes())?;
        return Ok(load::outcome(&loaded));
    }
    let document = view::document(&loaded, &work, found.share, &found.each);
    console::print_result(args.json, || &document, |out| view::print(&loaded, &work, &document, out))?;
    Ok(load::outcome(&loaded))
}
