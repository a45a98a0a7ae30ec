//! The table of a host's sockets, listening ones included.

use super::datagram_socket::DatagramSocket;
use super::schedule::TaskId;
use super::socket::{Socket, SocketId};
use crate::agenda::{Agenda, Slot};
use crate::outside::{Outside, Source};
use slowpath_model::Instant;
use slowpath_tcp::socket::Listener;

/// The sockets of a host. Places of closed sockets are reused, with their agenda slots.
#[derive(Debug, Default)]
pub struct Sockets {
    pub(super) places: Vec<Place>,
    pub(super) free: Vec<(SocketId, Slot)>,
}

/// A place of the table.
#[derive(Debug)]
pub(super) enum Place {
    Free,
    Connection(Box<Socket>),
    Listener(Box<ListeningSocket>),
    Datagrams(Box<DatagramSocket>),
}

/// A listening socket of one stream. Until a connection is accepted, its packets and timers are handled here.
#[derive(Debug)]
pub struct ListeningSocket {
    /// Its TCP.
    pub listener: Listener,
    /// The wire to the clients.
    pub wire: usize,
    /// When its next timer is due.
    pub timer: Slot,
    /// The process that sleeps in `accept`.
    pub acceptor: Option<TaskId>,
}

impl Sockets {
    /// The connected socket at a place, if there is one.
    pub fn get_mut(&mut self, id: SocketId) -> Option<&mut Socket> {
        match self.places.get_mut(id.index()) {
            Some(Place::Connection(socket)) => Some(socket),
            _ => None,
        }
    }

    /// The listening socket at a place, if there is one.
    pub fn listener_mut(&mut self, id: SocketId) -> Option<&mut ListeningSocket> {
        match self.places.get_mut(id.index()) {
            Some(Place::Listener(listening)) => Some(listening),
            _ => None,
        }
    }

    /// The datagram socket at a place, if there is one.
    pub fn datagrams_mut(&mut self, id: SocketId) -> Option<&mut DatagramSocket> {
        match self.places.get_mut(id.index()) {
            Some(Place::Datagrams(socket)) => Some(socket),
            _ => None,
        }
    }

    /// Whether a place holds a datagram socket.
    pub fn is_of_datagrams(&self, id: SocketId) -> bool {
        matches!(self.places.get(id.index()), Some(Place::Datagrams(_)))
    }

    /// A place's agenda slot is due; returns whether a timer is. If not, the slot is armed for the next timer.
    pub fn timer_is_due(&mut self, id: SocketId, now: Instant, agenda: &mut Agenda) -> bool {
        match self.places.get_mut(id.index()) {
            Some(Place::Connection(socket)) => {
                socket.timer_armed = socket.timer_due.filter(|due| *due > now);
                agenda.set(socket.timer, socket.timer_armed);
                socket.timer_due.is_some_and(|due| due <= now)
            }
            Some(Place::Listener(listening)) => {
                agenda.set(listening.timer, None);
                true
            }
            Some(Place::Free | Place::Datagrams(_)) | None => false,
        }
    }

    /// The connected socket at a place, if there is one.
    pub fn get(&self, id: SocketId) -> Option<&Socket> {
        match self.places.get(id.index()) {
            Some(Place::Connection(socket)) => Some(socket),
            _ => None,
        }
    }

    /// All connected sockets.
    pub fn iter(&self) -> impl Iterator<Item = &Socket> {
        self.places.iter().filter_map(|place| match place {
            Place::Connection(socket) => Some(&**socket),
            Place::Free | Place::Listener(_) | Place::Datagrams(_) => None,
        })
    }

    /// A free place, and its slot.
    pub(super) fn place(&mut self, host: usize, out: &mut Outside<'_>) -> (SocketId, Slot) {
        self.free.pop().unwrap_or_else(|| {
            let id = SocketId(self.places.len() as u32);
            self.places.push(Place::Free);
            (id, out.add(Source::Timer(host, id)))
        })
    }
}
