//! The active sessions of a far end, which the connections of a client share.

use crate::protocol::{Bulk, Token};
use slowpath_model::Rate;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

/// Maximum number of sessions. More would measure each other.
const MOST_SESSIONS: usize = 4;
/// The limits of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// The rate of a train.
    pub rate: Rate,
    /// The duration of a train, and of a transfer; multiplied by the rate, the UDP budget of a session.
    pub duration: Duration,
}

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
    slot: usize,
    transfer: Transferring,
}

/// The active sessions.
#[derive(Default)]
pub struct Sessions(Mutex<Vec<Entry>>);

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
    fn with<T>(&self, work: impl FnOnce(&mut Vec<Entry>) -> T) -> T {
        // A thread that panicked has left them consistent: no change takes more than one step.
        work(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Admits a client; returns its slot, or why it is refused.
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

    /// Removes a session.
    pub fn leave(&self, token: &Token) {
        self.with(|all| all.retain(|entry| entry.token != *token));
    }

    /// Whether a client has a session with this token.
    pub fn knows(&self, client: IpAddr, token: &Token) -> bool {
        self.with(|all| all.iter().any(|entry| entry.client == client && entry.token == *token))
    }

    /// Starts a transfer, unless there is one.
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

    /// Its transfer is over: the result, unless it broke.
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
