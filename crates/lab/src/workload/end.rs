//! One end of a connection: writes, reads, and the record of them.

use super::{Calls, Reader, SocketOptions, Writer};
use crate::clock;
use crate::error::LabError;
use crate::samples::Sampler;
use crate::task::{Scheduling, TaskRecord};
use serde::{Deserialize, Serialize};
use slowpath_live::TcpInfo;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Priority of the applications' threads; below the capture (10) and the relay (20).
const PRIORITY: i32 = 5;

/// Makes the calling thread an application's: scheduled as asked, or above all ordinary tasks, as on a machine with
/// nothing else to do.
///
/// # Errors
/// If the kernel refuses what was asked.
pub(super) fn become_application(asked: Option<&Scheduling>) -> Result<(), LabError> {
    match asked {
        Some(scheduling) => scheduling.apply(0),
        None => {
            clock::make_thread_punctual(PRIORITY);
            Ok(())
        }
    }
}

/// What one end of a connection did and when, and its kernel's counters. Times are `CLOCK_REALTIME`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndRecord {
    /// Own address.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
    /// `connect` was called, or `accept` returned.
    pub opened_ns: u64,
    /// `connect` or `accept` returned.
    pub established_ns: u64,
    /// First `write` was called; `None` if this end does not write.
    pub write_began_ns: Option<u64>,
    /// Last `write` returned.
    pub write_ended_ns: Option<u64>,
    /// First seen that every written byte was acknowledged.
    pub acknowledged_ns: Option<u64>,
    /// The peer's end of file was read.
    pub read_ended_ns: Option<u64>,
    /// Bytes that the socket accepted.
    pub written_bytes: u64,
    /// Bytes read from the socket.
    pub read_bytes: u64,
    /// Time the application waited for room in the send buffer.
    pub waited_for_room_ns: u64,
    /// The part of it in which the kernel had less than a full segment left to send: everything in the buffer was in
    /// flight, so the buffer's size stopped the transfer.
    pub starved_ns: u64,
    /// When each message started, in order; empty for a writer without messages.
    pub messages_ns: Vec<u64>,
    /// When the reader paused, held its socket locked, or had its memory taken away: from and to.
    pub stops_ns: Vec<(u64, u64)>,
    /// When `info` was read: once everything was acknowledged (at an end that writes), or at the end of file.
    pub info_ns: Option<u64>,
    /// The `TCP_INFO` then.
    pub info: Option<TcpInfo>,
    /// Size of the send buffer then, from `SO_SNDBUF`: what the kernel allows, including its overhead.
    pub sndbuf_bytes: Option<u64>,
    /// Size of the receive buffer then, from `SO_RCVBUF`.
    pub rcvbuf_bytes: Option<u64>,
    /// The machine's CPU whose softirq passed up the last packet then, from `SO_INCOMING_CPU`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub softirq_cpu: Option<u32>,
    /// Why the kernel gave up the connection early, if it did; only paths with middleboxes may cause that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub broken: Option<String>,
    /// The task that read, by the kernel's counters.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reader: Option<TaskRecord>,
    /// The task that wrote, by the kernel's counters.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub writer: Option<TaskRecord>,
}

/// What both ends need to know while they run.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Samples the sockets.
    pub sampler: &'a Sampler,
    /// When to give up, on the monotonic clock.
    pub deadline_ns: u64,
    /// When to stop at any point, on that clock: the connection is then closed as it is.
    pub cut_ns: Option<u64>,
    /// Whether a connection may be reset or time out: that ends it, and the run goes on.
    pub may_break: bool,
}

