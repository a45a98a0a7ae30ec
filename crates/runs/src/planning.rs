//! The advice of a capture, to be planned for one of its hosts, and what the plan is predicted to give.

mod predict;

pub use predict::{NotPredicted, Told, foretell};

use crate::Error;
use crate::file;
use crate::input::{self, Input, Progress, Stamps};
use crate::what_if::{Span, seen};
use slowpath_analyses::Analysis;
use slowpath_analyses::report::FlowReport;
use slowpath_model::FlowId;
use slowpath_tune::plan::{Advised, BadFindings, MOST_FINDINGS_BYTES, findings};
use slowpath_whatif::{Refusal, Seen, Traces};
use std::path::Path;

/// The flows of a capture that are planned for: those that lost most.
const MOST_FLOWS: usize = 1000;

/// Why a file gives no advice.
#[derive(Debug, thiserror::Error)]
pub enum NoAdvice {
    /// It cannot be read.
    #[error(transparent)]
    Run(#[from] Error),
    /// It is JSON, and no diagnosis.
    #[error(transparent)]
    Findings(#[from] BadFindings),
}

/// The advice of a diagnosis.
pub struct Diagnosed {
    /// Of each flow.
    pub flows: Vec<Advised>,
    /// The capture; `None` for a diagnosis that was printed before.
    pub read: Option<(Input, Stamps)>,
    /// What its flows can be simulated from; `None` for a diagnosis that was printed before.
    packets: Option<Packets>,
}

/// Flows as they are simulated.
struct Packets {
    /// Those that are planned for, in the order of their advice.
    reports: Vec<FlowReport>,
    traces: Traces,
    /// All flows.
    spans: Vec<Span>,
}

/// A transfer that may be simulated.
struct Transfer {
    seen: Result<Seen, Refusal>,
    /// How many flows share its path.
    shared: u64,
}

impl Packets {
    fn transfer(&mut self, place: usize) -> Transfer {
        let report = &self.reports[place];
        let shared = Span::of(report).shared_by(self.spans.iter().copied());
        Transfer { seen: seen(report, &mut self.traces), shared }
    }
}

/// The advice of a diagnosis that was printed before, or is made now.
///
/// With `is_predicted`, the flows of a capture are kept as [`foretell`] needs them.
///
/// # Errors
/// If it is neither a diagnosis nor a capture.
pub fn advised(
    path: &Path,
    is_predicted: bool,
    progress: &dyn Fn() -> Progress,
) -> Result<Diagnosed, NoAdvice> {
    if let Some(text) = file::json(path, MOST_FINDINGS_BYTES)? {
        let flows = findings(&path.display().to_string(), &text)?;
        return Ok(Diagnosed { flows, read: None, packets: None });
    }
    let options = input::options(None, path);
    // No flow has the number 0.
    let traced = || Traces::new((!is_predicted).then_some(FlowId(0)));
    let fresh = || Analysis::with_labels(options, traced());
    let (read, stamps, analysis) = input::analyse(path, None, progress, fresh)?;
    let (mut flows, mut spans) = (Vec::new(), Vec::new());
    let (_, traces) = analysis.finish_each(|flow| {
        spans.push(Span::of(&flow));
        flows.push(flow);
        if flows.len() >= 2 * MOST_FLOWS {
            keep_worst(&mut flows);
        }
    });
    keep_worst(&mut flows);
    flows.iter_mut().for_each(FlowReport::explain);
    Ok(Diagnosed {
        flows: flows.iter().map(Advised::of).collect(),
        read: Some((read, stamps)),
        packets: Some(Packets { reports: flows, traces, spans }),
    })
}

fn keep_worst(flows: &mut Vec<FlowReport>) {
    flows.sort_by_key(FlowReport::rank);
    flows.truncate(MOST_FLOWS);
}
