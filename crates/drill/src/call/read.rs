//! Converts a written call into one that can be made.

use super::arguments::{Arguments, Fault, Fields, as_int, boxed, items, number};
use super::check::{Expected, ExpectedOutput};
use super::message::{ControlMessage, ErrorReport, Statistic};
use super::{Buffer, Call, EpollEvent, Fd, Peer, Via, option_value};
use crate::script::{CallSpec, Expr};
use crate::symbols;

/// A call that can be made, and its expected result.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The call.
    pub call: Call,
    /// Its expected result and output.
    pub expected: Expected,
}

/// The numbers of `MSG_*` and `SOCK_*` come from the table of constants, which lacks `AF_UNSPEC`.
const AF_UNSPEC: i32 = 0;
/// Buffer size for control messages: more than any needs.
const CONTROL_ROOM: usize = 4096;
/// The largest buffer: scripts move megabytes, not gigabytes.
const LARGEST_BUFFER: i64 = 1 << 30;

/// Prepares a call; `live` maps a script's file descriptor to the kernel's.
///
/// # Errors
/// The part of the call that is invalid.
pub fn prepare(spec: &CallSpec, live: &dyn Fn(i64) -> Option<Fd>) -> Result<Prepared, Fault> {
    let mut reader = Reader { spec, live, output: ExpectedOutput::Nothing };
    let call = reader.call()?;
    let errno = match &spec.errno {
        Some(name) => Some(symbols::errno(name).ok_or_else(|| format!("there is no error called {name}"))?),
        None => None,
    };
    let result = match &spec.result {
        Expr::Ellipsis => None,
        result => Some(number(result).map_err(|fault| format!("the result: {fault}"))?),
    };
    Ok(Prepared { call, expected: Expected { result, errno, output: reader.output } })
}

struct Reader<'a> {
    spec: &'a CallSpec,
    live: &'a dyn Fn(i64) -> Option<Fd>,
    output: ExpectedOutput,
}