impl Surroundings<'_> {
    /// Whether it is time to stop.
    pub(super) fn is_cut(&self) -> bool {
        self.cut_ns.is_some_and(|cut| clock::monotonic_ns() >= cut)
    }

    /// Whether an error of a call may end the connection here.
    fn may_be(&self, error: &io::Error) -> bool {
        const ENDS: [ErrorKind; 4] = [
            ErrorKind::ConnectionReset,
            ErrorKind::BrokenPipe,
            ErrorKind::TimedOut,
            ErrorKind::HostUnreachable,
        ];
        self.may_break && ENDS.contains(&error.kind())
    }

    /// The earlier of the two instants.
    pub(super) fn until(&self, until_ns: u64) -> u64 {
        until_ns.min(self.deadline_ns).min(self.cut_ns.unwrap_or(u64::MAX))
    }
}

/// A socket with its options set, not yet connected; it belongs to the calling thread's namespace.
///
/// # Errors
/// If the kernel refuses an option.
pub fn socket(address: SocketAddr, options: &SocketOptions) -> Result<Socket, LabError> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))
        .map_err(LabError::system("open a TCP socket"))?;
    options.set_before(&socket)?;
    options.set_on_connection(&socket)?;
    Ok(socket)
}

/// A listening socket in the calling thread's namespace.
///
/// # Errors
/// If the address is taken or an option is refused.
pub fn listener(address: SocketAddr, options: &SocketOptions) -> Result<Socket, LabError> {
    let doing = || format!("listen on {address}");
    let listener = socket(address, options)?;
    listener.set_reuse_address(true).map_err(LabError::system(doing()))?;
    listener.bind(&SockAddr::from(address)).map_err(LabError::system(doing()))?;
    listener.listen(1024).map_err(LabError::system(doing()))?;
    listener.set_nonblocking(true).map_err(LabError::system(doing()))?;
    Ok(listener)
}

/// A connected end, with its record started.
pub struct End {
    /// The socket, non-blocking unless its reader polls.
    pub socket: Socket,
    /// The record so far.
    pub record: EndRecord,
    /// The size of its calls.
    pub calls: Calls,
    /// Its reader polls before it sleeps (`SO_BUSY_POLL`).
    pub(super) polls: bool,
}

impl End {
    fn begin(socket: Socket, opened_ns: u64) -> Result<Self, LabError> {
        let established_ns = clock::realtime_ns();
        let address = |a: io::Result<SockAddr>| {
            a.and_then(|a| a.as_socket().ok_or_else(|| ErrorKind::AddrNotAvailable.into()))
                .map_err(LabError::system("read a socket's address"))
        };
        let (local, remote) = (address(socket.local_addr())?, address(socket.peer_addr())?);
        // Only a read that may sleep polls before it does; another one checks once (`sk_busy_loop`).
        let polls = polls(&socket);
        socket.set_nonblocking(!polls).map_err(LabError::system("make a socket non-blocking"))?;
        let record = EndRecord {
            local,
            remote,
            opened_ns,
            established_ns,
            write_began_ns: None,
            write_ended_ns: None,
            acknowledged_ns: None,
            read_ended_ns: None,
            written_bytes: 0,
            read_bytes: 0,
            waited_for_room_ns: 0,
            starved_ns: 0,
            messages_ns: Vec::new(),
            stops_ns: Vec::new(),
            info_ns: None,
            info: None,
            sndbuf_bytes: None,
            rcvbuf_bytes: None,
            softirq_cpu: None,
            broken: None,
            reader: None,
            writer: None,
        };
        Ok(Self { socket, record, calls: Calls::default(), polls })
    }

    /// Connects, waiting for lost SYNs as long as it takes; `None` if it was time to stop first.
    ///
    /// # Errors
    /// If the connection is refused or the deadline passes.
    pub fn connect(socket: Socket, to: SocketAddr, around: Surroundings) -> Result<Option<Self>, LabError> {
        let opened_ns = clock::realtime_ns();
        // The wait counts in milliseconds, and must not give up early.
        let patience = around.until(u64::MAX).saturating_sub(clock::monotonic_ns()).saturating_add(2_000_000);
        match socket.connect_timeout(&SockAddr::from(to), Duration::from_nanos(patience)) {
            Ok(()) => Self::begin(socket, opened_ns).map(Some),
            Err(_) if around.is_cut() => Ok(None),
            Err(e) => Err(LabError::system(format!("connect to {to}"))(e)),
        }
    }

