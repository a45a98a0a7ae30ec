//! Clients that have not shown yet that a session would reach them: no thread and no port of their own, and not many.

use super::ProbeError;
use super::budget::owner;
use super::control::Control;
use super::udp::DatagramHead;
use crate::protocol::{Datagram, Token};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

/// Clients that may wait. Beyond that, one of the address with most of them goes: the one that came first.
pub const MOST_WAITING: usize = 256;
/// A client that has not sent its first message by then is not a probe.
const FIRST_WORD: Duration = Duration::from_secs(5);
/// By then the datagram with the token has arrived, or UDP does not pass.
const OPENING: Duration = Duration::from_secs(5);

/// A client that has connected.
pub struct Waiting<'a> {
    pub control: Control<'a>,
    pub client: IpAddr,
    until: Instant,
    /// After its first message.
    pub token: Option<Token>,
    /// After the datagram with the token, which came from there.
    pub opened: Option<SocketAddr>,
}

impl<'a> Waiting<'a> {
    pub fn new(control: Control<'a>, client: IpAddr) -> Self {
        Self { control, client, until: Instant::now() + FIRST_WORD, token: None, opened: None }
    }

    /// It was told its token.
    pub fn welcomed(&mut self, token: Token) {
        self.token = Some(token);
        self.until = Instant::now() + OPENING;
    }
}

/// Those that wait, in the order in which they came.
#[derive(Default)]
pub struct Room<'a>(pub Vec<Waiting<'a>>);

impl<'a> Room<'a> {
    /// What to poll for: the first message, and afterwards only the end.
    pub fn polled(&self) -> impl Iterator<Item = (RawFd, libc::c_short)> {
        self.0.iter().map(|one| {
            let events = if one.token.is_none() { libc::POLLIN } else { libc::POLLRDHUP };
            (one.control.descriptor(), events)
        })
    }

    /// One more; returns the one that went for it, if there were too many.
    pub fn admit(&mut self, one: Waiting<'a>) -> Option<Waiting<'a>> {
        self.0.push(one);
        if self.0.len() > MOST_WAITING { self.shrink() } else { None }
    }

    /// Removes the first client of the address that has most of them here.
    pub fn shrink(&mut self) -> Option<Waiting<'a>> {
        let owners: Vec<IpAddr> = self.0.iter().map(|one| owner(one.client)).collect();
        let count = |of: &IpAddr| owners.iter().filter(|owner| *owner == of).count();
        // The first of several that are equal.
        let at = owners.iter().enumerate().rev().max_by_key(|(_, of)| count(of))?.0;
        let first = owners.iter().position(|of| *of == owners[at])?;
        Some(self.0.remove(first))
    }

    /// A datagram that may be somebody's first: it counts only with the token, and from the address of the connection.
    pub fn datagram(&mut self, head: &DatagramHead, from: SocketAddr) {
        let client = from.ip().to_canonical();
        let opens = |one: &&mut Waiting<'_>| {
            one.client == client
                && one.token.is_some_and(|token| Datagram::read(head, &token) == Some(Datagram::Open))
        };
        if let Some(one) = self.0.iter_mut().find(opens) {
            one.opened.get_or_insert(from);
        }
    }

    /// Removes those whose time is over.
    pub fn expired(&mut self) -> Vec<Waiting<'a>> {
        let now = Instant::now();
        self.0.extract_if(.., |one| one.until < now).collect()
    }
}

impl Waiting<'_> {
    /// Why it has waited in vain.
    pub fn why(&self) -> ProbeError {
        match self.opened {
            Some(_) => ProbeError::Refused(super::sessions::NoRoom::Full.why().to_owned()),
            None => ProbeError::Silent,
        }
    }
}
