//! The sessions that measure, and the budgets of the addresses. Shared by threads.

use super::End;
use super::budget::{Budget, Caps, owner};
use crate::protocol::{Bulk, Token};
use slowpath_model::Instant;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

/// Sessions that may measure at a time. More would measure each other.
pub const MOST_PLACES: usize = 4;
/// A session without a request, a train or a transfer for this long gives way to one that wants a place, if all are
/// taken.
const IDLE: Duration = Duration::from_secs(1);
/// Addresses whose budgets are remembered. Beyond that, the one nearest to full is forgotten.
const MOST_BUDGETS: usize = 1024;
/// Addresses of which it is remembered in which order they had a place.
const MOST_TURNS: usize = 1024;

/// The state of a session's transfer.
enum Transferring {
    No,
    Now,
    Over(Bulk),
}

/// A session with a place.
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

/// Why a client has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlace {
    /// Its address has one.
    HasOne,
    /// All are taken, and none is idle.
    Full,
}

impl From<NoPlace> for End {
    fn from(why: NoPlace) -> Self {
        let text = match why {
            NoPlace::HasOne => {
                "this address has a session already (in IPv6, a /64 network counts as one address)"
            }
            NoPlace::Full => "there are as many sessions as are served at once; try again later",
        };
        Self::Refused(text.to_owned())
    }
}

/// The state of all places.
#[derive(Default)]
struct All {
    entries: Vec<Entry>,
    budgets: Vec<(IpAddr, Budget)>,
    /// Who had a place, the last one at the back.
    turns: VecDeque<IpAddr>,
}