    /// Connects with data: the kernel puts as much as allowed into the SYN, and returns how much. It counts as written
    /// on the connection.
    ///
    /// # Errors
    /// As [`End::connect`].
    pub fn connect_with_data(
        socket: Socket,
        to: SocketAddr,
        bytes: usize,
        around: Surroundings,
    ) -> Result<Option<Self>, LabError> {
        let opened_ns = clock::realtime_ns();
        let patience = around.until(u64::MAX).saturating_sub(clock::monotonic_ns()).max(1_000_000);
        let patience = Some(Duration::from_nanos(patience));
        socket.set_write_timeout(patience).map_err(LabError::system("set SO_SNDTIMEO"))?;
        // The call returns when the connection is established, or the SYN was answered by an error.
        match socket.send_to_with_flags(&vec![0; bytes], &SockAddr::from(to), libc::MSG_FASTOPEN) {
            Ok(taken) => {
                let mut end = Self::begin(socket, opened_ns)?;
                end.record.write_began_ns = Some(opened_ns);
                end.record.written_bytes = taken as u64;
                Ok(Some(end))
            }
            Err(_) if around.is_cut() => Ok(None),
            Err(e) => Err(LabError::system(format!("connect to {to} with data"))(e)),
        }
    }

    /// Waits for the next connection; `None` if it was time to stop before one arrived.
    ///
    /// # Errors
    /// If none comes before the deadline.
    pub fn accept(
        listener: &Socket,
        options: &SocketOptions,
        around: Surroundings,
    ) -> Result<Option<Self>, LabError> {
        loop {
            match listener.accept() {
                _ if around.is_cut() => return Ok(None),
                Ok((socket, _)) => {
                    let opened_ns = clock::realtime_ns();
                    options.set_on_connection(&socket)?;
                    options.lift(&socket)?;
                    return Self::begin(socket, opened_ns).map(Some);
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    wait(listener, libc::POLLIN, around, "a connection")?;
                }
                Err(e) => return Err(LabError::system("accept")(e)),
            }
        }
    }

    /// Writes an amount, as fast as the socket accepts it; stops early at `until_ns` (monotonic), if given.
    ///
    /// # Errors
    /// If the peer resets the connection or the deadline passes.
    pub fn write(&mut self, bytes: u64, until_ns: Option<u64>, around: Surroundings) -> Result<(), LabError> {
        let chunk = vec![0_u8; usize::try_from(self.calls.write_bytes).unwrap_or(usize::MAX).max(1)];
        let mut left = bytes;
        self.record.write_began_ns.get_or_insert_with(clock::realtime_ns);
        while left > 0 && until_ns.is_none_or(|until| clock::monotonic_ns() < until) && !around.is_cut() {
            let size = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
            let taken = match self.socket.send_with_flags(&chunk[..size], libc::MSG_DONTWAIT) {
                Ok(taken) => taken,
                Err(e) if e.kind() == ErrorKind::WouldBlock => 0,
                // The other end stops at the same time, and may be the first to close.
                Err(_) if around.is_cut() => break,
                Err(e) if around.may_be(&e) => {
                    self.breaks(&e);
                    break;
                }
                Err(e) => return Err(LabError::system("write to the connection")(e)),
            };
            left -= taken as u64;
            self.record.written_bytes += taken as u64;
            // A partial write means that the buffer is full. Then the writer has to wait, as in a blocking write: Linux
            // appends to an unsent segment without checking the buffer's limit, and a writer that only tries again and
            // again gets far beyond it (tcp_sendmsg_locked).
            if taken < size {
                self.wait_for_room(around.until(until_ns.unwrap_or(u64::MAX)));
                check_deadline(around, "room in the send buffer")?;
            }
        }
        self.record.write_ended_ns = Some(clock::realtime_ns());
        Ok(())
    }

