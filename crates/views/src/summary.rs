//! Many flows on a screen: the flows of one or more recordings, or of this host, summed up by service.

use crate::rank::Selection;
use crate::recording::Recording;
use crate::services::{By, Listed, Member, Services};
use slowpath_analyses::Analysis;
use slowpath_analyses::hosts::Account;
use slowpath_model::{End, Instant};
use slowpath_runs::watch::Watched;
use std::collections::BTreeSet;
use std::time::Duration;

/// Collects flows, of which no more is kept than sums.
#[derive(Debug)]
pub struct Summary {
    /// What was read, one per file; empty for this host's connections.
    pub recordings: Vec<Recording>,
    /// How long this host's connections were watched; `None` for recordings.
    pub watched: Option<Duration>,
    /// The number of flows.
    pub flows: u64,
    /// Those that the selection left out.
    pub left_out: u64,
    /// Those that were not kept, to save memory.
    pub not_kept: u64,
    /// Which flows are summed up.
    pub selection: Selection,
    services: Services,
}

impl Summary {
    /// A summary of no flows yet.
    pub fn new(selection: Selection) -> Self {
        let services = Services::new(selection.by);
        Self {
            recordings: Vec::new(),
            watched: None,
            flows: 0,
            left_out: 0,
            not_kept: 0,
            selection,
            services,
        }
    }

    /// Adds the flows of a recording. Where it and the first one have wall-clock times, its instants are those of the
    /// first.
    pub fn add(&mut self, recording: Recording, analysis: Analysis) {
        let file = self.recordings.len();
        let first = self.recordings.first().and_then(|first| first.epoch_ns);
        let shift_ns = recording.epoch_ns.zip(first).map_or(0, |(own, first)| own.saturating_sub(first));
        let (not_kept, ()) = analysis.finish_each(|flow| {
            self.flows += 1;
            if self.selection.takes(&flow) {
                self.services.add(&Member::of(&flow, file, shift_ns));
            } else {
                self.left_out += 1;
            }
        });
        self.not_kept += not_kept.flows;
        self.recordings.push(recording);
    }

    /// The connections of this host.
    pub fn of_watched(watched: &Watched, selection: Selection) -> Self {
        let services = of_host(watched, selection.by);
        let flows = watched.accounts.len() as u64;
        let (watched, not_kept) = (Some(watched.lasted), watched.not_kept);
        Self { recordings: Vec::new(), watched, flows, left_out: 0, not_kept, selection, services }
    }

    /// The services, those that lost most time first.
    pub fn listed(&self) -> Listed {
        self.services.listed()
    }

    /// The names of the files, without their folders if these names differ.
    pub fn files(&self) -> Vec<&str> {
        let names: Vec<&str> = self.recordings.iter().map(|recording| recording.name.as_str()).collect();
        let short: BTreeSet<&str> = names.iter().map(|name| without_folder(name)).collect();
        if short.len() < names.len() { names } else { names.into_iter().map(without_folder).collect() }
    }
}

fn without_folder(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// The services of this host's connections.
pub(crate) fn of_host(watched: &Watched, by: By) -> Services {
    let mut services = Services::new(by);
    watched.accounts.iter().for_each(|account| services.add(&member(watched, account)));
    services
}

fn member<'a>(watched: &'a Watched, account: &'a Account) -> Member<'a> {
    let near = match &account.ends {
        [Some(_), None] => Some(End::A),
        [None, Some(_)] => Some(End::B),
        _ => None,
    };
    // Of a connection within this host, the server's.
    let process = [End::B, End::A].into_iter().find_map(|end| watched.processes.get(&(account.id, end)));
    let [first, last] = account.told.unwrap_or([Instant::START; 2]);
    let bounds = account.bounds();
    Member {
        file: 0,
        id: account.id,
        key: &account.key,
        near,
        process: process.map(|process| process.name.as_str()),
        bytes: account.carried(),
        first,
        last,
        main_cause: bounds.first().map(|bound| bound.cause),
        causes: bounds.into_iter().map(|bound| (bound.cause, bound.lasted)).collect(),
    }
}
