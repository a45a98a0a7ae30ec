//! The constants named in scripts, with their values on Linux (x86-64; most architectures share them).

/// A table of names and values.
type Table = &'static [(&'static str, i64)];

/// The value of a constant.
pub fn value(name: &str) -> Option<i64> {
    let tables = TABLES.iter().chain([&ERRNOS]);
    tables.flat_map(|table| table.iter()).find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// The number of an error, by its name in errno.h.
pub fn errno(name: &str) -> Option<i32> {
    ERRNOS.iter().find(|(known, _)| *known == name).and_then(|(_, number)| i32::try_from(*number).ok())
}

/// The name of an error in errno.h.
pub fn errno_name(number: i32) -> Option<&'static str> {
    ERRNOS.iter().find(|(_, known)| *known == i64::from(number)).map(|(name, _)| *name)
}

/// The constants with the longest common prefix with an unknown name.
pub fn resembling(name: &str) -> Vec<&'static str> {
    let common = |known: &str| known.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let tables = TABLES.iter().chain([&ERRNOS]);
    let all = tables.flat_map(|table| table.iter()).map(|(known, _)| (common(known), *known));
    let mut near: Vec<(usize, &str)> = all.filter(|(length, _)| *length >= 4).collect();
    near.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
    near.into_iter().take(3).map(|(_, known)| known).collect()
}

