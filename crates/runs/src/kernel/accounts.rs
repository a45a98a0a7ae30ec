//! The kernel's records of a run in the lab: what BPF programs recorded about the sockets on its hosts.

use crate::Error;
use slowpath_analyses::hosts::{Account, Hosts};
use slowpath_analyses::waits::Waits;
use slowpath_lab::run::PROBE;
use slowpath_lab::truth::Connection;
use slowpath_model::End;
use std::net::IpAddr;
use std::path::Path;

/// The recorded connections, from the files of a run.
pub fn read(folder: &Path) -> Result<Vec<Account>, Error> {
    let path = folder.join(PROBE);
    let raw = slowpath_live::open_raw(&path).map_err(Error::file(&path))?.ok_or(Error::Damaged(path))?;
    let mut hosts = Hosts::default();
    let replayed = slowpath_live::replay(raw, &mut hosts)?;
    replayed.incomplete.map_or_else(|| Ok(hosts.finish().0), |error| Err(error.into()))
}

/// Waits at the two ends of a connection, the sender's host first.
pub fn waits<'a>(accounts: &'a [Account], connection: &Connection) -> [Option<&'a Waits>; 2] {
    let of = |account: &'a Account| Some((account, connection.sender_in(&account.key)?));
    let Some((account, sender)) = accounts.iter().find_map(of) else { return [None, None] };
    [sender, !sender].map(|end| account.ends[end.index()].as_deref().map(|own| &own.waits))
}

/// Waits at each end of all connections: end A on the first host, B on the other.
pub fn waits_by_host(accounts: &[Account], hosts: [IpAddr; 2]) -> impl Iterator<Item = (End, &Waits)> {
    let ends = accounts.iter().flat_map(|account| End::BOTH.map(|end| (account, end)));
    ends.filter_map(move |(account, end)| {
        let host = hosts.iter().position(|host| *host == account.key.endpoint(end).address)?;
        Some((End::BOTH[host], &account.ends[end.index()].as_deref()?.waits))
    })
}
