//! What a host can reach beside itself: the time, the agenda, the wires, and whoever watches.

use crate::agenda::{Agenda, Slot};
use crate::host::socket::SocketId;
use crate::report::Told;
use crate::wire::{Frame, Wire};
use slowpath_model::{End, Instant};
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
    /// A packet passed a host's card.
    fn packet(&mut self, sight: &Sight<'_>);
}

/// A packet as a capture on a host would see it: handed to the card, or taken from there.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// When.
    pub at: Instant,
    /// On which host.
    pub host: HostId,
    /// Whether the client of the connection sent it (end A), or the server.
    pub from: End,
    /// Whether this host sent it.
    pub sent: bool,
    /// The connection.
    pub link: &'a Link,
    /// The packet.
    pub frame: &'a Frame,
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Observer for Nobody {
    fn packet(&mut self, _sight: &Sight<'_>) {}
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
    /// When the client called `connect`.
    pub opened: Instant,
    /// Bytes that the process at each end has read, and when it did so last.
    pub read: [(u64, Instant); 2],
    /// What the kernel of each end said of it when its socket went.
    pub told: [Option<Told>; 2],
}

impl Link {
    /// The client is end A, the server end B.
    pub fn end_at(&self, host: usize) -> End {
        if self.hosts[0] == host { End::A } else { End::B }
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
    /// Processes of flows that are not over.
    pub processes: &'a mut usize,
    /// Who watches.
    pub observer: &'a mut dyn Observer,
}

impl Outside<'_> {
    /// Tells whoever watches of a packet at a host.
    pub fn observe(&mut self, host: usize, sent: bool, frame: &Frame) {
        let Some(link) = self.links.get(frame.connection as usize) else { return };
        let here = link.end_at(host);
        let from = if sent { here } else { !here };
        self.observer.packet(&Sight { at: self.now, host: HostId(host), from, sent, link, frame });
    }

    /// Adds a source of events.
    pub fn add(&mut self, source: Source) -> Slot {
        self.sources.push(source);
        self.agenda.add()
    }
}
