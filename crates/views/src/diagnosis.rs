//! What every view is given.

use crate::rank::Ranking;
use slowpath_analyses::pairing::Pairing;
use slowpath_analyses::report::{Finding, FlowReport};
use slowpath_model::Instant;
use slowpath_remedies::Advice;

/// The result of one run: what was read, what was found, and who knows what to do about it.
pub struct Diagnosis<'a> {
    /// What was read, one per file.
    pub recordings: Vec<Recording>,
    /// The flows, the slowest first.
    pub ranking: Ranking,
    /// Flows that were seen and of which no report was kept, for want of memory.
    pub flows_not_kept: u64,
    /// What two recordings of the same transfer show together; `None` where one was given.
    pub paired: Option<Paired>,
    /// Knows what would give the time of a finding back.
    pub advise: &'a Advise,
}

impl Diagnosis<'_> {
    /// The recording that the flows' reports are of.
    pub fn reported(&self) -> Option<&Recording> {
        self.recordings.get(self.paired.as_ref().map_or(0, |paired| paired.base))
    }
}

/// Who knows what would help: `slowpath_remedies::advise`, but for tests.
pub type Advise = dyn Fn(&Finding, &FlowReport) -> Vec<Advice>;

/// Two recordings, compared.
#[derive(Debug)]
pub struct Paired {
    /// The recording that the flows' reports are of: 0 or 1.
    pub base: usize,
    /// What the comparison shows.
    pub pairing: Pairing,
}

/// What was read from one file or stream.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Its name as given; `-` for standard input.
    pub name: String,
    /// Whether it was thrown away once it was read, so that its name leads nowhere.
    pub gone: bool,
    /// Its format, for people: `pcapng, zstd`.
    pub format: String,
    /// Frames read.
    pub frames: u64,
    /// TCP segments among them.
    pub segments: u64,
    /// When its first and last frame were stamped; `None` for a recording without frames.
    pub span: Option<(Instant, Instant)>,
    /// What was not used, and how often.
    pub skipped: Vec<Skipped>,
    /// What is wrong with the recording itself, so that the results are of a part of it only.
    pub damage: Option<String>,
    /// The source's own account, as it serialises it.
    pub account: serde_json::Value,
}

/// Something in a recording that was not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub count: u64,
    /// Of what: `frame`.
    pub unit: &'static str,
    /// Why: `IP, but not TCP`.
    pub what: String,
    /// Whether the results may be wrong or partial because of it, so that the exit code says so.
    pub matters: bool,
}
