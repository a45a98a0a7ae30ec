//! A scenario on this machine's kernel, in network namespaces, captured at both hosts.

use super::seen::{Collector, Connection, Seen};
use anyhow::{Context, Result, ensure};
use slowpath_analyses::report::FlowReport;
use slowpath_capture::Capture;
use slowpath_lab::host::Host;
use slowpath_lab::recording::Format;
use slowpath_lab::run::{self, recording_file};
use slowpath_lab::scratch::Scratch;
use slowpath_lab::settings::Offload;
use slowpath_lab::{scenario, task};
use slowpath_scenario::Scenario;
use std::path::Path;

/// Runs it.
pub fn run(scenario: &Scenario) -> Result<Seen> {
    let experiment = scenario::experiment(scenario, &task::own_cpus())?;
    ensure!(
        experiment.settings.offload == Offload::PerPacket && experiment.settings.receiver_offload.is_none(),
        "captures with single packets: tso and gro are off"
    );
    let scratch = Scratch::create()?;
    let folder = scratch.file("run");
    ensure!(
        run::run(&experiment, &folder, run::Keep { packing: run::Packing::Quick, probe: false })?.written,
        "the machine is too busy for a capture"
    );
    read(&folder)
}

fn read(folder: &Path) -> Result<Seen> {
    let one = |host| -> Result<(Vec<Connection>, Option<FlowReport>)> {
        let mut collector = Collector::new();
        Capture::open(folder.join(recording_file(host, Format::Pcap)))?.run(&mut collector)?;
        let (mut connections, verdict) = collector.finish();
        // The lab's ports count the streams.
        connections.sort_by_key(|connection| connection.port);
        Ok((connections, verdict))
    };
    let (sender, receiver) = (one(Host::Sender)?, one(Host::Receiver)?);
    Ok(Seen { sender: sender.0, receiver: receiver.0, verdict: sender.1.context("the capture is empty")? })
}
