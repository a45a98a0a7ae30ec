//! Options of sockets: the model's, and those that are the socket layer's own.

use super::Modelled;
use super::sockets::{File, Socket, Stage};
use crate::call::{Fd, Output, Returned};
use crate::symbols;
use slowpath_tcp::socket::SocketOption;
use slowpath_tcp::{Errno, choices::CongestionControl};
use std::time::Duration;

const SOCKET: i32 = 1;
const TCP: i32 = 6;
const SO_TYPE: i32 = 3;
const SO_LINGER: i32 = 13;
const SO_RCVTIMEO: i32 = 20;
const SO_SNDTIMEO: i32 = 21;
const SO_ACCEPTCONN: i32 = 30;
const SO_PROTOCOL: i32 = 38;
const TCP_CONGESTION: i32 = 13;
const TCP_INQ: i32 = 36;
/// Bytes of the name of a congestion control (`TCP_CA_NAME_MAX`).
const NAME_ROOM: usize = 16;

/// The model's option of a level and a number.
fn option(level: i32, number: i32) -> Option<SocketOption> {
    let prefix = match level {
        SOCKET => "SO_",
        TCP => "TCP_",
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

/// A time as `SO_RCVTIMEO` has it; none for zero.
fn time(value: &[u8]) -> Option<Duration> {
    let time = Duration::from_secs(u64::try_from(long(value, 0)).unwrap_or(0))
        + Duration::from_micros(u64::try_from(long(value, 8)).unwrap_or(0));
    (!time.is_zero()).then_some(time)
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
        let Some(File::Socket(socket)) = self.files.get_mut(&fd) else {
            return Returned::error(Errno::EBADF.number());
        };
        let value = value.get(..usize::try_from(len).unwrap_or(0)).unwrap_or(value);
        match (level, name) {
            (SOCKET, SO_RCVTIMEO) => socket.receive_timeout = time(value),
            (SOCKET, SO_SNDTIMEO) => socket.send_timeout = time(value),
            (SOCKET, SO_LINGER) => return done(set_linger(socket, now, value)),
            (TCP, TCP_CONGESTION) => return done(set_congestion(socket, value)),
            _ => {
                let Some(option) = option(level, name) else {
                    // Levels below TCP are not modelled, and what they set cannot be seen.
                    let known = level != TCP && level != SOCKET || is_known(level, name);
                    return done(if known { Ok(()) } else { Err(Errno::ENOPROTOOPT) });
                };
                let Some(value) = int(value) else { return Returned::error(Errno::EINVAL.number()) };
                if (level, name) == (TCP, TCP_INQ) && value != 0 && value != 1 {
                    return Returned::error(Errno::EINVAL.number());
                }
                let result = put(socket, now, option, i64::from(value));
                if result.is_ok() && (level, name) == (TCP, TCP_INQ) {
                    socket.inq = value != 0;
                }
                return done(result);
            }
        }
        Returned::value(0)
    }

    pub(super) fn get_option(&mut self, fd: Fd, (level, name): (i32, i32), len: i32) -> Returned {
        let Some(File::Socket(socket)) = self.files.get_mut(&fd) else {
            return Returned::error(Errno::EBADF.number());
        };
        let Ok(room) = usize::try_from(len) else { return Returned::error(Errno::EINVAL.number()) };
        let mut value = match (level, name) {
            (TCP, TCP_CONGESTION) => {
                let mut bytes = socket.congestion.clone().into_bytes();
                bytes.resize(NAME_ROOM, 0);
                bytes
            }
            (SOCKET, SO_LINGER) => {
                let seconds = socket.linger.map_or(0, |time| time.as_secs() as i32);
                [i32::from(socket.linger.is_some()).to_le_bytes(), seconds.to_le_bytes()].concat()
            }
            (SOCKET, SO_TYPE) => 1i32.to_le_bytes().to_vec(),
            (SOCKET, SO_PROTOCOL) => TCP.to_le_bytes().to_vec(),
            (SOCKET, SO_ACCEPTCONN) => {
                i32::from(matches!(socket.stage, Stage::Listening(_))).to_le_bytes().to_vec()
            }
            _ => match option(level, name) {
                Some(option) => (get(socket, option) as i32).to_le_bytes().to_vec(),
                None => return Returned::error(Errno::ENOPROTOOPT.number()),
            },
        };
        value.truncate(room);
        Returned { result: Ok(0), output: Output::Option(value) }
    }
}

fn is_known(level: i32, name: i32) -> bool {
    // What the socket layer has beside TCP's: time stamps, marks, priorities; none changes a segment.
    level == SOCKET && (1..=83).contains(&name)
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

fn set_congestion(socket: &mut Socket, value: &[u8]) -> Result<(), Errno> {
    let text = value.split(|byte| *byte == 0).next().unwrap_or(value);
    let known = CongestionControl::ALL.iter().find(|control| control.name().as_bytes() == text);
    let control = *known.ok_or(Errno::ENOENT)?;
    control.name().clone_into(&mut socket.congestion);
    match &mut socket.stage {
        Stage::Fresh(listener) | Stage::Listening(listener) => {
            listener.options_mut().congestion = Some(control);
            Ok(())
        }
        // A connection keeps the one that it began with in the model.
        Stage::Connected(_) => Err(Errno::EOPNOTSUPP),
    }
}
