//! System calls, and when they block.

use super::events::{self, Epoll};
use super::levels::IP;
use super::sockets::{File, Ports, Socket, Stage};
use super::udp::Udp;
use super::{Modelled, Waiting};
use crate::call::{Call, Fd, Output, Peer as To, Returned};
use slowpath_model::Instant;
use slowpath_tcp::socket::{Listener, Peer, Shutdown, SocketOption};
use slowpath_tcp::{Connection, Errno, State};
use std::time::Duration;

/// The first file descriptor after the standard streams.
const FIRST_FD: Fd = 3;
const O_RDWR: i64 = 2;
const O_NONBLOCK: i64 = 0o4000;
const F_GETFL: i32 = 3;
const F_SETFL: i32 = 4;
pub(super) const AF_UNSPEC: i32 = 0;
const IP_LOCAL_PORT_RANGE: i32 = 51;
const STREAM: i32 = 1;
const DATAGRAM: i32 = 2;
const SIOCINQ: i64 = 0x541b;
const SIOCOUTQ: i64 = 0x5411;
const SIOCOUTQNSD: i64 = 0x894b;
const SIOCATMARK: i64 = 0x8905;

pub(super) fn failed(errno: Errno) -> Returned {
    Returned::error(errno.number())
}

fn done(result: Result<(), Errno>) -> Returned {
    result.map_or_else(failed, |()| Returned::value(0))
}

impl Modelled {
    /// When a blocking call times out, if it does.
    pub(super) fn deadline(&self, call: &Call) -> Option<Instant> {
        let time = match call {
            Call::Poll { timeout_ms, .. } | Call::EpollWait { timeout_ms, .. } => {
                events::timeout(*timeout_ms)
            }
            Call::Receive { fd, .. } | Call::Accept { fd, .. } => self.socket_ref(*fd)?.receive_timeout,
            Call::Send { fd, .. } | Call::Connect { fd, .. } => self.socket_ref(*fd)?.send_timeout,
            Call::Close { fd } => self.socket_ref(*fd)?.linger,
            _ => None,
        };
        time.map(|time: Duration| self.now + time)
    }

    fn socket_ref(&self, fd: Fd) -> Option<&Socket> {
        match self.files.get(&fd) {
            Some(File::Socket(socket)) => Some(socket),
            _ => None,
        }
    }

    pub(super) fn socket(&mut self, fd: Fd) -> Result<&mut Socket, Errno> {
        match self.files.get_mut(&fd) {
            Some(File::Socket(socket)) => Ok(socket),
            Some(_) => Err(Errno::ENOTSOCK),
            None => Err(Errno::EBADF),
        }
    }

    pub(super) fn over(&self, waiting: &Waiting) -> bool {
        waiting.until.is_some_and(|until| until <= self.now)
    }

    pub(super) fn add(&mut self, file: File) -> Fd {
        let fd = (FIRST_FD..).find(|fd| !self.files.contains_key(fd)).unwrap_or(Fd::MAX);
        self.files.insert(fd, file);
        fd
    }

    /// Makes a call, or continues a blocked one; `None` while it blocks.
    pub(super) fn attempt(&mut self, waiting: &mut Waiting) -> Option<Returned> {
        let call = waiting.call.clone();
        Some(match call {
            Call::Socket { kind, .. } => self.open_socket(kind),
            Call::Bind { fd } => self.bind(fd),
            Call::Listen { fd, backlog } => self.listen(fd, backlog),
            Call::Accept { fd, flags } => return self.accept(fd, flags, waiting),
            Call::Connect { fd, to } => return self.connect(fd, to, waiting),
            Call::Receive { .. } => return self.receive(&call, waiting),
            Call::Send { .. } => return self.send(&call, waiting),
            Call::Shutdown { fd, how } => self.shutdown(fd, how),
            Call::Close { fd } => return self.close(fd, waiting),
            Call::SetOption { fd, level, name, value, len } => {
                self.set_option(fd, (level, name), &value, len)
            }
            Call::GetOption { fd, level, name, len } => self.get_option(fd, (level, name), len),
            Call::Fcntl { fd, command, argument } => self.fcntl(fd, command, argument.unwrap_or(0)),
            Call::Ioctl { fd, request, .. } => self.ioctl(fd, request),
            Call::Poll { fds, .. } => return self.poll(&fds, waiting),
            Call::EpollCreate { .. } => Returned::value(i64::from(self.add(File::Epoll(Epoll::default())))),
            Call::EpollCtl { epoll, operation, fd, event } => self.epoll_control(epoll, operation, fd, event),
            Call::EpollWait { epoll, most, .. } => return self.epoll_wait(epoll, most, waiting),
            Call::Pipe { .. } => self.pipe(),
            Call::Splice { from, to, len, flags, .. } => return self.splice(from, to, len, flags),
            Call::Sendfile { to, len, .. } => self.sendfile(to, len),
            Call::Open { .. } => Returned::value(i64::from(self.add(File::Plain))),
            Call::CapSet { .. } => Returned::value(0),
        })
    }

