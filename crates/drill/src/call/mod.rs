//! System calls: request, result, and expected result.

mod arguments;
mod check;
mod message;
mod option_value;
mod read;

pub use check::{Difference, Expected, ExpectedOutput};
pub use message::{ControlMessage, ErrorReport, Statistic};
pub use read::{Prepared, prepare};

/// A file descriptor of the kernel under test.
pub type Fd = i32;

/// The address that a call names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// The run's remote address and port.
    Usual,
    /// An address of only a family: `AF_UNSPEC` disconnects.
    Family(i32),
}

/// A buffer of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Whether it is `NULL`.
    pub null: bool,
    /// Its length in bytes, as stated.
    pub len: usize,
}

/// Which of several calls moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// `read` or `write`.
    Plain,
    /// `readv` or `writev`.
    Vector,
    /// `recv` or `send`.
    Flags,
    /// `recvfrom` or `sendto`.
    Address,
    /// `recvmsg` or `sendmsg`.
    Message,
}

/// An event of a file, and the data that epoll(7) returns with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpollEvent {
    /// Its bits.
    pub events: u32,
    /// The application's data.
    pub data: u64,
}

/// A system call with the kernel's own file descriptors.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names and fields are those of section 2 of the manual")]
pub enum Call {
    /// Without a family: that of the run's IP version.
    Socket {
        domain: Option<i32>,
        kind: i32,
        protocol: i32,
    },
    Bind {
        fd: Fd,
    },
    Listen {
        fd: Fd,
        backlog: i32,
    },
    Accept {
        fd: Fd,
        flags: i32,
    },
    Connect {
        fd: Fd,
        to: Peer,
    },
    Receive {
        fd: Fd,
        via: Via,
        buffers: Vec<Buffer>,
        flags: i32,
        control_room: usize,
    },
    Send {
        fd: Fd,
        via: Via,
        buffers: Vec<Buffer>,
        flags: i32,
        to: Option<Peer>,
        control: Vec<ControlMessage>,
    },
    Shutdown {
        fd: Fd,
        how: i32,
    },
    Close {
        fd: Fd,
    },
    SetOption {
        fd: Fd,
        level: i32,
        name: i32,
        value: Vec<u8>,
        len: i32,
    },
    GetOption {
        fd: Fd,
        level: i32,
        name: i32,
        len: i32,
    },
    Fcntl {
        fd: Fd,
        command: i32,
        argument: Option<i64>,
    },
    Ioctl {
        fd: Fd,
        request: i64,
        with_value: bool,
    },
    Poll {
        fds: Vec<(Fd, i16)>,
        timeout_ms: i32,
    },
    EpollCreate {
        flags: Option<i32>,
    },
    EpollCtl {
        epoll: Fd,
        operation: i32,
        fd: Fd,
        event: EpollEvent,
    },
    EpollWait {
        epoll: Fd,
        most: i32,
        timeout_ms: i32,
    },
    Pipe {
        flags: i32,
    },
    Splice {
        from: Fd,
        from_offset: i64,
        to: Fd,
        to_offset: i64,
        len: usize,
        flags: i32,
    },
    Sendfile {
        to: Fd,
        from: Fd,
        offset: i64,
        len: usize,
    },
    Open {
        path: String,
        flags: i32,
    },
    CapSet {
        flag: i32,
        capability: i32,
        set: bool,
    },
}

/// What a call returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returned {
    /// Its value, or its errno.
    pub result: Result<i64, i32>,
    /// Its output.
    pub output: Output,
}

/// The output of a call, besides data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// Nothing.
    #[default]
    None,
    /// The value of an option.
    Option(Vec<u8>),
    /// The value of a request.
    Value(i64),
    /// Events of each polled file.
    Polled(Vec<i16>),
    /// Events of epoll.
    Epoll(Vec<EpollEvent>),
    /// Flags and control messages of a message.
    Message {
        /// `msg_flags`
        flags: i32,
        /// `msg_control`
        control: Vec<ControlMessage>,
    },
    /// Both ends of a pipe.
    Pipe(Fd, Fd),
}

impl Returned {
    /// A value without output.
    pub const fn value(value: i64) -> Self {
        Self { result: Ok(value), output: Output::None }
    }

    /// An error.
    pub const fn error(errno: i32) -> Self {
        Self { result: Err(errno), output: Output::None }
    }
}

#[cfg(test)]
mod tests;
