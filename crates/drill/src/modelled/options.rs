//! Socket options: the model's, and those of the socket layer.

use super::levels::{IP, IPV6, SOCKET, TCP};
use super::sockets::{Socket, Stage};
use super::{Modelled, inert};
use crate::call::{Fd, Output, Returned};
use crate::symbols;
use slowpath_tcp::socket::SocketOption;
use slowpath_tcp::socket::cookie::Key;
use slowpath_tcp::{Errno, choices::CongestionControl};
use std::time::Duration;

const IP_RECVERR: i32 = 11;
const IPV6_RECVERR: i32 = 25;
const SO_TYPE: i32 = 3;
const SO_ERROR: i32 = 4;
const SO_LINGER: i32 = 13;
const SO_RCVTIMEO: i32 = 20;
const SO_SNDTIMEO: i32 = 21;
const SO_ACCEPTCONN: i32 = 30;
const SO_PROTOCOL: i32 = 38;
const SO_TIMESTAMPING: i32 = 37;
const SO_DOMAIN: i32 = 39;
const SO_ZEROCOPY: i32 = 60;
const TCP_INFO: i32 = 11;
const TCP_CONGESTION: i32 = 13;
const TCP_FASTOPEN_KEY: i32 = 33;
const IP_MTU_DISCOVER: i32 = 10;
const IPV6_MTU_DISCOVER: i32 = 23;
/// Length of a congestion control's name (`TCP_CA_NAME_MAX`).
const NAME_ROOM: usize = 16;

/// The model's option for a level and a number.
fn option(level: i32, number: i32) -> Option<SocketOption> {
    let prefix = match level {
        SOCKET => "SO_",
        TCP => "TCP_",
        IP if number == IP_RECVERR => return Some(SocketOption::ReceiveErrors),
        IPV6 if number == IPV6_RECVERR => return Some(SocketOption::ReceiveErrors),
        _ => return None,
    };
    SocketOption::ALL.iter().copied().find(|option| {
        option.name().starts_with(prefix) && symbols::value(option.name()) == Some(i64::from(number))
    })
}

fn int(value: &[u8]) -> Option<i32> {
    value.get(..4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_le_bytes)
}

fn long(value: &[u8], at: usize) -> i64 {
    value.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, i64::from_le_bytes)
}

/// A time as in `SO_RCVTIMEO`; `None` for zero.
fn time(value: &[u8]) -> Option<Duration> {
    let time = Duration::from_secs(u64::try_from(long(value, 0)).unwrap_or(0))
        + Duration::from_micros(u64::try_from(long(value, 8)).unwrap_or(0));
    (!time.is_zero()).then_some(time)
}

/// A time as returned by `getsockopt`: `struct timeval`, zero for `None`.
fn time_bytes(time: Option<Duration>) -> Vec<u8> {
    let time = time.unwrap_or_default();
    [(time.as_secs() as i64).to_le_bytes(), i64::from(time.subsec_micros()).to_le_bytes()].concat()
}

fn done(result: Result<(), Errno>) -> Returned {
    match result {
        Ok(()) => Returned::value(0),
        Err(errno) => Returned::error(errno.number()),
    }
}

impl Modelled {
    pub(super) fn set_option(
        &mut self,
        fd: Fd,
        (level, name): (i32, i32),
        value: &[u8],
        len: i32,
    ) -> Returned {
        let now = self.now;
        if self.udp(fd).is_some() {
            return Returned::value(0);
        }
        let socket = match self.socket(fd) {
            Ok(socket) => socket,
            Err(errno) => return Returned::error(errno.number()),
        };
        let value = value.get(..usize::try_from(len).unwrap_or(0)).unwrap_or(value);
        let result = match (level, name) {
            (SOCKET, SO_RCVTIMEO) => {
                socket.receive_timeout = time(value);
                Ok(())
            }
            (SOCKET, SO_SNDTIMEO) => {
                socket.send_timeout = time(value);
                Ok(())
            }
            (SOCKET, SO_LINGER) => set_linger(socket, now, value),
            (SOCKET, SO_ZEROCOPY) => match int(value) {
                Some(on @ 0..=1) => {
                    socket.errors.zero_copy = on == 1;
                    Ok(())
                }
                _ => Err(Errno::EINVAL),
            },
            (SOCKET, SO_TIMESTAMPING) => {
                let written = socket.connection().map(|connection| connection.written());
                int(value)
                    .ok_or(Errno::EINVAL)
                    .and_then(|flags| socket.errors.set_timestamping(flags as u32, written))
            }
            (TCP, TCP_CONGESTION) => set_congestion(socket, now, value),
            (TCP, TCP_FASTOPEN_KEY) => set_fast_open_key(socket, value),
            (IP | IPV6, _) => set_ip(socket, now, (level, name), value),
            _ => set_number(socket, now, (level, name), value),
        };
        if let (Ok(socket), Ok(())) = (self.socket(fd), result)
            && let Some(ports) = socket.ports
        {
            let headers = socket.headers;
            self.use_headers(ports, headers);
        }
        done(result)
    }

