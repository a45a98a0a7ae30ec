//! A run: its hosts, paths and flows, everything filled in.

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

/// A checked scenario: nothing in it is left to decide, and every [`HostId`] and [`PathId`] in it leads somewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What it is about, in one line.
    pub title: String,
    /// How long it runs, in simulated time; it ends earlier if all of its flows do.
    pub duration: Duration,
    /// What all chance in it is drawn from.
    pub seed: u64,
    /// The hosts; at least two.
    pub hosts: Vec<Host>,
    /// The paths, each between two of the hosts; no two join the same two.
    pub paths: Vec<Path>,
    /// The flows; at least one.
    pub flows: Vec<Flow>,
    /// What is written down.
    pub record: Record,
    /// What a sweep of it varies.
    pub sweep: Sweep,
}

impl Scenario {
    /// What all chance in it is drawn from: first the seed of each direction of each path, in order, then one for each
    /// host.
    pub fn draws(&self) -> Draws {
        Draws::new(self.seed)
    }

    /// Its title on one line, as views show it; `A run` if it has none.
    pub fn heading(&self) -> Cow<'_, str> {
        if self.title.is_empty() { Cow::Borrowed("A run") } else { shown::line(&self.title) }
    }

    /// The host from which a run is looked at: the one that sends the data of the first flow of TCP, or the datagrams where there is
    /// none.
    pub fn vantage(&self) -> HostId {
        self.flows.iter().find(|flow| flow.is_tcp()).unwrap_or(&self.flows[0]).sender_host()
    }

    /// Whether there is TCP in it.
    pub fn has_tcp(&self) -> bool {
        self.flows.iter().any(Flow::is_tcp)
    }

    /// The flow of each stream, counted over all flows in order.
    pub fn flow_of_streams(&self) -> Vec<usize> {
        let of = |(index, flow): (usize, &Flow)| std::iter::repeat_n(index, flow.streams as usize);
        self.flows.iter().enumerate().flat_map(of).collect()
    }

    /// The host of that place.
    ///
    /// # Panics
    ///
    /// If the place is not one of this scenario's.
    pub fn host(&self, id: HostId) -> &Host {
        &self.hosts[id.0]
    }

    /// The path of that place.
    ///
    /// # Panics
    ///
    /// If the place is not one of this scenario's.
    pub fn path(&self, id: PathId) -> &Path {
        &self.paths[id.0]
    }
}
