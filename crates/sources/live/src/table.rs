//! Which sockets are ends of which flows.

use slowpath_model::{End, Endpoint, FlowEnd, FlowId, FlowKey, Sink};
use std::collections::HashMap;

/// Endpoint pairs kept after all their connections ended, so that the next one between them gets its number.
const MOST_PAIRS: usize = 1 << 17;

/// The owner of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// The inode of its file, as in `/proc/PID/fd`; 0 if no process had it open at the last sample.
    pub inode: u64,
    /// The control group in which it was created: the inode of its folder; 0 if unknown.
    pub cgroup: u64,
    /// Its network namespace: the inode of `/proc/PID/ns/net`; 0 if unknown.
    pub netns: u32,
}

/// A process that has a socket open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its name in the kernel (`/proc/PID/comm`).
    pub name: String,
}

/// A socket, and its last report.
pub struct Socket<T> {
    pub flow: FlowId,
    pub end: End,
    pub owner: Owner,
    pub before: T,
    is_seen: bool,
}

/// The live sockets, by their cookies.
pub struct Table<T> {
    sockets: HashMap<u64, Socket<T>>,
    /// The sockets of each connection with one or both ends on this host.
    flows: HashMap<FlowId, [Option<u64>; 2]>,
    /// The last flow between two endpoints, and how many there were.
    between: HashMap<(Endpoint, Endpoint), (FlowId, u32)>,
    /// The owners of the sockets that ended since the last time.
    gone: Vec<(FlowId, End, Owner)>,
    last: u32,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        let (sockets, flows, between) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { sockets, flows, between, gone: Vec::new(), last: 0 }
    }
}

impl<T> Table<T> {
    /// The live socket with this cookie. An unknown one becomes the other end of a known flow, or the end of a new
    /// flow. Returns whether it was known.
    pub fn seen(
        &mut self,
        cookie: u64,
        ends: [Endpoint; 2],
        begun: impl FnOnce() -> T,
        sink: &mut impl Sink,
    ) -> (&mut Socket<T>, bool) {
        let is_known = self.sockets.contains_key(&cookie);
        let opened = if is_known { None } else { Some(self.open(cookie, ends, sink)) };
        let socket = self.sockets.entry(cookie).or_insert_with(|| {
            let (flow, end) = opened.unwrap_or((FlowId(0), End::A));
            Socket { flow, end, owner: Owner::default(), before: begun(), is_seen: true }
        });
        socket.is_seen = true;
        (socket, is_known)
    }

    fn open(&mut self, cookie: u64, [local, remote]: [Endpoint; 2], sink: &mut impl Sink) -> (FlowId, End) {
        // The end that opened the connection is unknown. Clients' ports are the high ones.
        let end = if (local.port, local) > (remote.port, remote) { End::A } else { End::B };
        let (a, b) = if end == End::A { (local, remote) } else { (remote, local) };
        let (last, count) = self.between.get(&(a, b)).copied().unwrap_or((FlowId(0), 0));
        if let Some(ends) = self.flows.get_mut(&last).filter(|ends| ends[end.index()].is_none()) {
            ends[end.index()] = Some(cookie);
            return (last, end);
        }
        self.last += 1;
        let flow = FlowId(self.last);
        self.between.insert((a, b), (flow, count + 1));
        self.flows.entry(flow).or_default()[end.index()] = Some(cookie);
        sink.open(flow, &FlowKey { a, b, occurrence: count });
        (flow, end)
    }

    /// The state of a socket.
    pub fn get(&self, cookie: u64) -> Option<&Socket<T>> {
        self.sockets.get(&cookie)
    }

    /// A socket ended; returns its last report.
    pub fn forget(&mut self, cookie: u64, sink: &mut impl Sink) -> Option<T> {
        let socket = self.sockets.remove(&cookie)?;
        self.gone.push((socket.flow, socket.end, socket.owner));
        if let Some(ends) = self.flows.get_mut(&socket.flow) {
            ends[socket.end.index()] = None;
            if *ends == [None, None] {
                self.flows.remove(&socket.flow);
                if self.between.len() > MOST_PAIRS {
                    self.between.retain(|_, (flow, _)| self.flows.contains_key(flow));
                }
                sink.close(socket.flow, FlowEnd::Gone);
            }
        }
        Some(socket.before)
    }

    /// All live sockets were reported: those that were not have ended.
    pub fn sweep(&mut self, sink: &mut impl Sink) -> Vec<T> {
        let unseen = self.sockets.iter().filter(|(_, socket)| !socket.is_seen);
        let gone: Vec<u64> = unseen.map(|(cookie, _)| *cookie).collect();
        let before = gone.into_iter().filter_map(|cookie| self.forget(cookie, sink)).collect();
        self.sockets.values_mut().for_each(|socket| socket.is_seen = false);
        before
    }

    /// Starts a new list of ended sockets.
    pub fn begin(&mut self) {
        self.gone.clear();
    }

    /// The owners of the sockets, by flow and end, including sockets that ended since [`begin`](Self::begin).
    pub fn owners(&self) -> impl Iterator<Item = (FlowId, End, Owner)> {
        let living = self.sockets.values().map(|socket| (socket.flow, socket.end, socket.owner));
        living.chain(self.gone.iter().copied())
    }

    /// The live sockets.
    pub fn all(&self) -> impl Iterator<Item = &Socket<T>> {
        self.sockets.values()
    }

    /// The live sockets, in the order of their flows.
    pub fn sockets(&self) -> Vec<&Socket<T>> {
        let mut sockets: Vec<_> = self.sockets.values().collect();
        sockets.sort_unstable_by_key(|socket| (socket.flow, socket.end.index()));
        sockets
    }

    /// Ends the table: returns the last reports of the live sockets.
    pub fn finish(self, sink: &mut impl Sink) -> impl Iterator<Item = T> {
        let mut left: Vec<FlowId> = self.flows.keys().copied().collect();
        left.sort_unstable();
        left.into_iter().for_each(|flow| sink.close(flow, FlowEnd::EndOfRecording));
        self.sockets.into_values().map(|socket| socket.before)
    }
}