    pub(super) fn get_option(&mut self, fd: Fd, (level, name): (i32, i32), len: i32) -> Returned {
        let now = self.now;
        let domain = self.family;
        if let Some(result) = self.path_mtu(fd, level, name) {
            return result.map_or_else(
                |errno| Returned::error(errno.number()),
                |mtu| Returned { result: Ok(0), output: Output::Option(mtu.to_le_bytes().to_vec()) },
            );
        }
        let socket = match self.socket(fd) {
            Ok(socket) => socket,
            Err(errno) => return Returned::error(errno.number()),
        };
        let Ok(room) = usize::try_from(len) else { return Returned::error(Errno::EINVAL.number()) };
        let mut value = match (level, name) {
            (TCP, TCP_INFO) => socket.stage.info(now).encode().to_vec(),
            (TCP, TCP_CONGESTION) => {
                let name = match &socket.stage {
                    Stage::Connected(connection) => connection.congestion_control(),
                    Stage::Fresh(_) | Stage::Listening(_) => &socket.congestion,
                };
                let mut bytes = name.as_bytes().to_vec();
                bytes.resize(NAME_ROOM, 0);
                bytes
            }
            (SOCKET, SO_LINGER) => {
                let seconds = socket.linger.map_or(0, |time| time.as_secs() as i32);
                [i32::from(socket.linger.is_some()).to_le_bytes(), seconds.to_le_bytes()].concat()
            }
            (SOCKET, SO_ERROR) if socket.left_error.is_some() => {
                socket.left_error.take().map_or(0, Errno::number).to_le_bytes().to_vec()
            }
            (SOCKET, SO_TYPE) => 1i32.to_le_bytes().to_vec(),
            (SOCKET, SO_DOMAIN) => domain.to_le_bytes().to_vec(),
            (SOCKET, SO_PROTOCOL) => TCP.to_le_bytes().to_vec(),
            (SOCKET, SO_ZEROCOPY) => i32::from(socket.errors.zero_copy).to_le_bytes().to_vec(),
            (SOCKET, SO_TIMESTAMPING) => socket.errors.flags.to_le_bytes().to_vec(),
            (SOCKET, SO_RCVTIMEO) => time_bytes(socket.receive_timeout),
            (SOCKET, SO_SNDTIMEO) => time_bytes(socket.send_timeout),
            (SOCKET, SO_ACCEPTCONN) => {
                i32::from(matches!(socket.stage, Stage::Listening(_))).to_le_bytes().to_vec()
            }
            _ => {
                let kept = socket.kept.get(&(level, name)).copied();
                let header = socket.headers.get(level, name);
                let own = option(level, name).map(|option| get(socket, option) as i32);
                let usual = inert::is_known(level, name).then(|| inert::initial(level, name));
                match own.or(header).or(kept).or(usual) {
                    Some(value) => value.to_le_bytes().to_vec(),
                    None => return Returned::error(Errno::ENOPROTOOPT.number()),
                }
            }
        };
        value.truncate(room);
        Returned { result: Ok(0), output: Output::Option(value) }
    }
}

