//! The kernel's own account of a run in the lab: what it tells of the sockets in the lab's namespaces.

use slowpath_analyses::hosts::{Account, Hosts};
use slowpath_analyses::waits::Waits;
use slowpath_lab::namespaces;
use slowpath_lab::truth::Connection;
use slowpath_live::{Filter, Live, LiveError};
use slowpath_model::{End, FlowId};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often the kernel is asked.
const EVERY: Duration = Duration::from_millis(100);

/// At work on a thread of its own.
pub struct Probe {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Vec<Account>, LiveError>>,
}

impl Probe {
    /// Begins to watch; why it cannot, otherwise.
    pub fn start() -> Result<Self, LiveError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::channel();
        let until = Arc::clone(&stop);
        let thread = thread::spawn(move || match Live::start(Filter::default()) {
            Ok(live) => {
                let _ = tell.send(());
                watch(live, &until)
            }
            Err(error) => Err(error),
        });
        let probe = Self { stop, thread };
        // A thread that could not begin has hung up.
        if told.recv().is_err() {
            Err(probe.finish().err().unwrap_or(LiveError::BadProbe))
        } else {
            Ok(probe)
        }
    }

    /// What it saw of the lab's connections.
    pub fn finish(self) -> Result<Vec<Account>, LiveError> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or(Err(LiveError::BadProbe))
    }
}

fn watch(mut live: Live, stop: &AtomicBool) -> Result<Vec<Account>, LiveError> {
    let mut hosts = Hosts::default();
    let mut ours: HashSet<FlowId> = HashSet::new();
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(EVERY);
        live.tell(&mut hosts)?;
        let numbers = namespaces::numbers();
        let is_ours = |netns: u32| numbers.contains(&netns.into());
        ours.extend(live.owners().filter(|(.., owner)| is_ours(owner.netns)).map(|(flow, ..)| flow));
    }
    live.finish(&mut hosts)?;
    let (mut accounts, _) = hosts.finish();
    accounts.retain(|account| ours.contains(&account.id));
    Ok(accounts)
}

/// What waited at the ends of one connection: the sender's host first.
pub fn waits<'a>(accounts: &'a [Account], connection: &Connection) -> [Option<&'a Waits>; 2] {
    let (local, remote) = (connection.sender.local, connection.sender.remote);
    let ends = [local, remote];
    let is_it = |account: &&Account| {
        let keys = End::BOTH.map(|end| account.key.endpoint(end));
        ends.iter().all(|end| keys.iter().any(|key| (key.address, key.port) == (end.ip(), end.port())))
    };
    let Some(account) = accounts.iter().find(is_it) else { return [None, None] };
    ends.map(|at| {
        let end = End::BOTH.into_iter().find(|end| account.key.endpoint(*end).port == at.port())?;
        account.ends[end.index()].as_deref().map(|own| &own.waits)
    })
}
