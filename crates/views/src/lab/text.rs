//! The text of `slowpath lab run`.

use super::hosts::HostResult;
use super::programs::ProgramResult;
use crate::quantity::{count, counted, duration};
use crate::terminal::Look;
use crate::{transfers, waits};
use slowpath_lab::settings::Carrier;
use slowpath_model::units::duration_text;
use slowpath_runs::kernel::{Live, ways};
use slowpath_scenario::Scenario;
use slowpath_simulator::report::Total;
use std::io::{self, Write};
use std::time::Duration;

/// Prints a run of `scenario` without its diagnosis. `lost` is what the run lacked without root.
///
/// # Errors
///
/// The errors of `out`.
pub fn print(
    scenario: &Scenario,
    live: &Live,
    lost: &[&str],
    look: &Look,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "{}", scenario.heading())?;
    let took = duration_text(lasted(live));
    writeln!(out, "{took} on Linux {}, seed {}", live.truth.kernel, scenario.seed)?;
    writeln!(out)?;
    transfers::print(&named(scenario, &live.totals), look, out)?;
    writeln!(out)?;
    let waits = waits::table(scenario, live.waiting.waited());
    if !waits.is_empty() {
        waits.print(look, out)?;
        writeln!(out)?;
    }
    if let Some(why) = &live.unwatched {
        look.paragraph(out, "where packets waited on the hosts is not known: ", why)?;
    }
    for program in ProgramResult::all(scenario, &live.truth) {
        program.print(look, out)?;
    }
    for host in HostResult::both(scenario, &live.truth) {
        host.print(look, out)?;
    }
    print_path(live, look, out)?;
    if !lost.is_empty() {
        look.paragraph(out, "without root: ", &lost.join("; "))?;
    }
    for why in &live.invalid {
        look.paragraph(out, "this run does not count: ", why)?;
    }
    writeln!(out)
}

fn print_path(live: &Live, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let carrier = live.truth.case.experiment().settings.carrier;
    for (name, way) in ways(&live.truth) {
        let totals = &way.report.totals;
        let late = |ns| duration(Duration::from_nanos(ns));
        let dropped = count(totals.dropped());
        let mut text = format!("{}, {dropped} dropped", counted(totals.offered_packets, "packet"));
        if carrier != Carrier::Netem {
            text += &format!(
                ", longest queue {}; delivered late by {} (99th percentile), {} at most",
                counted(totals.longest_queue_packets, "packet"),
                late(way.report.lateness.p99_ns),
                late(way.report.lateness.max_ns),
            );
        }
        look.paragraph(out, &format!("path {name}: "), &text)?;
    }
    match carrier {
        Carrier::Veth => Ok(()),
        Carrier::Tap => {
            let text =
                "with TAP devices a packet arrives when it is read: reading it late makes it later than that";
            look.paragraph(out, "", text)
        }
        Carrier::Netem => {
            let text = "carried by netem, with the hosts' offloads off: how late packets were is not known";
            look.paragraph(out, "", text)
        }
    }
}

/// The flows by name.
pub(super) fn named<'a>(scenario: &'a Scenario, totals: &[Total]) -> Vec<(&'a str, Total)> {
    scenario.flows.iter().zip(totals).map(|(flow, total)| (flow.name.as_str(), *total)).collect()
}

/// The time from the first connection's start to the end of the last.
pub(super) fn lasted(live: &Live) -> Duration {
    Duration::from_nanos(live.truth.to_ns.saturating_sub(live.truth.from_ns))
}
