//! Where the tap was: from the times each end took to answer what passed it.

use crate::cause::Confidence;
use crate::flow::Flow;
use crate::report::VantageReport;
use slowpath_model::{End, Vantage};
use std::time::Duration;

/// Where `flow` was watched, or what the user says of it.
pub fn infer(flow: &Flow, given: Option<Vantage>) -> VantageReport {
    let [a, b] = &flow.ends;
    let far = [a.distance.min(), b.distance.min()];
    let duration = |nanos: Option<i64>| nanos.map(|nanos| Duration::from_nanos(nanos.unsigned_abs()));
    let (vantage, confidence, evidence) = match given {
        Some(vantage) => (vantage, Confidence::High, "given on the command line".to_owned()),
        None => judge(flow, far),
    };
    VantageReport { vantage, confidence, to_a: duration(far[0]), to_b: duration(far[1]), evidence }
}

fn judge(flow: &Flow, far: [Option<i64>; 2]) -> (Vantage, Confidence, String) {
    // Offload makes segments longer than the MSS, and only on the host whose stack or NIC makes them.
    let supers = flow.ends.iter().map(|end| end.super_packets).collect::<Vec<_>>();
    let [Some(a), Some(b)] = far else {
        return match far {
            [Some(near), None] | [None, Some(near)] if near < 300_000 && flow.mss().is_some() => {
                let end = if far[0].is_some() { End::A } else { End::B };
                let text =
                    format!("{end} answered within {} µs; the other end's answers do not show", near / 1000);
                (Vantage::At(end), Confidence::Low, text)
            }
            _ => (
                Vantage::Unknown,
                Confidence::Low,
                "too few answers to measure either end's distance".to_owned(),
            ),
        };
    };
    let text = format!("A answered within {}, B within {}", millis(a), millis(b));
    let (near, (short, long)) = if a <= b { (End::A, (a, b)) } else { (End::B, (b, a)) };
    // A host answers its own tap within its scheduling latency, whatever the path adds on the other side.
    if short * 5 < long && (short < 2_000_000 || short * 50 < long) {
        let sure = if short * 20 < long { Confidence::High } else { Confidence::Medium };
        return (Vantage::At(near), sure, text);
    }
    if long < 1_000_000 {
        if let Some(end) = End::BOTH.into_iter().find(|end| supers[end.index()] > 0) {
            let text = format!("{text}; {end}'s segments longer than the MSS show its offload");
            return (Vantage::At(end), Confidence::Low, text);
        }
        let text = format!("{text}: too near each other to tell");
        return (Vantage::Unknown, Confidence::Low, text);
    }
    let sure = if short * 3 > long { Confidence::High } else { Confidence::Medium };
    (Vantage::Between, sure, text)
}

fn millis(nanos: i64) -> String {
    format!("{:.3} ms", nanos as f64 / 1e6)
}
