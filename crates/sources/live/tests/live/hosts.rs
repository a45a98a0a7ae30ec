//! What was reported of both ends of a connection.

use slowpath_live::{Filter, Live};
use slowpath_model::{Bytes, Event, EventKind, FlowEnd, FlowId, FlowKey, Hold, Mark, Sink, Wait};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// What one end reported.
#[derive(Debug, Default)]
pub struct EndReports {
    pub written: Bytes,
    pub read: Bytes,
    pub held: Vec<(Hold, Duration)>,
    waits: Vec<(Wait, Duration, u64)>,
}

impl EndReports {
    /// How many waited there; bytes in the receive queue.
    pub fn waited(&self, on: Wait) -> u64 {
        self.waits.iter().filter(|(place, ..)| *place == on).map(|(.., count)| *count).sum()
    }

    /// How long packets waited for TCP, and how many of them that long.
    pub fn packets(&self) -> impl Iterator<Item = (Duration, u64)> {
        let packets = [Wait::CpuBacklog, Wait::SocketBacklog, Wait::HolderOffCpu];
        self.waits.iter().filter(move |(on, ..)| packets.contains(on)).map(|(_, time, count)| (*time, *count))
    }

    pub fn longest(&self, on: Wait) -> Duration {
        self.waits
            .iter()
            .filter(|(place, ..)| *place == on)
            .map(|(_, time, _)| *time)
            .max()
            .unwrap_or_default()
    }

    pub fn held_by(&self, by: Hold) -> Duration {
        self.held.iter().filter(|(hold, _)| *hold == by).map(|(_, time)| *time).sum()
    }

    pub fn held_most(&self) -> (Hold, Duration) {
        let all = Hold::ALL.iter().map(|hold| (*hold, self.held_by(*hold)));
        all.max_by_key(|(_, time)| *time).expect("there are some")
    }
}

/// What was reported.
#[derive(Default)]
pub struct Reports {
    keys: Vec<FlowKey>,
    ends: [EndReports; 2],
    marks: Vec<Mark>,
}

impl Reports {
    /// The end with the higher port, and the other.
    pub fn both(&self) -> [&EndReports; 2] {
        // The listener's port was allocated first, so the client's is different: the end that wrote first is the client.
        let client = if self.ends[0].written >= self.ends[1].written { 0 } else { 1 };
        [&self.ends[client], &self.ends[1 - client]]
    }

    pub fn keys(&self) -> &[FlowKey] {
        &self.keys
    }

    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }
}

impl Sink for Reports {
    fn open(&mut self, _: FlowId, key: &FlowKey) {
        self.keys.push(*key);
    }

    fn accept(&mut self, _: FlowId, event: &Event) {
        let Some(end) = event.kind.end() else { return };
        let own = &mut self.ends[end.index()];
        match event.kind {
            EventKind::Written { amount, .. } => own.written = Bytes::new(own.written.get() + amount.get()),
            EventKind::Read { amount, .. } => own.read = Bytes::new(own.read.get() + amount.get()),
            EventKind::Held { by, lasted, .. } => own.held.push((by, lasted)),
            EventKind::Waited { on, lasted, amount, times, .. } => {
                let count = if on == Wait::ReceiveQueue { amount.get() } else { times };
                own.waits.push((on, lasted, count));
            }
            EventKind::Marked { mark, .. } => self.marks.push(mark),
            _ => {}
        }
    }

    fn close(&mut self, _: FlowId, _: FlowEnd) {}
}

/// A connection over loopback, its client's end first.
pub fn connect() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    (client, listener.accept().expect("its other end").0)
}

/// The number of this thread's network namespace: others on this machine may be busy.
pub fn netns() -> u32 {
    let file = std::fs::metadata("/proc/thread-self/ns/net").expect("it has one");
    u32::try_from(file.ino()).expect("a small number")
}

pub fn start() -> Live {
    Live::start(Filter::of_netns(&[netns()])).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs on a thread of its own, in a network namespace that ends with it and has nobody else in it.
pub fn in_own_namespace(work: impl FnOnce() + Send + 'static) {
    let inside = move || {
        // SAFETY: it concerns the calling thread only.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0, "{}", std::io::Error::last_os_error());
        // As on other links: super-packets have many segments.
        let up = std::process::Command::new("ip").args(["link", "set", "lo", "up", "mtu", "1500"]).status();
        assert!(up.is_ok_and(|status| status.success()), "loopback is up");
        work();
    };
    if let Err(panic) = std::thread::spawn(inside).join() {
        std::panic::resume_unwind(panic);
    }
}