#[rustfmt::skip]
const TABLES: &[Table] = &[
    // Families, types and protocols (include/linux/socket.h, include/uapi/linux/in.h).
    &[
        ("AF_UNSPEC", 0), ("AF_INET", 2), ("AF_INET6", 10), ("AF_PACKET", 17), ("PF_INET", 2),
        ("PF_INET6", 10), ("SOCK_STREAM", 1), ("SOCK_DGRAM", 2), ("SOCK_RAW", 3), ("SOCK_NONBLOCK", 0x800),
        ("SOCK_CLOEXEC", 0x80000), ("IPPROTO_IP", 0), ("IPPROTO_ICMP", 1), ("IPPROTO_TCP", 6),
        ("IPPROTO_UDP", 17), ("IPPROTO_IPV6", 41), ("IPPROTO_ICMPV6", 58), ("IPPROTO_RAW", 255),
        ("IPPROTO_MPTCP", 0x106), ("SHUT_RD", 0), ("SHUT_WR", 1), ("SHUT_RDWR", 2), ("NULL", 0),
        ("INADDR_ANY", 0),
    ],
    // Levels of socket options.
    &[
        ("SOL_SOCKET", 1), ("SOL_IP", 0), ("SOL_TCP", 6), ("SOL_UDP", 17), ("SOL_IPV6", 41),
    ],
    // Options of sockets (include/uapi/asm-generic/socket.h).
    &[
        ("SO_DEBUG", 1), ("SO_REUSEADDR", 2), ("SO_TYPE", 3), ("SO_ERROR", 4), ("SO_DONTROUTE", 5),
        ("SO_BROADCAST", 6), ("SO_SNDBUF", 7), ("SO_RCVBUF", 8), ("SO_KEEPALIVE", 9), ("SO_OOBINLINE", 10),
        ("SO_NO_CHECK", 11), ("SO_PRIORITY", 12), ("SO_LINGER", 13), ("SO_BSDCOMPAT", 14),
        ("SO_REUSEPORT", 15), ("SO_PASSCRED", 16), ("SO_PEERCRED", 17), ("SO_RCVLOWAT", 18),
        ("SO_SNDLOWAT", 19), ("SO_RCVTIMEO", 20), ("SO_SNDTIMEO", 21), ("SO_SECURITY_AUTHENTICATION", 22),
        ("SO_SECURITY_ENCRYPTION_TRANSPORT", 23), ("SO_SECURITY_ENCRYPTION_NETWORK", 24),
        ("SO_BINDTODEVICE", 25), ("SO_ATTACH_FILTER", 26), ("SO_DETACH_FILTER", 27), ("SO_PEERNAME", 28),
        ("SO_TIMESTAMP", 29), ("SO_ACCEPTCONN", 30), ("SO_PEERSEC", 31), ("SO_SNDBUFFORCE", 32),
        ("SO_RCVBUFFORCE", 33), ("SO_PASSSEC", 34), ("SO_TIMESTAMPNS", 35), ("SO_MARK", 36),
        ("SO_TIMESTAMPING", 37), ("SO_PROTOCOL", 38), ("SO_DOMAIN", 39), ("SO_RXQ_OVFL", 40),
        ("SO_PEEK_OFF", 42), ("SO_LOCK_FILTER", 44), ("SO_BUSY_POLL", 46), ("SO_MAX_PACING_RATE", 47),
        ("SO_INCOMING_CPU", 49), ("SO_MEMINFO", 55), ("SO_INCOMING_NAPI_ID", 56), ("SO_COOKIE", 57),
        ("SO_ZEROCOPY", 60), ("SO_TXTIME", 61), ("SO_RCVMARK", 75),
    ],
    // Timestamps and the error queue (include/uapi/linux/net_tstamp.h, errqueue.h).
    &[
        ("SOF_TIMESTAMPING_TX_HARDWARE", 1), ("SOF_TIMESTAMPING_TX_SOFTWARE", 2),
        ("SOF_TIMESTAMPING_RX_HARDWARE", 4), ("SOF_TIMESTAMPING_RX_SOFTWARE", 8),
        ("SOF_TIMESTAMPING_SOFTWARE", 16), ("SOF_TIMESTAMPING_SYS_HARDWARE", 32),
        ("SOF_TIMESTAMPING_RAW_HARDWARE", 64), ("SOF_TIMESTAMPING_OPT_ID", 128),
        ("SOF_TIMESTAMPING_TX_SCHED", 0x100), ("SOF_TIMESTAMPING_TX_ACK", 0x200),
        ("SOF_TIMESTAMPING_OPT_CMSG", 0x400), ("SOF_TIMESTAMPING_OPT_TSONLY", 0x800),
        ("SOF_TIMESTAMPING_OPT_STATS", 0x1000), ("SOF_TIMESTAMPING_OPT_ID_TCP", 0x10000),
        ("SCM_TIMESTAMPING", 37), ("SCM_TIMESTAMPING_OPT_STATS", 54), ("SCM_TSTAMP_SND", 0),
        ("SCM_TSTAMP_SCHED", 1), ("SCM_TSTAMP_ACK", 2), ("SO_EE_ORIGIN_NONE", 0),
        ("SO_EE_ORIGIN_LOCAL", 1), ("SO_EE_ORIGIN_ICMP", 2), ("SO_EE_ORIGIN_ICMP6", 3),
        ("SO_EE_ORIGIN_TIMESTAMPING", 4), ("SO_EE_ORIGIN_ZEROCOPY", 5), ("SO_EE_CODE_ZEROCOPY_COPIED", 1),
    ],
    // Attributes of SCM_TIMESTAMPING_OPT_STATS (include/uapi/linux/tcp.h).
    &[
        ("TCP_NLA_PAD", 0), ("TCP_NLA_BUSY", 1), ("TCP_NLA_RWND_LIMITED", 2),
        ("TCP_NLA_SNDBUF_LIMITED", 3), ("TCP_NLA_DATA_SEGS_OUT", 4), ("TCP_NLA_TOTAL_RETRANS", 5),
        ("TCP_NLA_PACING_RATE", 6), ("TCP_NLA_DELIVERY_RATE", 7), ("TCP_NLA_SND_CWND", 8),
        ("TCP_NLA_REORDERING", 9), ("TCP_NLA_MIN_RTT", 10), ("TCP_NLA_RECUR_RETRANS", 11),
        ("TCP_NLA_DELIVERY_RATE_APP_LMT", 12), ("TCP_NLA_SNDQ_SIZE", 13), ("TCP_NLA_CA_STATE", 14),
        ("TCP_NLA_SND_SSTHRESH", 15), ("TCP_NLA_DELIVERED", 16), ("TCP_NLA_DELIVERED_CE", 17),
        ("TCP_NLA_BYTES_SENT", 18), ("TCP_NLA_BYTES_RETRANS", 19), ("TCP_NLA_DSACK_DUPS", 20),
        ("TCP_NLA_REORD_SEEN", 21), ("TCP_NLA_SRTT", 22), ("TCP_NLA_TIMEOUT_REHASH", 23),
        ("TCP_NLA_BYTES_NOTSENT", 24), ("TCP_NLA_EDT", 25), ("TCP_NLA_TTL", 26), ("TCP_NLA_REHASH", 27),
        ("TCP_CA_OPEN", 0), ("TCP_CA_DISORDER", 1), ("TCP_CA_CWR", 2), ("TCP_CA_RECOVERY", 3),
        ("TCP_CA_LOSS", 4), ("TCP_INFINITE_SSTHRESH", 0x7fffffff),
    ],
    // Options of IP and IPv6 (include/uapi/linux/in.h, in6.h).
    &[
        ("IP_TOS", 1), ("IP_TTL", 2), ("IP_MTU_DISCOVER", 10), ("IP_RECVERR", 11), ("IP_RECVTTL", 12),
        ("IP_RECVTOS", 13), ("IP_MTU", 14), ("IP_FREEBIND", 15), ("IP_TRANSPARENT", 19),
        ("IP_BIND_ADDRESS_NO_PORT", 24), ("IP_LOCAL_PORT_RANGE", 51), ("IP_PMTUDISC_DONT", 0),
        ("IP_PMTUDISC_WANT", 1), ("IP_PMTUDISC_DO", 2), ("IP_PMTUDISC_PROBE", 3),
        ("IP_PMTUDISC_INTERFACE", 4), ("IP_PMTUDISC_OMIT", 5), ("IPV6_UNICAST_HOPS", 16),
        ("IPV6_HOPLIMIT", 52), ("IPV6_MTU_DISCOVER", 23), ("IPV6_MTU", 24), ("IPV6_RECVERR", 25),
        ("IPV6_V6ONLY", 26), ("IPV6_TCLASS", 67),
    ],
    // Options of TCP (include/uapi/linux/tcp.h).
    &[
        ("TCP_NODELAY", 1), ("TCP_MAXSEG", 2), ("TCP_CORK", 3), ("TCP_KEEPIDLE", 4), ("TCP_KEEPINTVL", 5),
        ("TCP_KEEPCNT", 6), ("TCP_SYNCNT", 7), ("TCP_LINGER2", 8), ("TCP_DEFER_ACCEPT", 9),
        ("TCP_WINDOW_CLAMP", 10), ("TCP_INFO", 11), ("TCP_QUICKACK", 12), ("TCP_CONGESTION", 13),
        ("TCP_MD5SIG", 14), ("TCP_COOKIE_TRANSACTIONS", 15), ("TCP_THIN_LINEAR_TIMEOUTS", 16),
        ("TCP_THIN_DUPACK", 17), ("TCP_USER_TIMEOUT", 18), ("TCP_REPAIR", 19), ("TCP_REPAIR_QUEUE", 20),
        ("TCP_QUEUE_SEQ", 21), ("TCP_REPAIR_OPTIONS", 22), ("TCP_FASTOPEN", 23), ("TCP_TIMESTAMP", 24),
        ("TCP_NOTSENT_LOWAT", 25), ("TCP_CC_INFO", 26), ("TCP_SAVE_SYN", 27), ("TCP_SAVED_SYN", 28),
        ("TCP_REPAIR_WINDOW", 29), ("TCP_FASTOPEN_CONNECT", 30), ("TCP_ULP", 31), ("TCP_MD5SIG_EXT", 32),
        ("TCP_FASTOPEN_KEY", 33), ("TCP_FASTOPEN_NO_COOKIE", 34), ("TCP_ZEROCOPY_RECEIVE", 35),
        ("TCP_INQ", 36), ("TCP_CM_INQ", 36), ("TCP_TX_DELAY", 37), ("TCP_IS_MPTCP", 43),
        ("TCP_RTO_MAX_MS", 44), ("TCP_RTO_MIN_US", 45), ("TCP_DELACK_MAX_US", 46),
    ],
    // Files (include/uapi/asm-generic/fcntl.h).
    &[
        ("O_RDONLY", 0), ("O_WRONLY", 1), ("O_RDWR", 2), ("O_ACCMODE", 3), ("O_CREAT", 64),
        ("O_EXCL", 128), ("O_NOCTTY", 0x100), ("O_TRUNC", 0x200), ("O_APPEND", 0x400),
        ("O_NONBLOCK", 0x800), ("O_CLOEXEC", 0x80000), ("F_DUPFD", 0), ("F_GETFD", 1), ("F_SETFD", 2),
        ("F_GETFL", 3), ("F_SETFL", 4), ("F_GETLK", 5), ("F_SETLK", 6), ("F_SETLKW", 7), ("F_SETOWN", 8),
        ("F_GETOWN", 9), ("F_SETSIG", 10), ("F_GETSIG", 11), ("F_SETLEASE", 0x400), ("F_GETLEASE", 0x401),
        ("F_NOTIFY", 0x402), ("F_GETLK64", 5), ("F_SETLK64", 6), ("F_SETLKW64", 7), ("F_RDLCK", 0),
        ("F_WRLCK", 1), ("F_UNLCK", 2), ("F_EXLCK", 4), ("F_SHLCK", 8), ("LOCK_SH", 1), ("LOCK_EX", 2),
        ("LOCK_NB", 4), ("LOCK_UN", 8), ("F_DUPFD_CLOEXEC", 0x406), ("FD_CLOEXEC", 1), ("SEEK_SET", 0),
        ("SEEK_CUR", 1), ("SEEK_END", 2), ("SPLICE_F_MOVE", 1), ("SPLICE_F_NONBLOCK", 2),
        ("SPLICE_F_MORE", 4), ("SPLICE_F_GIFT", 8),
    ],
    // Flags of messages (include/linux/socket.h).
    &[
        ("MSG_OOB", 1), ("MSG_PEEK", 2), ("MSG_DONTROUTE", 4), ("MSG_CTRUNC", 8), ("MSG_PROXY", 16),
        ("MSG_TRUNC", 32), ("MSG_DONTWAIT", 64), ("MSG_EOR", 128), ("MSG_WAITALL", 0x100),
        ("MSG_FIN", 0x200), ("MSG_SYN", 0x400), ("MSG_CONFIRM", 0x800), ("MSG_RST", 0x1000),
        ("MSG_ERRQUEUE", 0x2000), ("MSG_NOSIGNAL", 0x4000), ("MSG_MORE", 0x8000),
        ("MSG_WAITFORONE", 0x10000), ("MSG_ZEROCOPY", 0x4000000), ("MSG_FASTOPEN", 0x20000000),
        ("MSG_CMSG_CLOEXEC", 0x40000000),
    ],
    // Requests of ioctl(2) (include/uapi/asm-generic/ioctls.h, linux/sockios.h).
    &[
        ("SIOCINQ", 0x541b), ("FIONREAD", 0x541b), ("SIOCOUTQ", 0x5411), ("TIOCOUTQ", 0x5411),
        ("TIOCINQ", 0x541b), ("SIOCOUTQNSD", 0x894b), ("SIOCATMARK", 0x8905), ("FIONBIO", 0x5421),
    ],
    // Events of poll(2) and epoll(7) (include/uapi/asm-generic/poll.h, linux/eventpoll.h).
    &[
        ("POLLIN", 1), ("POLLPRI", 2), ("POLLOUT", 4), ("POLLERR", 8), ("POLLHUP", 16), ("POLLNVAL", 32),
        ("POLLRDNORM", 64), ("POLLRDBAND", 128), ("POLLWRNORM", 0x100), ("POLLWRBAND", 0x200),
        ("POLLMSG", 0x400), ("POLLREMOVE", 0x1000), ("POLLRDHUP", 0x2000), ("EPOLLIN", 1), ("EPOLLPRI", 2),
        ("EPOLLOUT", 4), ("EPOLLERR", 8), ("EPOLLHUP", 16), ("EPOLLRDNORM", 64), ("EPOLLRDBAND", 128),
        ("EPOLLWRNORM", 0x100), ("EPOLLWRBAND", 0x200), ("EPOLLMSG", 0x400), ("EPOLLRDHUP", 0x2000),
        ("EPOLLEXCLUSIVE", 0x10000000), ("EPOLLWAKEUP", 0x20000000), ("EPOLLONESHOT", 0x40000000),
        ("EPOLLET", 0x80000000), ("EPOLL_CTL_ADD", 1), ("EPOLL_CTL_DEL", 2), ("EPOLL_CTL_MOD", 3),
        ("EPOLL_CLOEXEC", 0x80000),
    ],
    // Capabilities (include/uapi/linux/capability.h), and the words of cap_set_flag(3).
    &[
        ("CAP_EFFECTIVE", 0), ("CAP_PERMITTED", 1), ("CAP_INHERITABLE", 2), ("CAP_SET", 1),
        ("CAP_CLEAR", 0), ("CAP_CHOWN", 0), ("CAP_DAC_OVERRIDE", 1), ("CAP_DAC_READ_SEARCH", 2),
        ("CAP_FOWNER", 3), ("CAP_FSETID", 4), ("CAP_KILL", 5), ("CAP_SETGID", 6), ("CAP_SETUID", 7),
        ("CAP_SETPCAP", 8), ("CAP_LINUX_IMMUTABLE", 9), ("CAP_NET_BIND_SERVICE", 10),
        ("CAP_NET_BROADCAST", 11), ("CAP_NET_ADMIN", 12), ("CAP_NET_RAW", 13), ("CAP_IPC_LOCK", 14),
        ("CAP_IPC_OWNER", 15), ("CAP_SYS_MODULE", 16), ("CAP_SYS_RAWIO", 17), ("CAP_SYS_CHROOT", 18),
        ("CAP_SYS_PTRACE", 19), ("CAP_SYS_PACCT", 20), ("CAP_SYS_ADMIN", 21), ("CAP_SYS_BOOT", 22),
        ("CAP_SYS_NICE", 23), ("CAP_SYS_RESOURCE", 24), ("CAP_SYS_TIME", 25), ("CAP_SYS_TTY_CONFIG", 26),
        ("CAP_MKNOD", 27), ("CAP_LEASE", 28), ("CAP_AUDIT_WRITE", 29), ("CAP_AUDIT_CONTROL", 30),
        ("CAP_SETFCAP", 31), ("CAP_MAC_OVERRIDE", 32), ("CAP_MAC_ADMIN", 33), ("CAP_SYSLOG", 34),
        ("CAP_WAKE_ALARM", 35), ("CAP_BLOCK_SUSPEND", 36),
    ],
];

