//! Two recordings of one transfer, made one: which flows both have, and what both say of each.

use crate::diagnosis::{Alone, Paired};
use crate::recording::Recording;
use crate::words;
use slowpath_analyses::pairing::{Collector, PairingError, pair, verdict};
use slowpath_analyses::report::FlowReport;
use slowpath_model::FlowId;
use slowpath_runs::input::Input;
use std::collections::HashMap;

/// One of two recordings of a transfer.
pub struct Half {
    /// What was read.
    pub recording: Recording,
    /// As its reader summarises it.
    pub input: Input,
    /// Its flows, with their evidence.
    pub flows: Vec<FlowReport>,
    /// Its packets.
    pub collector: Collector,
}

/// What both say.
pub struct Joined {
    /// The half that the flows are reported in: 0 or 1, as they were given.
    pub reported: usize,
    /// The recordings, the earlier one first.
    pub recordings: Vec<Recording>,
    /// The flows.
    pub flows: Vec<FlowReport>,
    /// How they were compared; `None` if one has no TCP.
    pub paired: Option<Paired>,
}

/// What is kept of each recording by itself: a page shows far fewer flows.
const MOST_ALONE: usize = 1000;

/// What a recording says of its flows by itself, of those that lost most.
fn alone(flows: &[FlowReport]) -> HashMap<FlowId, Alone> {
    let mut slowest: Vec<&FlowReport> = flows.iter().collect();
    slowest.sort_by_key(|flow| flow.rank());
    slowest.truncate(MOST_ALONE);
    let alone = |flow: &FlowReport| Alone {
        verdict: words::verdict(flow),
        vantage: words::vantage(flow),
        findings: flow.main().findings.clone(),
    };
    slowest.into_iter().map(|flow| (flow.id, alone(flow))).collect()
}

/// Joins two recordings. Whichever is given first, the result is the same, except for the place of the half. If one has
/// no TCP, the result is the other.
///
/// # Errors
///
/// If they are not of the same transfer.
pub fn join(halves: [Half; 2]) -> Result<Joined, PairingError> {
    let has_tcp = halves.each_ref().map(|half| half.input.flows() > 0);
    if has_tcp[0] != has_tcp[1] {
        let reported = usize::from(has_tcp[1]);
        let half = halves.into_iter().nth(reported).expect("one of two");
        return Ok(Joined { reported, recordings: vec![half.recording], flows: half.flows, paired: None });
    }
    let mut order = [0, 1];
    // Times are given by the clock of the first.
    if has_tcp == [true; 2] {
        let place = |half: &Half| (half.input.epoch_ns(), half.input.flows());
        order.sort_by_key(|which| place(&halves[*which]));
    }
    let [mut one, mut two] = halves;
    if order == [1, 0] {
        std::mem::swap(&mut one, &mut two);
    }
    let [epoch_one, epoch_two] = [&one, &two].map(|half| half.input.epoch_ns().unwrap_or(0));
    let pairing = pair(&one.collector.finish(epoch_one), &two.collector.finish(epoch_two))?;
    let alone = [alone(&one.flows), alone(&two.flows)];
    let (base, flows) = verdict::merge_all(&pairing, [one.flows, two.flows]);
    let recordings = vec![one.recording, two.recording];
    Ok(Joined { reported: order[base], recordings, flows, paired: Some(Paired { base, pairing, alone }) })
}
