//! `slowpath profile costs`: the cost of a packet, a byte and an ACK on a host.

use super::{About, Named, about, head, named, percent};
use crate::quantity::{count, counted, share};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_cost::each::{Each, Found, MeasuredCost};
use slowpath_cost::{Function, Work};
use slowpath_model::shown;
use slowpath_profile::Loaded;
use slowpath_scenario::costs::{COSTS, Cost};
use slowpath_scenario::machines::machine;
use std::io::{self, Write};

/// The machine that provides the costs that were not measured.
const KEPT_FROM: &str = "server-2020";
/// The limit of a cost in a scenario.
const MOST_NANOS: f64 = 1e9;

/// What pieces of work cost (schema slowpath/profile-costs/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/profile-costs/1")]
pub struct CostsDocument<'a> {
    /// `slowpath/profile-costs/1`.
    schema: &'static str,
    /// The profile.
    profile: About<'a>,
    /// Whether all that ran on the host was profiled. Otherwise costs are too low by what other processes did; null if
    /// unknown.
    is_whole_host: Option<bool>,
    /// The part of all CPU time that is in the costs that were measured, 0 to 1.
    share: f64,
    /// The costs, as cost tables name them.
    costs: Vec<Line<'a>>,
}

/// The cost of one kind of work.
#[derive(Serialize, JsonSchema)]
struct Line<'a> {
    /// Its name in a cost table.
    name: &'a str,
    /// How it was found.
    status: Status,
    /// In ns; null if it is not measured.
    nanos: Option<f64>,
    /// Its relative standard error, from the number of samples.
    error: Option<f64>,
    /// The number of its samples.
    samples: Option<u64>,
    /// How often the work was done.
    times: Option<u64>,
    /// The counter; the cost that it is part of; or why it is unknown.
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
    /// It is part of another cost, and adds nothing to it.
    Within,
    /// It is not known.
    Unknown,
}

/// The document of the measured costs.
pub fn document<'a>(loaded: &'a Loaded, work: &Work, share: f64, each: &[Each]) -> CostsDocument<'a> {
    CostsDocument {
        schema: "slowpath/profile-costs/1",
        profile: about(loaded),
        is_whole_host: work.is_whole_host,
        share,
        costs: each.iter().map(|each| line(loaded, each)).collect(),
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
            functions: found.functions.iter().map(|function| named(loaded, *function)).collect(),
        },
        Found::Within(other) => unmeasured(Status::Within, (*other).to_owned()),
        Found::Unknown(why) => unmeasured(Status::Unknown, why.clone()),
    }
}

/// Prints the costs and how to use them in a scenario.
///
/// # Errors
/// The errors of `out`.
pub fn print(
    loaded: &Loaded,
    work: &Work,
    document: &CostsDocument<'_>,
    out: &mut impl Write,
) -> io::Result<()> {
    head(loaded, out)?;
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
    writeln!(
        out,
        "\nAs a scenario's costs:\n  slowpath profile costs {} --as-cost-table",
        shown::word(loaded.name())
    )
}

/// A cost with three significant digits.
fn cost(nanos: f64) -> String {
    if nanos < 1.0 {
        format!("{:.0} ps", nanos * 1000.0)
    } else if nanos < 100.0 {
        format!("{nanos:.1} ns")
    } else {
        format!("{nanos:.0} ns")
    }
}

/// The costs as a scenario's cost table.
pub fn table(loaded: &Loaded, work: &Work, each: &[Each], host: &str) -> String {
    let kept = machine(KEPT_FROM).expect("a machine of the list");
    let mut text =
        format!("# Costs of a host, by `slowpath profile costs`: {}", counted(loaded.samples(), "sample"));
    if let (Some(seconds), Some(segments)) = (work.seconds, work.segments()) {
        text +=
            &format!(" in {seconds:.1} s, while it sent and received {}", counted(segments, "TCP segment"));
    }
    text += &format!(
        ".\n# measured: from the time in the functions named; within: part of another cost; kept: as {KEPT_FROM} has it.\n\
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
    text
}

fn measured(loaded: &Loaded, name: &str, found: &MeasuredCost) -> String {
    let cost = written(Cost::picos((found.nanos * 1000.0).round() as u64));
    // Escaped, so that a name cannot end the comment's line.
    let name_of = |function: &Function| shown::line(loaded.functions().name(*function));
    let functions: Vec<_> = found.functions.iter().map(name_of).collect();
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

/// A cost as written in a file.
fn written(cost: Cost) -> String {
    let picos = cost.as_picos();
    if picos.is_multiple_of(1000) { format!("{} ns", picos / 1000) } else { format!("{picos} ps") }
}

#[cfg(test)]
mod tests {
    use super::COSTS;
    use slowpath_cost::each::{KINDS, WITHIN};

    /// A scenario cost that profiles do not know would be kept without a reason, and a misspelt one would be lost.
    #[test]
    fn every_scenario_cost_is_measured_by_a_profile() {
        let mut known: Vec<&str> =
            KINDS.iter().map(|kind| kind.name).chain(WITHIN.iter().map(|(name, _)| *name)).collect();
        let mut wanted: Vec<&str> = COSTS.iter().map(|kind| kind.name).collect();
        known.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(known, wanted);
    }
}
