//! Data in and out.

use super::calls::{AF_UNSPEC, failed};
use super::sockets::{File, Socket, Stage};
use super::{Modelled, Waiting, levels};
use crate::call::{Buffer, Call, ControlMessage, Fd, Output, Peer as To, Returned, Via};
use slowpath_model::StreamOffset;
use slowpath_tcp::socket::{CLIENT_ENABLE, Peer, ReadFlags, SocketOption};
use slowpath_tcp::{Connection, Errno, State, WriteFlags};

const OUT_OF_BAND: i32 = 0x1;
const PEEK: i32 = 0x2;
const TRUNCATE: i32 = 0x20;
const DONT_WAIT: i32 = 0x40;
const END_OF_RECORD: i32 = 0x80;
const WAIT_ALL: i32 = 0x100;
pub(super) const ERROR_QUEUE: i32 = 0x2000;
const ZERO_COPY: i32 = 0x400_0000;
/// The maximum memory fragments of one buffer (`MAX_SKB_FRAGS`).
const MOST_PIECES: usize = 17;
/// `SPLICE_F_NONBLOCK`.
const SPLICE_NONBLOCK: i32 = 2;
const SO_TIMESTAMPING: i32 = 37;
const MORE: i32 = 0x8000;
const FAST_OPEN: i32 = 0x2000_0000;
/// The only server in the cookie cache.
pub(super) const SERVER: Peer = Peer(0);
const TCP_CM_INQ: i32 = 36;

fn length(buffers: &[Buffer]) -> u32 {
    let sum: usize = buffers.iter().map(|buffer| buffer.len).sum();
    u32::try_from(sum).unwrap_or(u32::MAX)
}

/// The bytes before the first buffer that cannot be accessed.
fn valid_length(buffers: &[Buffer]) -> u32 {
    let valid = buffers.iter().position(|buffer| buffer.null && buffer.len > 0).unwrap_or(buffers.len());
    length(&buffers[..valid])
}

impl Modelled {
    /// `None` while it waits.
    pub(super) fn receive(&mut self, call: &Call, waiting: &mut Waiting) -> Option<Returned> {
        let Call::Receive { fd, via, buffers, flags, .. } = call else { return None };
        if let Some(File::Pipe { bytes }) = self.files.get_mut(fd) {
            let taken = length(buffers).min(*bytes);
            *bytes -= taken;
            return Some(Returned::value(i64::from(taken)));
        }
        if self.udp(*fd).is_some() {
            return self.receive_udp(*fd, length(buffers), flags & DONT_WAIT == 0);
        }
        if flags & ERROR_QUEUE != 0 {
            let room = length(buffers);
            return Some(self.socket(*fd).map_or_else(failed, |socket| socket.errors.receive(room)));
        }
        let result = self.read(*fd, buffers, *flags, waiting)?;
        let output = match via {
            Via::Message => {
                let left = match self.socket(*fd) {
                    Ok(socket) if socket.inq && result.is_ok() => {
                        socket.connection().map(|connection| connection.inq_hint() as i32)
                    }
                    _ => None,
                };
                let left =
                    left.map(|value| ControlMessage::Integer { level: levels::TCP, kind: TCP_CM_INQ, value });
                Output::Message { flags: 0, control: left.into_iter().collect() }
            }
            _ => Output::None,
        };
        let result = result.map(i64::from).map_err(Errno::number);
        Some(Returned { result, output })
    }

    /// The socket that a call transfers over, and whether the call waits if it has to.
    fn transferring(&mut self, fd: Fd, flags: i32, waiting: &Waiting) -> Result<(&mut Socket, bool), Errno> {
        let over = self.over(waiting);
        let socket = self.socket(fd)?;
        let blocks = !socket.nonblocking && flags & DONT_WAIT == 0 && !over;
        Ok((socket, blocks))
    }

    fn read(
        &mut self,
        fd: Fd,
        buffers: &[Buffer],
        flags: i32,
        waiting: &mut Waiting,
    ) -> Option<Result<u32, Errno>> {
        let now = self.now;
        let len = length(buffers);
        // Discarded data needs no buffer.
        let valid = if flags & TRUNCATE == 0 { valid_length(buffers) } else { len };
        let (socket, blocks) = match self.transferring(fd, flags, waiting) {
            Ok(found) => found,
            Err(errno) => return Some(Err(errno)),
        };
        let Stage::Connected(connection) = &mut socket.stage else { return Some(Err(Errno::ENOTCONN)) };
        let take = ReadFlags { peek: flags & PEEK != 0, out_of_band: flags & OUT_OF_BAND != 0 };
        if take.out_of_band {
            return Some(connection.read(now, len, take));
        }
        let lowat = u32::try_from(connection.getsockopt(SocketOption::ReceiveLowAt)).unwrap_or(1);
        let target = if flags & WAIT_ALL != 0 { len } else { lowat.min(len).max(1) };
        let open = matches!(connection.state(), State::Established | State::FinWait1 | State::FinWait2);
        if take.peek && blocks && open && connection.inq() < target {
            return None;
        }
        if valid < len && waiting.moved >= valid && connection.inq() > 0 {
            return Some(if waiting.moved > 0 { Ok(waiting.moved) } else { Err(Errno::EFAULT) });
        }
        match connection.read(now, valid.max(1) - waiting.moved, take) {
            Ok(0) => Some(Ok(waiting.moved)),
            Ok(read) => {
                waiting.moved += read;
                let enough = waiting.moved >= target || take.peek;
                (enough || !blocks).then_some(Ok(waiting.moved))
            }
            Err(_) if waiting.moved > 0 && (!blocks || !open) => Some(Ok(waiting.moved)),
            Err(Errno::EAGAIN) if blocks => None,
            Err(errno) => Some(Err(errno)),
        }
    }

