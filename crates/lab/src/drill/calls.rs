//! System calls on the real kernel.

use super::Start;
use super::addresses::Network;
use super::messages;
use super::settings::Congestion;
use slowpath_drill::call::{Buffer, Call, ControlMessage, EpollEvent, Fd, Output, Peer, Returned, Via};
use socket2::SockAddr;
use std::collections::BTreeSet;
use std::ffi::CString;

/// Makes calls, and at the end closes what they opened.
pub struct Caller {
    network: Network,
    start: Start,
    /// The port to bind to, and the one to connect to.
    ports: (u16, u16),
    congestion: Congestion,
    open: BTreeSet<Fd>,
}

/// The result of a call: a value, or errno.
fn returned(value: impl Into<i64>) -> Returned {
    let value = value.into();
    if value >= 0 {
        return Returned::value(value);
    }
    Returned::error(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
}

fn with(result: Returned, output: Output) -> Returned {
    Returned { output, ..result }
}

impl Caller {
    pub fn new(network: Network, start: Start, ports: (u16, u16), congestion: Congestion) -> Self {
        Self { network, start, ports, congestion, open: BTreeSet::new() }
    }

    /// Makes a call and returns its result.
    pub fn make(&mut self, call: &Call) -> Returned {
        let result = self.dispatch(call);
        if let Ok(value) = result.result {
            match call {
                Call::Socket { .. } | Call::Accept { .. } | Call::EpollCreate { .. } | Call::Open { .. } => {
                    self.open.insert(value as Fd);
                }
                Call::Close { fd } => {
                    self.open.remove(fd);
                }
                _ => {}
            }
        }
        if let Output::Pipe(from, to) = result.output {
            self.open.extend([from, to]);
        }
        result
    }

    /// Every pointer passed here and below is to a live value of the size passed with it.
    fn dispatch(&self, call: &Call) -> Returned {
        match call {
            Call::Socket { domain, kind, protocol } => {
                let domain = domain.unwrap_or_else(|| self.network.family());
                // SAFETY: takes plain values.
                let result = returned(unsafe { libc::socket(domain, *kind, *protocol) });
                if let Ok(fd) = result.result {
                    self.set_congestion(fd as Fd);
                }
                result
            }
            Call::Bind { fd } => {
                let address = self.address(self.network.addresses.local, self.ports.0);
                // SAFETY: see above.
                returned(unsafe { libc::bind(*fd, address.as_ptr().cast(), address.len()) })
            }
            // SAFETY: takes plain values.
            Call::Listen { fd, backlog } => returned(unsafe { libc::listen(*fd, *backlog) }),
            Call::Accept { fd, flags } => {
                let none = std::ptr::null_mut();
                // SAFETY: no address is asked for.
                returned(unsafe { libc::accept4(*fd, none, std::ptr::null_mut(), *flags) })
            }
            Call::Connect { fd, to } => {
                let address = self.peer(*to);
                // SAFETY: see above.
                returned(unsafe { libc::connect(*fd, address.as_ptr().cast(), address.len()) })
            }
            Call::Receive { fd, via, buffers, flags, control_room } => {
                self.receive(*fd, *via, buffers, *flags, *control_room)
            }
            Call::Send { fd, via, buffers, flags, to, control } => {
                self.send(*fd, *via, buffers, *flags, *to, control)
            }
            // SAFETY: takes plain values.
            Call::Shutdown { fd, how } => returned(unsafe { libc::shutdown(*fd, *how) }),
            // SAFETY: the descriptor was opened by a call of the script.
            Call::Close { fd } => returned(unsafe { libc::close(*fd) }),
            _ => dispatch_rest(call),
        }
    }

    /// For sockets of other protocols it is an error that changes nothing.
    fn set_congestion(&self, fd: Fd) {
        let name = self.congestion.name();
        let length = name.len() as libc::socklen_t;
        // SAFETY: see above.
        unsafe {
            libc::setsockopt(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_ptr().cast(), length);
        }
    }

    fn address(&self, address: std::net::IpAddr, port: u16) -> SockAddr {
        self.network.socket_address(address, port).into()
    }

    fn peer(&self, to: Peer) -> SockAddr {
        let usual = self.address(self.network.addresses.remote, self.ports.1);
        let Peer::Family(family) = to else { return usual };
        let length = usual.len();
        let mut storage = usual.as_storage();
        // SAFETY: the storage is large enough for any address, and only its family is changed.
        unsafe {
            (&raw mut storage).cast::<libc::sa_family_t>().write(family as libc::sa_family_t);
            SockAddr::new(storage, length)
        }
    }

    fn receive(&self, fd: Fd, via: Via, buffers: &[Buffer], flags: i32, room: usize) -> Returned {
        let mut memory = Memory::of(buffers);
        let first = memory.first();
        // SAFETY: see above; the memory outlives each call.
        unsafe {
            match via {
                Via::Plain => returned(libc::read(fd, first.iov_base, first.iov_len) as i64),
                Via::Flags => returned(libc::recv(fd, first.iov_base, first.iov_len, flags) as i64),
                Via::Address => {
                    let none = std::ptr::null_mut();
                    let (base, len) = (first.iov_base, first.iov_len);
                    returned(libc::recvfrom(fd, base, len, flags, none, std::ptr::null_mut()) as i64)
                }
                Via::Vector => {
                    let count = memory.vector.len() as libc::c_int;
                    returned(libc::readv(fd, memory.vector.as_ptr(), count) as i64)
                }
                Via::Message => {
                    let mut control = vec![0u64; room.div_ceil(8)];
                    let mut header = memory.header();
                    header.msg_control = control.as_mut_ptr().cast();
                    header.msg_controllen = room as _;
                    let result = returned(libc::recvmsg(fd, &raw mut header, flags) as i64);
                    let bytes: Vec<u8> = control.iter().flat_map(|word| word.to_le_bytes()).collect();
                    let filled = bytes.get(..header.msg_controllen).unwrap_or(&[]);
                    let control = messages::decode(filled, &self.start);
                    with(result, Output::Message { flags: header.msg_flags, control })
                }
            }
        }
    }

    fn send(
        &self,
        fd: Fd,
        via: Via,
        buffers: &[Buffer],
        flags: i32,
        to: Option<Peer>,
        control: &[ControlMessage],
    ) -> Returned {
        let mut memory = Memory::of(buffers);
        let first = memory.first();
        let address = to.map(|to| self.peer(to));
        let (name, name_len) = match &address {
            Some(address) => (address.as_ptr().cast_mut(), address.len()),
            None => (std::ptr::null_mut(), 0),
        };
        // SAFETY: see above; memory, address and control data outlive each call.
        unsafe {
            match via {
                Via::Plain => returned(libc::write(fd, first.iov_base, first.iov_len) as i64),
                Via::Flags => returned(libc::send(fd, first.iov_base, first.iov_len, flags) as i64),
                Via::Address => {
                    let (base, len) = (first.iov_base, first.iov_len);
                    returned(libc::sendto(fd, base, len, flags, name.cast(), name_len) as i64)
                }
                Via::Vector => {
                    let count = memory.vector.len() as libc::c_int;
                    returned(libc::writev(fd, memory.vector.as_ptr(), count) as i64)
                }
                Via::Message => {
                    let mut bytes = messages::encode(control);
                    let mut header = memory.header();
                    header.msg_name = name.cast();
                    header.msg_namelen = name_len;
                    if !bytes.is_empty() {
                        header.msg_control = bytes.as_mut_ptr().cast();
                        header.msg_controllen = bytes.len() as _;
                    }
                    returned(libc::sendmsg(fd, &raw const header, flags) as i64)
                }
            }
        }
    }
}

impl Drop for Caller {
    /// Closes everything that is open, connections with a reset: nothing should linger in the namespace.
    fn drop(&mut self) {
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        for fd in &self.open {
            // SAFETY: the option's value is live, and the descriptors were opened here and not closed since.
            unsafe {
                let length = size_of::<libc::linger>() as libc::socklen_t;
                libc::setsockopt(*fd, libc::SOL_SOCKET, libc::SO_LINGER, (&raw const linger).cast(), length);
                libc::close(*fd);
            }
        }
    }
}

/// Memory for the buffers of a call; `NULL` if the script says so.
struct Memory {
    _bytes: Vec<Vec<u8>>,
    vector: Vec<libc::iovec>,
}

impl Memory {
    fn of(buffers: &[Buffer]) -> Self {
        let mut bytes: Vec<Vec<u8>> =
            buffers.iter().map(|buffer| if buffer.null { Vec::new() } else { vec![0; buffer.len] }).collect();
        let vector = bytes
            .iter_mut()
            .zip(buffers)
            .map(|(bytes, buffer)| libc::iovec {
                iov_base: if buffer.null { std::ptr::null_mut() } else { bytes.as_mut_ptr().cast() },
                iov_len: buffer.len,
            })
            .collect();
        Self { _bytes: bytes, vector }
    }

    fn first(&self) -> libc::iovec {
        self.vector.first().copied().unwrap_or(libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 })
    }

    fn header(&mut self) -> libc::msghdr {
        // SAFETY: pointers and integers only, for which all-zero is valid.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = self.vector.as_mut_ptr();
        header.msg_iovlen = self.vector.len() as _;
        header
    }
}

