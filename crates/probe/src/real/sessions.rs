//! The active sessions of a far end, which the connections of a client share.

use crate::protocol::{Bulk, Token};
use slowpath_model::Rate;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

/// Sessions at once. More would measure each other.
const MOST_SESSIONS: usize = 4;
/// The limits of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// The rate of a train.
    pub rate: Rate,
    /// The duration of a train, and of a transfer; together with the rate, all that a session sends by UDP.
    pub duration: Duration,
}

/// Where a session's transfer stands.
enum Transferring {
    No,
    Now,
    Over(Bulk),
}

/// A session that is under way.
struct Entry {
    client: IpAddr,
    token: Token,
    slot: usize,
    transfer: Transferring,
}

/// The sessions that are under way.
#[derive(Default)]
pub struct Sessions(Mutex<Vec<Entry>>);

/// What a session's question about its transfer is answered.
pub enum Answer {
    /// There was none.
    None,
    /// It is still under way.
    NotYet,
    /// It was this.
    Was(Bulk),
}

impl Sessions {
    fn with<T>(&self, work: impl FnOnce(&mut Vec<Entry>) -> T) -> T {
        // A thread that panicked has left them whole: no change takes more than one step.
        work(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Takes a client in; its slot, or why not.
    pub fn enter(&self, client: IpAddr, token: Token) -> Result<usize, &'static str> {
        self.with(|all| {
            if all.iter().any(|entry| entry.client == client) {
                return Err("this address has a session already");
            }
            let free = (0..MOST_SESSIONS).find(|slot| all.iter().all(|entry| entry.slot != *slot));
            let slot = free.ok_or("there are as many sessions as are served at once; try again later")?;
            all.push(Entry { client, token, slot, transfer: Transferring::No });
            Ok(slot)
        })
    }

    /// Lets a session go.
    pub fn leave(&self, token: &Token) {
        self.with(|all| all.retain(|entry| entry.token != *token));
    }

    /// Whether a client has a session with this token.
    pub fn knows(&self, client: IpAddr, token: &Token) -> bool {
        self.with(|all| all.iter().any(|entry| entry.client == client && entry.token == *token))
    }

    /// Begins a transfer, unless there is one.
    pub fn begin(&self, client: IpAddr, token: &Token) -> Result<(), &'static str> {
        self.with(|all| {
            let entry = all.iter_mut().find(|entry| entry.client == client && entry.token == *token);
            let entry = entry.ok_or("there is no such session")?;
            if matches!(entry.transfer, Transferring::Now) {
                return Err("a transfer is under way");
            }
            entry.transfer = Transferring::Now;
            Ok(())
        })
    }

    /// Its transfer is over: what it was, unless it broke.
    pub fn end(&self, token: &Token, was: Option<Bulk>) {
        self.with(|all| {
            if let Some(entry) = all.iter_mut().find(|entry| entry.token == *token) {
                entry.transfer = was.map_or(Transferring::No, Transferring::Over);
            }
        });
    }

    /// The fate of the session's transfer.
    pub fn ask(&self, token: &Token) -> Answer {
        self.with(|all| match all.iter().find(|entry| entry.token == *token).map(|entry| &entry.transfer) {
            None | Some(Transferring::No) => Answer::None,
            Some(Transferring::Now) => Answer::NotYet,
            Some(Transferring::Over(bulk)) => Answer::Was(*bulk),
        })
    }
}
