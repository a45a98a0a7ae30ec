//! What the threads of the data connections share with the session that watches them.

use super::Stop;
use super::sockets::tcp_info;
use super::stream::Stream;
use crate::account::Spent;
use crate::error::CopyError;
use slowpath_uapi::TcpInfo;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

/// Time of one thread, and what it moved.
#[derive(Debug, Default)]
pub struct Clock {
    disk_ns: AtomicU64,
    cpu_ns: AtomicU64,
    socket_ns: AtomicU64,
    bytes: AtomicU64,
    has_ended: AtomicBool,
}

fn add(to: &AtomicU64, time: Duration) {
    to.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
}

impl Clock {
    /// Runs a closure and counts its time as that of the disk.
    pub fn disk<T>(&self, work: impl FnOnce() -> T) -> T {
        timed(&self.disk_ns, work)
    }

    /// Counts the time of digests and encryption.
    pub fn cpu<T>(&self, work: impl FnOnce() -> T) -> T {
        timed(&self.cpu_ns, work)
    }

    /// Counts the time of a socket.
    pub fn socket<T>(&self, work: impl FnOnce() -> T) -> T {
        timed(&self.socket_ns, work)
    }

    /// Counts time that was waited for a socket.
    pub fn waited(&self, time: Duration) {
        add(&self.socket_ns, time);
    }

    /// Counts time that was computed.
    pub fn computed(&self, time: Duration) {
        add(&self.cpu_ns, time);
    }

    /// Counts bytes of blocks.
    pub fn moved(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What was moved.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// What it was spent on.
    pub fn spent(&self) -> Spent {
        Spent {
            disk_ns: self.disk_ns.load(Ordering::Relaxed),
            cpu_ns: self.cpu_ns.load(Ordering::Relaxed),
            socket_ns: self.socket_ns.load(Ordering::Relaxed),
        }
    }

    /// The thread has nothing more to do.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }

    /// Whether the thread has nothing more to do.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }
}

fn timed<T>(to: &AtomicU64, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let result = work();
    add(to, began.elapsed());
    result
}

/// A data connection as the session sees it.
pub struct Watched {
    /// Its number.
    pub number: u16,
    /// Its socket.
    pub tcp: TcpStream,
    /// What its thread does.
    pub clock: Arc<Clock>,
    /// At the last look.
    pub before: (TcpInfo, Spent, Instant),
    /// For how many intervals its send buffer has limited it.
    pub limited: u32,
}

impl Watched {
    /// Begins the thread of a connection, which reports to `board` if its `work` fails.
    pub fn begin<'s>(
        stream: Stream,
        scope: &'s Scope<'s, '_>,
        board: &'s Board,
        work: impl FnOnce(Stream, &Clock) -> Result<(), CopyError> + Send + 's,
    ) -> Result<Self, CopyError> {
        let tcp = stream.tcp.try_clone().map_err(CopyError::system("duplicate a socket"))?;
        let before = (tcp_info(&tcp), Spent::default(), Instant::now());
        let (number, clock) = (stream.number, Arc::<Clock>::default());
        let own = Arc::clone(&clock);
        scope.spawn(move || {
            if let Err(error) = work(stream, &own) {
                board.fail(error);
            }
            own.end();
        });
        Ok(Self { number, tcp, clock, before, limited: 0 })
    }
}

/// Where threads report that they failed, and learn that others did.
#[derive(Default)]
pub struct Board {
    failed: Mutex<Option<CopyError>>,
    is_over: AtomicBool,
}

impl Board {
    /// Notes an error, unless there is one: the others follow from it.
    pub fn fail(&self, error: CopyError) {
        // Those that end because it is over failed at nothing.
        if matches!(error, CopyError::Stopped) && self.is_over() {
            return;
        }
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert(error);
    }

    /// The error, if there is one.
    pub fn failure(&self) -> Option<CopyError> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends all threads.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// Whether threads are to end.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// Ends the threads however the session ends.
pub struct Ends<'a>(pub &'a Board);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// How long nothing may move.
const STALL: Duration = Duration::from_secs(120);

/// Notices that nothing moves.
pub struct Movement {
    last: u64,
    since: Instant,
}

impl Movement {
    /// From now on.
    pub fn new() -> Self {
        Self { last: 0, since: Instant::now() }
    }

    /// So much has moved by now, in whatever unit.
    pub fn check(&mut self, moved: u64) -> Result<(), CopyError> {
        if moved != self.last {
            *self = Self { last: moved, since: Instant::now() };
        }
        if self.since.elapsed() > STALL { Err(CopyError::Stalled) } else { Ok(()) }
    }
}

/// Whether a thread is to stop.
pub fn stops<'a>(board: &'a Board, stop: Stop<'a>) -> impl Fn() -> bool + Sync + 'a {
    move || board.is_over() || stop()
}
