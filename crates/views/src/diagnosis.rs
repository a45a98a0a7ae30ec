//! What every view is given.

use crate::rank::Ranking;
use crate::recording::Recording;
use slowpath_analyses::pairing::Pairing;
use slowpath_analyses::report::{Finding, FlowReport};
use slowpath_remedies::Advice;

/// The result of one run: what was read, what was found, and who knows what to do about it.
pub struct Diagnosis<'a> {
    /// What was read, one per file.
    pub recordings: Vec<Recording>,
    /// The flows, the slowest first.
    pub ranking: Ranking,
    /// Flows that were seen, but not kept, to save memory.
    pub flows_not_kept: u64,
    /// What two recordings of the same transfer show together; `None` where one was given.
    pub paired: Option<Paired>,
    /// Gives the advice for a finding.
    pub advise: &'a Advise,
}

impl Diagnosis<'_> {
    /// The recording that the flows' reports are of.
    pub fn reported(&self) -> Option<&Recording> {
        self.recordings.get(self.paired.as_ref().map_or(0, |paired| paired.base))
    }
}

/// The source of advice: `slowpath_remedies::advise`, but for tests.
pub type Advise = dyn Fn(&Finding, &FlowReport) -> Vec<Advice>;

/// Two recordings, compared.
#[derive(Debug)]
pub struct Paired {
    /// The recording that the flows' reports are of: 0 or 1.
    pub base: usize,
    /// What the comparison shows.
    pub pairing: Pairing,
}
