//! One labelled run: its truth, and what slowpath makes of its two captures.

use anyhow::{Context, Result, ensure};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, Judged, Label, Labels, Options};
use slowpath_capture::Capture;
use slowpath_lab::truth::Truth;
use slowpath_model::{Event, EventKind, FlowId, Segment};
use std::collections::HashSet;
use std::net::IpAddr;
use std::path::Path;

/// Where a capture was made.
pub const ENDS: [&str; 2] = ["sender", "receiver"];

/// A run.
pub struct Run {
    /// Its folder's name.
    pub name: String,
    /// What was done, and what the kernel counted.
    pub truth: Truth,
    /// What was seen at the sender, and at the receiver.
    pub ends: [Watched; 2],
}

/// What one capture shows.
pub struct Watched {
    /// The flows of the run's connections.
    pub flows: Vec<FlowReport>,
    /// Their data segments with their labels, in the order of the capture.
    pub labelled: Vec<(FlowId, Segment, Label)>,
}

/// Collects the labels of data segments.
#[derive(Default)]
struct Collect(Vec<(FlowId, Segment, Label)>);

impl Labels for Collect {
    fn judged(&mut self, flow: FlowId, event: &Event, judged: Judged) {
        if let (Some(label), EventKind::Seen(segment)) = (judged.label, event.kind)
            && segment.len > 0
        {
            self.0.push((flow, segment, label));
        }
    }
}

impl Run {
    /// Reads the truth and analyses both captures.
    pub fn read(folder: &Path) -> Result<Self> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(folder.join("truth.json")).context("truth.json")?;
        let truth: Truth = serde_json::from_str(&text).context("truth.json")?;
        ensure!(!truth.connections.is_empty(), "truth.json: no connections");
        let ports: HashSet<u16> =
            truth.connections.iter().map(|connection| connection.receiver.local.port()).collect();
        let watched = |end: &str| watch(&folder.join(format!("{end}.pcap.zst")), &ports);
        let ends = [watched(ENDS[0])?, watched(ENDS[1])?];
        Ok(Self { name, truth, ends })
    }

    /// The address of the host that sends.
    pub fn sender(&self) -> IpAddr {
        self.truth.connections[0].sender.local.ip()
    }
}

fn watch(file: &Path, ports: &HashSet<u16>) -> Result<Watched> {
    let mut analysis = Analysis::with_labels(Options::default(), Collect::default());
    Capture::open(file)?.run(&mut analysis)?;
    let mut flows = Vec::new();
    let (_, Collect(mut labelled)) = analysis.finish_each(|flow| flows.push(flow));
    flows.retain(|flow| ports.contains(&flow.key.a.port) || ports.contains(&flow.key.b.port));
    let wanted: HashSet<FlowId> = flows.iter().map(|flow| flow.id).collect();
    labelled.retain(|(flow, ..)| wanted.contains(flow));
    Ok(Watched { flows, labelled })
}