    /// The kernel has given up the connection.
    fn breaks(&mut self, why: &io::Error) {
        self.record.broken.get_or_insert_with(|| why.to_string());
    }

    fn wait_for_room(&mut self, until_ns: u64) {
        const SIOCOUTQNSD: libc::Ioctl = 0x894b; // include/uapi/linux/sockios.h
        const FULL_SEGMENT_BYTES: i32 = 1400;
        let from_ns = clock::monotonic_ns();
        let starved = queued_bytes(&self.socket, SIOCOUTQNSD) < FULL_SEGMENT_BYTES;
        poll(&self.socket, libc::POLLOUT, until_ns);
        let waited_ns = clock::monotonic_ns() - from_ns;
        self.record.waited_for_room_ns += waited_ns;
        self.record.starved_ns += if starved { waited_ns } else { 0 };
    }

    /// Writes as planned, waits until everything is acknowledged, reads TCP_INFO and ends the stream.
    ///
    /// # Errors
    /// As [`End::write`].
    pub fn write_as(&mut self, plan: Writer, around: Surroundings) -> Result<(), LabError> {
        let began_ns = clock::monotonic_ns();
        match plan {
            Writer::For { duration_ns } => self.write(u64::MAX, Some(began_ns + duration_ns), around)?,
            Writer::Total { bytes } => {
                self.write(bytes.saturating_sub(self.record.written_bytes), None, around)?;
            }
            Writer::Messages { bytes, every_ns, count } => {
                for n in 0..u64::from(count) {
                    clock::sleep_until_monotonic(
                        around.until(began_ns.saturating_add(n.saturating_mul(every_ns))),
                    );
                    if around.is_cut() {
                        break;
                    }
                    self.record.messages_ns.push(clock::realtime_ns());
                    self.write(bytes, None, around)?;
                    if self.record.broken.is_some() {
                        break;
                    }
                }
            }
        }
        while queued_bytes(&self.socket, libc::TIOCOUTQ) > 0 {
            if around.may_break && is_closed(&self.socket) {
                self.breaks(&ErrorKind::ConnectionReset.into());
            }
            if around.is_cut() || self.record.broken.is_some() {
                return self.inquire();
            }
            check_deadline(around, "the acknowledgement of everything")?;
            std::thread::sleep(Duration::from_micros(500));
        }
        if self.record.broken.is_some() {
            return self.inquire();
        }
        self.record.acknowledged_ns = Some(clock::realtime_ns());
        self.inquire()?;
        self.socket.shutdown(Shutdown::Write).map_err(LabError::system("end the stream"))
    }

    /// Room for what one call reads.
    pub(super) fn read_buffer(&self) -> Vec<u8> {
        vec![0; usize::try_from(self.calls.read_bytes).unwrap_or(usize::MAX).max(1)]
    }

