//! The active sessions of a far end, which the connections of a client share.

use super::budget::{Budget, Caps, owner};
use crate::protocol::{Bulk, Token};
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Maximum number of sessions. More would measure each other.
const MOST_SESSIONS: usize = 4;
/// A session without a request, a train or a transfer for this long gives way to a new one, if there are as many as are
/// served.
const IDLE: Duration = Duration::from_secs(1);
/// Addresses whose budgets are remembered. Beyond that, the one nearest to full is forgotten.
const MOST_BUDGETS: usize = 1024;

/// The state of a session's transfer.
enum Transferring {
    No,
    Now,
    Over(Bulk),
}

/// An active session.
struct Entry {
    client: IpAddr,
    token: Token,
    transfer: Transferring,
    /// Until when its last request keeps it busy.
    busy_until: Instant,
}

impl Entry {
    fn idle_since(&self) -> Option<Instant> {
        (!matches!(self.transfer, Transferring::Now)).then_some(self.busy_until)
    }
}

/// Why a client has no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// Its address has one.
    HasOne,
    /// There are as many as are served, and none is idle.
    Full,
}

impl NoRoom {
    /// For the client.
    pub fn why(self) -> &'static str {
        match self {
            Self::HasOne => "this address has a session already",
            Self::Full => "there are as many sessions as are served at once; try again later",
        }
    }
}

/// The state of all sessions.
#[derive(Default)]
struct All {
    entries: Vec<Entry>,
    budgets: Vec<(IpAddr, Budget)>,
}

impl All {
    fn entry(&mut self, token: &Token) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.token == *token)
    }

    /// The budget of an address.
    fn budget(&mut self, client: IpAddr, caps: &Caps) -> &mut Budget {
        let owner = owner(client);
        let at = self.budgets.iter().position(|(of, _)| *of == owner).unwrap_or_else(|| {
            let now = Instant::now();
            if self.budgets.len() >= MOST_BUDGETS {
                self.budgets.retain_mut(|(_, budget)| budget.spent_permille(now) > 0);
            }
            if self.budgets.len() >= MOST_BUDGETS {
                let spent = self.budgets.iter_mut().map(|(_, budget)| budget.spent_permille(now));
                let fullest = spent.enumerate().min_by_key(|(_, spent)| *spent).map_or(0, |(at, _)| at);
                self.budgets.swap_remove(fullest);
            }
            self.budgets.push((owner, Budget::full(caps, now)));
            self.budgets.len() - 1
        });
        &mut self.budgets[at].1
    }
}

/// The active sessions, and the budgets of the addresses.
pub struct Sessions {
    caps: Caps,
    all: Mutex<All>,
}

/// The answer to a session's request for its transfer's result.
pub enum Answer {
    /// There was no transfer.
    None,
    /// It is still in progress.
    NotYet,
    /// Its result.
    Was(Bulk),
}

impl Sessions {
    pub fn new(caps: Caps) -> Self {
        Self { caps, all: Mutex::default() }
    }

    fn with<T>(&self, work: impl FnOnce(&mut All) -> T) -> T {
        // A thread that panicked has left them consistent: no change takes more than one step.
        work(&mut self.all.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Whether this address has a session.
    pub fn has(&self, client: IpAddr) -> bool {
        self.with(|all| all.entries.iter().any(|entry| entry.client == client))
    }

    /// Admits a client, if need be in the place of the session that has been idle for longest.
    pub fn enter(&self, client: IpAddr, token: Token) -> Result<(), NoRoom> {
        let now = Instant::now();
        self.with(|all| {
            if all.entries.iter().any(|entry| entry.client == client) {
                return Err(NoRoom::HasOne);
            }
            if all.entries.len() >= MOST_SESSIONS {
                let idle =
                    all.entries.iter().enumerate().filter_map(|(at, entry)| Some((entry.idle_since()?, at)));
                let (_, at) = idle.min().filter(|(since, _)| *since + IDLE < now).ok_or(NoRoom::Full)?;
                all.entries.swap_remove(at);
            }
            all.entries.push(Entry { client, token, transfer: Transferring::No, busy_until: now });
            Ok(())
        })
    }

    /// The session is busy for this long from now.
    pub fn busy(&self, token: &Token, lasting: Duration) {
        self.with(|all| {
            if let Some(entry) = all.entry(token) {
                entry.busy_until = entry.busy_until.max(Instant::now() + lasting);
            }
        });
    }

    /// Takes UDP bytes from the budget of an address; returns how long until they are there, `None` for never.
    pub fn spend(&self, client: IpAddr, bytes: u64) -> Result<(), Option<Duration>> {
        self.with(|all| all.budget(client, &self.caps).udp.take(bytes, Instant::now()))
    }

    /// How many of these packets may leave now, or how long until one may; `None` for never.
    pub fn pace(&self, client: IpAddr, packets: usize, bytes: u64) -> Result<usize, Option<Duration>> {
        self.with(|all| all.budget(client, &self.caps).pace.take_up_to(packets, bytes, Instant::now()))
    }

    /// Removes a session.
    pub fn leave(&self, token: &Token) {
        self.with(|all| all.entries.retain(|entry| entry.token != *token));
    }

    /// Whether a client has a session with this token.
    pub fn knows(&self, client: IpAddr, token: &Token) -> bool {
        self.with(|all| all.entry(token).is_some_and(|entry| entry.client == client))
    }

    /// Starts a transfer of this length, unless there is one or the address has had as much as it may.
    pub fn begin(&self, client: IpAddr, token: &Token, duration_ns: u64) -> Result<(), String> {
        self.with(|all| {
            let entry = all.entry(token).filter(|entry| entry.client == client);
            let entry = entry.ok_or("there is no such session")?;
            if matches!(entry.transfer, Transferring::Now) {
                return Err("a transfer is under way".to_owned());
            }
            let taken = all.budget(client, &self.caps).transfers.take(duration_ns, Instant::now());
            taken.map_err(|until| spent("time for transfers", until))?;
            if let Some(entry) = all.entry(token) {
                entry.transfer = Transferring::Now;
            }
            Ok(())
        })
    }

    /// Its transfer is over: the result, unless it broke.
    pub fn end(&self, token: &Token, was: Option<Bulk>) {
        self.with(|all| {
            if let Some(entry) = all.entry(token) {
                entry.busy_until = Instant::now();
                entry.transfer = was.map_or(Transferring::No, Transferring::Over);
            }
        });
    }

    /// The fate of the session's transfer.
    pub fn ask(&self, token: &Token) -> Answer {
        self.with(|all| match all.entry(token).map(|entry| &entry.transfer) {
            None | Some(Transferring::No) => Answer::None,
            Some(Transferring::Now) => Answer::NotYet,
            Some(Transferring::Over(bulk)) => Answer::Was(*bulk),
        })
    }
}

/// Why an address gets no more, and what to do.
pub fn spent(what: &str, until: Option<Duration>) -> String {
    match until {
        Some(wait) => format!(
            "this address has used its {what}: try again in {} s, or raise --max-rate or --max-duration there",
            wait.as_secs() + 1
        ),
        None => format!("more {what} than is served: raise --max-rate or --max-duration there"),
    }
}