/// Sets a numeric option that the model has, or that has no effect here.
fn set_number(
    socket: &mut Socket,
    now: slowpath_model::Instant,
    (level, name): (i32, i32),
    value: &[u8],
) -> Result<(), Errno> {
    let number = int(value);
    let Some(option) = option(level, name) else {
        if !inert::is_known(level, name) {
            return Err(Errno::ENOPROTOOPT);
        }
        let number = number.unwrap_or(0);
        inert::check(socket, level, name, value, number)?;
        socket.kept.insert((level, name), number);
        return Ok(());
    };
    let number = number.ok_or(Errno::EINVAL)?;
    put(socket, now, option, i64::from(number))?;
    if option == SocketOption::Inq {
        socket.inq = number != 0;
    }
    Ok(())
}

/// IP options may be one byte long.
fn set_ip(
    socket: &mut Socket,
    now: slowpath_model::Instant,
    (level, name): (i32, i32),
    value: &[u8],
) -> Result<(), Errno> {
    let number = int(value).or_else(|| value.first().map(|byte| i32::from(*byte))).ok_or(Errno::EINVAL)?;
    if let Some(option) = option(level, name) {
        return put(socket, now, option, i64::from(number));
    }
    if let Some(result) = socket.headers.set(level, name, number) {
        return result;
    }
    if matches!((level, name), (IP, IP_MTU_DISCOVER) | (IPV6, IPV6_MTU_DISCOVER))
        && !(0..=5).contains(&number)
    {
        return Err(Errno::EINVAL);
    }
    socket.kept.insert((level, name), number);
    Ok(())
}

/// One or two keys of 16 bytes (`tcp_fastopen_reset_cipher`): cookies are generated with the first, and those of the
/// second are accepted.
fn set_fast_open_key(socket: &mut Socket, value: &[u8]) -> Result<(), Errno> {
    if !matches!(value.len(), 16 | 32) {
        return Err(Errno::EINVAL);
    }
    let key = |at: usize| Key(long(value, at) as u64, long(value, at + 8) as u64);
    let keys = (key(0), (value.len() == 32).then(|| key(16)));
    socket.fast_open_keys = Some(keys);
    if let Stage::Listening(listener) = &mut socket.stage {
        listener.set_fast_open_keys(keys);
    }
    Ok(())
}

fn put(
    socket: &mut Socket,
    now: slowpath_model::Instant,
    option: SocketOption,
    value: i64,
) -> Result<(), Errno> {
    match &mut socket.stage {
        Stage::Fresh(listener) | Stage::Listening(listener) => listener.setsockopt(option, value),
        Stage::Connected(connection) => connection.setsockopt(now, option, value),
    }
}

fn get(socket: &mut Socket, option: SocketOption) -> i64 {
    match &mut socket.stage {
        Stage::Fresh(listener) | Stage::Listening(listener) => listener.getsockopt(option),
        Stage::Connected(connection) => connection.getsockopt(option),
    }
}

fn set_linger(socket: &mut Socket, now: slowpath_model::Instant, value: &[u8]) -> Result<(), Errno> {
    let (Some(on), Some(seconds)) = (int(value), value.get(4..).and_then(int)) else {
        return Err(Errno::EINVAL);
    };
    let seconds = u64::try_from(seconds).unwrap_or(u64::MAX >> 1);
    socket.linger = (on != 0).then(|| Duration::from_secs(seconds));
    let value = if on == 0 { -1 } else { i64::try_from(seconds).unwrap_or(i64::MAX) };
    put(socket, now, SocketOption::Linger, value)
}

fn set_congestion(socket: &mut Socket, now: slowpath_model::Instant, value: &[u8]) -> Result<(), Errno> {
    let text = value.split(|byte| *byte == 0).next().unwrap_or(value);
    let known = CongestionControl::ALL.iter().find(|control| control.name().as_bytes() == text);
    let control = *known.ok_or(Errno::ENOENT)?;
    control.name().clone_into(&mut socket.congestion);
    match &mut socket.stage {
        Stage::Fresh(listener) | Stage::Listening(listener) => {
            listener.options_mut().congestion = Some(control);
            Ok(())
        }
        Stage::Connected(connection) => {
            connection.set_congestion_control(now, control);
            Ok(())
        }
    }
}
