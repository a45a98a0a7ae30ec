//! The text of `slowpath run`: flows, waits, hosts and paths, and the diagnosis.

use crate::quantity::{count, counted, share};
use crate::terminal::{self, Look};
use crate::{Diagnosis, transfers, waits};
use slowpath_model::Instant;
use slowpath_model::units::duration_text;
use slowpath_runs::simulated::Run;
use slowpath_scenario::Scenario;
use slowpath_simulator::report::HostReport;
use std::io::{self, Write};
use std::time::Duration;

/// Prints a run of `scenario`, with the diagnosis if it has TCP flows.
///
/// # Errors
///
/// The errors of `out`.
pub fn print(
    scenario: &Scenario,
    run: &Run,
    diagnosis: &Diagnosis<'_>,
    look: &Look,
    out: &mut impl Write,
) -> io::Result<()> {
    let simulation = &run.simulation;
    let lasted = simulation.now().since(Instant::START).unwrap_or_default();
    writeln!(out, "{}", scenario.heading())?;
    writeln!(out, "{} simulated, seed {}", duration_text(lasted), scenario.seed)?;
    writeln!(out)?;
    transfers::print(&run.flows(scenario), look, out)?;
    writeln!(out)?;
    let waits = waits::table(scenario, run.waiting.waited());
    if !waits.is_empty() {
        waits.print(look, out)?;
        writeln!(out)?;
    }
    for (host, report) in scenario.hosts.iter().zip(simulation.host_reports()) {
        look.paragraph(out, &format!("host {}: ", host.name), &of_host(&report, lasted))?;
    }
    for (path, wires) in scenario.paths.iter().zip(simulation.wires().chunks(2)) {
        for (wire, from) in wires.iter().zip(path.ends) {
            let totals = wire.totals();
            let text = format!(
                "{}, {} dropped, longest queue {}",
                counted(totals.offered_packets, "packet"),
                count(totals.dropped()),
                counted(totals.longest_queue_packets, "packet"),
            );
            look.paragraph(out, &format!("path {}, from {}: ", path.name, scenario.host(from).name), &text)?;
        }
    }
    if scenario.has_tcp() {
        writeln!(out)?;
        terminal::diagnosis(diagnosis, look, out)?;
    }
    Ok(())
}

fn of_host(report: &HostReport, lasted: Duration) -> String {
    let used: Vec<String> = report
        .cpus
        .iter()
        .enumerate()
        .map(|(cpu, busy)| (cpu, busy.levels.iter().sum::<Duration>()))
        .filter(|(_, busy)| !busy.is_zero())
        .map(|(cpu, busy)| format!("CPU {cpu} {}", share(busy.as_secs_f64() / lasted.as_secs_f64())))
        .collect();
    let mut text = if used.is_empty() { "no CPU time used".to_owned() } else { used.join(", ") };
    let drops = [
        (report.ring.dropped, "found the receive ring full"),
        (report.softirq.backlog_dropped, "found the CPU backlog full"),
        (report.sockets.backlog_dropped, "found a socket backlog full"),
        (report.transmit.dropped, "found the transmit queue full"),
    ];
    for (packets, what) in drops.into_iter().filter(|(packets, _)| *packets > 0) {
        text += &format!("; {} {what}", counted(packets, "packet"));
    }
    let waits = [
        (report.ring.most_waiting, "in the receive ring"),
        (report.sockets.most_waiting, "for a process"),
        (report.transmit.most_queued, "in the transmit queue"),
    ];
    let waits: Vec<String> = waits
        .into_iter()
        .filter(|(packets, _)| *packets > 0)
        .map(|(packets, what)| format!("{} {what}", count(packets)))
        .collect();
    if !waits.is_empty() {
        text += &format!("; at most {}", waits.join(", "));
    }
    let (fast, slow) = (report.sockets.fast_path, report.sockets.slow_path);
    if fast + slow > 0 {
        let quick = share(fast as f64 / (fast + slow) as f64);
        text += &format!("; {quick} of its segments by the fast path");
    }
    text
}
