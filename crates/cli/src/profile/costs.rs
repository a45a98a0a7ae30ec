//! `slowpath profile costs`: what a packet, a byte and an ACK cost.

use super::Source;
use super::load::{About, Loaded, Named, percent, work_beside, work_in};
use crate::Outcome;
use crate::console::{self, Console, warn};
use anyhow::{Context, bail};
use clap::{Args, ValueHint};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_cost::Work;
use slowpath_cost::each::{Each, Found, Measured, costs};
use slowpath_scenario::costs::{COSTS, Cost};
use slowpath_scenario::machines::machine;
use slowpath_views::quantity::{count, counted, share};
use std::io::{self, Write};
use std::path::PathBuf;

/// The machine whose costs are kept where none is measured.
const KEPT_FROM: &str = "server-2020";
/// A scenario takes no cost above this.
const MOST_NANOS: f64 = 1e9;

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

/// What pieces of work cost (schema slowpath/profile-costs/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/profile-costs/1")]
pub struct Document<'a> {
    /// `slowpath/profile-costs/1`.
    schema: &'static str,
    /// The profile.
    profile: About<'a>,
    /// Whether all that ran on the host was profiled: otherwise costs are too low by what others did; null where that is not known.
    is_whole_host: Option<bool>,
    /// The part of all CPU time that is in the costs that were measured, 0 to 1.
    share: f64,
    /// The costs, as cost tables name them.
    costs: Vec<Line<'a>>,
}

/// What one piece of a kind of work cost.
#[derive(Serialize, JsonSchema)]
struct Line<'a> {
    /// Its name in a cost table.
    name: &'a str,
    /// How it was found.
    status: Status,
    /// In ns; null if it is not measured.
    nanos: Option<f64>,
    /// Its standard error by the number of samples, as a part of it.
    error: Option<f64>,
    /// In how many samples it was seen.
    samples: Option<u64>,
    /// How often the work was done.
    times: Option<u64>,
    /// Of what that is the count; which cost it is in; or why it is not known.
    why: String,
    /// The functions whose time it is.
    functions: Vec<Named<'a>>,
}

/// How a cost was found.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    /// From samples and counters.
    Measured,
    /// It is in another cost, and nothing beside it.
    Within,
    /// It is not known.
    Unknown,
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
    let loaded = Loaded::open(&args.source.file, &args.source.names, console)?;
    let work = match &args.work {
        Some(file) => work_in(file)?,
        None => work_beside(&args.source.file).with_context(|| {
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
        console::print(table(&loaded, &work, &found.each, &args.host)?.as_bytes())?;
        return Ok(loaded.outcome());
    }
    let document = Document {
        schema: "slowpath/profile-costs/1",
        profile: loaded.about(),
        is_whole_host: work.is_whole_host,
        share: found.share,
        costs: found.each.iter().map(|each| line(&loaded, each)).collect(),
    };
    console::tell(args.json, || &document, |out| print(&loaded, &work, &document, out))?;
    Ok(loaded.outcome())
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

fn line<'a>(loaded: &'a Loaded, each: &Each) -> Line<'a> {
    let unmeasured = |status, why| Line {
        name: each.name,
        status,
        nanos: None,
        error: None,
        samples: None,
        times: None,
        why,
        functions: Vec::new(),
    };
    match &each.found {
        Found::Measured(found) => Line {
            name: each.name,
            status: Status::Measured,
            nanos: Some(found.nanos),
            error: Some(found.error),
            samples: Some(found.samples),
            times: Some(found.times),
            why: found.of.to_owned(),
            functions: found.functions.iter().map(|function| loaded.function(*function)).collect(),
        },
        Found::Within(other) => unmeasured(Status::Within, (*other).to_owned()),
        Found::Unknown(why) => unmeasured(Status::Unknown, why.clone()),
    }
}

