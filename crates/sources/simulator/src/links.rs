//! The connections of a run, by number. Old closed connections are summed up and dropped, so that memory does not grow
//! with the number of short connections.

use crate::host::datagram_socket::DatagramCounts;
use crate::host::socket::SocketId;
use crate::shown;
use crate::transfer::{SocketInfo, Total, Transfer};
use slowpath_model::{Bytes, End, Instant};

/// A connection, as its hosts know it.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The stream of a flow that it serves.
    pub stream: usize,
    /// The client's and the server's host.
    pub hosts: [usize; 2],
    /// The wires leaving the client and leaving the server.
    pub wires: [usize; 2],
    /// Their sockets, while they have one.
    pub sockets: [Option<SocketId>; 2],
    /// When the client called `connect`.
    pub opened: Instant,
    /// Bytes that each end's process has read, and when it last did so.
    pub read: [(u64, Instant); 2],
    /// The last `TCP_INFO` of each end.
    pub info: [Option<SocketInfo>; 2],
    /// The counters of its datagrams, if it carries datagrams.
    pub datagrams: Option<DatagramCounts>,
}

impl Link {
    /// A connection that a client has just opened with a socket.
    pub fn new(stream: usize, hosts: [usize; 2], wires: [usize; 2], client: SocketId, now: Instant) -> Self {
        let (sockets, read, info) = ([Some(client), None], [(0, now); 2], [None; 2]);
        Self { stream, hosts, wires, sockets, opened: now, read, info, datagrams: None }
    }

    /// The client is end A, the server end B.
    pub fn end_at(&self, host: usize) -> End {
        if self.hosts[0] == host { End::A } else { End::B }
    }

    /// The host at the other end.
    pub fn peer_of(&self, host: usize) -> usize {
        self.hosts[(!self.end_at(host)).index()]
    }

    /// The end whose process has sent more.
    pub fn sender(&self) -> End {
        if self.read[End::A.index()].0 > self.read[End::B.index()].0 { End::B } else { End::A }
    }

    /// The result, including the sender's `TCP_INFO` while it still has a socket.
    pub(crate) fn transfer(&self, number: u32, alive: Option<SocketInfo>) -> Transfer {
        let sender = self.sender();
        let (bytes, last) = self.read[(!sender).index()];
        Transfer {
            stream: self.stream,
            key: shown::key(number, self.hosts),
            sender,
            bytes: Bytes::new(bytes),
            opened: self.opened,
            lasted: last.since(self.opened).unwrap_or_default(),
            info: alive.or(self.info[sender.index()]),
            datagrams: self.datagrams,
        }
    }
}

/// Connections are dropped in chunks of this size.
const CHUNK: usize = 64;
/// How many recent closed connections are kept: their packets may still be in flight, and users of a run want to see
/// them individually.
const KEPT: usize = 1024;

/// Connections that were opened consecutively.
#[derive(Clone, Debug)]
struct Chunk {
    links: Vec<Link>,
    /// The number that are over.
    over: usize,
}

/// All connections.
#[derive(Clone, Debug, Default)]
pub struct Links {
    chunks: Vec<Option<Box<Chunk>>>,
    count: usize,
    /// Totals of the dropped connections, by stream.
    past: Vec<Total>,
}

impl Links {
    /// The connection with this number; `None` if it was dropped or never existed.
    pub fn get(&self, number: u32) -> Option<&Link> {
        let number = number as usize;
        self.chunks.get(number / CHUNK)?.as_ref()?.links.get(number % CHUNK)
    }

    /// The connection with this number, mutable; `None` if it was dropped or never existed.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut Link> {
        let number = number as usize;
        self.chunks.get_mut(number / CHUNK)?.as_mut()?.links.get_mut(number % CHUNK)
    }

    /// The datagram counters of the connection with this number.
    pub fn datagrams_mut(&mut self, number: u32) -> Option<&mut DatagramCounts> {
        self.get_mut(number)?.datagrams.as_mut()
    }

    /// The number of the next connection.
    pub fn next_number(&self) -> u32 {
        self.count as u32
    }

    /// Adds a connection.
    pub fn push(&mut self, link: Link) {
        if self.count.is_multiple_of(CHUNK) {
            self.chunks.push(Some(Box::new(Chunk { links: Vec::with_capacity(CHUNK), over: 0 })));
            if let Some(old) = self.chunks.len().checked_sub(KEPT / CHUNK + 1) {
                self.forget(old);
            }
        }
        self.count += 1;
        if let Some(Some(chunk)) = self.chunks.last_mut() {
            chunk.links.push(link);
        }
    }

    /// Both ends of a connection have closed it.
    pub fn is_over(&mut self, number: u32) {
        let index = number as usize / CHUNK;
        if let Some(Some(chunk)) = self.chunks.get_mut(index) {
            chunk.over += 1;
        }
        if index + KEPT / CHUNK < self.chunks.len() {
            self.forget(index);
        }
    }

    /// Sums a chunk up and drops it, if all of it is over.
    fn forget(&mut self, index: usize) {
        let Some(chunk) = self.chunks[index].take_if(|chunk| chunk.over == CHUNK) else { return };
        for (number, link) in (index * CHUNK..).zip(&chunk.links) {
            if self.past.len() <= link.stream {
                self.past.resize(link.stream + 1, Total::default());
            }
            self.past[link.stream].add(&link.transfer(number as u32, None));
        }
    }

    /// The connections not dropped, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Link)> {
        let first = |index: usize| (index * CHUNK) as u32;
        let chunks =
            self.chunks.iter().enumerate().filter_map(|(index, chunk)| Some((index, chunk.as_ref()?)));
        chunks.flat_map(move |(index, chunk)| (first(index)..).zip(&chunk.links))
    }

    /// The total of a stream's dropped connections.
    pub fn past(&self, stream: usize) -> Total {
        self.past.get(stream).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(stream: usize, opened: i64) -> Link {
        let opened = Instant::from_nanos(opened);
        let read = [(1, opened), (100, opened)];
        let info = [Some(SocketInfo { retransmits: 2, ..SocketInfo::default() }), None];
        Link { stream, hosts: [0, 1], wires: [0, 1], sockets: [None; 2], opened, read, info, datagrams: None }
    }

    #[test]
    fn old_closed_connections_are_summed_up() {
        let mut links = Links::default();
        for number in 0..10_000 {
            assert_eq!(links.next_number(), number);
            links.push(link(number as usize % 2, i64::from(number)));
            // One of the first stays open; it keeps only its chunk.
            if number != 70 {
                links.is_over(number);
            }
        }
        let kept = links.iter().count();
        assert!((KEPT..=KEPT + 2 * CHUNK).contains(&kept), "{kept}");
        assert!(links.get(0).is_none() && links.get(70).is_some() && links.get(9_999).is_some());
        assert!(links.iter().all(|(number, link)| link.opened.nanos() == i64::from(number)));
        let (one, two) = (links.past(0), links.past(1));
        assert_eq!(one.connections + two.connections + kept as u64, 10_000);
        assert_eq!(one.bytes.get(), 100 * one.connections);
        assert_eq!(two.retransmits, 2 * two.connections);
        links.is_over(70);
        assert!(links.get(70).is_none());
    }
}
