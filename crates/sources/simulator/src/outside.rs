//! The environment of a host: the time, the agenda, the wires, and the observers.

use crate::agenda::{Agenda, Slot};
use crate::host::socket::SocketId;
use crate::links::{Link, Links};
use crate::shown;
use crate::wire::{Frame, Wire};
use slowpath_model::{Bytes, DropReason, End, EventKind, Instant, Mark, Wait};
use slowpath_scenario::HostId;
use std::time::Duration;

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

/// Watches what passes the hosts' network cards, and what else it wants to know. What it does must not depend on
/// anything else, and changes nothing in the run.
pub trait Observer {
    /// A packet passed a host's card.
    fn packet(&mut self, sight: &Sight<'_>);

    /// The events that it wants besides packets; must stay the same while it watches.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// Something that it [`wants`](Self::wants) to know has happened; what others want may be reported as well.
    fn happened(&mut self, _occurrence: &Occurrence<'_>) {}
}

/// The events that an observer wants besides packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Calls of write and read.
    pub calls: bool,
    /// Waits of packets, data and processes.
    pub waits: bool,
    /// Turns that sockets take.
    pub marks: bool,
    /// Packets that a host drops.
    pub drops: bool,
    /// The state of every socket, every so often.
    pub samples: Option<Duration>,
}

impl Wants {
    /// The events that either of two wants.
    pub fn or(self, other: Self) -> Self {
        Self {
            calls: self.calls || other.calls,
            waits: self.waits || other.waits,
            marks: self.marks || other.marks,
            drops: self.drops || other.drops,
            samples: self.samples.into_iter().chain(other.samples).min(),
        }
    }

    /// Whether an event of this kind is among it.
    pub const fn has(&self, kind: &EventKind) -> bool {
        match kind {
            EventKind::Written { .. } | EventKind::Read { .. } => self.calls,
            EventKind::Waited { .. } => self.waits,
            EventKind::Marked { .. } => self.marks,
            EventKind::Dropped(..) => self.drops,
            EventKind::Sampled(_) => self.samples.is_some(),
            _ => false,
        }
    }
}

/// Something that happened on a host to one of its connections.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence<'a> {
    /// When.
    pub at: Instant,
    /// On which host.
    pub host: HostId,
    /// The connection's number.
    pub connection: u32,
    /// The connection.
    pub link: &'a Link,
    /// What.
    pub kind: EventKind,
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

/// The environment of a host.
pub struct Outside<'a> {
    /// The time.
    pub now: Instant,
    /// The event queue.
    pub agenda: &'a mut Agenda,
    /// The meaning of each slot of the agenda.
    pub sources: &'a mut Vec<Source>,
    /// The wires of all paths.
    pub wires: &'a mut [Wire],
    /// The connections, by number.
    pub links: &'a mut Links,
    /// Processes of flows that are not over.
    pub processes: &'a mut usize,
    /// The observers.
    pub observer: &'a mut dyn Observer,
    /// The events that it wants besides packets.
    pub wants: Wants,
}

/// The part of [`Outside`] that notifies the observers.
pub struct Teller<'a> {
    at: Instant,
    links: &'a Links,
    observer: &'a mut dyn Observer,
    /// The events that it wants besides packets.
    pub wants: Wants,
}

impl Teller<'_> {
    /// Reports what happened on a host to a connection. `kind` is made from the end that the host is.
    #[cold]
    #[inline(never)]
    pub fn tell(&mut self, host: usize, connection: u32, kind: impl FnOnce(End) -> EventKind) {
        // Only TCP is reported.
        let Some(link) = self.links.get(connection).filter(|link| link.datagrams.is_none()) else { return };
        let kind = kind(link.end_at(host));
        self.observer.happened(&Occurrence { at: self.at, host: HostId(host), connection, link, kind });
    }

    /// A host drops a packet, its own or one that came.
    pub fn dropped(&mut self, host: usize, sent: bool, frame: &Frame, why: DropReason) {
        if self.wants.drops {
            let segment = |here: End| shown::segment(frame, if sent { here } else { !here }, sent);
            self.tell(host, frame.connection, |here| EventKind::Dropped(segment(here), why));
        }
    }
}

impl Outside<'_> {
    /// Notifies the observers of a packet at a host.
    pub fn observe(&mut self, host: usize, sent: bool, frame: &Frame) {
        let Some(link) = self.links.get(frame.connection) else { return };
        let here = link.end_at(host);
        let from = if sent { here } else { !here };
        self.observer.packet(&Sight { at: self.now, host: HostId(host), from, sent, link, frame });
    }

    /// The observers and the wires, for callers that need both at once.
    pub fn teller(&mut self) -> (&mut [Wire], Teller<'_>) {
        let teller =
            Teller { at: self.now, links: self.links, observer: &mut *self.observer, wants: self.wants };
        (self.wires, teller)
    }

    /// Reports what happened on a host to a connection, for callers that have asked whether that is wanted.
    pub fn tell(&mut self, host: usize, connection: u32, kind: impl FnOnce(End) -> EventKind) {
        self.teller().1.tell(host, connection, kind);
    }

    /// A host drops a packet, its own or one that came.
    pub fn dropped(&mut self, host: usize, sent: bool, frame: &Frame, why: DropReason) {
        self.teller().1.dropped(host, sent, frame, why);
    }

    /// A connection takes a turn.
    pub fn marked(&mut self, host: usize, connection: u32, mark: Mark) {
        if self.wants.marks {
            self.tell(host, connection, |end| EventKind::Marked { end, mark });
        }
    }

    /// A wait on a host is over, that began at `since`; it is reported now, when that is known.
    pub fn waited(
        &mut self,
        host: usize,
        connection: u32,
        on: Wait,
        [since, until]: [Instant; 2],
        bytes: u32,
    ) {
        if self.wants.waits {
            let (lasted, amount) = (until.since(since).unwrap_or_default(), Bytes::new(bytes.into()));
            self.tell(host, connection, |end| EventKind::Waited { end, on, lasted, amount, times: 1 });
        }
    }

    /// Adds a source of events.
    pub fn add(&mut self, source: Source) -> Slot {
        let is_busy = matches!(source, Source::Cpu(..));
        self.sources.push(source);
        if is_busy { self.agenda.add_busy() } else { self.agenda.add() }
    }
}
