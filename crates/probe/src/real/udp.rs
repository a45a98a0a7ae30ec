//! A UDP socket with kernel timestamps, read and written in batches.

use super::ProbeError;
use crate::protocol::DATAGRAM_BYTES;
use std::io::{self, ErrorKind};
use std::mem::{MaybeUninit, size_of, zeroed};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Packets that one call reads or writes.
pub const BATCH: usize = 32;
/// The requested buffer of a socket: 20 ms at 10 Gbit/s, for a reader that gets no CPU for that long.
const BUFFER_BYTES: libc::c_int = 32 << 20;
/// Room for a timestamp next to each packet.
const CONTROL_BYTES: usize = 128;
/// The IP and UDP headers of a packet.
const V4_HEADERS: usize = 20 + 8;
const V6_HEADERS: usize = 40 + 8;
// include/uapi/linux/sock_diag.h
const SK_MEMINFO_DROPS: usize = 8;
const SK_MEMINFO_VARS: usize = 9;
/// The longest packet (`--packet` has less).
const MOST_BYTES: usize = 9000;

/// The start of a datagram.
pub type DatagramHead = [u8; DATAGRAM_BYTES];

/// An arrived packet. Only its beginning is copied, whatever its length.
#[derive(Clone, Copy, Debug)]
pub struct Came {
    pub head: [u8; DATAGRAM_BYTES],
    /// When the kernel received it, by its time of day.
    pub at_ns: u64,
}

/// The socket.
pub struct Udp {
    socket: UdpSocket,
    headers: usize,
}

impl Udp {
    pub fn bind(address: SocketAddr) -> Result<Self, ProbeError> {
        let socket = UdpSocket::bind(address).map_err(ProbeError::system("bind a UDP socket"))?;
        Self::of(socket, address)
    }

    fn of(socket: UdpSocket, address: SocketAddr) -> Result<Self, ProbeError> {
        let v6 = address.is_ipv6();
        let udp = Self { socket, headers: if v6 { V6_HEADERS } else { V4_HEADERS } };
        udp.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1, "have packets stamped (SO_TIMESTAMPNS)")?;
        // Without it, `udp_send_skb` does not report that the queue before the card refused a packet.
        let (level, errors, discover) = if v6 {
            (libc::IPPROTO_IPV6, libc::IPV6_RECVERR, libc::IPV6_MTU_DISCOVER)
        } else {
            (libc::IPPROTO_IP, libc::IP_RECVERR, libc::IP_MTU_DISCOVER)
        };
        udp.set(level, errors, 1, "hear of refused packets (IP_RECVERR)")?;
        // Two fragments are two packets.
        udp.set(level, discover, libc::IP_PMTUDISC_DO, "forbid fragments (IP_MTU_DISCOVER)")?;
        for (forced, plain) in
            [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
        {
            // Beyond `rmem_max` only with CAP_NET_ADMIN; otherwise up to that limit.
            if udp.set(libc::SOL_SOCKET, forced, BUFFER_BYTES, "").is_err() {
                udp.set(libc::SOL_SOCKET, plain, BUFFER_BYTES, "ask for buffers")?;
            }
        }
        Ok(udp)
    }

    /// A socket whose port others of this process can have too ([`Udp::beside`]).
    pub fn shared(address: SocketAddr) -> Result<Self, ProbeError> {
        let family = if address.is_ipv6() { libc::AF_INET6 } else { libc::AF_INET };
        // SAFETY: no memory is passed.
        let fd = unsafe { libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(ProbeError::system("open a UDP socket")(io::Error::last_os_error()));
        }
        // SAFETY: the descriptor is new, and nobody else's.
        let socket = UdpSocket::from(unsafe { OwnedFd::from_raw_fd(fd) });
        let udp = Self::of(socket, address)?;
        udp.set(libc::SOL_SOCKET, libc::SO_REUSEPORT, 1, "share a UDP port (SO_REUSEPORT)")?;
        let (name, length) = sockaddr(address);
        // SAFETY: the address is live and has the stated length.
        if unsafe { libc::bind(fd, (&raw const name).cast(), length) } != 0 {
            return Err(ProbeError::system("bind a UDP socket")(io::Error::last_os_error()));
        }
        Ok(udp)
    }