    fn open_socket(&mut self, kind: i32) -> Returned {
        if kind & 0xf == DATAGRAM {
            let nonblocking = i64::from(kind) & O_NONBLOCK != 0;
            let fd = self.add(File::Udp(Udp { nonblocking, ..Udp::default() }));
            return Returned::value(i64::from(fd));
        }
        if kind & 0xf != STREAM {
            return failed(Errno::EOPNOTSUPP);
        }
        let listener = Listener::listen(self.settings.clone(), Default::default(), 0);
        let congestion = self.settings.choices.congestion_control.name();
        let nonblocking = i64::from(kind) & O_NONBLOCK != 0;
        let fd = self.add(File::Socket(Box::new(Socket::new(listener, nonblocking, congestion))));
        Returned::value(i64::from(fd))
    }

    fn bind(&mut self, fd: Fd) -> Returned {
        let port = self.bind_port;
        if let Some(udp) = self.udp(fd) {
            udp.local = port;
            return Returned::value(0);
        }
        done(self.socket(fd).and_then(|socket| match socket.stage {
            Stage::Fresh(_) if socket.port == 0 => {
                socket.port = port;
                Ok(())
            }
            _ => Err(Errno::EINVAL),
        }))
    }

    fn listen(&mut self, fd: Fd, backlog: i32) -> Returned {
        let settings = self.settings.clone();
        let most = settings.sysctls.somaxconn;
        let (keys, addresses) = (self.fast_open_keys, self.addresses.clone());
        done(self.socket(fd).and_then(|socket| match &socket.stage {
            Stage::Fresh(listener) => {
                // A negative backlog counts as a large one.
                let backlog = u32::try_from(backlog).unwrap_or(most);
                let options = listener.options().clone();
                let mut listener = Listener::listen(settings, options, backlog);
                listener.set_fast_open_keys(socket.fast_open_keys.unwrap_or(keys));
                listener.set_fast_open_addresses(addresses);
                socket.stage = Stage::Listening(listener);
                Ok(())
            }
            Stage::Listening(_) => Ok(()),
            Stage::Connected(_) => Err(Errno::EINVAL),
        }))
    }

    fn accept(&mut self, fd: Fd, flags: i32, waiting: &Waiting) -> Option<Returned> {
        let over = self.over(waiting);
        let socket = match self.socket(fd) {
            Ok(socket) => socket,
            Err(errno) => return Some(failed(errno)),
        };
        let Stage::Listening(listener) = &mut socket.stage else { return Some(failed(Errno::EINVAL)) };
        match listener.accept() {
            Ok((Peer(peer), connection)) => {
                let ports = Ports { local: socket.port, remote: u16::try_from(peer).unwrap_or(0) };
                let nonblocking = i64::from(flags) & O_NONBLOCK != 0;
                let mut accepted = Socket::accepted(connection, ports, nonblocking, socket);
                self.inherit(ports, &mut accepted.headers);
                let fd = self.add(File::Socket(Box::new(accepted)));
                Some(Returned::value(i64::from(fd)))
            }
            Err(errno) if socket.nonblocking || over => Some(failed(errno)),
            Err(_) => None,
        }
    }

