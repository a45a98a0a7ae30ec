//! What came of a run, flow by flow, host by host and path by path.

use crate::transfers;
use crate::waits::Waiting;
use slowpath_model::Instant;
use slowpath_model::units::duration_text;
use slowpath_scenario::Scenario;
use slowpath_simulator::Simulation;
use slowpath_simulator::report::{HostReport, Total};
use slowpath_views::columns::align;
use slowpath_views::quantity::{count, counted, share};
use std::io::{self, Write};
use std::time::Duration;

/// The flows of the scenario by name, with what came of the connections of each.
pub fn flows<'a>(scenario: &'a Scenario, simulation: &Simulation) -> Vec<(&'a str, Total)> {
    let flows = scenario.flows.iter().enumerate();
    flows.map(|(index, flow)| (flow.name.as_str(), simulation.total(index))).collect()
}

/// Prints the tables.
pub fn print(
    scenario: &Scenario,
    simulation: &Simulation,
    waiting: &Waiting,
    out: &mut impl Write,
) -> io::Result<()> {
    let lasted = simulation.now().since(Instant::START).unwrap_or_default();
    writeln!(out, "{}", scenario.heading())?;
    writeln!(out, "{} simulated, seed {}", duration_text(lasted), scenario.seed)?;
    writeln!(out)?;
    transfers::print(&flows(scenario, simulation), out)?;
    writeln!(out)?;
    let waits = waiting.table(scenario);
    if !waits.is_empty() {
        align(&waits, out)?;
        writeln!(out)?;
    }
    for (host, report) in scenario.hosts.iter().zip(simulation.host_reports()) {
        print_host(&host.name, &report, lasted, out)?;
    }
    for (path, wires) in scenario.paths.iter().zip(simulation.wires().chunks(2)) {
        for (wire, from) in wires.iter().zip(path.ends) {
            let totals = wire.totals();
            writeln!(
                out,
                "path {}, from {}: {}, {} dropped, longest queue {}",
                path.name,
                scenario.host(from).name,
                counted(totals.offered_packets, "packet"),
                count(totals.dropped()),
                counted(totals.longest_queue_packets, "packet"),
            )?;
        }
    }
    Ok(())
}

fn print_host(name: &str, report: &HostReport, lasted: Duration, out: &mut impl Write) -> io::Result<()> {
    write!(out, "host {name}: ")?;
    let used: Vec<String> = report
        .cpus
        .iter()
        .enumerate()
        .map(|(cpu, busy)| (cpu, busy.levels.iter().sum::<Duration>()))
        .filter(|(_, busy)| !busy.is_zero())
        .map(|(cpu, busy)| format!("CPU {cpu} {}", share(busy.as_secs_f64() / lasted.as_secs_f64())))
        .collect();
    write!(out, "{}", if used.is_empty() { "nothing took time".to_owned() } else { used.join(", ") })?;
    let drops = [
        (report.ring.dropped, "found the receive ring full"),
        (report.softirq.backlog_dropped, "found the CPU's backlog full"),
        (report.sockets.backlog_dropped, "found a socket's backlog full"),
        (report.transmit.dropped, "found the transmit queue full"),
    ];
    for (packets, what) in drops.into_iter().filter(|(packets, _)| *packets > 0) {
        write!(out, "; {} {what}", counted(packets, "packet"))?;
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
        write!(out, "; at most {}", waits.join(", "))?;
    }
    let (fast, slow) = (report.sockets.fast_path, report.sockets.slow_path);
    if fast + slow > 0 {
        let quick = share(fast as f64 / (fast + slow) as f64);
        write!(out, "; {quick} of its segments by the fast path")?;
    }
    writeln!(out)
}
