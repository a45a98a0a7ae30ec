//! poll(2) and epoll(7).

use super::sockets::{File, Socket, Stage};
use super::{Modelled, Waiting};
use crate::call::{EpollEvent, Fd, Output, Returned};
use slowpath_tcp::Errno;
use slowpath_tcp::socket::Events;
use std::collections::BTreeMap;
use std::time::Duration;

const IN: u32 = 0x1;
const PRI: u32 = 0x2;
const OUT: u32 = 0x4;
const ERR: u32 = 0x8;
const HUP: u32 = 0x10;
const NVAL: u32 = 0x20;
const READ_NORMAL: u32 = 0x40;
const WRITE_NORMAL: u32 = 0x100;
const READ_HUP: u32 = 0x2000;
const ONE_SHOT: u32 = 1 << 30;
const EDGE: u32 = 1 << 31;
/// Always reported, requested or not.
const ALWAYS: u32 = ERR | HUP;
/// Flags of epoll that are not events.
const FLAGS: u32 = ONE_SHOT | EDGE | 1 << 29 | 1 << 28;
const EEXIST: i32 = 17;

/// An epoll instance: the watched files, and what was reported.
#[derive(Default)]
pub struct Epoll {
    watched: BTreeMap<Fd, Watched>,
}

struct Watched {
    event: EpollEvent,
    /// The socket's generation when last reported; `None` since the request.
    told: Option<u64>,
    /// Reported once, and disabled then (`EPOLLONESHOT`).
    spent: bool,
}

fn bits(events: Events) -> u32 {
    [
        (events.readable, IN | READ_NORMAL),
        (events.writable, OUT | WRITE_NORMAL),
        (events.urgent, PRI),
        (events.read_closed, READ_HUP),
        (events.hung_up, HUP),
        (events.error, ERR),
    ]
    .into_iter()
    .filter(|(holds, _)| *holds)
    .fold(0, |all, (_, bit)| all | bit)
}

impl Socket {
    fn poll_bits(&mut self) -> u32 {
        let of_stage = match &mut self.stage {
            Stage::Fresh(_) => OUT | WRITE_NORMAL | HUP | if self.left_error.is_some() { ERR } else { 0 },
            Stage::Listening(listener) => bits(listener.poll_events()),
            Stage::Connected(connection) => bits(connection.poll_events()),
        };
        of_stage | if self.errors.is_empty() { 0 } else { ERR }
    }
}

impl Modelled {
    fn ready(&mut self, fd: Fd) -> Option<(u32, u64)> {
        match self.files.get_mut(&fd)? {
            File::Socket(socket) => Some((socket.poll_bits(), socket.generation)),
            File::Udp(udp) => {
                let readable = if udp.waiting.is_empty() { 0 } else { IN | READ_NORMAL };
                Some((readable | OUT | WRITE_NORMAL, udp.waiting.len() as u64))
            }
            File::Pipe { bytes } => Some((if *bytes > 0 { IN | READ_NORMAL } else { 0 }, u64::from(*bytes))),
            _ => Some((IN | OUT, 0)),
        }
    }

    /// `None` while it waits.
    pub(super) fn poll(&mut self, fds: &[(Fd, i16)], waiting: &Waiting) -> Option<Returned> {
        let mut revents = Vec::new();
        for (fd, events) in fds {
            let wanted = u32::from(*events as u16) | ALWAYS;
            let ready = match self.ready(*fd) {
                _ if *fd < 0 => 0,
                Some((ready, _)) => ready & wanted,
                None => NVAL,
            };
            revents.push(ready as u16 as i16);
        }
        let count = revents.iter().filter(|ready| **ready != 0).count();
        let over = waiting.until.is_some_and(|until| until <= self.now);
        (count > 0 || over).then_some(Returned { result: Ok(count as i64), output: Output::Polled(revents) })
    }

    pub(super) fn epoll_control(&mut self, epoll: Fd, operation: i32, fd: Fd, event: EpollEvent) -> Returned {
        const ADD: i32 = 1;
        const DELETE: i32 = 2;
        const CHANGE: i32 = 3;
        if !self.files.contains_key(&fd) {
            return Returned::error(Errno::EBADF.number());
        }
        let Some(File::Epoll(epoll)) = self.files.get_mut(&epoll) else {
            return Returned::error(Errno::EINVAL.number());
        };
        let there = epoll.watched.contains_key(&fd);
        match (operation, there) {
            (ADD, true) => return Returned::error(EEXIST),
            (ADD, false) | (CHANGE, true) => {
                epoll.watched.insert(fd, Watched { event, told: None, spent: false });
            }
            (DELETE, true) => {
                epoll.watched.remove(&fd);
            }
            (CHANGE | DELETE, false) => return Returned::error(Errno::ENOENT.number()),
            _ => return Returned::error(Errno::EINVAL.number()),
        }
        Returned::value(0)
    }

    /// `None` while it waits.
    pub(super) fn epoll_wait(&mut self, epoll: Fd, most: i32, waiting: &Waiting) -> Option<Returned> {
        let most = usize::try_from(most).unwrap_or(0);
        let Some(File::Epoll(instance)) = self.files.get_mut(&epoll) else {
            return Some(Returned::error(Errno::EINVAL.number()));
        };
        if most == 0 {
            return Some(Returned::error(Errno::EINVAL.number()));
        }
        let mut watched = std::mem::take(&mut instance.watched);
        let mut events = Vec::new();
        for (fd, entry) in &mut watched {
            if events.len() < most
                && let Some((ready, generation)) = self.ready(*fd)
            {
                events.extend(entry.tell(ready, generation));
            }
        }
        // A closed file is no longer watched.
        watched.retain(|fd, _| self.files.contains_key(fd));
        if let Some(File::Epoll(instance)) = self.files.get_mut(&epoll) {
            instance.watched = watched;
        }
        let over = waiting.until.is_some_and(|until| until <= self.now);
        let count = events.len() as i64;
        (count > 0 || over).then_some(Returned { result: Ok(count), output: Output::Epoll(events) })
    }
}

impl Watched {
    fn tell(&mut self, ready: u32, generation: u64) -> Option<EpollEvent> {
        let events = ready & (self.event.events & !FLAGS | ALWAYS);
        let old = self.event.events & EDGE != 0 && self.told == Some(generation);
        if events == 0 || old || self.spent {
            return None;
        }
        self.told = Some(generation);
        self.spent = self.event.events & ONE_SHOT != 0;
        Some(EpollEvent { events, data: self.event.data })
    }
}

/// The duration of a timeout in milliseconds; `None` if negative: forever.
pub fn timeout(millis: i32) -> Option<Duration> {
    u64::try_from(millis).ok().map(Duration::from_millis)
}