    fn connect(&mut self, fd: Fd, to: To, waiting: &Waiting) -> Option<Returned> {
        let now = self.now;
        let over = self.over(waiting);
        let (settings, known) = (self.settings.clone(), self.known_server());
        if self.udp(fd).is_some() {
            return Some(self.connect_udp(fd));
        }
        let socket = match self.socket(fd) {
            Ok(socket) => socket,
            Err(errno) => return Some(failed(errno)),
        };
        match to {
            To::Family(AF_UNSPEC) => return Some(self.disconnect(fd)),
            To::Family(_) => return Some(failed(Errno::EAFNOSUPPORT)),
            To::Usual => {}
        }
        if let Stage::Fresh(listener) = &socket.stage {
            let options = listener.options().clone();
            let nonblocking = socket.nonblocking;
            let Ok(old) = self.take_port(fd) else { return Some(failed(Errno::EADDRNOTAVAIL)) };
            let (connection, deferred) = if options.fast_open_connect {
                let (connection, result) =
                    Connection::connect_with_first_write(settings, options, now, known);
                (connection, result.is_ok())
            } else if let Some(old) = old {
                (Connection::connect_in_place_of(&old, settings, options, now), false)
            } else {
                (Connection::connect(settings, options, now), false)
            };
            self.adopt(fd, connection);
            return match deferred {
                true => Some(Returned::value(0)),
                false => nonblocking.then(|| failed(Errno::EINPROGRESS)),
            };
        }
        let opening = socket.is_opening();
        let (nonblocking, connecting) = (socket.nonblocking, socket.connecting);
        let Some(connection) = socket.connection() else { return Some(failed(Errno::EINVAL)) };
        let state = connection.state();
        let result = match (opening, state) {
            (true, _) if nonblocking && connection.is_deferred() => Err(Errno::EISCONN),
            (true, _) if nonblocking => Err(Errno::EALREADY),
            (true, _) if over => Err(Errno::EINPROGRESS),
            (true, _) => return None,
            (false, State::Closed) => {
                let error = connection.getsockopt(SocketOption::Error) as i32;
                let refused = Errno::ECONNABORTED.number();
                return Some(Returned::error(if error == 0 { refused } else { error }));
            }
            (false, _) if connecting => Ok(()),
            (false, _) => Err(Errno::EISCONN),
        };
        if result.is_ok() {
            socket.connecting = false;
        }
        Some(done(result))
    }

    /// Chooses the local port of an active open, in the socket's own range if it has one (`IP_LOCAL_PORT_RANGE`), and
    /// returns the connection in TIME-WAIT that it replaces (`__inet_hash_connect`, `__inet_check_established`).
    fn take_port(&mut self, fd: Fd) -> Result<Option<Connection>, Errno> {
        let (now, remote) = (self.now, self.connect_port);
        let socket = self.socket(fd)?;
        let range = socket.kept.get(&(IP, IP_LOCAL_PORT_RANGE)).map_or(0, |range| *range as u32);
        if socket.port != 0 || range == 0 {
            return Ok(None);
        }
        for local in (range & 0xffff) as u16..=(range >> 16) as u16 {
            let ports = Ports { local, remote };
            let old = self.orphans.iter().position(|(own, _)| *own == ports);
            let free = match old {
                Some(old) => self.orphans[old].1.leaves_its_ports(now),
                None => self.socket_of(ports).is_none(),
            };
            if free {
                self.socket(fd)?.port = local;
                let old = old.map(|old| self.orphans.swap_remove(old).1);
                if let Some(old) = &old {
                    super::counters::add(&mut self.counted, old, now);
                    // The new connection has its own sequence numbers.
                    self.flows.remove(&ports);
                }
                return Ok(old);
            }
        }
        Err(Errno::EADDRNOTAVAIL)
    }

    /// A socket gets the connection that it opens, and a port of its own if it has none.
    pub(super) fn adopt(&mut self, fd: Fd, connection: Connection) {
        let (remote, free) = (self.connect_port, self.next_port);
        let Ok(socket) = self.socket(fd) else { return };
        socket.port = if socket.port == 0 { free } else { socket.port };
        let ports = Ports { local: socket.port, remote };
        socket.ports = Some(ports);
        socket.stage = Stage::Connected(Box::new(connection));
        socket.connecting = true;
        let headers = socket.headers;
        self.use_headers(ports, headers);
        self.next_port = self.next_port.wrapping_add(1).max(super::FIRST_LOCAL_PORT);
    }

