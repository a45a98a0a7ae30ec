//! One labelled run: its truth, and slowpath's reports of its two recordings.

use super::unstamped::Unstamped;
use anyhow::{Context, Result, ensure};
use serde::Serialize;
use slowpath_analyses::pairing::{Both, Collector, CollectorOptions, Tap, pair, verdict};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, AnalysisOptions, Judged, Label, Labels};
use slowpath_capture::Capture;
use slowpath_lab::host::Host;
use slowpath_lab::run::{SAMPLES, recording_file};
use slowpath_lab::sampled::{self, SampledState};
use slowpath_lab::truth::{self, Expected, Truth};
use slowpath_model::{Event, EventKind, FlowId, Segment};
use std::collections::HashSet;
use std::net::IpAddr;
use std::path::Path;

/// Where the recording was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    Sender,
    Receiver,
    /// One verdict from both recordings.
    Both,
}

impl Place {
    pub const ALL: [Self; 3] = [Self::Sender, Self::Receiver, Self::Both];

    /// For people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Both => "both",
        }
    }

    /// The host whose recording the verdict is based on.
    pub const fn host(self) -> Host {
        match self {
            Self::Sender | Self::Both => Host::Sender,
            Self::Receiver => Host::Receiver,
        }
    }
}

/// A run.
pub struct Run {
    /// Its folder's name.
    pub name: String,
    /// What was done, and what the kernel counted.
    pub truth: Truth,
    /// What its label says.
    pub expected: Expected,
    /// What the kernel reported of each socket, every 10 ms.
    pub samples: Vec<SampledState>,
    /// What was seen at the sender, and at the receiver.
    pub ends: [Watched; 2],
    /// The merged report of both recordings; `None` if they have no connection in common.
    merged: Option<Watched>,
}

/// What one recording shows.
pub struct Watched {
    /// The flows of the run's connections.
    pub flows: Vec<FlowReport>,
    /// Their data segments with their labels, in the order of the capture.
    pub labelled: Vec<(FlowId, Segment, Label)>,
    /// The wall-clock time of the recording's instant 0, in nanoseconds since 1970.
    pub epoch_ns: i64,
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
    /// Reads the truth and analyses both recordings, with or without the segments' timestamps.
    pub fn read(folder: &Path, with_timestamps: bool) -> Result<Self> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let truth = truth::read(folder).context("truth.json")?;
        let expected = truth.expected.clone().context("truth.json: it has no label")?;
        ensure!(!truth.connections.is_empty(), "truth.json: no connections");
        let ports: HashSet<u16> =
            truth.connections.iter().map(|connection| connection.receiver.local.port()).collect();
        let format = truth.case.experiment().recording.format;
        let file = |host: Host| folder.join(recording_file(host, format));
        let watched = |host: Host| watch(&file(host), &ports, with_timestamps);
        let (sender, sender_tap) = watched(Host::Sender)?;
        let (receiver, receiver_tap) = watched(Host::Receiver)?;
        let merged = merge(&sender, &receiver, &[sender_tap, receiver_tap]);
        let samples = sampled::read(&folder.join(SAMPLES))?;
        Ok(Self { name, truth, expected, samples, ends: [sender, receiver], merged })
    }

    /// The address of the host that sends.
    pub fn sender(&self) -> IpAddr {
        self.truth.connections[0].sender.local.ip()
    }

    /// The places with something to judge.
    pub fn places(&self) -> impl Iterator<Item = (Place, &Watched)> {
        let ends = [Some(&self.ends[0]), Some(&self.ends[1]), self.merged.as_ref()];
        Place::ALL.into_iter().zip(ends).filter_map(|(place, watched)| Some((place, watched?)))
    }
}

fn watch(file: &Path, ports: &HashSet<u16>, with_timestamps: bool) -> Result<(Watched, Tap)> {
    let mut analysis = Analysis::with_labels(AnalysisOptions::default(), Collect::default());
    let mut collector = Collector::new(CollectorOptions::default());
    let mut both = Both(&mut analysis, &mut collector);
    let capture = Capture::open(file)?;
    let summary = if with_timestamps { capture.run(&mut both) } else { capture.run(&mut Unstamped(both)) }?;
    let epoch_ns = summary.epoch_ns.context("no frames")?;
    let mut flows = Vec::new();
    let (_, Collect(mut labelled)) = analysis.finish_each(|flow| flows.push(flow));
    flows.retain(|flow| ports.contains(&flow.key.a.port) || ports.contains(&flow.key.b.port));
    let wanted: HashSet<FlowId> = flows.iter().map(|flow| flow.id).collect();
    labelled.retain(|(flow, ..)| wanted.contains(flow));
    Ok((Watched { flows, labelled, epoch_ns }, collector.finish(epoch_ns)))
}

/// One verdict from both recordings, as `slowpath diagnose` gives it for two files.
fn merge(sender: &Watched, receiver: &Watched, [first, second]: &[Tap; 2]) -> Option<Watched> {
    let pairing = pair(first, second).ok()?;
    let merged = |flow: &FlowReport| {
        let id = pairing.of(0, flow.id)?.flows[1];
        let other = receiver.flows.iter().find(|other| other.id == id);
        Some(verdict::merge(flow.clone(), other, &pairing, 0))
    };
    let flows: Vec<FlowReport> = sender.flows.iter().filter_map(merged).collect();
    (!flows.is_empty()).then_some(Watched { flows, labelled: Vec::new(), epoch_ns: sender.epoch_ns })
}