fn print(loaded: &Loaded, work: &Work, document: &Document<'_>, out: &mut impl Write) -> io::Result<()> {
    loaded.head(out)?;
    let width = document.costs.iter().map(|line| line.name.len()).max().unwrap_or(0);
    writeln!(out, "{:<width$}  {:>8}  {:>5}  {:>12}  of", "cost", "each", "error", "times")?;
    for line in &document.costs {
        let (each, error, times) = match (line.nanos, line.error, line.times) {
            (Some(nanos), Some(error), Some(times)) => (cost(nanos), share(error), count(times)),
            _ => ("-".to_owned(), "-".to_owned(), "-".to_owned()),
        };
        let how = match line.status {
            Status::Measured => "",
            Status::Within => "in ",
            Status::Unknown => "not known: ",
        };
        writeln!(out, "{:<width$}  {each:>8}  {error:>5}  {times:>12}  {how}{}", line.name, line.why)?;
    }
    writeln!(out, "\n{} of the CPU time is in these costs.", percent(document.share))?;
    if let (Some(seconds), Some(segments)) = (work.seconds, work.segments()) {
        writeln!(out, "The host sent and received {} in {seconds:.1} s.", counted(segments, "TCP segment"))?;
    }
    writeln!(out, "\nAs a scenario's costs:\n  slowpath profile costs {} --as-cost-table", loaded.name())
}

/// As people write it: three figures.
fn cost(nanos: f64) -> String {
    if nanos < 1.0 {
        format!("{:.0} ps", nanos * 1000.0)
    } else if nanos < 100.0 {
        format!("{nanos:.1} ns")
    } else {
        format!("{nanos:.0} ns")
    }
}

/// The costs as a scenario takes them, in the order of a cost table.
fn table(loaded: &Loaded, work: &Work, each: &[Each], host: &str) -> anyhow::Result<String> {
    let kept = machine(KEPT_FROM).context("the machine whose costs are kept")?;
    let mut text =
        format!("# Costs of a host, by `slowpath profile costs`: {}", counted(loaded.samples(), "sample"));
    if let (Some(seconds), Some(segments)) = (work.seconds, work.segments()) {
        text +=
            &format!(" in {seconds:.1} s, while it sent and received {}", counted(segments, "TCP segment"));
    }
    text += &format!(
        ".\n# measured: from the time in the functions named; within: nothing beside another cost; kept: as {KEPT_FROM} has it.\n\
         [hosts.{host}]\nmachine = \"{KEPT_FROM}\"\n\n[hosts.{host}.costs]\n"
    );
    for kind in COSTS {
        let found = each.iter().find(|each| each.name == kind.name).map(|each| &each.found);
        text += &match found {
            Some(Found::Measured(found)) if found.nanos <= MOST_NANOS => measured(loaded, kind.name, found),
            Some(Found::Measured(found)) => {
                remark(kind.name, kind.of(&kept), &format!("{:.0} ns are no cost", found.nanos))
            }
            Some(Found::Within(other)) => format!("{} = \"0 ns\" # within {other}\n", kind.name),
            Some(Found::Unknown(why)) => remark(kind.name, kind.of(&kept), why),
            None => remark(kind.name, kind.of(&kept), "no functions are known for it"),
        };
    }
    Ok(text)
}

fn measured(loaded: &Loaded, name: &str, found: &Measured) -> String {
    let cost = written(Cost::picos((found.nanos * 1000.0).round() as u64));
    // A function's name is the kernel's: no line ends in it.
    let functions: Vec<String> = found
        .functions
        .iter()
        .map(|function| loaded.functions().name(*function).replace(char::is_control, " "))
        .collect();
    format!(
        "{name} = \"{cost}\" # measured, to {}: {}, for each of {} ({})\n",
        share(found.error),
        functions.join(", "),
        count(found.times),
        found.of
    )
}

fn remark(name: &str, kept: Cost, why: &str) -> String {
    format!("# {name} = \"{}\" # kept: {why}\n", written(kept))
}

/// A cost as a file has it.
fn written(cost: Cost) -> String {
    let picos = cost.as_picos();
    if picos.is_multiple_of(1000) { format!("{} ns", picos / 1000) } else { format!("{picos} ps") }
}

#[cfg(test)]
mod tests {
    use super::COSTS;
    use slowpath_cost::each::{KINDS, WITHIN};

    /// A cost that scenarios have and profiles do not know of would be kept without a reason, and one by a wrong name be lost.
    #[test]
    fn every_cost_of_a_scenario_is_known() {
        let mut known: Vec<&str> =
            KINDS.iter().map(|kind| kind.name).chain(WITHIN.iter().map(|(name, _)| *name)).collect();
        let mut wanted: Vec<&str> = COSTS.iter().map(|kind| kind.name).collect();
        known.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(known, wanted);
    }
}