/// Commands of fcntl(2) whose argument is a pointer: locks, owners, and hints.
const POINTER_COMMANDS: &[i32] = &[5, 6, 7, 12, 13, 14, 15, 16, 36, 37, 38, 1035, 1036, 1037, 1038];
/// `SIOCINQ`, `SIOCOUTQ`, `SIOCOUTQNSD`, `SIOCATMARK`, `FIONBIO`.
const INT_REQUESTS: &[i64] = &[0x541b, 0x5411, 0x894b, 0x8905, 0x5421];

fn dispatch_rest(call: &Call) -> Returned {
    match call {
        Call::SetOption { fd, level, name, value, len } => {
            // The kernel reads as many bytes as the length says.
            let mut value = value.clone();
            value.resize(value.len().max(usize::try_from(*len).unwrap_or(0)), 0);
            // SAFETY: the value is live and at least as long as is said.
            returned(unsafe {
                libc::setsockopt(*fd, *level, *name, value.as_ptr().cast(), *len as libc::socklen_t)
            })
        }
        Call::GetOption { fd, level, name, len } => {
            let mut value = vec![0u8; usize::try_from(*len).unwrap_or(0) + 8];
            let mut length = *len as libc::socklen_t;
            // SAFETY: the value is live and at least as long as is said.
            let result = returned(unsafe {
                libc::getsockopt(*fd, *level, *name, value.as_mut_ptr().cast(), &raw mut length)
            });
            value.truncate(length as usize);
            with(result, Output::Option(value))
        }
        // Scripts must not pass memory addresses.
        Call::Fcntl { command, .. } if POINTER_COMMANDS.contains(command) => Returned::error(libc::EINVAL),
        Call::Fcntl { fd, command, argument } => {
            // SAFETY: takes plain values; the commands that take pointers are refused above.
            returned(unsafe { libc::fcntl(*fd, *command, argument.unwrap_or(0)) })
        }
        // Only requests that fill one int are made.
        Call::Ioctl { request, .. } if !INT_REQUESTS.contains(request) => Returned::error(libc::ENOTTY),
        Call::Ioctl { fd, request, with_value: _ } => {
            let mut value = 0i64;
            // SAFETY: the requests that scripts know fill one int, and the value has room for two.
            let result = returned(unsafe { libc::ioctl(*fd, *request as libc::c_ulong, &raw mut value) });
            with(result, Output::Value(i64::from(value as i32)))
        }
        Call::Poll { fds, timeout_ms } => poll(fds, *timeout_ms),
        Call::EpollCreate { .. } | Call::EpollCtl { .. } | Call::EpollWait { .. } => epoll(call),
        Call::CapSet { flag, capability, set } => capability_set(*flag, *capability, *set),
        _ => move_data(call),
    }
}

