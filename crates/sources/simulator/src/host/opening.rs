//! Opening and closing connections: the table of sockets, and those that listen.

use super::Host;
use super::handling::Handling;
use super::schedule::TaskId;
use super::socket::{Arrivals, Socket, SocketCounts, SocketId};
use super::task::datagrams::{DatagramCounts, DatagramSocket};
use crate::agenda::{Agenda, Slot};
use crate::links::Link;
use crate::outside::{Outside, Source};
use crate::report::Told;
use crate::wire::Frame;
use slowpath_model::{End, Instant};
use slowpath_tcp::Connection;
use slowpath_tcp::socket::{Listener, Peer};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// The sockets of a host. Places of sockets that are gone are used again, with their slots in the agenda.
#[derive(Debug, Default)]
pub struct Sockets {
    places: Vec<Place>,
    free: Vec<(SocketId, Slot)>,
}

/// A place of the table.
#[derive(Debug)]
enum Place {
    Free,
    Connection(Box<Socket>),
    Listener(Box<Door>),
    Datagrams(Box<DatagramSocket>),
}

/// A socket that listens, for one stream. Until a connection is accepted its packets and timers go through here.
#[derive(Debug)]
pub struct Door {
    /// Its TCP.
    pub listener: Listener,
    /// The wire that leads to the clients.
    pub wire: usize,
    /// When its next timer is due.
    pub timer: Slot,
    /// The process that sleeps in `accept`.
    pub acceptor: Option<TaskId>,
}

impl Sockets {
    /// The socket at a place, unless it listens or is gone.
    pub fn get_mut(&mut self, id: SocketId) -> Option<&mut Socket> {
        match self.places.get_mut(id.index()) {
            Some(Place::Connection(socket)) => Some(socket),
            _ => None,
        }
    }

    /// The socket at a place, if it listens.
    pub fn door_mut(&mut self, id: SocketId) -> Option<&mut Door> {
        match self.places.get_mut(id.index()) {
            Some(Place::Listener(door)) => Some(door),
            _ => None,
        }
    }

    /// The socket at a place, if it is for datagrams.
    pub fn datagrams_mut(&mut self, id: SocketId) -> Option<&mut DatagramSocket> {
        match self.places.get_mut(id.index()) {
            Some(Place::Datagrams(socket)) => Some(socket),
            _ => None,
        }
    }

    /// Whether the socket at a place is for datagrams.
    pub fn is_of_datagrams(&self, id: SocketId) -> bool {
        matches!(self.places.get(id.index()), Some(Place::Datagrams(_)))
    }

    /// A place's slot in the agenda is due: whether a timer is. If not, the slot is armed for when one will be.
    pub fn timer_is_due(&mut self, id: SocketId, now: Instant, agenda: &mut Agenda) -> bool {
        match self.places.get_mut(id.index()) {
            Some(Place::Connection(socket)) => {
                socket.timer_armed = socket.timer_due.filter(|due| *due > now);
                agenda.set(socket.timer, socket.timer_armed);
                socket.timer_due.is_some_and(|due| due <= now)
            }
            Some(Place::Listener(door)) => {
                agenda.set(door.timer, None);
                true
            }
            Some(Place::Free | Place::Datagrams(_)) | None => false,
        }
    }

    /// The socket at a place, unless it listens or is gone.
    pub fn get(&self, id: SocketId) -> Option<&Socket> {
        match self.places.get(id.index()) {
            Some(Place::Connection(socket)) => Some(socket),
            _ => None,
        }
    }

    /// All sockets there are but those that listen.
    pub fn iter(&self) -> impl Iterator<Item = &Socket> {
        self.places.iter().filter_map(|place| match place {
            Place::Connection(socket) => Some(&**socket),
            Place::Free | Place::Listener(_) | Place::Datagrams(_) => None,
        })
    }

    /// A place that is free, and its slot.
    fn place(&mut self, host: usize, out: &mut Outside<'_>) -> (SocketId, Slot) {
        self.free.pop().unwrap_or_else(|| {
            let id = SocketId(self.places.len() as u32);
            self.places.push(Place::Free);
            (id, out.add(Source::Timer(host, id)))
        })
    }
}

impl Host {
    /// Puts a connection's end into the table.
    fn add_socket(
        &mut self,
        mut tcp: Connection,
        connection: u32,
        wire: usize,
        busy_poll: Option<Duration>,
        out: &mut Outside<'_>,
    ) -> SocketId {
        tcp.set_packet_memory(self.packet_memory);
        tcp.expect_departures();
        let (vitals, waiting) = (tcp.vitals(), tcp.receive_queue());
        let (id, timer) = self.sockets.place(self.id, out);
        let socket = Socket {
            tcp,
            connection,
            wire,
            timer,
            timer_due: None,
            timer_armed: None,
            locked: false,
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            in_backlog: false,
            prequeue: VecDeque::new(),
            prequeue_bytes: 0,
            sleeper: None,
            timer_deferred: false,
            throttled: false,
            room_deferred: false,
            next_id: self.draws.bits() as u16,
            busy_poll: self.busy_poll_of(busy_poll),
            counts: SocketCounts::default(),
            arrivals: Arrivals::after(waiting.end.distance_from(waiting.start)),
            vitals,
        };
        self.sockets.places[id.index()] = Place::Connection(Box::new(socket));
        id
    }

