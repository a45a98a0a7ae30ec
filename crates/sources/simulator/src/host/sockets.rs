//! The table of a host's sockets, and those that listen.

use super::datagram_socket::DatagramSocket;
use super::schedule::TaskId;
use super::socket::{Socket, SocketId};
use crate::agenda::{Agenda, Slot};
use crate::outside::{Outside, Source};
use slowpath_model::Instant;
use slowpath_tcp::socket::Listener;

/// The sockets of a host. Places of sockets that are gone are used again, with their slots in the agenda.
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
    pub(super) fn place(&mut self, host: usize, out: &mut Outside<'_>) -> (SocketId, Slot) {
        self.free.pop().unwrap_or_else(|| {
            let id = SocketId(self.places.len() as u32);
            self.places.push(Place::Free);
            (id, out.add(Source::Timer(host, id)))
        })
    }
}
