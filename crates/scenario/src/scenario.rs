//! A run: its hosts, paths and flows, with every value set.

use crate::flow::Flow;
use crate::host::Host;
use crate::id::{HostId, PathId};
use crate::path::Path;
use crate::record::Record;
use crate::sweep::Sweep;
use slowpath_model::shown;
use slowpath_path::chance::Draws;
use std::borrow::Cow;
use std::time::Duration;

/// A checked scenario: every value is set, and every [`HostId`] and [`PathId`] is valid.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its subject, in one line.
    pub title: String,
    /// How long it runs, in simulated time; it ends earlier if all of its flows do.
    pub duration: Duration,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The hosts; at least two.
    pub hosts: Vec<Host>,
    /// The paths, each between two of the hosts; no two have the same ends.
    pub paths: Vec<Path>,
    /// The flows; at least one.
    pub flows: Vec<Flow>,
    /// What is recorded.
    pub record: Record,
    /// What a sweep of it varies.
    pub sweep: Sweep,
}

impl Scenario {
    /// The random numbers: first the seed of each direction of each path, in order, then one for each host.
    pub fn draws(&self) -> Draws {
        Draws::new(self.seed)
    }

    /// Its title on one line, as views show it; `A run` if it has none.
    pub fn heading(&self) -> Cow<'_, str> {
        if self.title.is_empty() { Cow::Borrowed("A run") } else { shown::line(&self.title) }
    }

    /// The host whose view is analysed: the sender of the first TCP flow, or of the datagrams if there is none.
    pub fn vantage(&self) -> HostId {
        self.flows.iter().find(|flow| flow.is_tcp()).unwrap_or(&self.flows[0]).sender_host()
    }

    /// Whether it has TCP flows.
    pub fn has_tcp(&self) -> bool {
        self.flows.iter().any(Flow::is_tcp)
    }

    /// The flow of each stream, numbered over all flows in order.
    pub fn flow_of_streams(&self) -> Vec<usize> {
        let of = |(index, flow): (usize, &Flow)| std::iter::repeat_n(index, flow.streams as usize);
        self.flows.iter().enumerate().flat_map(of).collect()
    }

    /// The host with this id.
    ///
    /// # Panics
    ///
    /// If the id is not of this scenario.
    pub fn host(&self, id: HostId) -> &Host {
        &self.hosts[id.0]
    }

    /// The path with this id.
    ///
    /// # Panics
    ///
    /// If the id is not of this scenario.
    pub fn path(&self, id: PathId) -> &Path {
        &self.paths[id.0]
    }
}