fn poll(fds: &[(Fd, i16)], timeout_ms: i32) -> Returned {
    let mut fds: Vec<libc::pollfd> =
        fds.iter().map(|(fd, events)| libc::pollfd { fd: *fd, events: *events, revents: 0 }).collect();
    // SAFETY: the list is live and its true length is passed with it.
    let result = returned(unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout_ms) });
    with(result, Output::Polled(fds.iter().map(|fd| fd.revents).collect()))
}

fn epoll(call: &Call) -> Returned {
    match call {
        // SAFETY: takes plain values.
        Call::EpollCreate { flags } => unsafe {
            returned(match flags {
                Some(flags) => libc::epoll_create1(*flags),
                None => libc::epoll_create(1),
            })
        },
        Call::EpollCtl { epoll, operation, fd, event } => {
            let mut event = libc::epoll_event { events: event.events, u64: event.data };
            // SAFETY: the event is live for the duration of the call.
            returned(unsafe { libc::epoll_ctl(*epoll, *operation, *fd, &raw mut event) })
        }
        Call::EpollWait { epoll, most, timeout_ms } => {
            let room = usize::try_from(*most).unwrap_or(0).clamp(1, 1024);
            let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; room];
            let most = (*most).min(1024);
            // SAFETY: the list is live and at least as long as is said.
            let result =
                returned(unsafe { libc::epoll_wait(*epoll, events.as_mut_ptr(), most, *timeout_ms) });
            events.truncate(usize::try_from(result.result.unwrap_or(0)).unwrap_or(0));
            let events = events.iter().map(|event| EpollEvent { events: event.events, data: event.u64 });
            with(result, Output::Epoll(events.collect()))
        }
        _ => Returned::error(libc::ENOSYS),
    }
}

