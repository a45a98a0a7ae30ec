//! Labels of segments at the receiver, compared with the sender's capture of the same packets.

use super::run::Run;
use serde::Serialize;
use slowpath_analyses::Label;
use slowpath_lab::settings::Offload;
use slowpath_model::{End, FlowId, FlowKey, Segment};
use std::collections::{BTreeMap, HashMap};

/// All runs.
#[derive(Default, Serialize)]
pub struct Labels {
    pub runs: Vec<Labelled>,
    /// Runs left out: super-packets cannot be distinguished by the identification in their IP header, and IPv6 has none.
    pub left_out: Vec<String>,
}

/// One run.
#[derive(Serialize)]
pub struct Labelled {
    pub run: String,
    /// Whether the path changed the order of packets.
    pub reordered: bool,
    /// Segments that both captures have.
    pub segments: u64,
    /// Those with the right label.
    pub right: u64,
    /// Retransmissions that arrived.
    pub arrived_again: u64,
    /// The number counted as such.
    pub counted: u64,
    /// `what it was / reported label`: how many.
    pub wrong: BTreeMap<String, u64>,
}

/// A packet: its flow, its direction, its IP identification, its position in the stream.
type Packet = (FlowKey, End, u16, i64);

/// What the sender's capture shows of a packet.
struct Sent {
    again: bool,
}

/// Adds a run.
pub fn add(labels: &mut Labels, run: &Run) {
    let settings = &run.truth.case.experiment().settings;
    let sent = sent(run);
    if settings.offload == Offload::SuperPackets || sent.is_empty() {
        labels.left_out.push(run.name.clone());
        return;
    }
    let mut labelled = Labelled {
        run: run.name.clone(),
        reordered: run.truth.path.forward.report.totals.held_back_packets > 0,
        segments: 0,
        right: 0,
        arrived_again: 0,
        counted: 0,
        wrong: BTreeMap::new(),
    };
    let mut copies: HashMap<Packet, u32> = HashMap::new();
    let mut furthest: HashMap<(FlowKey, End), i64> = HashMap::new();
    for (packet, segment, label) in packets(run, 1) {
        let Some(sent) = sent.get(&packet) else { continue };
        let furthest = furthest.entry((packet.0, packet.1)).or_insert(i64::MIN);
        let copies = copies.entry(packet).or_default();
        *copies += 1;
        let was = if *copies > 1 {
            "duplicate"
        } else if sent.again {
            "retransmitted"
        } else if segment.seq.0 < *furthest {
            "overtaken"
        } else {
            "new"
        };
        *furthest = (*furthest).max(segment.end().0);
        let said = match label {
            Label::New => "new",
            Label::Retransmission | Label::Spurious => "retransmitted",
            Label::OutOfOrder => "overtaken",
            Label::Duplicate => "duplicate",
            Label::KeepAlive | Label::WindowProbe => "probe",
        };
        labelled.segments += 1;
        labelled.arrived_again += u64::from(was == "retransmitted");
        labelled.counted += u64::from(said == "retransmitted");
        if was == said {
            labelled.right += 1;
        } else {
            *labelled.wrong.entry(format!("{was} / {said}")).or_default() += 1;
        }
    }
    labels.runs.push(labelled);
}

/// A capture's data segments that can be identified at the other end.
fn packets(run: &Run, end: usize) -> impl Iterator<Item = (Packet, Segment, Label)> {
    let keys: HashMap<FlowId, FlowKey> = run.ends[end].flows.iter().map(|flow| (flow.id, flow.key)).collect();
    run.ends[end].labelled.iter().filter_map(move |(flow, segment, label)| {
        let packet = (*keys.get(flow)?, segment.from, segment.ip.id?, segment.seq.0);
        Some((packet, *segment, *label))
    })
}

/// What was sent, in order: a packet is a retransmission if its first byte was sent before. Only what the sending host
/// itself captured while sending counts, so requests are left out.
fn sent(run: &Run) -> HashMap<Packet, Sent> {
    let sender = run.sender();
    let mut furthest: HashMap<FlowKey, i64> = HashMap::new();
    let mut sent = HashMap::new();
    for (packet, segment, _) in packets(run, 0) {
        if packet.0.endpoint(packet.1).address != sender {
            continue;
        }
        let furthest = furthest.entry(packet.0).or_insert(i64::MIN);
        let again = segment.seq.0 < *furthest;
        *furthest = (*furthest).max(segment.end().0);
        sent.entry(packet).or_insert(Sent { again });
    }
    sent
}

impl Labels {
    /// Segments right and segments in all, of the runs with or without reordering.
    pub fn right(&self, reordered: bool) -> (u64, u64) {
        let runs = self.runs.iter().filter(|run| run.reordered == reordered);
        runs.fold((0, 0), |(right, all), run| (right + run.right, all + run.segments))
    }

    /// Retransmissions that arrived and those counted, of the runs without reordering; and how many of them the
    /// counts of all runs are off by.
    pub fn again(&self) -> (u64, u64, u64) {
        let runs = self.runs.iter().filter(|run| !run.reordered);
        runs.fold((0, 0, 0), |(arrived, counted, off), run| {
            let by = run.arrived_again.abs_diff(run.counted);
            (arrived + run.arrived_again, counted + run.counted, off + by)
        })
    }
}
