//! The errors of system calls, by their names in `errno.h`.

use std::fmt;

macro_rules! errnos {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// Why a system call failed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Errno {
            $($(#[$doc])* $name = $number,)*
        }

        impl Errno {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its name in `errno.h`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }
    };
}

errnos! {
    /// Operation not permitted.
    EPERM = 1,
    /// No such file or directory.
    ENOENT = 2,
    /// Interrupted system call.
    EINTR = 4,
    /// Bad file descriptor.
    EBADF = 9,
    /// Try again: the call would block.
    EAGAIN = 11,
    /// Out of memory.
    ENOMEM = 12,
    /// Permission denied.
    EACCES = 13,
    /// Bad address.
    EFAULT = 14,
    /// Invalid argument.
    EINVAL = 22,
    /// Inappropriate ioctl for device.
    ENOTTY = 25,
    /// Broken pipe.
    EPIPE = 32,
    /// Protocol error.
    EPROTO = 71,
    /// Socket operation on non-socket.
    ENOTSOCK = 88,
    /// Destination address required.
    EDESTADDRREQ = 89,
    /// Message too long.
    EMSGSIZE = 90,
    /// Protocol not available.
    ENOPROTOOPT = 92,
    /// Operation not supported.
    EOPNOTSUPP = 95,
    /// Address family not supported by protocol.
    EAFNOSUPPORT = 97,
    /// Address already in use.
    EADDRINUSE = 98,
    /// Cannot assign requested address.
    EADDRNOTAVAIL = 99,
    /// Network is unreachable.
    ENETUNREACH = 101,
    /// Software caused connection abort.
    ECONNABORTED = 103,
    /// Connection reset by peer.
    ECONNRESET = 104,
    /// No buffer space available.
    ENOBUFS = 105,
    /// Already connected.
    EISCONN = 106,
    /// Not connected.
    ENOTCONN = 107,
    /// Connection timed out.
    ETIMEDOUT = 110,
    /// Connection refused.
    ECONNREFUSED = 111,
    /// No route to host.
    EHOSTUNREACH = 113,
    /// Already in progress.
    EALREADY = 114,
    /// Now in progress.
    EINPROGRESS = 115,
}

impl Errno {
    /// The error with this number, as in `SO_ERROR`.
    pub fn of(number: i64) -> Option<Self> {
        Self::ALL.iter().copied().find(|errno| i64::from(errno.number()) == number)
    }

    /// Its number on Linux.
    pub const fn number(self) -> i32 {
        self as i32
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl std::error::Error for Errno {}
