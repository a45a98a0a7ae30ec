//! A host's connections: opening, closing, and shared state.

use super::datagram_socket::{DatagramCounts, DatagramSocket};
use super::handling::Handling;
use super::metrics::CachedMetrics;
use super::polling::end_of;
use super::schedule::TaskId;
use super::socket::{Arrivals, Socket, SocketCounts, SocketId};
use super::sockets::{ListeningSocket, Place, Sockets};
use crate::links::Link;
use crate::outside::Outside;
use crate::transfer::SocketInfo;
use crate::wire::Frame;
use slowpath_model::{End, Instant};
use slowpath_path::chance::Draws;
use slowpath_tcp::socket::{Listener, PacketMemory, Peer, SocketOptions};
use slowpath_tcp::{Connection, Settings, State};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// A stream of a flow, as its hosts know it.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The client's and the server's host.
    pub hosts: [usize; 2],
    /// The wires leaving the client and leaving the server.
    pub wires: [usize; 2],
    /// The socket options of client and server.
    pub options: [SocketOptions; 2],
    /// How long they busy-poll, if set (`SO_BUSY_POLL`).
    pub busy_poll: [Option<Duration>; 2],
    /// Whether it carries datagrams.
    pub is_of_datagrams: bool,
}

/// Sockets, listening sockets, and the metrics cache.
#[derive(Debug)]
pub struct Connections {
    /// The host's number.
    pub(super) host: usize,
    pub(super) settings: Arc<Settings>,
    pub(super) packet_memory: PacketMemory,
    /// The maximum bytes of one copy.
    pub(super) copy_piece: u64,
    /// A process that calls on a socket locks it: packets and timers wait for it.
    pub(super) locks: bool,
    /// The default busy-poll time of a reader (`net.core.busy_read`). `None` if readers cannot poll: the NIC must have
    /// a NAPI, and on a zero-cost host nobody waits for anything.
    pub(super) busy_read: Option<Duration>,
    pub(super) sockets: Sockets,
    /// The counters of sockets that no longer exist.
    pub(super) past: SocketCounts,
    /// The listening socket of each stream.
    pub(super) listeners: BTreeMap<usize, SocketId>,
    pub(super) streams: BTreeMap<usize, Stream>,
    /// The cached metrics of other hosts.
    pub(super) cached_metrics: CachedMetrics,
    pub(super) draws: Draws,
}

