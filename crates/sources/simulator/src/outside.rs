//! What a host can reach beside itself: the time, the agenda, the wires, and whoever watches.

use crate::agenda::{Agenda, Slot};
use crate::host::socket::SocketId;
use crate::wire::{Frame, Wire};
use slowpath_model::{Instant, StreamOffset};
use slowpath_scenario::HostId;

/// A source of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The next packet of a wire arrives.
    Wire(usize),
    /// A card raises its interrupt.
    Interrupt(usize),
    /// A card has sent the first of its ring, and more waits.
    Sent(usize),
    /// A CPU finishes the piece of work in hand.
    Cpu(usize, usize),
    /// A CPU's tick.
    Tick(usize, usize),
    /// A socket's timer.
    Timer(usize, SocketId),
    /// A task's sleep is over.
    Wake(usize, u32),
}

/// Watches what passes the hosts' network cards. What it does must not depend on anything but what it is told.
pub trait Observer {
    /// The host handed a packet to its card, or took it from there, as a capture on that host would see it.
    fn packet(&mut self, at: Instant, host: HostId, sent: bool, frame: &Frame);
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Observer for Nobody {
    fn packet(&mut self, _at: Instant, _host: HostId, _sent: bool, _frame: &Frame) {}
}

/// A connection, as both of its hosts know it.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The stream of a flow that it serves.
    pub stream: usize,
    /// The client's and the server's host.
    pub hosts: [usize; 2],
    /// The wires away from the client and away from the server.
    pub wires: [usize; 2],
    /// Their sockets, while they have one.
    pub sockets: [Option<SocketId>; 2],
    /// How much data each has taken off its socket.
    pub read: [StreamOffset; 2],
}

impl Link {
    /// 0 if the host is the client, 1 if it is the server.
    pub fn end_at(&self, host: usize) -> usize {
        usize::from(self.hosts[0] != host)
    }
}

/// What a host can reach beside itself.
pub struct Outside<'a> {
    /// The time.
    pub now: Instant,
    /// What happens next.
    pub agenda: &'a mut Agenda,
    /// What each slot of the agenda is.
    pub sources: &'a mut Vec<Source>,
    /// The wires of all paths.
    pub wires: &'a mut [Wire],
    /// The connections, by number.
    pub links: &'a mut Vec<Link>,
    /// Who watches.
    pub observer: &'a mut dyn Observer,
}

impl Outside<'_> {
    /// Adds a source of events.
    pub fn add(&mut self, source: Source) -> Slot {
        self.sources.push(source);
        self.agenda.add()
    }
}