    /// A socket of the same port for one peer: the kernel prefers a connected socket
    /// (net/ipv4/udp.c, `compute_score`).
    pub fn beside(&self, local: Option<SocketAddr>, peer: SocketAddr) -> Result<Self, ProbeError> {
        let own = self.local()?;
        // With the scope of a link-local address.
        let mut at = local.unwrap_or(own);
        at.set_port(own.port());
        let udp = Self::shared(at)?;
        udp.connect(peer)?;
        Ok(udp)
    }

    fn set(
        &self,
        level: libc::c_int,
        name: libc::c_int,
        value: libc::c_int,
        what: &'static str,
    ) -> Result<(), ProbeError> {
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: the value is live and has the stated size.
        let result =
            unsafe { libc::setsockopt(self.descriptor(), level, name, (&raw const value).cast(), length) };
        if result == 0 {
            Ok(())
        } else {
            Err(ProbeError::System { what, source: io::Error::last_os_error() })
        }
    }

    pub fn connect(&self, to: SocketAddr) -> Result<(), ProbeError> {
        self.socket.connect(to).map_err(ProbeError::system("connect a UDP socket"))
    }

    pub fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    pub fn local(&self) -> Result<SocketAddr, ProbeError> {
        self.socket.local_addr().map_err(ProbeError::system("ask for the UDP port"))
    }

    /// Datagrams that the socket had no room for since its creation (`sk_drops`). `SO_RXQ_OVFL` reports the same count,
    /// but only with the next packet that has room.
    pub fn overflowed(&self) -> Result<u32, ProbeError> {
        let mut memory = [0_u32; SK_MEMINFO_VARS];
        let mut length = size_of_val(&memory) as libc::socklen_t;
        // SAFETY: both are live and have the stated sizes.
        let result = unsafe {
            let to = memory.as_mut_ptr().cast();
            libc::getsockopt(self.descriptor(), libc::SOL_SOCKET, libc::SO_MEMINFO, to, &raw mut length)
        };
        if result == 0 {
            return Ok(memory[SK_MEMINFO_DROPS]);
        }
        Err(ProbeError::System { what: "ask for drops (SO_MEMINFO)", source: io::Error::last_os_error() })
    }

    /// Bytes of headers of each packet.
    pub fn headers(&self) -> u32 {
        self.headers as u32
    }

    /// The longest packet that the path to the other end takes, as IP counts it: the route's MTU.
    pub fn mtu(&self) -> Option<u32> {
        let (level, name) = if self.headers == V6_HEADERS {
            (libc::IPPROTO_IPV6, libc::IPV6_MTU)
        } else {
            (libc::IPPROTO_IP, libc::IP_MTU)
        };
        let mut mtu: libc::c_int = 0;
        let mut length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: both are live and have the stated sizes.
        let result = unsafe {
            libc::getsockopt(self.descriptor(), level, name, (&raw mut mtu).cast(), &raw mut length)
        };
        (result == 0).then_some(mtu).and_then(|mtu| u32::try_from(mtu).ok())
    }

    /// A first datagram from anybody, before the socket is connected.
    pub fn first(&self) -> Result<Option<(DatagramHead, SocketAddr)>, ProbeError> {
        let mut head = [0; DATAGRAM_BYTES];
        self.socket.set_nonblocking(true).map_err(ProbeError::system("not wait for UDP"))?;
        let result = self.socket.recv_from(&mut head);
        self.socket.set_nonblocking(false).map_err(ProbeError::system("wait for UDP again"))?;
        match result {
            Ok((_, from)) => Ok(Some((head, from))),
            Err(error) if is_passing(&error) => Ok(None),
            Err(source) => Err(ProbeError::System { what: "read from a UDP socket", source }),
        }
    }

