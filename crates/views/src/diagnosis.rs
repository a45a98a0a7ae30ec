//! The input of every view.

use crate::rank::Ranking;
use crate::recording::Recording;
use slowpath_analyses::pairing::Pairing;
use slowpath_analyses::report::{Finding, FlowReport};
use slowpath_remedies::Advice;

/// The result of a diagnosis: the recordings, the flows, and the source of advice.
pub struct Diagnosis<'a> {
    /// The recordings, one per file.
    pub recordings: Vec<Recording>,
    /// The flows, those that lost most time first.
    pub ranking: Ranking,
    /// Flows that were not kept, to save memory.
    pub flows_not_kept: u64,
    /// The comparison of two recordings of the same transfer; `None` for a single recording.
    pub paired: Option<Paired>,
    /// Returns the advice for a finding.
    pub advise: &'a Advise,
}

impl Diagnosis<'_> {
    /// The recording to which the flows' reports refer.
    pub fn reported(&self) -> Option<&Recording> {
        self.recordings.get(self.paired.as_ref().map_or(0, |paired| paired.base))
    }
}

/// The source of advice: `slowpath_remedies::advise`, except in tests.
pub type Advise = dyn Fn(&Finding, &FlowReport) -> Vec<Advice>;

/// A comparison of two recordings.
#[derive(Debug)]
pub struct Paired {
    /// The recording to which the flows' reports refer: 0 or 1.
    pub base: usize,
    /// The result of the comparison.
    pub pairing: Pairing,
}