    /// `listen` for a stream that this host serves.
    pub(super) fn listen(&mut self, stream: usize, out: &mut Outside<'_>) {
        /// What servers ask for that do not think about it (`SOMAXCONN` of glibc's headers).
        const BACKLOG: u32 = 4096;
        let plan = &self.streams[&stream];
        let (options, wire) = (plan.options[1].clone(), plan.wires[1]);
        let listener = Listener::listen(Arc::clone(&self.settings), options, BACKLOG);
        let (id, timer) = self.sockets.place(self.id, out);
        let door = Door { listener, wire, timer, acceptor: None };
        self.sockets.places[id.index()] = Place::Listener(Box::new(door));
        self.doors.insert(stream, id);
    }

    /// `connect` for a stream: a new connection.
    pub(super) fn connect(
        &mut self,
        stream: usize,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> SocketId {
        let plan = &self.streams[&stream];
        if plan.is_of_datagrams {
            return self.connect_datagrams(stream, out);
        }
        let (hosts, wires, busy_poll) = (plan.hosts, plan.wires, plan.busy_poll[0]);
        let tcp = Connection::connect(Arc::clone(&self.settings), plan.options[0].clone(), out.now);
        let connection = out.links.next_number();
        let id = self.add_socket(tcp, connection, wires[0], busy_poll, out);
        out.links.push(Link::new(stream, hosts, wires, id, out.now));
        handling.begin(id);
        id
    }

    /// `connect` of a socket for datagrams, which asks nobody.
    fn connect_datagrams(&mut self, stream: usize, out: &mut Outside<'_>) -> SocketId {
        let (hosts, wires) = (self.streams[&stream].hosts, self.streams[&stream].wires);
        let socket = self.datagram_socket(stream, 0).on(out.links.next_number());
        let id = self.add_datagram_socket(socket, out);
        let link = Link::new(stream, hosts, wires, id, out.now);
        out.links.push(Link { datagrams: Some(DatagramCounts::default()), ..link });
        id
    }

    /// `bind` for a stream of datagrams that this host serves.
    pub(super) fn bind(&mut self, stream: usize, out: &mut Outside<'_>) {
        let socket = self.datagram_socket(stream, 1);
        let id = self.add_datagram_socket(socket, out);
        self.doors.insert(stream, id);
    }

    /// Puts a socket for datagrams into the table.
    fn add_datagram_socket(&mut self, socket: DatagramSocket, out: &mut Outside<'_>) -> SocketId {
        let (id, _) = self.sockets.place(self.id, out);
        self.sockets.places[id.index()] = Place::Datagrams(Box::new(socket));
        id
    }

    /// A socket for the datagrams of a stream, at its client (0) or server (1).
    fn datagram_socket(&self, stream: usize, end: usize) -> DatagramSocket {
        let plan = &self.streams[&stream];
        let buffers = [plan.options[end].send_buffer, plan.options[end].receive_buffer];
        DatagramSocket::new(self.settings.choices.buffer_memory, plan.wires[end], buffers)
    }

    /// `accept`: takes a connection that stands, or waits for one.
    pub(super) fn accept(
        &mut self,
        task: TaskId,
        stream: usize,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<SocketId> {
        let id = *self.doors.get(&stream)?;
        if self.sockets.is_of_datagrams(id) {
            return Some(id);
        }
        let door = self.sockets.door_mut(id)?;
        let Ok((Peer(peer), tcp)) = door.listener.accept() else {
            door.acceptor = Some(task);
            return None;
        };
        let (connection, wire) = (peer as u32, door.wire);
        let busy_poll = self.streams[&stream].busy_poll[1];
        let id = self.add_socket(tcp, connection, wire, busy_poll, out);
        if let Some(link) = out.links.get_mut(connection) {
            link.sockets[1] = Some(id);
        }
        handling.begin(id);
        Some(id)
    }

    /// The socket that a packet is for.
    pub(super) fn socket_for(&self, frame: &Frame, out: &Outside<'_>) -> Option<SocketId> {
        let link = out.links.get(frame.connection)?;
        let end = link.end_at(self.id);
        let door = || self.doors.get(&link.stream).copied().filter(|_| end == End::B);
        link.sockets[end.index()].or_else(door)
    }

    /// `close`.
    pub(super) fn close(&mut self, id: SocketId, handling: &mut Handling, out: &mut Outside<'_>) {
        let Some(socket) = self.sockets.get_mut(id) else { return };
        socket.tcp.close(out.now);
        handling.begin(id);
    }

    /// Lets go of a socket of which nothing is left.
    pub(super) fn reap(&mut self, id: SocketId, out: &mut Outside<'_>) {
        if !self.sockets.get_mut(id).is_some_and(|socket| socket.tcp.is_gone()) {
            return;
        }
        let place = std::mem::replace(&mut self.sockets.places[id.index()], Place::Free);
        let Place::Connection(socket) = place else { return };
        self.throttled -= usize::from(socket.throttled);
        if let Some(link) = out.links.get_mut(socket.connection) {
            let end = link.end_at(self.id);
            link.sockets[end.index()] = None;
            link.told[end.index()] = Some(Told::of(&socket.tcp.info(out.now)));
            if link.told.iter().all(Option::is_some) {
                out.links.is_over(socket.connection);
            }
        }
        self.past_sockets = self.past_sockets.plus(socket.counts());
        out.agenda.set(socket.timer, None);
        self.sockets.free.push((id, socket.timer));
    }
}