/// Errors (include/uapi/asm-generic/errno.h); of two names for one number, the usual one is first.
#[rustfmt::skip]
const ERRNOS: Table = &[
    ("EPERM", 1), ("ENOENT", 2), ("ESRCH", 3), ("EINTR", 4), ("EIO", 5), ("ENXIO", 6), ("E2BIG", 7),
    ("ENOEXEC", 8), ("EBADF", 9), ("ECHILD", 10), ("EAGAIN", 11), ("EWOULDBLOCK", 11), ("ENOMEM", 12),
    ("EACCES", 13), ("EFAULT", 14), ("ENOTBLK", 15), ("EBUSY", 16), ("EEXIST", 17), ("EXDEV", 18),
    ("ENODEV", 19), ("ENOTDIR", 20), ("EISDIR", 21), ("EINVAL", 22), ("ENFILE", 23), ("EMFILE", 24),
    ("ENOTTY", 25), ("ETXTBSY", 26), ("EFBIG", 27), ("ENOSPC", 28), ("ESPIPE", 29), ("EROFS", 30),
    ("EMLINK", 31), ("EPIPE", 32), ("EDOM", 33), ("ERANGE", 34), ("EDEADLK", 35), ("EDEADLOCK", 35),
    ("ENAMETOOLONG", 36), ("ENOLCK", 37), ("ENOSYS", 38), ("ENOTEMPTY", 39), ("ELOOP", 40), ("ENOMSG", 42),
    ("EIDRM", 43), ("ECHRNG", 44), ("EL2NSYNC", 45), ("EL3HLT", 46), ("EL3RST", 47), ("ELNRNG", 48),
    ("EUNATCH", 49), ("ENOCSI", 50), ("EL2HLT", 51), ("EBADE", 52), ("EBADR", 53), ("EXFULL", 54),
    ("ENOANO", 55), ("EBADRQC", 56), ("EBADSLT", 57), ("EBFONT", 59), ("ENOSTR", 60), ("ENODATA", 61),
    ("ETIME", 62), ("ENOSR", 63), ("ENONET", 64), ("ENOPKG", 65), ("EREMOTE", 66), ("ENOLINK", 67),
    ("EADV", 68), ("ESRMNT", 69), ("ECOMM", 70), ("EPROTO", 71), ("EMULTIHOP", 72), ("EDOTDOT", 73),
    ("EBADMSG", 74), ("EOVERFLOW", 75), ("ENOTUNIQ", 76), ("EBADFD", 77), ("EREMCHG", 78), ("ELIBACC", 79),
    ("ELIBBAD", 80), ("ELIBSCN", 81), ("ELIBMAX", 82), ("ELIBEXEC", 83), ("EILSEQ", 84), ("ERESTART", 85),
    ("ESTRPIPE", 86), ("EUSERS", 87), ("ENOTSOCK", 88), ("EDESTADDRREQ", 89), ("EMSGSIZE", 90),
    ("EPROTOTYPE", 91), ("ENOPROTOOPT", 92), ("EPROTONOSUPPORT", 93), ("ESOCKTNOSUPPORT", 94),
    ("EOPNOTSUPP", 95), ("ENOTSUP", 95), ("EPFNOSUPPORT", 96), ("EAFNOSUPPORT", 97), ("EADDRINUSE", 98),
    ("EADDRNOTAVAIL", 99), ("ENETDOWN", 100), ("ENETUNREACH", 101), ("ENETRESET", 102),
    ("ECONNABORTED", 103), ("ECONNRESET", 104), ("ENOBUFS", 105), ("EISCONN", 106), ("ENOTCONN", 107),
    ("ESHUTDOWN", 108), ("ETOOMANYREFS", 109), ("ETIMEDOUT", 110), ("ECONNREFUSED", 111),
    ("EHOSTDOWN", 112), ("EHOSTUNREACH", 113), ("EALREADY", 114), ("EINPROGRESS", 115), ("ESTALE", 116),
    ("EUCLEAN", 117), ("ENOTNAM", 118), ("ENAVAIL", 119), ("EISNAM", 120), ("EREMOTEIO", 121),
    ("EDQUOT", 122), ("ENOMEDIUM", 123), ("EMEDIUMTYPE", 124), ("ECANCELED", 125), ("ENOKEY", 126),
    ("EKEYEXPIRED", 127), ("EKEYREVOKED", 128), ("EKEYREJECTED", 129), ("EOWNERDEAD", 130),
    ("ENOTRECOVERABLE", 131), ("ERFKILL", 132),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_their_linux_values() {
        assert_eq!(value("SO_RCVBUF"), Some(8));
        assert_eq!(value("EPOLLET"), Some(1 << 31));
        assert_eq!(value("ECONNRESET"), Some(104));
        assert_eq!(value("SO_RCVBUFF"), None);
        assert_eq!(errno("EWOULDBLOCK"), errno("EAGAIN"));
        assert_eq!(errno_name(11), Some("EAGAIN"));
        assert!(resembling("TCP_NODELY").contains(&"TCP_NODELAY"));
    }

    #[test]
    fn no_constant_has_two_values() {
        let mut all: Vec<_> = TABLES.iter().chain([&ERRNOS]).flat_map(|table| table.iter()).collect();
        all.sort();
        all.dedup();
        assert!(all.windows(2).all(|pair| pair[0].0 != pair[1].0));
    }
}