    /// `None` while it waits.
    pub(super) fn send(&mut self, call: &Call, waiting: &mut Waiting) -> Option<Returned> {
        let Call::Send { fd, buffers, flags, to, control, .. } = call else { return None };
        if self.udp(*fd).is_some() {
            let to = to.map(|_| self.connect_port);
            return Some(self.send_udp(*fd, length(buffers), to));
        }
        let deferred = self.socket(*fd).ok().and_then(Socket::connection).is_some_and(|c| c.is_deferred());
        let opens = flags & FAST_OPEN != 0 || deferred || waiting.opens;
        if opens && let Some(result) = self.open_fast(call, waiting) {
            if let Ok(written) = result {
                self.note_written(*fd, written, None, *flags, control);
            }
            return Some(result.map_or_else(failed, |written| Returned::value(i64::from(written))));
        }
        if let Some(File::PipeWrite { to }) = self.files.get(fd) {
            let (to, len) = (*to, length(buffers));
            if let Some(File::Pipe { bytes }) = self.files.get_mut(&to) {
                *bytes += len;
            }
            return Some(Returned::value(i64::from(len)));
        }
        if waiting.opens {
            return None;
        }
        let tail = self.socket(*fd).ok().and_then(Socket::connection).and_then(|c| c.unsent_tail());
        let result = self.write(*fd, buffers, *flags, waiting)?;
        if let Ok(written) = result {
            self.note_written(*fd, written, tail, *flags, control);
        }
        Some(result.map_or_else(failed, |written| Returned::value(i64::from(written))))
    }

    /// Notes what to report of a message: when it is sent, and when its buffers are free.
    fn note_written(
        &mut self,
        fd: Fd,
        written: u32,
        tail: Option<StreamOffset>,
        flags: i32,
        control: &[ControlMessage],
    ) {
        let Ok(socket) = self.socket(fd) else { return };
        let Some((_, end)) = socket.connection().map(|connection| connection.written()) else { return };
        if written == 0 {
            return;
        }
        let own = control.iter().find_map(|message| match message {
            ControlMessage::Integer { level: levels::SOCKET, kind: SO_TIMESTAMPING, value } => {
                Some(*value as u32)
            }
            _ => None,
        });
        socket.errors.note_written(end, own);
        if flags & ZERO_COPY != 0 && socket.errors.zero_copy {
            socket.errors.note_lent(end - written, end, tail);
        }
    }

    /// Opens a connection with data in its SYN (`tcp_sendmsg_fastopen`, `__inet_stream_connect`); `None` if the call
    /// continues as an ordinary write, or blocks until the connection is established.
    fn open_fast(&mut self, call: &Call, waiting: &mut Waiting) -> Option<Result<u32, Errno>> {
        let Call::Send { fd, buffers, flags, to, .. } = call else { return None };
        let now = self.now;
        if *to == Some(To::Family(AF_UNSPEC)) || self.settings.sysctls.tcp_fastopen & CLIENT_ENABLE == 0 {
            return Some(Err(Errno::EOPNOTSUPP));
        }
        let known = self.known_server();
        // Without data that can be read, the SYN requests a cookie.
        let valid = valid_length(buffers);
        let known = if valid < length(buffers) { known.without_cookie() } else { known };
        let settings = self.settings.clone();
        let (socket, blocks) = match self.transferring(*fd, *flags, waiting) {
            Ok(found) => found,
            Err(errno) => return Some(Err(errno)),
        };
        let connecting = socket.connecting;
        let (opened, result) = match &mut socket.stage {
            Stage::Fresh(listener) => {
                let options = listener.options().clone();
                let (connection, result) = Connection::connect_fast(settings, options, now, known, valid);
                (Some(connection), result)
            }
            Stage::Connected(connection) if connection.is_deferred() => {
                (None, connection.open_with_data(now, known, valid))
            }
            Stage::Connected(connection) => match connection.state() {
                State::SynSent | State::SynReceived if waiting.opens => (None, Err(Errno::EINPROGRESS)),
                State::SynSent | State::SynReceived => (None, Err(Errno::EALREADY)),
                State::Closed if connecting => {
                    socket.connecting = false;
                    let error = Errno::of(connection.getsockopt(SocketOption::Error));
                    return Some(Err(error.unwrap_or(Errno::ECONNABORTED)));
                }
                _ if connecting => {
                    (socket.connecting, waiting.opens) = (false, false);
                    return None;
                }
                _ => return Some(Err(Errno::EISCONN)),
            },
            Stage::Listening(_) => return Some(Err(Errno::EISCONN)),
        };
        if let Some(connection) = opened {
            self.adopt(*fd, connection);
        }
        waiting.moved = result.unwrap_or(waiting.moved);
        waiting.opens |= blocks;
        if blocks
            && waiting.moved < length(buffers)
            && let Ok(socket) = self.socket(*fd)
            && let Some(connection) = socket.connection()
        {
            connection.note_blocked_write();
        }
        match result {
            _ if blocks => None,
            Err(Errno::EINPROGRESS) if waiting.moved > 0 => Some(Ok(waiting.moved)),
            result => Some(result),
        }
    }

