//! The control groups of the processes that are watched.

use crate::cgroup::Cgroup;
use crate::reports;
use slowpath_live::Process;
use slowpath_model::End;
use slowpath_runs::watch::Seen;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::rc::Rc;

/// The end whose process counts: the one on this host; if both are, the one at a port on which this host listens,
/// otherwise the server's by its port, or the one whose process is known.
pub fn own_end(seen: &Seen<'_>, listening: &HashSet<u16>) -> End {
    let listens = |end| listening.contains(&seen.account.key.endpoint(end).port);
    let server = || match (listens(End::A), listens(End::B)) {
        (true, false) => End::A,
        (false, true) => End::B,
        _ if seen.processes[End::B.index()].is_none() && seen.processes[End::A.index()].is_some() => End::A,
        _ => End::B,
    };
    reports::near(seen.account).unwrap_or_else(server)
}

/// The control groups of processes, read once for each.
#[derive(Default)]
pub struct Cgroups(HashMap<u32, Option<Rc<Cgroup>>>);

impl Cgroups {
    /// Finds those of the processes seen, and forgets the others.
    pub fn seek<'a>(&mut self, seen: impl Iterator<Item = Seen<'a>>, listening: &HashSet<u16>) {
        let mut before = std::mem::take(&mut self.0);
        for seen in seen {
            let Some(process) = seen.processes[own_end(&seen, listening).index()] else { continue };
            let pid = process.pid;
            let read = || {
                let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
                Cgroup::read(&text).map(Rc::new)
            };
            self.0.entry(pid).or_insert_with(|| before.remove(&pid).unwrap_or_else(read));
        }
    }

    /// That of a process.
    pub fn of(&self, process: Option<&Process>) -> Option<&Rc<Cgroup>> {
        self.0.get(&process?.pid)?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_analyses::hosts::Hosts;
    use slowpath_model::{Endpoint, FlowId, FlowKey, Sink};

    /// The lower port is the server's, unless this host listens on the other one.
    #[test]
    fn the_server_counts_for_a_connection_within_this_host() {
        let mut hosts = Hosts::default();
        let end = |port| Endpoint { address: [127, 0, 0, 1].into(), port };
        hosts.open(FlowId(1), &FlowKey { a: end(45_000), b: end(40_000), occurrence: 0 });
        for line in ["1 A wrote 5000", "1 B read 5000"] {
            hosts.accept(FlowId(1), &line.parse().unwrap_or_else(|error| panic!("{line}: {error}")));
        }
        let account = hosts.flow(FlowId(1)).expect("it is known");
        let process = Process { pid: 1, name: "one".to_owned() };
        let own = |processes, ports: &[u16]| {
            own_end(&Seen { account, processes, pending: None }, &ports.iter().copied().collect())
        };
        let both = [Some(&process); 2];
        assert_eq!((own(both, &[45_000]), own(both, &[40_000]), own(both, &[])), (End::A, End::B, End::B));
        assert_eq!((own([Some(&process), None], &[]), own([None; 2], &[])), (End::A, End::B));
    }
}
