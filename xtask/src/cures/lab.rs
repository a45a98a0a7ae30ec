//! The transfers on this machine's kernel.

use super::draw::{Fault, Key, Transfer};
use super::{HOSTS, Judged, Ran, judge};
use anyhow::{Context, Result, ensure};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, AnalysisOptions};
use slowpath_capture::Capture;
use slowpath_lab::host::Host;
use slowpath_lab::recording::Format;
use slowpath_lab::run::recording_file;
use slowpath_lab::{privilege, scratch::Scratch};
use slowpath_runs::kernel::{self, How};
use slowpath_scenario::Scenario;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

/// A packet may be late by this much, or by this part of the path's delay: the shares that cures save are what counts, and they are
/// not known to a hundredth.
const LATE: Duration = Duration::from_millis(1);
const LATE_PART: u32 = 10;

/// The transfers of these numbers that the lab can make, and that some cure makes faster. One after the other: a machine that is
/// busy is late.
pub(super) fn judged(numbers: Range<u64>) -> Result<Vec<Judged>> {
    privilege::obtain()?;
    let mut all = Vec::new();
    for transfer in numbers.map(Transfer::drawn) {
        // Its writers make no pauses.
        if transfer.faults.contains(&Fault::PausingWriter) {
            continue;
        }
        let transfer = of_this_machine(transfer);
        match judge(&transfer, run) {
            Ok(Some(found)) => {
                let right = found.said.each_ref().map(|said| if said.is_right { "right" } else { "wrong" });
                eprintln!("transfer {}: sender {}, receiver {}", transfer.seed, right[0], right[1]);
                all.push(found);
            }
            Ok(None) => eprintln!("transfer {}: nothing makes it faster", transfer.seed),
            Err(why) => eprintln!("transfer {} does not count: {why:#}", transfer.seed),
        }
    }
    Ok(all)
}

/// The transfer between hosts of this machine: its kernel, and offloads both on or both off.
fn of_this_machine(mut transfer: Transfer) -> Transfer {
    transfer.keys.retain(|key| !key.text.contains(".kernel=") && !key.text.contains(".interrupt-delay="));
    for host in HOSTS {
        let tso = format!("hosts.{host}.nic.tso=");
        let value = transfer.keys.iter().find_map(|key| key.text.strip_prefix(&tso)).unwrap_or("true");
        let text = format!("hosts.{host}.nic.gro={value}");
        transfer.keys.push(Key { fault: None, text });
    }
    transfer
}

fn run(scenario: &Scenario, is_judged: bool) -> Result<Ran> {
    let scratch = Scratch::create()?;
    let folder = scratch.file("transfer");
    let live = kernel::run(scenario, How { keep: Some(&folder), ..How::default() }, |_| ())?;
    for (name, way) in kernel::ways(&live.truth) {
        let (late, most) = (way.report.lateness.p99_ns, (way.config.delay / LATE_PART).max(LATE));
        let late = Duration::from_nanos(late);
        ensure!(late <= most, "1 of 100 packets {name} came {late:?} late or more; {most:?} would count");
    }
    let span = live.totals.first().and_then(|total| total.span).context("no data")?;
    let took = span.1.nanos_since(span.0) as f64 / 1e9;
    ensure!(took > 0.0, "it took no time");
    let flow = |host| -> Result<Option<FlowReport>> {
        if is_judged { first_flow(&folder.join(recording_file(host, Format::Pcap))) } else { Ok(None) }
    };
    Ok((took, [flow(Host::Sender)?, flow(Host::Receiver)?]))
}

fn first_flow(capture: &Path) -> Result<Option<FlowReport>> {
    let mut analysis = Analysis::new(AnalysisOptions::default());
    Capture::open(capture)?.run(&mut analysis)?;
    Ok(analysis.finish().flows.into_iter().next())
}