    /// Reads at most `bytes`, or less if there is no more now; `None` at the end of file.
    pub(super) fn read_now(&mut self, bytes: u64, buffer: &mut [u8]) -> Result<Option<u64>, LabError> {
        let mut total = 0;
        while total < bytes {
            let size = buffer.len().min(usize::try_from(bytes - total).unwrap_or(usize::MAX));
            match receive(&self.socket, &mut buffer[..size], libc::MSG_DONTWAIT) {
                Ok(0) => return Ok(None),
                Ok(n) => {
                    total += n as u64;
                    self.record.read_bytes += n as u64;
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => return Err(LabError::system("read from the connection")(e)),
            }
        }
        Ok(Some(total))
    }

    /// Reads at most `bytes`; a socket that polls waits for data until `until_ns`.
    fn read_until(&mut self, bytes: u64, buffer: &mut [u8], until_ns: u64) -> Result<Option<u64>, LabError> {
        if !self.polls {
            return self.read_now(bytes, buffer);
        }
        let left = Duration::from_nanos(until_ns.saturating_sub(clock::monotonic_ns()));
        // No timeout at all would mean forever.
        let patience = Some(left.max(Duration::from_millis(1)));
        self.socket.set_read_timeout(patience).map_err(LabError::system("set SO_RCVTIMEO"))?;
        let size = buffer.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
        match receive(&self.socket, &mut buffer[..size], 0) {
            Ok(0) => Ok(None),
            Ok(n) => {
                self.record.read_bytes += n as u64;
                Ok(Some(n as u64))
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(Some(0)),
            Err(e) => Err(LabError::system("read from the connection")(e)),
        }
    }

    /// Reads exactly this much; returns whether it did, or it was time to stop first.
    ///
    /// # Errors
    /// If the stream ends before, or the deadline passes.
    pub fn read(&mut self, bytes: u64, around: Surroundings) -> Result<bool, LabError> {
        let mut buffer = self.read_buffer();
        let mut left = bytes;
        while left > 0 {
            let read = self.read_until(left, &mut buffer, around.until(u64::MAX));
            if around.is_cut() {
                return Ok(false);
            }
            match read? {
                Some(0) => wait(&self.socket, libc::POLLIN, around, "data")?,
                Some(n) => left -= n,
                None => return Err(LabError::system("read a message")(ErrorKind::UnexpectedEof.into())),
            }
        }
        Ok(true)
    }

    /// Reads as planned until the end of file.
    ///
    /// # Errors
    /// If the peer resets the connection or the deadline passes.
    pub fn read_as(&mut self, plan: &Reader, around: Surroundings) -> Result<(), LabError> {
        let mut stops: Box<dyn Iterator<Item = (u64, u64)>> = match *plan {
            Reader::Faulting { every_ns, for_ns } => return self.read_faulting(every_ns, for_ns, around),
            Reader::Squeezing => return self.read_squeezing(around),
            Reader::Greedy | Reader::Paced { .. } => Box::new(std::iter::empty()),
            Reader::Stopping { runs_ns, stops_ns } => {
                Box::new((1..).map(move |n| (n * runs_ns + (n - 1) * stops_ns, stops_ns)))
            }
            Reader::Process { ref pauses, .. } => Box::new(pauses.iter().copied()),
        };
        let mut buffer = self.read_buffer();
        let began_ns = clock::monotonic_ns();
        let mut ticks = 0;
        let mut stop = stops.next();
        loop {
            if around.is_cut() {
                break;
            }
            check_deadline(around, "the end of the stream")?;
            let until_ns = stop.map_or(u64::MAX, |(at_ns, _)| began_ns + at_ns);
            if let Some((_, for_ns)) = stop.filter(|_| clock::monotonic_ns() >= until_ns) {
                let from_ns = clock::realtime_ns();
                clock::sleep_until_monotonic(around.until(until_ns.saturating_add(for_ns)));
                self.record.stops_ns.push((from_ns, clock::realtime_ns()));
                stop = stops.next();
                continue;
            }
            let most = match *plan {
                Reader::Paced { bytes, every_ns } => {
                    ticks += 1;
                    clock::sleep_until_monotonic(around.until(began_ns + ticks * every_ns));
                    bytes
                }
                _ => buffer.len() as u64,
            };
            let read = self.read_until(most, &mut buffer, around.until(until_ns));
            if read.is_err() && around.is_cut() {
                break;
            }
            if let Err(LabError::System { source, .. }) = &read
                && around.may_be(source)
            {
                self.breaks(source);
                break;
            }
            match read? {
                Some(0) if ticks == 0 => poll(&self.socket, libc::POLLIN, around.until(until_ns)),
                Some(_) => {}
                None => break,
            }
            if let Reader::Process { rate_bit_per_s: Some(rate), .. } = *plan {
                let due_ns = u128::from(self.record.read_bytes) * 8_000_000_000 / u128::from(rate.max(1));
                let due_ns = began_ns.saturating_add(u64::try_from(due_ns).unwrap_or(u64::MAX));
                clock::sleep_until_monotonic(around.until(due_ns));
            }
        }
        self.record.read_ended_ns = Some(clock::realtime_ns());
        Ok(())
    }

    /// Waits for the peer's end of file; other data is not counted.
    ///
    /// # Errors
    /// If the peer resets the connection or the deadline passes.
    pub fn read_to_the_end(&mut self, around: Surroundings) -> Result<(), LabError> {
        let mut buffer = [0; 64];
        while !around.is_cut() && self.read_now(1, &mut buffer)?.is_some() {
            wait(&self.socket, libc::POLLIN, around, "the end of the stream")?;
        }
        Ok(())
    }

    /// Reads TCP_INFO into the record.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn inquire(&mut self) -> Result<(), LabError> {
        self.record.info = Some(TcpInfo::of(&self.socket).map_err(LabError::system("read TCP_INFO"))?);
        self.record.info_ns = Some(clock::realtime_ns());
        self.record.softirq_cpu = self.socket.cpu_affinity().ok().and_then(|cpu| u32::try_from(cpu).ok());
        self.record.sndbuf_bytes = self.socket.send_buffer_size().ok().map(|n| n as u64);
        self.record.rcvbuf_bytes = self.socket.recv_buffer_size().ok().map(|n| n as u64);
        Ok(())
    }
}

/// Whether a socket's reader polls before it sleeps.
fn polls(socket: &Socket) -> bool {
    let (mut time_us, mut bytes) = (0_i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: the value is live and its true size is passed with it.
    unsafe {
        let value = (&raw mut time_us).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_BUSY_POLL, value, &raw mut bytes)
    };
    time_us > 0
}

/// Whether a connection is in the state CLOSED (RFC 9293).
fn is_closed(socket: &Socket) -> bool {
    const TCP_CLOSE: u8 = 7; // include/net/tcp_states.h
    TcpInfo::of(socket).is_ok_and(|info| info.state == TCP_CLOSE)
}

/// `recv`.
fn receive(socket: &Socket, buffer: &mut [u8], flags: libc::c_int) -> io::Result<usize> {
    // SAFETY: the buffer is live, and its length is passed with it.
    let read = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), flags) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// SIOCOUTQ (tcp(7); the value is TIOCOUTQ's): bytes not acknowledged. SIOCOUTQNSD: bytes not sent.