    /// `connect` to `AF_UNSPEC`: as if the socket had never been connected (`tcp_disconnect`).
    fn disconnect(&mut self, fd: Fd) -> Returned {
        let now = self.now;
        let settings = self.settings.clone();
        let socket = match self.socket(fd) {
            Ok(socket) => socket,
            Err(errno) => return failed(errno),
        };
        let options = match &mut socket.stage {
            Stage::Fresh(_) => return Returned::value(0),
            Stage::Listening(listener) => {
                listener.close(now);
                listener.options().clone()
            }
            Stage::Connected(connection) => {
                connection.disconnect(now);
                socket.left_error = Errno::of(connection.getsockopt(SocketOption::Error));
                connection.options().clone()
            }
        };
        let mut out = Vec::new();
        socket.collect(&mut out);
        socket.stage = Stage::Fresh(Listener::listen(settings, options, 0));
        socket.ports = None;
        socket.connecting = false;
        for (ports, packet) in out {
            self.put_out(ports, &packet);
            // The next connection from this port has its own sequence numbers.
            self.flows.remove(&ports);
        }
        Returned::value(0)
    }

    fn shutdown(&mut self, fd: Fd, how: i32) -> Returned {
        let now = self.now;
        let direction = match how {
            0 => Shutdown::Read,
            1 => Shutdown::Write,
            2 => Shutdown::Both,
            _ => return failed(Errno::EINVAL),
        };
        done(self.socket(fd).and_then(|socket| match &mut socket.stage {
            Stage::Connected(connection) => connection.shutdown(now, direction),
            Stage::Fresh(_) => Err(Errno::ENOTCONN),
            Stage::Listening(listener) => {
                listener.close(now);
                Ok(())
            }
        }))
    }

    fn close(&mut self, fd: Fd, waiting: &mut Waiting) -> Option<Returned> {
        let now = self.now;
        let over = self.over(waiting);
        if waiting.moved == 0 {
            let Some(file) = self.files.remove(&fd) else { return Some(failed(Errno::EBADF)) };
            let File::Socket(mut socket) = file else { return Some(Returned::value(0)) };
            let lingers = socket.linger.is_some_and(|time| !time.is_zero()) && !socket.nonblocking;
            match (&mut socket.stage, socket.ports) {
                (Stage::Connected(connection), _) => connection.close(now),
                (Stage::Listening(listener), _) => listener.close(now),
                (Stage::Fresh(_), _) => {}
            }
            // Its remaining output is sent before the file is gone.
            let mut out = Vec::new();
            socket.collect(&mut out);
            for (ports, packet) in out {
                self.put_out(ports, &packet);
            }
            if let (Stage::Connected(connection), Some(ports)) = (socket.stage, socket.ports) {
                self.orphans.push((ports, *connection));
            }
            if !lingers {
                return Some(Returned::value(0));
            }
            waiting.moved = 1;
        }
        let unsent = self.orphans.last().is_some_and(|(_, connection)| {
            matches!(connection.state(), State::FinWait1 | State::Closing | State::LastAck)
        });
        (!unsent || over).then(|| Returned::value(0))
    }

    fn fcntl(&mut self, fd: Fd, command: i32, argument: i64) -> Returned {
        let Some(file) = self.files.get_mut(&fd) else { return failed(Errno::EBADF) };
        if let (File::Udp(udp), F_SETFL) = (&mut *file, command) {
            udp.nonblocking = argument & O_NONBLOCK != 0;
        }
        let File::Socket(socket) = file else { return Returned::value(0) };
        match command {
            F_GETFL => Returned::value(O_RDWR | if socket.nonblocking { O_NONBLOCK } else { 0 }),
            F_SETFL => {
                socket.nonblocking = argument & O_NONBLOCK != 0;
                Returned::value(0)
            }
            _ => Returned::value(0),
        }
    }

    fn ioctl(&mut self, fd: Fd, request: i64) -> Returned {
        let socket = match self.socket(fd) {
            Ok(socket) => socket,
            Err(errno) => return failed(errno),
        };
        let value = match (&mut socket.stage, request) {
            (Stage::Listening(_), SIOCINQ | SIOCOUTQ | SIOCOUTQNSD) => return failed(Errno::EINVAL),
            (Stage::Fresh(_), SIOCINQ | SIOCOUTQ | SIOCOUTQNSD) => 0,
            (Stage::Connected(connection), SIOCINQ) => connection.inq(),
            (Stage::Connected(connection), SIOCOUTQ) => connection.outq(),
            (Stage::Connected(connection), SIOCOUTQNSD) => connection.outq_nsd(),
            (Stage::Connected(connection), SIOCATMARK) => u32::from(connection.is_at_mark()),
            (Stage::Fresh(_) | Stage::Listening(_), SIOCATMARK) => 0,
            _ => return failed(Errno::ENOTTY),
        };
        Returned { result: Ok(0), output: Output::Value(i64::from(value)) }
    }
}