impl Connections {
    /// Adds a connection's end to the table.
    pub(super) fn add_socket(
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
        let (id, timer) = self.sockets.place(self.host, out);
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
            mtu_deferred: None,
            throttled: false,
            room_deferred: false,
            next_id: self.draws.bits() as u16,
            busy_poll: self.busy_read.map_or(Duration::ZERO, |usual| busy_poll.unwrap_or(usual)),
            counts: SocketCounts::default(),
            arrivals: Arrivals::after(waiting.end.distance_from(waiting.start)),
            vitals,
        };
        self.sockets.places[id.index()] = Place::Connection(Box::new(socket));
        id
    }

    /// `listen` for a stream that this host serves.
    pub(super) fn listen(&mut self, stream: usize, out: &mut Outside<'_>) {
        /// The usual backlog of servers (`SOMAXCONN` of glibc's headers).
        const BACKLOG: u32 = 4096;
        let plan = &self.streams[&stream];
        let (options, wire) = (plan.options[1].clone(), plan.wires[1]);
        let listener = Listener::listen(Arc::clone(&self.settings), options, BACKLOG);
        let (id, timer) = self.sockets.place(self.host, out);
        let listening = ListeningSocket { listener, wire, timer, acceptor: None };
        self.sockets.places[id.index()] = Place::Listener(Box::new(listening));
        self.listeners.insert(stream, id);
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

    /// `connect` of a datagram socket, which sends nothing.
    pub(super) fn connect_datagrams(&mut self, stream: usize, out: &mut Outside<'_>) -> SocketId {
        let (hosts, wires) = (self.streams[&stream].hosts, self.streams[&stream].wires);
        let socket = self.datagram_socket(stream, 0).on(out.links.next_number());
        let id = self.add_datagram_socket(socket, out);
        let link = Link::new(stream, hosts, wires, id, out.now);
        out.links.push(Link { datagrams: Some(DatagramCounts::default()), ..link });
        id
    }

    /// `bind` for a datagram stream that this host serves.
    pub(super) fn bind(&mut self, stream: usize, out: &mut Outside<'_>) {
        let socket = self.datagram_socket(stream, 1);
        let id = self.add_datagram_socket(socket, out);
        self.listeners.insert(stream, id);
    }

    /// Adds a datagram socket to the table.
    pub(super) fn add_datagram_socket(&mut self, socket: DatagramSocket, out: &mut Outside<'_>) -> SocketId {
        let (id, _) = self.sockets.place(self.host, out);
        self.sockets.places[id.index()] = Place::Datagrams(Box::new(socket));
        id
    }

    /// A datagram socket of a stream, at its client (0) or server (1).
    pub(super) fn datagram_socket(&self, stream: usize, end: usize) -> DatagramSocket {
        let plan = &self.streams[&stream];
        let buffers = [plan.options[end].send_buffer, plan.options[end].receive_buffer];
        DatagramSocket::new(self.settings.choices.buffer_memory, plan.wires[end], buffers)
    }

    /// `accept`: returns an established connection, or waits for one.
    pub(super) fn accept(
        &mut self,
        task: TaskId,
        stream: usize,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<SocketId> {
        let id = *self.listeners.get(&stream)?;
        if self.sockets.is_of_datagrams(id) {
            return Some(id);
        }
        let listening = self.sockets.listener_mut(id)?;
        let Ok((Peer(peer), tcp)) = listening.listener.accept() else {
            listening.acceptor = Some(task);
            return None;
        };
        let (connection, wire) = (peer as u32, listening.wire);
        let busy_poll = self.streams[&stream].busy_poll[1];
        let id = self.add_socket(tcp, connection, wire, busy_poll, out);
        if let Some(link) = out.links.get_mut(connection) {
            link.sockets[1] = Some(id);
        }
        handling.begin(id);
        Some(id)
    }

    /// The destination socket of a packet.
    pub(super) fn socket_for(&self, frame: &Frame, out: &Outside<'_>) -> Option<SocketId> {
        let link = out.links.get(frame.connection)?;
        let end = link.end_at(self.host);
        let listening = || self.listeners.get(&link.stream).copied().filter(|_| end == End::B);
        link.sockets[end.index()].or_else(listening)
    }

    /// `close`.
    pub(super) fn close(&mut self, id: SocketId, handling: &mut Handling, out: &mut Outside<'_>) {
        let Some(socket) = self.sockets.get_mut(id) else { return };
        socket.tcp.close(out.now);
        handling.begin(id);
    }

    /// Until when a process that enters `read` now busy-polls, if its socket does. There must be nothing to read.
    pub(super) fn polls_until(&self, socket: SocketId, now: Instant) -> Option<Instant> {
        let lasts = self.sockets.get(socket)?.busy_poll;
        let polls = !lasts.is_zero() && !self.is_readable(socket);
        polls.then(|| end_of(now, lasts))
    }

    /// Whether a reader need not wait: there is data or EOF (`sk_receive_queue`, which also holds the FIN).
    pub(super) fn is_readable(&self, socket: SocketId) -> bool {
        self.sockets.get(socket).is_none_or(|socket| {
            let queue = socket.tcp.receive_queue();
            socket.tcp.state() != State::Established || queue.end.distance_from(queue.start) > 0
        })
    }

    /// Whether a process's socket busy-polls.
    pub(super) fn asks_for_polling(&self, socket: Option<SocketId>) -> bool {
        socket.and_then(|id| self.sockets.get(id)).is_some_and(|socket| !socket.busy_poll.is_zero())
    }

    /// Frees a socket that is fully closed. Returns whether it waited for a NIC completion.
    pub(super) fn reap(&mut self, id: SocketId, out: &mut Outside<'_>) -> bool {
        if !self.sockets.get_mut(id).is_some_and(|socket| socket.tcp.is_gone()) {
            return false;
        }
        let place = std::mem::replace(&mut self.sockets.places[id.index()], Place::Free);
        let Place::Connection(socket) = place else { return false };
        if let Some(link) = out.links.get_mut(socket.connection) {
            let end = link.end_at(self.host);
            link.sockets[end.index()] = None;
            link.info[end.index()] = Some(SocketInfo::of(&socket.tcp.info(out.now)));
            if link.info.iter().all(Option::is_some) {
                out.links.is_over(socket.connection);
            }
        }
        self.past = self.past.plus(socket.counts());
        out.agenda.set(socket.timer, None);
        self.sockets.free.push((id, socket.timer));
        socket.throttled
    }
}