    fn write(
        &mut self,
        fd: Fd,
        buffers: &[Buffer],
        flags: i32,
        waiting: &mut Waiting,
    ) -> Option<Result<u32, Errno>> {
        let now = self.now;
        let (len, valid) = (length(buffers), valid_length(buffers));
        let (socket, blocks) = match self.transferring(fd, flags, waiting) {
            Ok(found) => found,
            Err(errno) => return Some(Err(errno)),
        };
        let Stage::Connected(connection) = &mut socket.stage else { return Some(Err(Errno::EPIPE)) };
        let how = WriteFlags {
            more: flags & MORE != 0,
            end_of_record: flags & END_OF_RECORD != 0,
            out_of_band: flags & OUT_OF_BAND != 0,
        };
        if flags & ZERO_COPY != 0 && socket.errors.zero_copy && waiting.moved == 0 {
            // More fragments than one buffer holds go into several.
            for piece in buffers.chunks(MOST_PIECES).rev().skip(1).rev() {
                let how = WriteFlags { end_of_record: true, ..how };
                match connection.write(now, length(piece), how) {
                    Ok(written) if written == length(piece) => waiting.moved += written,
                    _ => break,
                }
            }
        }
        match connection.write(now, valid - waiting.moved, how) {
            Ok(written) => {
                waiting.moved += written;
                match waiting.moved {
                    0 if valid < len => Some(Err(Errno::EFAULT)),
                    moved if moved >= valid || !blocks => Some(Ok(moved)),
                    _ => None,
                }
            }
            Err(Errno::EAGAIN) if blocks => {
                if matches!(connection.state(), State::SynSent | State::SynReceived) {
                    connection.note_blocked_write();
                }
                None
            }
            Err(_) if waiting.moved > 0 => Some(Ok(waiting.moved)),
            Err(errno) => Some(Err(errno)),
        }
    }

    pub(super) fn pipe(&mut self) -> Returned {
        let read = self.add(File::Pipe { bytes: 0 });
        let write = self.add(File::PipeWrite { to: read });
        Returned { result: Ok(0), output: Output::Pipe(read, write) }
    }

    /// `None` while it waits.
    pub(super) fn splice(&mut self, from: Fd, to: Fd, len: usize, flags: i32) -> Option<Returned> {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        let now = self.now;
        let moved = if let Some(File::Pipe { bytes }) = self.files.get_mut(&from) {
            let len = len.min(*bytes);
            *bytes -= len;
            let socket = self.socket(to);
            socket.and_then(|socket| match socket.connection() {
                Some(connection) => connection.write(now, len, WriteFlags::default()),
                None => Err(Errno::EPIPE),
            })
        } else {
            let socket = self.socket(from);
            socket.and_then(|socket| match socket.connection() {
                // It stops before the urgent byte (`tcp_read_sock`).
                Some(connection) if connection.is_at_mark() => Err(Errno::EAGAIN),
                Some(connection) => {
                    let most = Some(connection.inq()).filter(|available| *available > 0);
                    connection.read(now, most.unwrap_or(len).min(len), ReadFlags::default())
                }
                None => Err(Errno::ENOTCONN),
            })
        };
        let moved = match moved {
            Ok(moved) => moved,
            Err(Errno::EAGAIN) => {
                let blocks = flags & SPLICE_NONBLOCK == 0;
                let socket = self.socket(from).ok().filter(|socket| blocks && !socket.nonblocking);
                let Some(socket) = socket else { return Some(failed(Errno::EAGAIN)) };
                // With the urgent byte next, waiting would not end (`tcp_splice_read`).
                let at_mark = socket.connection().is_some_and(|connection| connection.is_at_mark());
                return at_mark.then(|| Returned::value(0));
            }
            Err(errno) => return Some(failed(errno)),
        };
        if let Some(File::PipeWrite { to }) = self.files.get(&to) {
            let to = *to;
            if let Some(File::Pipe { bytes }) = self.files.get_mut(&to) {
                *bytes += moved;
            }
        }
        Some(Returned::value(i64::from(moved)))
    }

    pub(super) fn sendfile(&mut self, to: Fd, len: usize) -> Returned {
        let now = self.now;
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        let written = self.socket(to).and_then(|socket| match socket.connection() {
            Some(connection) => connection.write(now, len, WriteFlags::default()),
            None => Err(Errno::EPIPE),
        });
        written.map_or_else(failed, |written| Returned::value(i64::from(written)))
    }
}
