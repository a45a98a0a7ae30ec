//! UDP sockets, as far as scripts use them.

use super::Modelled;
use super::sockets::{File, Ports};
use crate::call::{Fd, Returned};
use crate::packet::{Body, Datagram};
use crate::wire;
use slowpath_tcp::Errno;
use std::collections::VecDeque;

/// The maximum number of queued datagrams; more are dropped.
const MOST_WAITING: usize = 1024;
/// The longest payload (RFC 768 over IPv4).
const LONGEST: u32 = 65_507;

/// A socket.
#[derive(Debug, Default)]
pub struct Udp {
    pub local: u16,
    pub remote: Option<u16>,
    pub nonblocking: bool,
    /// Bytes of each datagram received.
    pub waiting: VecDeque<u32>,
}

impl Modelled {
    pub(super) fn udp(&mut self, fd: Fd) -> Option<&mut Udp> {
        match self.files.get_mut(&fd) {
            Some(File::Udp(udp)) => Some(udp),
            _ => None,
        }
    }

    /// Binds a socket to a free port, if it has none.
    fn name_udp(&mut self, fd: Fd) -> u16 {
        let next = self.next_port;
        let Some(udp) = self.udp(fd) else { return 0 };
        if udp.local == 0 {
            udp.local = next;
            self.next_port = next.wrapping_add(1).max(super::FIRST_LOCAL_PORT);
        }
        self.udp(fd).map_or(0, |udp| udp.local)
    }

    pub(super) fn connect_udp(&mut self, fd: Fd) -> Returned {
        let remote = self.connect_port;
        self.name_udp(fd);
        if let Some(udp) = self.udp(fd) {
            udp.remote = Some(remote);
        }
        Returned::value(0)
    }

    pub(super) fn send_udp(&mut self, fd: Fd, len: u32, to: Option<u16>) -> Returned {
        let local = self.name_udp(fd);
        let Some(remote) = to.or_else(|| self.udp(fd).and_then(|udp| udp.remote)) else {
            return Returned::error(Errno::EDESTADDRREQ.number());
        };
        if len > LONGEST {
            return Returned::error(Errno::EMSGSIZE.number());
        }
        let mut datagram = Datagram {
            source_port: local,
            destination_port: remote,
            class: 0,
            ttl: wire::TTL,
            flow_label: 0,
            body: Body::Udp { len },
        };
        self.dress(Ports { local, remote }, &mut datagram);
        let at = self.now - self.offset;
        self.sent.push_back((at, datagram));
        Returned::value(i64::from(len))
    }

    /// `None` while it waits.
    pub(super) fn receive_udp(&mut self, fd: Fd, room: u32, blocks: bool) -> Option<Returned> {
        let udp = self.udp(fd)?;
        match udp.waiting.pop_front() {
            Some(len) => Some(Returned::value(i64::from(len.min(room)))),
            None if blocks && !udp.nonblocking => None,
            None => Some(Returned::error(Errno::EAGAIN.number())),
        }
    }

    pub(super) fn deliver_udp(&mut self, ports: Ports, len: u32) {
        let theirs =
            |udp: &Udp| udp.local == ports.local && udp.remote.is_none_or(|remote| remote == ports.remote);
        let socket = self.files.values_mut().find_map(|file| match file {
            File::Udp(udp) if theirs(udp) => Some(udp),
            _ => None,
        });
        if let Some(udp) = socket.filter(|udp| udp.waiting.len() < MOST_WAITING) {
            udp.waiting.push_back(len);
        }
    }
}
