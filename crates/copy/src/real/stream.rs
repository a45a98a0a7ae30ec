//! Data connections: their sockets, and who may open one.

use super::Stop;
use super::control::{LOOK, is_end, is_passing, is_ready};
use super::crypt::{Seal, Side, Unseal, is_length, of_stream};
use super::sockets::{receive_buffer, send_buffer, set_number};
use crate::error::CopyError;
use crate::protocol::Tuning;
use crate::protocol::block::{self, MOST_RECORD, Record};
use rustix::event::PollFlags;
use rustix::net::sockopt;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// The start of a data connection, and of a control connection to `--serve`.
pub const DATA_MAGIC: [u8; 8] = *b"slowdata";
/// How long a handshake may take.
pub const HANDSHAKE: Duration = Duration::from_secs(10);
/// The kernel ends a connection whose data is not acknowledged for this long, or whose window stays shut (tcp(7),
/// `TCP_USER_TIMEOUT`). A disk that is written to may hold a receiver up for a while.
const USER_TIMEOUT_MS: u32 = 120_000;
/// How much of what was written may wait in the kernel to be sent for the first time (tcp(7), `TCP_NOTSENT_LOWAT`): two
/// blocks. More would wait there at the end, on the slowest connection, while the others have nothing left to send.
const UNSENT: u32 = 2 * block::BLOCK as u32;

/// What a socket is given.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who sizes the buffers.
    pub tuning: Tuning,
    /// The congestion control; empty for the host's own.
    pub congestion: String,
}

impl Options {
    /// Of a socket before it is connected: the window scale follows from its receive buffer too (RFC 7323, section 2.2;
    /// `tcp_select_initial_window`).
    fn before(&self, socket: &impl AsFd) -> Result<(), CopyError> {
        match self.tuning {
            // A receive buffer that is set before the connection exists clamps the window for good
            // (`tcp_connect_init`, Linux 6.18).
            Tuning::Kernel | Tuning::Drs => {}
            Tuning::Fixed(bytes) => {
                receive_buffer(socket, bytes);
                send_buffer(socket, bytes);
            }
        }
        if !self.congestion.is_empty() {
            sockopt::set_tcp_congestion(socket, &self.congestion)
                .map_err(io::Error::from)
                .map_err(CopyError::system("use this congestion control (sysctl net.ipv4.tcp_available_congestion_control lists the host's)"))?;
        }
        Ok(())
    }

    fn after(&self, stream: &TcpStream) -> Result<(), CopyError> {
        sockopt::set_tcp_user_timeout(stream, USER_TIMEOUT_MS)
            .map_err(io::Error::from)
            .map_err(CopyError::system("set TCP_USER_TIMEOUT"))?;
        set_number(stream, libc::TCP_NOTSENT_LOWAT, UNSENT)
            .map_err(CopyError::system("set TCP_NOTSENT_LOWAT"))?;
        stream.set_nonblocking(false).map_err(CopyError::system("wait for a connection"))?;
        stream.set_read_timeout(Some(LOOK)).map_err(CopyError::system("set a time-out"))?;
        stream.set_write_timeout(Some(LOOK)).map_err(CopyError::system("set a time-out"))
    }
}

/// No send buffer is made larger than this: what is in flight on 10 Gbit/s over 50 ms.
const MOST_SEND_BUFFER: usize = 64 << 20;

/// Doubles a send buffer that holds the sender up, if the host allows more than its autotuning takes: an administrator may
/// have any (`SO_SNDBUFFORCE`), others twice `net.core.wmem_max` (socket(7)). Memory is taken only for what is in flight
/// and the little that [`UNSENT`] lets wait.
pub fn larger_send_buffer(socket: &impl AsFd) {
    let Ok(now) = sockopt::socket_send_buffer_size(socket) else { return };
    // The kernel doubles what it is given.
    if now >= MOST_SEND_BUFFER || sockopt::set_socket_send_buffer_size_force(socket, now).is_ok() {
        return;
    }
    let most = std::fs::read_to_string("/proc/sys/net/core/wmem_max").ok();
    let most: usize = most.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    // Asked for less than it has, the kernel would make it smaller.
    if now.min(most).saturating_mul(2) > now {
        let _ = sockopt::set_socket_send_buffer_size(socket, now.min(most));
    }
}