fn move_data(call: &Call) -> Returned {
    match call {
        Call::Pipe { flags } => {
            let mut ends = [0; 2];
            // SAFETY: the array is live and has the two elements that are filled.
            let result = returned(unsafe { libc::pipe2(ends.as_mut_ptr(), *flags) });
            let opened = result.result.is_ok();
            with(result, if opened { Output::Pipe(ends[0], ends[1]) } else { Output::None })
        }
        Call::Splice { from, from_offset, to, to_offset, len, flags } => {
            let (mut from_offset, mut to_offset) = (*from_offset, *to_offset);
            // An offset of 0 is NULL in a script: pipes and sockets have none.
            let from_pointer = if from_offset == 0 { std::ptr::null_mut() } else { &raw mut from_offset };
            let to_pointer = if to_offset == 0 { std::ptr::null_mut() } else { &raw mut to_offset };
            // SAFETY: both offsets are null or live for the duration of the call.
            returned(unsafe {
                libc::splice(*from, from_pointer, *to, to_pointer, *len, *flags as libc::c_uint) as i64
            })
        }
        Call::Sendfile { to, from, offset, len } => {
            let mut offset = *offset;
            // SAFETY: the offset is live for the duration of the call.
            returned(unsafe { libc::sendfile(*to, *from, &raw mut offset, *len) as i64 })
        }
        Call::Open { path, flags } => match CString::new(path.as_str()) {
            // Read-only: a script must not change the machine.
            Ok(path) => {
                let flags = (flags & !(libc::O_CREAT | libc::O_TRUNC)) | libc::O_CLOEXEC;
                // SAFETY: the path is live and ends with a zero.
                returned(unsafe { libc::open(path.as_ptr(), flags) })
            }
            Err(_) => Returned::error(libc::EINVAL),
        },
        _ => Returned::error(libc::ENOSYS),
    }
}

/// Sets or clears a capability of this thread, which makes only the script's calls.
fn capability_set(flag: i32, capability: i32, set: bool) -> Returned {
    /// `_LINUX_CAPABILITY_VERSION_3` (include/uapi/linux/capability.h).
    const VERSION: u32 = 0x2008_0522;
    let mut header = [VERSION, 0];
    // Effective, permitted and inheritable, for the lower and the upper half.
    let mut data = [0u32; 6];
    // SAFETY: header and data have the layout and size that this version of the call takes.
    let got = unsafe { libc::syscall(libc::SYS_capget, header.as_mut_ptr(), data.as_mut_ptr()) };
    let (Ok(flag), Ok(capability)) = (usize::try_from(flag), usize::try_from(capability)) else {
        return Returned::error(libc::EINVAL);
    };
    let Some(word) = data.get_mut(capability / 32 * 3 + flag) else { return Returned::error(libc::EINVAL) };
    if got != 0 {
        return returned(got);
    }
    let bit = 1 << (capability % 32);
    *word = if set { *word | bit } else { *word & !bit };
    // SAFETY: as above.
    returned(unsafe { libc::syscall(libc::SYS_capset, header.as_mut_ptr(), data.as_ptr()) })
}