fn queued_bytes(socket: &Socket, which: libc::Ioctl) -> i32 {
    let mut bytes = 0_i32;
    // SAFETY: both requests fill the live integer they are given.
    unsafe { libc::ioctl(socket.as_raw_fd(), which, &raw mut bytes) };
    bytes
}

pub(super) fn check_deadline(around: Surroundings, what: &str) -> Result<(), LabError> {
    let late_ns = clock::monotonic_ns().checked_sub(around.deadline_ns);
    late_ns.map_or(Ok(()), |_| Err(LabError::TimedOut { what: what.to_owned(), waited: CASE_TIME }))
}

/// The longest that a workload may take.
pub const CASE_TIME: Duration = Duration::from_secs(300);

fn wait(socket: &Socket, events: i16, around: Surroundings, what: &str) -> Result<(), LabError> {
    poll(socket, events, around.until(u64::MAX));
    check_deadline(around, what)
}

/// Waits for the socket, no longer than until an instant of the monotonic clock.
pub(super) fn poll(socket: &Socket, events: i16, until_ns: u64) {
    let left_ns = until_ns.saturating_sub(clock::monotonic_ns());
    let timeout = libc::timespec {
        tv_sec: (left_ns / 1_000_000_000).cast_signed(),
        tv_nsec: (left_ns % 1_000_000_000).cast_signed(),
    };
    let mut polled = libc::pollfd { fd: socket.as_raw_fd(), events, revents: 0 };
    // SAFETY: one live pollfd is passed, and no signal mask.
    unsafe { libc::ppoll(&raw mut polled, 1, &raw const timeout, std::ptr::null()) };
}