/// A data connection whose other end has shown that it has the key.
pub struct Stream {
    /// Its number.
    pub number: u16,
    /// The socket.
    pub tcp: TcpStream,
    /// For what is written to it.
    pub seal: Seal,
    /// For what is read from it.
    pub unseal: Unseal,
    /// Whether the other end's first record is still to come, which shows that it has the key.
    pub is_unproven: bool,
}

/// What names a session's data connections and what they are protected with.
#[derive(Clone, Copy)]
pub struct Session {
    pub id: [u8; 16],
    pub key: [u8; 32],
}

impl Stream {
    /// Opens a data connection from the near end. It can be used at once: without the key, nobody can read what is sent.
    pub fn open(
        to: SocketAddr,
        number: u16,
        session: &Session,
        options: &Options,
        stop: Stop<'_>,
    ) -> Result<Self, CopyError> {
        let failed = |source| CopyError::NoData { to: to.to_string(), source };
        let tcp = connected(to, options, stop).map_err(|error| match error {
            CopyError::System { source, what: CONNECT } => failed(source),
            other => other,
        })?;
        options.after(&tcp)?;
        let (mut seal, unseal) = of_stream(&session.key, number, Side::Near)?;
        let mut hello = [&DATA_MAGIC[..], &session.id, &number.to_be_bytes()].concat();
        hello.extend(seal.bare(&Record::Hello)?);
        write_all(&tcp, &hello, Instant::now() + HANDSHAKE, stop)?;
        Ok(Self { number, tcp, seal, unseal, is_unproven: true })
    }

    /// Waits for the other end to show that it has the key, unless it has.
    pub fn prove(&mut self, stop: Stop<'_>) -> Result<(), CopyError> {
        if self.is_unproven {
            expect_hello(&self.tcp, &mut self.unseal, Instant::now() + HANDSHAKE, stop)?;
            self.is_unproven = false;
        }
        Ok(())
    }

    /// Completes a data connection at the far end; its first bytes were read.
    pub fn accept(
        tcp: TcpStream,
        number: u16,
        session: &Session,
        options: &Options,
        stop: Stop<'_>,
    ) -> Result<Self, CopyError> {
        options.before(&tcp)?;
        options.after(&tcp)?;
        let (mut seal, mut unseal) = of_stream(&session.key, number, Side::Far)?;
        let until = Instant::now() + HANDSHAKE;
        expect_hello(&tcp, &mut unseal, until, stop)?;
        write_all(&tcp, &seal.bare(&Record::Hello)?, until, stop)?;
        Ok(Self { number, tcp, seal, unseal, is_unproven: false })
    }
}

fn expect_hello(
    tcp: &TcpStream,
    unseal: &mut Unseal,
    until: Instant,
    stop: Stop<'_>,
) -> Result<(), CopyError> {
    let mut length = [0; 4];
    read_exact(tcp, &mut length, until, stop)?;
    let length = u32::from_be_bytes(length) as usize;
    if !is_length(length, block::HEADER + block::TAG) {
        return Err(CopyError::Forged);
    }
    let mut record = vec![0; length];
    read_exact(tcp, &mut record, until, stop)?;
    match block::read(unseal.unseal(&mut record)?) {
        Some(Record::Hello) => Ok(()),
        _ => Err(CopyError::Forged),
    }
}

const CONNECT: &str = "connect";

/// A connected socket. Each attempt has as long as a handshake.
pub fn connected(to: SocketAddr, options: &Options, stop: Stop<'_>) -> Result<TcpStream, CopyError> {
    let failed = |error: rustix::io::Errno| CopyError::System { what: CONNECT, source: error.into() };
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None).map_err(failed)?;
    options.before(&socket)?;
    match connect(&socket, &to) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
        Err(error) => return Err(failed(error)),
    }
    let until = Instant::now() + HANDSHAKE;
    while !is_ready(&socket, PollFlags::OUT, LOOK)? {
        if stop() {
            return Err(CopyError::Stopped);
        }
        if Instant::now() > until {
            return Err(failed(rustix::io::Errno::TIMEDOUT));
        }
    }
    match sockopt::socket_error(&socket) {
        Ok(Ok(())) => {
            let stream = TcpStream::from(socket);
            stream.set_nonblocking(false).map_err(CopyError::system("wait for a connection"))?;
            Ok(stream)
        }
        Ok(Err(error)) | Err(error) => Err(failed(error)),
    }
}