impl All {
    fn entry(&mut self, token: &Token) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.token == *token)
    }

    /// The budget of an address.
    fn budget(&mut self, client: IpAddr, caps: &Caps, now: Instant) -> &mut Budget {
        let owner = owner(client);
        let at = self.budgets.iter().position(|(of, _)| *of == owner).unwrap_or_else(|| {
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

/// The sessions that measure, and the budgets of the addresses.
pub struct Places {
    caps: Caps,
    all: Mutex<All>,
}

/// The answer to a session's request for its transfer's result.
pub enum Transferred {
    /// There was no transfer.
    None,
    /// It is still in progress.
    NotYet,
    /// Its result.
    Was(Bulk),
}

impl Places {
    /// No session has one.
    pub fn new(caps: Caps) -> Self {
        Self { caps, all: Mutex::default() }
    }

    /// The limits of the service.
    pub fn caps(&self) -> Caps {
        self.caps
    }

    fn with<T>(&self, work: impl FnOnce(&mut All) -> T) -> T {
        // A thread that panicked has left them consistent: no change takes more than one step.
        work(&mut self.all.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Whether this address has a place.
    pub fn has(&self, client: IpAddr) -> bool {
        self.with(|all| all.entries.iter().any(|entry| owner(entry.client) == owner(client)))
    }

    /// How many are taken.
    pub fn taken(&self) -> usize {
        self.with(|all| all.entries.len())
    }

    /// When this address last had its turn, as a number that grows; `None` if that is not remembered.
    pub fn last_turn(&self, client: IpAddr) -> Option<usize> {
        self.with(|all| all.turns.iter().position(|of| *of == owner(client)))
    }

    /// Gives a session a place, if need be that of the session that has been idle for longest.
    ///
    /// # Errors
    /// If there is none.
    pub fn enter(&self, client: IpAddr, token: Token, now: Instant) -> Result<(), NoPlace> {
        let owner = owner(client);
        self.with(|all| {
            if all.entries.iter().any(|entry| super::budget::owner(entry.client) == owner) {
                return Err(NoPlace::HasOne);
            }
            if all.entries.len() >= MOST_PLACES {
                let idle =
                    all.entries.iter().enumerate().filter_map(|(at, entry)| Some((entry.idle_since()?, at)));
                let (_, at) = idle.min().filter(|(since, _)| *since + IDLE < now).ok_or(NoPlace::Full)?;
                all.entries.swap_remove(at);
            }
            all.entries.push(Entry { client, token, transfer: Transferring::No, busy_until: now });
            all.turns.retain(|of| *of != owner);
            if all.turns.len() >= MOST_TURNS {
                all.turns.pop_front();
            }
            all.turns.push_back(owner);
            Ok(())
        })
    }

    /// The session is busy for this long from now.
    pub fn busy(&self, token: &Token, lasting: Duration, now: Instant) {
        self.with(|all| {
            if let Some(entry) = all.entry(token) {
                entry.busy_until = entry.busy_until.max(now + lasting);
            }
        });
    }

    /// Takes UDP bytes from the budget of an address.
    ///
    /// # Errors
    /// How long until they are there, `None` for never.
    pub fn spend(&self, client: IpAddr, bytes: u64, now: Instant) -> Result<(), Option<Duration>> {
        self.with(|all| all.budget(client, &self.caps, now).udp.take(bytes, now))
    }

    /// How many of these packets may leave now.
    ///
    /// # Errors
    /// How long until one may, `None` for never.
    pub fn pace(
        &self,
        client: IpAddr,
        packets: usize,
        bytes: u64,
        now: Instant,
    ) -> Result<usize, Option<Duration>> {
        self.with(|all| all.budget(client, &self.caps, now).pace.take_up_to(packets, bytes, now))
    }

    /// The session has ended.
    pub fn leave(&self, token: &Token) {
        self.with(|all| all.entries.retain(|entry| entry.token != *token));
    }

    /// Whether this client's session has a place.
    pub fn knows(&self, client: IpAddr, token: &Token) -> bool {
        self.with(|all| all.entry(token).is_some_and(|entry| entry.client == client))
    }

    /// Whether a transfer of this session is in progress.
    pub fn is_transferring(&self, token: &Token) -> bool {
        self.with(|all| all.entry(token).is_some_and(|entry| matches!(entry.transfer, Transferring::Now)))
    }

    /// Starts a transfer of this length.
    ///
    /// # Errors
    /// If there is one, or the address has had as much as it may.
    pub fn begin(&self, client: IpAddr, token: &Token, duration_ns: u64, now: Instant) -> Result<(), String> {
        self.with(|all| {
            let entry = all.entry(token).filter(|entry| entry.client == client);
            let entry = entry.ok_or("there is no such session")?;
            if matches!(entry.transfer, Transferring::Now) {
                return Err("a transfer is under way".to_owned());
            }
            let taken = all.budget(client, &self.caps, now).transfers.take(duration_ns, now);
            taken.map_err(|until| spent("time for transfers", until))?;
            if let Some(entry) = all.entry(token) {
                entry.transfer = Transferring::Now;
            }
            Ok(())
        })
    }

    /// Its transfer is over: the result, unless it broke.
    pub fn end(&self, token: &Token, was: Option<Bulk>, now: Instant) {
        self.with(|all| {
            if let Some(entry) = all.entry(token) {
                entry.busy_until = now;
                entry.transfer = was.map_or(Transferring::No, Transferring::Over);
            }
        });
    }

    /// The fate of the session's transfer.
    pub fn transferred(&self, token: &Token) -> Transferred {
        self.with(|all| match all.entry(token).map(|entry| &entry.transfer) {
            None | Some(Transferring::No) => Transferred::None,
            Some(Transferring::Now) => Transferred::NotYet,
            Some(Transferring::Over(bulk)) => Transferred::Was(*bulk),
        })
    }
}

/// Why an address gets no more, and what to do.
pub fn spent(what: &str, until: Option<Duration>) -> String {
    match until {
        Some(wait) => format!(
            "this address has used its {what}: try again in {} s, or raise --max-rate or --max-duration there",
            wait.as_secs().saturating_add(1)
        ),
        None => format!("more {what} than is served: raise --max-rate or --max-duration there"),
    }
}
