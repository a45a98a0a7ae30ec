//! The control groups of the processes that are watched.

use crate::cgroup::Cgroup;
use crate::reports;
use slowpath_live::Process;
use slowpath_model::End;
use slowpath_runs::watch::Seen;
use std::collections::HashMap;
use std::fs;
use std::rc::Rc;

/// The end whose process counts: the one on this host; if both are, the server's, or the one whose process is known.
pub fn own_end(seen: &Seen<'_>) -> End {
    reports::near(seen.account).unwrap_or(match seen.processes {
        [Some(_), None] => End::A,
        _ => End::B,
    })
}

/// The control groups of processes, read once for each.
#[derive(Default)]
pub struct Cgroups(HashMap<u32, Option<Rc<Cgroup>>>);

impl Cgroups {
    /// Finds those of the processes seen, and forgets the others.
    pub fn seek<'a>(&mut self, seen: impl Iterator<Item = Seen<'a>>) {
        let mut before = std::mem::take(&mut self.0);
        for seen in seen {
            let Some(process) = seen.processes[own_end(&seen).index()] else { continue };
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