const READ: &str = "read from the other end";
const WRITE: &str = "write to the other end";

/// How much was read or written; `None` if it is to be tried again.
fn tried(what: &'static str, result: io::Result<usize>) -> Result<Option<usize>, CopyError> {
    match result {
        Ok(count) => Ok(Some(count)),
        Err(error) if is_passing(&error) => Ok(None),
        Err(error) if is_end(&error) => Err(CopyError::Closed),
        Err(source) => Err(CopyError::System { what, source }),
    }
}

/// Reads all of it by a deadline.
pub fn read_exact(
    mut from: &TcpStream,
    to: &mut [u8],
    until: Instant,
    stop: Stop<'_>,
) -> Result<(), CopyError> {
    let mut filled = 0;
    while filled < to.len() {
        match tried(READ, from.read(&mut to[filled..]))? {
            Some(0) => return Err(CopyError::Closed),
            count => filled += count.unwrap_or(0),
        }
        goes_on(filled < to.len(), until, stop)?;
    }
    Ok(())
}

/// Writes all of it by a deadline.
pub fn write_all(mut to: &TcpStream, bytes: &[u8], until: Instant, stop: Stop<'_>) -> Result<(), CopyError> {
    let mut left = bytes;
    while !left.is_empty() {
        left = &left[tried(WRITE, to.write(left))?.unwrap_or(0)..];
        goes_on(!left.is_empty(), until, stop)?;
    }
    Ok(())
}

/// Writes all of it, as long as the other end takes some of it now and then.
pub fn write_patiently(
    mut to: &TcpStream,
    bytes: &[u8],
    patience: Duration,
    stop: Stop<'_>,
) -> Result<(), CopyError> {
    let mut left = bytes;
    while !left.is_empty() {
        let until = Instant::now() + patience;
        let before = left.len();
        while left.len() == before {
            left = &left[tried(WRITE, to.write(left))?.unwrap_or(0)..];
            goes_on(left.len() == before, until, stop)?;
        }
        if stop() {
            return Err(CopyError::Stopped);
        }
    }
    Ok(())
}

fn goes_on(is_partial: bool, until: Instant, stop: Stop<'_>) -> Result<(), CopyError> {
    match () {
        () if !is_partial => Ok(()),
        () if stop() => Err(CopyError::Stopped),
        () if Instant::now() > until => Err(CopyError::Silent),
        () => Ok(()),
    }
}

/// Reads the next record into `buffer`; `None` at the end of the connection, between two records. `waited` gets the time
/// of each read. It waits for as long as the session exists: whether the other end is there, the control channel shows.
pub fn record<'b>(
    mut from: &TcpStream,
    buffer: &'b mut Vec<u8>,
    unseal: &mut Unseal,
    stop: Stop<'_>,
    waited: &dyn Fn(Duration),
) -> Result<Option<&'b [u8]>, CopyError> {
    buffer.resize(4, 0);
    let (mut filled, mut needed) = (0, 4);
    while filled < needed {
        let began = Instant::now();
        let read = from.read(&mut buffer[filled..needed]);
        waited(began.elapsed());
        match tried(READ, read)? {
            Some(0) if filled == 0 => return Ok(None),
            Some(0) => return Err(CopyError::Closed),
            count => filled += count.unwrap_or(0),
        }
        if stop() {
            return Err(CopyError::Stopped);
        }
        if filled == 4 && needed == 4 {
            let length = u32::from_be_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]) as usize;
            if !is_length(length, MOST_RECORD) {
                return Err(CopyError::Forged);
            }
            needed += length;
            buffer.resize(needed, 0);
        }
    }
    unseal.unseal(&mut buffer[4..]).map(Some)
}
