//! An experiment of the lab: hosts, a path and a workload. Expectations are part of a [case](crate::case).

use crate::flush::Flush;
use crate::load::Load;
use crate::path::PathConfig;
use crate::recording::Recording;
use crate::settings::Settings;
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
    /// Background load on the hosts' CPUs.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub loads: Vec<Load>,
    /// When the hosts' parameter caches are flushed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub flushes: Vec<Flush>,
    /// Streams are closed, finished or not, after this long.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cut_after_ns: Option<u64>,
    /// The stored form of the captures.
    #[serde(skip_serializing_if = "Recording::is_as_captured", default)]
    pub recording: Recording,
}
