//! `slowpath profile costs`: what a packet, a byte and an ACK cost.

use super::{Source, load};
use crate::Outcome;
use crate::console::{self, Console, warn};
use anyhow::{Context, bail};
use clap::{Args, ValueHint};
use slowpath_cost::Work;
use slowpath_cost::each::costs;
use slowpath_profile::Loaded;
use slowpath_views::profile::costs as view;
use std::path::PathBuf;

const HELP: &str = "\
A sample belongs to the innermost of the kernel's functions that do a kind of work; the time of these is divided by how often the kernel's \
counters say that the work was done while `slowpath profile record --system` looked. What is not counted, or was seen in fewer than 25 \
samples, is not known. The error is that of the number of samples alone.

With --as-cost-table it prints a host's costs for a scenario, with what each is from; what is not known is kept from server-2020.

A profile by cpu-clock is in ns. Cycles are turned into time by the CPU's frequency, which the work file has on x86; otherwise give --cpu-mhz.

Examples:
  slowpath profile record --system 10s
  slowpath profile costs perf.data
  slowpath profile costs perf.data --as-cost-table --host sender >> transfer.toml";

/// Arguments of `profile costs`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Costs {
    #[command(flatten)]
    source: Source,
    /// What the host did meanwhile (schema slowpath/work/1); without it, the file beside the profile
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    work: Option<PathBuf>,
    /// How fast the CPU ran, for a profile in cycles
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    cpu_mhz: Option<u32>,
    /// Print the costs as a scenario takes them
    #[arg(long, conflicts_with = "json")]
    as_cost_table: bool,
    /// The scenario's host whose costs they become
    #[arg(long, value_name = "NAME", default_value = "receiver", requires = "as_cost_table", value_parser = host_name)]
    host: String,
    /// Print JSON (schema slowpath/profile-costs/1) instead of text
    #[arg(long)]
    json: bool,
}

fn host_name(text: &str) -> Result<String, String> {
    let is_name =
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if is_name {
        Ok(text.to_owned())
    } else {
        Err("a host's name has letters, digits, - and _ only".to_owned())
    }
}

pub fn run(args: &Costs, console: &Console) -> anyhow::Result<Outcome> {
    let loaded = load::open(&args.source, console)?;
    let work = match &args.work {
        Some(file) => load::work_in(file)?,
        None => load::work_beside(&args.source.file).with_context(|| {
            format!(
                "{}: nothing beside it says what the host did; record with `slowpath profile record --system 10s`, or give --work",
                loaded.name()
            )
        })?,
    };
    let (calls, event) = loaded.whole_calls()?;
    let found = costs(calls, event, &work, nanos(&loaded, &work, args.cpu_mhz)?);
    if work.is_whole_host == Some(false) {
        warn(
            "only a part of the host was profiled: what others did of the work is not in these costs; record with --system",
        );
    }
    if args.as_cost_table {
        console::print(view::table(&loaded, &work, &found.each, &args.host).as_bytes())?;
        return Ok(load::outcome(&loaded));
    }
    let document = view::document(&loaded, &work, found.share, &found.each);
    console::tell(args.json, || &document, |out| view::print(&loaded, &work, &document, out))?;
    Ok(load::outcome(&loaded))
}

/// The ns that one of a profile's weight takes.
fn nanos(loaded: &Loaded, work: &Work, cpu_mhz: Option<u32>) -> anyhow::Result<f64> {
    let unit = loaded.event().map_or("samples", |event| event.unit);
    match unit {
        "ns" => Ok(1.0),
        "cycles" => {
            let hertz = cpu_mhz.map(|megahertz| f64::from(megahertz) * 1e6).or(work.cpu_hz);
            let hertz = hertz.context("how fast the CPU ran is not in the work file; give --cpu-mhz")?;
            Ok(1e9 / hertz)
        }
        unit => bail!("{}: it is in {unit}, which are no time; record by cycles or cpu-clock", loaded.name()),
    }
}