impl<'a> Reader<'a> {
    fn arguments(&self, count: usize) -> Result<Arguments<'a>, Fault> {
        self.arguments_in(count..=count)
    }

    fn arguments_in(&self, count: std::ops::RangeInclusive<usize>) -> Result<Arguments<'a>, Fault> {
        Arguments::new(&self.spec.name, &self.spec.arguments, count)
    }

    fn fd(&self, arguments: &Arguments<'_>, index: usize) -> Result<Fd, Fault> {
        self.live_fd(arguments.long(index)?)
    }

    fn live_fd(&self, script: i64) -> Result<Fd, Fault> {
        // A script may use an invalid descriptor deliberately.
        if script < 0 {
            return Ok(-1);
        }
        (self.live)(script)
            .ok_or_else(|| format!("no call of this script has opened file descriptor {script}"))
    }

    fn call(&mut self) -> Result<Call, Fault> {
        match self.spec.name.as_str() {
            "socket" => self.socket(),
            "bind" => {
                let arguments = self.arguments(3)?;
                Ok(Call::Bind { fd: self.fd(&arguments, 0)? })
            }
            "listen" => {
                let arguments = self.arguments(2)?;
                Ok(Call::Listen { fd: self.fd(&arguments, 0)?, backlog: arguments.int(1)? })
            }
            "accept" => Ok(Call::Accept { fd: self.fd(&self.arguments(3)?, 0)?, flags: 0 }),
            "accept4" => {
                let arguments = self.arguments(4)?;
                Ok(Call::Accept { fd: self.fd(&arguments, 0)?, flags: arguments.int(3)? })
            }
            "connect" => {
                let arguments = self.arguments(3)?;
                Ok(Call::Connect { fd: self.fd(&arguments, 0)?, to: peer(&arguments, 1)? })
            }
            "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => self.receive(),
            "write" | "send" | "sendto" | "writev" | "sendmsg" => self.send(),
            "shutdown" => {
                let arguments = self.arguments(2)?;
                Ok(Call::Shutdown { fd: self.fd(&arguments, 0)?, how: arguments.int(1)? })
            }
            "close" => Ok(Call::Close { fd: self.fd(&self.arguments(1)?, 0)? }),
            "setsockopt" => self.set_option(),
            "getsockopt" => self.get_option(),
            "fcntl" => self.fcntl(),
            "ioctl" => self.ioctl(),
            "poll" => self.poll(),
            name if name.starts_with("epoll_") => self.epoll(),
            "pipe" | "pipe2" => self.pipe(),
            "splice" => self.splice(),
            "sendfile" => self.sendfile(),
            "open" => self.open(),
            "cap_set" => {
                let arguments = self.arguments(3)?;
                Ok(Call::CapSet {
                    flag: arguments.int(0)?,
                    capability: arguments.int(1)?,
                    set: arguments.int(2)? != 0,
                })
            }
            name => Err(format!("the system call {name} is not known here")),
        }
    }

    fn socket(&self) -> Result<Call, Fault> {
        let arguments = self.arguments(3)?;
        let domain = if arguments.is_any(0) { None } else { Some(arguments.int(0)?) };
        Ok(Call::Socket { domain, kind: arguments.int(1)?, protocol: arguments.int(2)? })
    }

    fn receive(&mut self) -> Result<Call, Fault> {
        let name = self.spec.name.as_str();
        let (via, count) = match name {
            "read" => (Via::Plain, 3),
            "readv" => (Via::Vector, 3),
            "recv" => (Via::Flags, 4),
            "recvfrom" => (Via::Address, 6),
            _ => (Via::Message, 3),
        };
        let arguments = self.arguments(count)?;
        let fd = self.fd(&arguments, 0)?;
        let (mut flags, mut control_room) = (0, 0);
        let buffers = match via {
            Via::Vector => vector(arguments.get(1)?, arguments.long(2)?)?,
            Via::Message => {
                flags = arguments.int(2)?;
                control_room = CONTROL_ROOM;
                let message = Fields::of(arguments.get(1)?)?;
                let expected =
                    if message.find("msg_flags").is_some() { message.int("msg_flags")? } else { 0 };
                self.output = ExpectedOutput::Message { flags: expected, control: control(&message)? };
                message_buffers(&message)?
            }
            Via::Plain | Via::Flags | Via::Address => {
                if via != Via::Plain {
                    flags = arguments.int(3)?;
                }
                vec![buffer(&arguments)?]
            }
        };
        Ok(Call::Receive { fd, via, buffers, flags, control_room })
    }

    fn send(&mut self) -> Result<Call, Fault> {
        let (via, count) = match self.spec.name.as_str() {
            "write" => (Via::Plain, 3),
            "writev" => (Via::Vector, 3),
            "send" => (Via::Flags, 4),
            "sendto" => (Via::Address, 6),
            _ => (Via::Message, 3),
        };
        let arguments = self.arguments(count)?;
        let fd = self.fd(&arguments, 0)?;
        let (mut flags, mut to, mut messages) = (0, None, Vec::new());
        let buffers = match via {
            Via::Vector => vector(arguments.get(1)?, arguments.long(2)?)?,
            Via::Message => {
                flags = arguments.int(2)?;
                let message = Fields::of(arguments.get(1)?)?;
                to = message.find("msg_name").map(|_| Peer::Usual);
                messages = control(&message)?;
                message_buffers(&message)?
            }
            Via::Plain | Via::Flags | Via::Address => {
                if via != Via::Plain {
                    flags = arguments.int(3)?;
                }
                if via == Via::Address {
                    to = Some(peer(&arguments, 4)?);
                }
                vec![buffer(&arguments)?]
            }
        };
        Ok(Call::Send { fd, via, buffers, flags, to, control: messages })
    }

    fn set_option(&self) -> Result<Call, Fault> {
        let arguments = self.arguments(5)?;
        Ok(Call::SetOption {
            fd: self.fd(&arguments, 0)?,
            level: arguments.int(1)?,
            name: arguments.int(2)?,
            value: option_value::bytes(arguments.get(3)?)?,
            len: arguments.int(4)?,
        })
    }

    fn get_option(&mut self) -> Result<Call, Fault> {
        let arguments = self.arguments(5)?;
        let len = as_int(boxed(arguments.get(4)?)?).ok_or("the length does not fit into 32 bits")?;
        if !arguments.is_any(3) {
            self.output = ExpectedOutput::Option(option_value::bytes(arguments.get(3)?)?, len);
        }
        let (level, name) = (arguments.int(1)?, arguments.int(2)?);
        Ok(Call::GetOption { fd: self.fd(&arguments, 0)?, level, name, len })
    }

    fn fcntl(&self) -> Result<Call, Fault> {
        let arguments = self.arguments_in(2..=3)?;
        let argument = if arguments.len() == 3 { Some(arguments.long(2)?) } else { None };
        Ok(Call::Fcntl { fd: self.fd(&arguments, 0)?, command: arguments.int(1)?, argument })
    }

    fn ioctl(&mut self) -> Result<Call, Fault> {
        let arguments = self.arguments_in(2..=3)?;
        let with_value = arguments.len() == 3;
        if with_value {
            self.output = ExpectedOutput::Value(boxed(arguments.get(2)?)?);
        }
        Ok(Call::Ioctl { fd: self.fd(&arguments, 0)?, request: arguments.long(1)?, with_value })
    }

    fn poll(&mut self) -> Result<Call, Fault> {
        let arguments = self.arguments(3)?;
        let (mut fds, mut expected) = (Vec::new(), Vec::new());
        for file in items(arguments.get(0)?)? {
            let fields = Fields::of(file)?;
            let bits = |name: &str| -> Result<i16, Fault> {
                Ok(match fields.find(name) {
                    Some(value) => number(value)? as i16,
                    None => 0,
                })
            };
            fds.push((self.live_fd(fields.number("fd")?)?, bits("events")?));
            expected.push(bits("revents")?);
        }
        if arguments.long(1)? != fds.len() as i64 {
            return Err(format!("poll is given {} files, but nfds is {}", fds.len(), arguments.long(1)?));
        }
        self.output = ExpectedOutput::Polled(expected);
        Ok(Call::Poll { fds, timeout_ms: arguments.int(2)? })
    }

    fn epoll(&mut self) -> Result<Call, Fault> {
        match self.spec.name.as_str() {
            "epoll_create" => self.arguments(1).map(|_| Call::EpollCreate { flags: None }),
            "epoll_create1" => Ok(Call::EpollCreate { flags: Some(self.arguments(1)?.int(0)?) }),
            "epoll_ctl" => {
                let arguments = self.arguments(4)?;
                Ok(Call::EpollCtl {
                    epoll: self.fd(&arguments, 0)?,
                    operation: arguments.int(1)?,
                    fd: self.fd(&arguments, 2)?,
                    event: self.epoll_event(arguments.get(3)?)?,
                })
            }
            "epoll_wait" => {
                let arguments = self.arguments(4)?;
                self.output = match arguments.get(1)? {
                    Expr::Ellipsis => ExpectedOutput::Nothing,
                    Expr::List(events) => ExpectedOutput::Epoll(
                        events.iter().map(|event| self.epoll_event(event)).collect::<Result<_, _>>()?,
                    ),
                    event => ExpectedOutput::Epoll(vec![self.epoll_event(event)?]),
                };
                Ok(Call::EpollWait {
                    epoll: self.fd(&arguments, 0)?,
                    most: arguments.int(2)?,
                    timeout_ms: arguments.int(3)?,
                })
            }
            name => Err(format!("the system call {name} is not known here")),
        }
    }

    fn epoll_event(&self, expr: &Expr) -> Result<EpollEvent, Fault> {
        if matches!(expr, Expr::Ellipsis | Expr::Integer(0)) {
            return Ok(EpollEvent { events: 0, data: 0 });
        }
        let fields = Fields::of(expr)?;
        let events = fields.number("events")? as u32;
        if fields.find("fd").is_some() {
            let fd = self.live_fd(fields.number("fd")?)?;
            return Ok(EpollEvent { events, data: fd as u32 as u64 });
        }
        let name = ["ptr", "u64", "u32"].into_iter().find(|name| fields.find(name).is_some());
        let name = name.ok_or("an event of epoll has fd, ptr, u32 or u64")?;
        let value = fields.number(name)? as u64;
        Ok(EpollEvent { events, data: if name == "u32" { value & 0xffff_ffff } else { value } })
    }

    fn pipe(&mut self) -> Result<Call, Fault> {
        let arguments = self.arguments_in(1..=2)?;
        match items(arguments.get(0)?)? {
            [from, to] => self.output = ExpectedOutput::Pipe(number(from)?, number(to)?),
            _ => return Err("pipe gives two file descriptors".to_owned()),
        }
        Ok(Call::Pipe { flags: if arguments.len() == 2 { arguments.int(1)? } else { 0 } })
    }

    fn splice(&self) -> Result<Call, Fault> {
        let arguments = self.arguments(6)?;
        Ok(Call::Splice {
            from: self.fd(&arguments, 0)?,
            from_offset: arguments.long(1)?,
            to: self.fd(&arguments, 2)?,
            to_offset: arguments.long(3)?,
            len: length(arguments.long(4)?)?,
            flags: arguments.int(5)?,
        })
    }

    fn sendfile(&self) -> Result<Call, Fault> {
        let arguments = self.arguments(4)?;
        Ok(Call::Sendfile {
            to: self.fd(&arguments, 0)?,
            from: self.fd(&arguments, 1)?,
            offset: boxed(arguments.get(2)?)?,
            len: length(arguments.long(3)?)?,
        })
    }

    fn open(&self) -> Result<Call, Fault> {
        let arguments = self.arguments_in(2..=3)?;
        let Expr::Text(path) = arguments.get(0)? else {
            return Err("open takes a path in quotes".to_owned());
        };
        let path = String::from_utf8(path.clone()).map_err(|_| "this path is not text".to_owned())?;
        Ok(Call::Open { path, flags: arguments.int(1)? })
    }
}

