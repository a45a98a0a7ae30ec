//! What the user says of a recording, and what to make of it.

use slowpath_model::{End, Vantage};

/// What to analyse, and how.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisOptions {
    /// Where the tap was; inferred per flow where not given.
    pub vantage: Option<VantageOverride>,
    /// Flows kept for the report; what comes after is counted only.
    pub most_flows: usize,
}

impl Default for AnalysisOptions {
    fn default() -> Self {
        Self { vantage: None, most_flows: 200_000 }
    }
}

/// Where the user says the tap was, in terms of the transfer rather than of A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VantageOverride {
    /// On the host that sends most of the data.
    Sender,
    /// On the host that receives most of the data.
    Receiver,
    /// Somewhere on the way.
    Between,
}

impl VantageOverride {
    /// For a flow whose data comes from `sender`.
    pub(crate) fn resolve(self, sender: End) -> Vantage {
        match self {
            Self::Sender => Vantage::At(sender),
            Self::Receiver => Vantage::At(!sender),
            Self::Between => Vantage::Between,
        }
    }
}
