//! Retransmissions counted at the sender, compared with the wire and the kernel.

use super::run::Run;
use serde::Serialize;
use slowpath_lab::settings::Offload;
use slowpath_model::{End, FlowId};
use std::collections::HashMap;

/// All runs.
#[derive(Default, Serialize)]
pub struct Counts {
    pub runs: Vec<Counted>,
}

/// One run, at the sender.
#[derive(Serialize)]
pub struct Counted {
    pub run: String,
    /// Segments of data, as captured, that we label as retransmitted.
    pub ours: u64,
    /// Segments of data, as captured, whose first byte was sent before.
    pub wire: u64,
    /// SYNs that we count as retransmitted.
    pub syns: u64,
    /// `TcpRetransSegs` of the sending host: packets of data, SYNs and FINs.
    pub kernel: u64,
    /// Whether the capture shows super-packets, which hold several of the kernel's packets.
    pub super_packets: bool,
}

/// Adds a run.
pub fn add(counts: &mut Counts, run: &Run) {
    let sender = run.sender();
    let watched = &run.ends[0];
    let mut ours = 0;
    let mut syns = 0;
    let mut sending: HashMap<FlowId, End> = HashMap::new();
    for flow in &watched.flows {
        let end = if flow.key.a.address == sender { End::A } else { End::B };
        let labels = flow.directions[end.index()].measures.labels;
        ours += labels.retransmission + labels.spurious;
        syns += u64::from(flow.opening.retransmitted);
        sending.insert(flow.id, end);
    }
    let mut wire = 0;
    let mut furthest: HashMap<FlowId, i64> = HashMap::new();
    for (flow, segment, _) in &watched.labelled {
        if sending.get(flow) == Some(&segment.from) {
            let furthest = furthest.entry(*flow).or_insert(i64::MIN);
            wire += u64::from(segment.seq.0 < *furthest);
            *furthest = (*furthest).max(segment.end().0);
        }
    }
    counts.runs.push(Counted {
        run: run.name.clone(),
        ours,
        wire,
        syns,
        kernel: run.truth.counters.sender.get("TcpRetransSegs").copied().unwrap_or(0),
        super_packets: run.truth.case.experiment().settings.offload == Offload::SuperPackets,
    });
}