fn length(value: i64) -> Result<usize, Fault> {
    if !(0..=LARGEST_BUFFER).contains(&value) {
        return Err(format!("{value} is not a length; it is between 0 and {LARGEST_BUFFER}"));
    }
    Ok(value as usize)
}

/// The second and third argument: `...` or `NULL`, and a length.
fn buffer(arguments: &Arguments<'_>) -> Result<Buffer, Fault> {
    let null = !arguments.is_any(1) && !matches!(arguments.get(1)?, Expr::Text(_));
    if null && arguments.long(1)? != 0 {
        return Err("a buffer is ... or NULL".to_owned());
    }
    Ok(Buffer { null, len: length(arguments.long(2)?)? })
}

fn peer(arguments: &Arguments<'_>, index: usize) -> Result<Peer, Fault> {
    if arguments.is_any(index) || matches!(arguments.get(index)?, Expr::Struct(_)) {
        return Ok(Peer::Usual);
    }
    Ok(Peer::Family(arguments.int(index).unwrap_or(AF_UNSPEC)))
}

fn vector(expr: &Expr, count: i64) -> Result<Vec<Buffer>, Fault> {
    let buffers: Vec<Buffer> = items(expr)?.iter().map(part).collect::<Result<_, _>>()?;
    if buffers.len() as i64 != count {
        return Err(format!("there are {} buffers, but the count is {count}", buffers.len()));
    }
    Ok(buffers)
}

