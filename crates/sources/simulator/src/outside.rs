//! The environment of a host: time, agenda, wires and observers.

use crate::agenda::{Agenda, Slot};
use crate::host::socket::SocketId;
use crate::links::{Link, Links};
use crate::sequence::Sequence;
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
    /// A NIC raises its interrupt.
    Interrupt(usize),
    /// A NIC has sent the first packet of its ring, and more waits.
    Sent(usize),
    /// A CPU finishes its running piece of work.
    Cpu(usize, usize),
    /// A CPU's tick.
    Tick(usize, usize),
    /// A socket's timer.
    Timer(usize, SocketId),
    /// A task's sleep is over.
    Wake(usize, u32),
    /// A host's parameter cache is flushed.
    Flush(usize),
}

/// Sees the packets at the hosts' NICs, and other requested events. Its actions must depend on nothing else, and change
/// nothing in the run.
pub trait Observer {
    /// A packet passed a host's NIC.
    fn packet(&mut self, sight: &Sight<'_>);

    /// The events that it wants besides packets; must not change during a run.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// An event that it [`wants`](Self::wants); others' events may be reported as well.
    fn happened(&mut self, _occurrence: &Occurrence<'_>) {}
}

/// The events that an observer wants besides packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Calls of write and read.
    pub calls: bool,
    /// Waits of packets, data and processes.
    pub waits: bool,
    /// Marks of sockets.
    pub marks: bool,
    /// Packets that a host drops.
    pub drops: bool,
    /// The state of every socket, at this interval.
    pub samples: Option<Duration>,
}

impl Wants {
    /// The events that either wants.
    pub fn or(self, other: Self) -> Self {
        Self {
            calls: self.calls || other.calls,
            waits: self.waits || other.waits,
            marks: self.marks || other.marks,
            drops: self.drops || other.drops,
            samples: self.samples.into_iter().chain(other.samples).min(),
        }
    }

    /// Whether it includes events of this kind.
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

/// An event of a connection on a host.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence<'a> {
    /// Time.
    pub at: Instant,
    /// The host.
    pub host: HostId,
    /// The connection's number.
    pub connection: u32,
    /// The connection.
    pub link: &'a Link,
    /// The event.
    pub kind: EventKind,
}

/// A packet as a capture on a host would see it: passed to the NIC, or taken from it.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// Time.
    pub at: Instant,
    /// The host.
    pub host: HostId,
    /// The end that sent it: the client (A) or the server (B).
    pub from: End,
    /// Whether this host sent it.
    pub sent: bool,
    /// The connection.
    pub link: &'a Link,
    /// The packet.
    pub frame: &'a Frame,
}

/// Observes nothing.
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
    /// The processes of flows, and what begins when they have ended.
    pub sequence: &'a mut Sequence,
    /// The observers.
    pub observer: &'a mut dyn Observer,
    /// The events that it wants besides packets.
    pub wants: Wants,
}

/// The part of [`Outside`] that notifies the observers.
pub struct Reporter<'a> {
    at: Instant,
    links: &'a Links,
    observer: &'a mut dyn Observer,
    /// The events that it wants besides packets.
    pub wants: Wants,
}

impl Reporter<'_> {
    /// Reports an event of a connection on a host. `kind` is made from the end that the host is.
    #[cold]
    #[inline(never)]
    pub fn report(&mut self, host: usize, connection: u32, kind: impl FnOnce(End) -> EventKind) {
        // Only TCP is reported.
        let Some(link) = self.links.get(connection).filter(|link| link.datagrams.is_none()) else { return };
        let kind = kind(link.end_at(host));
        self.observer.happened(&Occurrence { at: self.at, host: HostId(host), connection, link, kind });
    }

    /// A host drops a packet, its own or a received one.
    pub fn dropped(&mut self, host: usize, sent: bool, frame: &Frame, why: DropReason) {
        if self.wants.drops {
            let segment = |here: End| shown::segment(frame, if sent { here } else { !here }, sent);
            self.report(host, frame.connection, |here| EventKind::Dropped(segment(here), why));
        }
    }
}

impl Outside<'_> {
    /// Shows the observers a packet at a host.
    pub fn observe(&mut self, host: usize, sent: bool, frame: &Frame) {
        let Some(link) = self.links.get(frame.connection) else { return };
        let here = link.end_at(host);
        let from = if sent { here } else { !here };
        self.observer.packet(&Sight { at: self.now, host: HostId(host), from, sent, link, frame });
    }

    /// The observers and the wires, for callers that need both at once.
    pub fn reporter(&mut self) -> (&mut [Wire], Reporter<'_>) {
        let reporter =
            Reporter { at: self.now, links: self.links, observer: &mut *self.observer, wants: self.wants };
        (self.wires, reporter)
    }

    /// Reports an event of a connection on a host, for callers that have checked that it is wanted.
    pub fn report(&mut self, host: usize, connection: u32, kind: impl FnOnce(End) -> EventKind) {
        self.reporter().1.report(host, connection, kind);
    }

    /// A host drops a packet, its own or a received one.
    pub fn dropped(&mut self, host: usize, sent: bool, frame: &Frame, why: DropReason) {
        self.reporter().1.dropped(host, sent, frame, why);
    }

    /// A connection's mark.
    pub fn marked(&mut self, host: usize, connection: u32, mark: Mark) {
        if self.wants.marks {
            self.report(host, connection, |end| EventKind::Marked { end, mark });
        }
    }

    /// A wait on a host, begun at `since`, is over; it is only reported now.
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
            self.report(host, connection, |end| EventKind::Waited { end, on, lasted, amount, times: 1 });
        }
    }

    /// Adds a source of events.
    pub fn add(&mut self, source: Source) -> Slot {
        let is_busy = matches!(source, Source::Cpu(..));
        self.sources.push(source);
        if is_busy { self.agenda.add_busy() } else { self.agenda.add() }
    }
}
