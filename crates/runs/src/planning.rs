//! The advice of a capture, to be planned for one of its hosts.

use crate::Error;
use crate::file;
use crate::input::{self, Input, Progress, Stamps};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, AnalysisOptions};
use slowpath_tune::plan::{Advised, BadFindings, MOST_FINDINGS_BYTES, findings};
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
}

/// The advice of a diagnosis that was printed before, or is made now.
///
/// # Errors
/// If it is neither a diagnosis nor a capture.
pub fn advised(path: &Path, progress: &dyn Fn() -> Progress) -> Result<Diagnosed, NoAdvice> {
    if let Some(text) = file::json(path, MOST_FINDINGS_BYTES)? {
        let flows = findings(&path.display().to_string(), &text)?;
        return Ok(Diagnosed { flows, read: None });
    }
    let options = AnalysisOptions { vantage: input::vantage(path), ..AnalysisOptions::default() };
    let (read, stamps, analysis) = input::analyse(path, None, progress, || Analysis::new(options))?;
    let mut flows = Vec::new();
    analysis.finish_each(|flow| {
        flows.push(flow);
        if flows.len() >= 2 * MOST_FLOWS {
            keep_worst(&mut flows);
        }
    });
    keep_worst(&mut flows);
    flows.iter_mut().for_each(FlowReport::explain);
    Ok(Diagnosed { flows: flows.iter().map(Advised::of).collect(), read: Some((read, stamps)) })
}

fn keep_worst(flows: &mut Vec<FlowReport>) {
    flows.sort_by_key(FlowReport::rank);
    flows.truncate(MOST_FLOWS);
}