/// `{..., 1000}`
fn part(expr: &Expr) -> Result<Buffer, Fault> {
    match Fields::of(expr)?.all() {
        [base, len] => Ok(Buffer { null: *base != Expr::Ellipsis, len: length(number(len)?)? }),
        _ => Err("a buffer is {..., length}".to_owned()),
    }
}

fn message_buffers(message: &Fields<'_>) -> Result<Vec<Buffer>, Fault> {
    let vector = message.find("msg_iov").ok_or("the field msg_iov is missing")?;
    items(vector)?.iter().map(part).collect()
}

fn control(message: &Fields<'_>) -> Result<Vec<ControlMessage>, Fault> {
    let Some(list) = message.find("msg_control") else { return Ok(Vec::new()) };
    items(list)?.iter().map(control_message).collect()
}

fn control_message(expr: &Expr) -> Result<ControlMessage, Fault> {
    let fields = Fields::of(expr)?;
    let (level, kind) = (fields.int("cmsg_level")?, fields.int("cmsg_type")?);
    match fields.find("cmsg_data").ok_or("the field cmsg_data is missing")? {
        Expr::Struct(data) => control_struct(data),
        Expr::List(statistics) => {
            statistics.iter().map(statistic).collect::<Result<_, _>>().map(ControlMessage::Statistics)
        }
        Expr::Text(data) => Ok(ControlMessage::Other { level, kind, data: data.clone() }),
        value => {
            let value = as_int(number(value)?).ok_or("cmsg_data does not fit into 32 bits")?;
            Ok(ControlMessage::Integer { level, kind, value })
        }
    }
}

fn control_struct(data: &[Expr]) -> Result<ControlMessage, Fault> {
    let whole = Expr::Struct(data.to_vec());
    let fields = Fields::of(&whole)?;
    if fields.find("scm_sec").is_some() {
        let micros = fields.number("scm_sec")?.saturating_mul(1_000_000) + fields.number("scm_nsec")? / 1000;
        return Ok(ControlMessage::Stamp { micros });
    }
    if fields.find("ee_errno").is_some() {
        return Ok(ControlMessage::Error(ErrorReport {
            errno: fields.int("ee_errno")? as u32,
            origin: fields.int("ee_origin")? as u8,
            kind: fields.int("ee_type")? as u8,
            code: fields.int("ee_code")? as u8,
            info: fields.int("ee_info")? as u32,
            data: fields.int("ee_data")? as u32,
        }));
    }
    data.iter().map(statistic).collect::<Result<_, _>>().map(ControlMessage::Statistics)
}

/// `TCP_NLA_BUSY=1000`
fn statistic(expr: &Expr) -> Result<Statistic, Fault> {
    let Expr::Assign(name, value) = expr else { return Err("a statistic is NAME=value".to_owned()) };
    let kind = number(&Expr::Word(name.clone()))?;
    let value = match &**value {
        Expr::Ellipsis => None,
        value => Some(number(value)? as u64),
    };
    Ok(Statistic { kind: as_int(kind).unwrap_or(0), value })
}
