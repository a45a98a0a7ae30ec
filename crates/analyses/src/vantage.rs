//! Where the tap was: from the times each end took to answer what passed it.

use crate::cause::Confidence;
use crate::flow::FlowState;
use crate::report::{VantageEvidence, VantageReport};
use crate::rtt::is_far_nearer;
use slowpath_model::{End, Vantage};
use std::time::Duration;

/// Where `flow` was watched, or what the user says of it.
pub fn infer(flow: &FlowState, given: Option<Vantage>) -> VantageReport {
    let [a, b] = &flow.ends;
    let far = [a.distance.min(), b.distance.min()];
    let duration = |nanos: Option<i64>| nanos.map(|nanos| Duration::from_nanos(nanos.unsigned_abs()));
    let (vantage, confidence, evidence) = match given {
        Some(vantage) => (vantage, Confidence::High, VantageEvidence::Given),
        None => judge(flow, far),
    };
    VantageReport { vantage, confidence, to_a: duration(far[0]), to_b: duration(far[1]), evidence }
}

fn judge(flow: &FlowState, far: [Option<i64>; 2]) -> (Vantage, Confidence, VantageEvidence) {
    // Offload makes segments longer than the MSS, and only on the host whose stack or NIC makes them.
    let supers = flow.ends.iter().map(|end| end.super_packets).collect::<Vec<_>>();
    let time = |nanos: i64| Duration::from_nanos(nanos.unsigned_abs());
    let [Some(a), Some(b)] = far else {
        return match far {
            [Some(near), None] | [None, Some(near)] if near < 300_000 && flow.ends[0].mss.is_some() => {
                let end = if far[0].is_some() { End::A } else { End::B };
                let evidence = VantageEvidence::OneEndAnswered { end, within: time(near) };
                (Vantage::At(end), Confidence::Low, evidence)
            }
            _ => (Vantage::Unknown, Confidence::Low, VantageEvidence::TooFewAnswers),
        };
    };
    let (near, (short, long)) = if a <= b { (End::A, (a, b)) } else { (End::B, (b, a)) };
    let (a, b) = (time(a), time(b));
    let distances = VantageEvidence::Distances { a, b };
    if is_far_nearer(short, long) && (short < 2_000_000 || short * 50 < long) {
        let sure = if short * 20 < long { Confidence::High } else { Confidence::Medium };
        return (Vantage::At(near), sure, distances);
    }
    if long < 1_000_000 {
        if let Some(end) = End::BOTH.into_iter().find(|end| supers[end.index()] > 0) {
            return (Vantage::At(end), Confidence::Low, VantageEvidence::Offload { a, b, end });
        }
        return (Vantage::Unknown, Confidence::Low, VantageEvidence::TooNear { a, b });
    }
    let sure = if short * 3 > long { Confidence::High } else { Confidence::Medium };
    (Vantage::Between, sure, distances)
}
