//! Options that change no segment here: marks, priorities, polling, repair. Values that the kernel refuses are refused
//! (`sk_setsockopt`, net/core/sock.c, and `do_tcp_setsockopt`, net/ipv4/tcp.c, 6.18).

use super::levels::{IP, IPV6, SOCKET, TCP};
use super::sockets::Socket;
use slowpath_tcp::Errno;

const SO_SNDLOWAT: i32 = 19;
const SO_PEEK_OFF: i32 = 42;
const SO_BUSY_POLL: i32 = 46;
const SO_TXTIME: i32 = 61;
/// `SO_TYPE`, `SO_ERROR`, `SO_PEERCRED`, `SO_SNDLOWAT`, `SO_PEERNAME`, `SO_ACCEPTCONN`, `SO_PEERSEC`, `SO_PROTOCOL`,
/// `SO_DOMAIN`, `SO_MEMINFO`, `SO_INCOMING_NAPI_ID`, `SO_COOKIE`.
const READ_ONLY_OF_SOCKETS: &[i32] = &[3, 4, 17, SO_SNDLOWAT, 28, 30, 31, 38, 39, 55, 56, 57];
/// `TCP_INFO`, `TCP_CC_INFO`, `TCP_SAVED_SYN`, `TCP_ZEROCOPY_RECEIVE`, `TCP_IS_MPTCP`.
const READ_ONLY_OF_TCP: &[i32] = &[11, 26, 28, 35, 43];
const TCP_MD5SIG: i32 = 14;
/// `TCP_COOKIE_TRANSACTIONS`, removed in 3.10.
const REMOVED: i32 = 15;
const TCP_THIN_DUPACK: i32 = 17;
const TCP_REPAIR: i32 = 19;
const TCP_REPAIR_QUEUE: i32 = 20;
const TCP_QUEUE_SEQ: i32 = 21;
const TCP_REPAIR_OPTIONS: i32 = 22;
const TCP_TIMESTAMP: i32 = 24;
const TCP_REPAIR_WINDOW: i32 = 29;
const TCP_ULP: i32 = 31;
const TCP_MD5SIG_EXT: i32 = 32;
const TCP_TX_DELAY: i32 = 37;
/// Bytes of `struct tcp_md5sig` and of `struct sock_txtime`.
const MD5SIG_LEN: usize = 216;
const TXTIME_LEN: usize = 8;

/// Whether the kernel has such an option.
pub fn is_known(level: i32, name: i32) -> bool {
    const LAST_OF_SOCKETS: i32 = 83;
    const LAST_OF_TCP: i32 = 46;
    match level {
        SOCKET => (1..=LAST_OF_SOCKETS).contains(&name),
        TCP => (1..=LAST_OF_TCP).contains(&name) && name != REMOVED,
        IP | IPV6 => true,
        _ => false,
    }
}

/// The initial value of an option.
pub fn initial(level: i32, name: i32) -> i32 {
    match (level, name) {
        (SOCKET, SO_SNDLOWAT) => 1,
        (SOCKET, SO_PEEK_OFF) => -1,
        _ => 0,
    }
}

/// Whether a value may be set.
pub fn check(socket: &Socket, level: i32, name: i32, value: &[u8], number: i32) -> Result<(), Errno> {
    let only = |allowed: bool| if allowed { Ok(()) } else { Err(Errno::EINVAL) };
    match level {
        SOCKET if READ_ONLY_OF_SOCKETS.contains(&name) => Err(Errno::ENOPROTOOPT),
        SOCKET => match name {
            SO_BUSY_POLL => only(number >= 0),
            SO_PEEK_OFF => only(number >= -1),
            SO_TXTIME => only(value.len() == TXTIME_LEN),
            _ => Ok(()),
        },
        TCP if READ_ONLY_OF_TCP.contains(&name) => Err(Errno::ENOPROTOOPT),
        TCP => {
            let repairing = socket.kept.get(&(TCP, TCP_REPAIR)) == Some(&1);
            match name {
                TCP_MD5SIG | TCP_MD5SIG_EXT => only(value.len() >= MD5SIG_LEN),
                TCP_THIN_DUPACK => only((0..=1).contains(&number)),
                TCP_REPAIR => only((-1..=1).contains(&number)),
                TCP_REPAIR_QUEUE | TCP_TIMESTAMP | TCP_REPAIR_WINDOW if !repairing => Err(Errno::EPERM),
                TCP_REPAIR_QUEUE => only((0..3).contains(&number)),
                TCP_QUEUE_SEQ | TCP_REPAIR_OPTIONS => only(repairing),
                TCP_TX_DELAY => only(number >= 0),
                // No upper layer protocol is built in.
                TCP_ULP => Err(Errno::ENOENT),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
