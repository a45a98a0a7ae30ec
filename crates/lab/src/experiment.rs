//! What the lab runs: hosts, a path and a workload. What is expected of it is a [`LabelledCase`]'s.

use crate::case::{Expectation, LabelledCase, Settings};
use crate::load::Load;
use crate::path::PathConfig;
use crate::recording::Recording;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};

/// What is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// The hosts.
    pub settings: Settings,
    /// The path from sender to receiver.
    pub forward: PathConfig,
    /// The path back.
    pub backward: PathConfig,
    /// Seeds of the paths' random numbers, forward and backward; `None` for those of a labelled case's id.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seeds: Option<[u64; 2]>,
    /// A transfer of this many bytes before the observed one, not captured, to fill the metrics cache.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub warm_up_bytes: Option<u64>,
    /// What runs.
    pub workload: Workload,
    /// What else wants the hosts' CPUs.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub loads: Vec<Load>,
    /// Streams are closed as they are after this long.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cut_after_ns: Option<u64>,
    /// What is kept of the captures.
    #[serde(skip_serializing_if = "Recording::is_as_captured", default)]
    pub recording: Recording,
}

/// What a run is made from: a labelled case, or an experiment of which nothing is expected, such as a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "there is one of it a run")]
pub enum RunInput {
    /// With a label and checks.
    Labelled(LabelledCase),
    /// Without.
    Unlabelled(Experiment),
}

impl RunInput {
    /// What is run.
    pub const fn experiment(&self) -> &Experiment {
        match self {
            Self::Labelled(case) => &case.experiment,
            Self::Unlabelled(experiment) => experiment,
        }
    }

    /// What is expected of it, if anything is.
    pub const fn expectation(&self) -> Option<&Expectation> {
        match self {
            Self::Labelled(case) => Some(&case.expectation),
            Self::Unlabelled(_) => None,
        }
    }

    /// The seeds of the paths' random numbers, forward and backward.
    pub fn seeds(&self) -> [u64; 2] {
        let of_label = || match self {
            Self::Labelled(case) => case.seeds(),
            Self::Unlabelled(_) => [0, 1],
        };
        self.experiment().seeds.unwrap_or_else(of_label)
    }
}