    /// Reads what the kernel has, up to a batch.
    pub fn take(&self, came: &mut Vec<Came>) -> Result<(), ProbeError> {
        came.clear();
        let mut heads = [[0_u8; DATAGRAM_BYTES]; BATCH];
        let mut controls = [[0_u64; CONTROL_BYTES / 8]; BATCH];
        // SAFETY: all-zero is valid for both kinds of structure: null pointers and zero lengths.
        let (mut parts, mut messages): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (zeroed(), zeroed()) };
        for n in 0..BATCH {
            parts[n] = libc::iovec { iov_base: heads[n].as_mut_ptr().cast(), iov_len: DATAGRAM_BYTES };
            messages[n].msg_hdr.msg_iov = &raw mut parts[n];
            messages[n].msg_hdr.msg_iovlen = 1;
            messages[n].msg_hdr.msg_control = controls[n].as_mut_ptr().cast();
            messages[n].msg_hdr.msg_controllen = CONTROL_BYTES;
        }
        let flags = libc::MSG_DONTWAIT;
        let (fd, count) = (self.descriptor(), BATCH as libc::c_uint);
        // SAFETY: everything that the structures point to lives until the call returns and has the stated lengths.
        let count = unsafe { libc::recvmmsg(fd, messages.as_mut_ptr(), count, flags, std::ptr::null_mut()) };
        if count < 0 {
            let source = io::Error::last_os_error();
            return if is_passing(&source) {
                Ok(())
            } else {
                Err(ProbeError::System { what: "read from a UDP socket", source })
            };
        }
        for n in 0..count as usize {
            // The kernel timestamps all packets of a socket that asks for it, except those that were there before.
            if let Some(at_ns) = stamp(&messages[n].msg_hdr) {
                came.push(Came { head: heads[n], at_ns });
            }
        }
        Ok(())
    }

    /// Sends packets of `bytes` bytes, as IP counts it, that start like this; returns how many the kernel accepted.
    /// `None` if the queue before the card refused the first.
    pub fn send(&self, heads: &[[u8; DATAGRAM_BYTES]], bytes: u32) -> Result<Option<usize>, ProbeError> {
        static REST: [u8; MOST_BYTES] = [0; MOST_BYTES];
        let payload = (bytes as usize).saturating_sub(self.headers).clamp(DATAGRAM_BYTES, MOST_BYTES);
        // SAFETY: all-zero is valid for both kinds of structure: null pointers and zero lengths.
        let (mut parts, mut messages): ([[libc::iovec; 2]; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (zeroed(), zeroed()) };
        let count = heads.len().min(BATCH);
        for (n, head) in heads[..count].iter().enumerate() {
            // The kernel only reads what is sent.
            let part = |of: &[u8]| libc::iovec { iov_base: of.as_ptr().cast_mut().cast(), iov_len: of.len() };
            parts[n] = [part(head), part(&REST[..payload - DATAGRAM_BYTES])];
            messages[n].msg_hdr.msg_iov = parts[n].as_mut_ptr();
            messages[n].msg_hdr.msg_iovlen = 2;
        }
        // SAFETY: everything that the structures point to lives until the call returns and has the stated lengths.
        let sent =
            unsafe { libc::sendmmsg(self.descriptor(), messages.as_mut_ptr(), count as libc::c_uint, 0) };
        if sent >= 0 {
            return Ok(Some(sent as usize));
        }
        let source = io::Error::last_os_error();
        match source.raw_os_error() {
            Some(libc::ENOBUFS) => {
                self.forget_errors();
                Ok(None)
            }
            _ if is_passing(&source) => Ok(Some(0)),
            _ => Err(ProbeError::System { what: "send a packet", source }),
        }
    }

    /// Empties the queue that `IP_RECVERR` fills.
    fn forget_errors(&self) {
        let mut byte = MaybeUninit::<u8>::uninit();
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        // SAFETY: one live byte; the kernel writes no more.
        while unsafe { libc::recv(self.descriptor(), byte.as_mut_ptr().cast(), 1, flags) } >= 0 {}
    }
}

/// Errors about an earlier packet, or about none.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionRefused)
}

/// An address as the kernel has it.
fn sockaddr(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all-zero is valid for this structure.
    let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
    let to = &raw mut storage;
    let length = match address {
        SocketAddr::V4(v4) => {
            // SAFETY: the storage is large enough and aligned for every kind of address.
            let name = unsafe { &mut *to.cast::<libc::sockaddr_in>() };
            name.sin_family = libc::AF_INET as libc::sa_family_t;
            name.sin_port = v4.port().to_be();
            name.sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            // SAFETY: as above.
            let name = unsafe { &mut *to.cast::<libc::sockaddr_in6>() };
            name.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            name.sin6_port = v6.port().to_be();
            name.sin6_addr.s6_addr = v6.ip().octets();
            name.sin6_scope_id = v6.scope_id();
            size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, length as libc::socklen_t)
}

/// The timestamp of a packet.
fn stamp(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel has filled in this structure and the memory that it points to, which lives as long as the
    // caller's.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = next.as_ref() {
            if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
                let time = libc::CMSG_DATA(next).cast::<libc::timespec>().read_unaligned();
                return Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
            }
            next = libc::CMSG_NXTHDR(message, next);
        }
    }
    None
}

/// An address to bind to, of the other end's family.
pub fn any_like(other: IpAddr) -> IpAddr {
    match other {
        IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    }
}
