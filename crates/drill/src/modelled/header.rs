//! The IP header of a connection's packets: traffic class, TTL, flow label.

use super::Modelled;
use super::levels::{IP, IPV6};
use super::sockets::{File, Ports, Socket};
use crate::packet::{Body, Datagram};
use crate::wire;
use slowpath_tcp::Errno;

const IP_TOS: i32 = 1;
const IP_TTL: i32 = 2;
const IP_MTU: i32 = 14;
const IPV6_UNICAST_HOPS: i32 = 16;
const IPV6_MTU: i32 = 24;
const IPV6_TCLASS: i32 = 67;
/// `INET_ECN_MASK`: the bits of the traffic class that TCP sets itself.
const ECN: u8 = 3;
/// Any label but 0, which means none (RFC 6437).
const FIRST_LABEL: u32 = 0x10001;

/// A socket's header fields; `None` for the host's default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    class: u8,
    hops: Option<u8>,
    /// Changes with the path chosen by the connection's hash.
    rehashes: u32,
}

/// A socket's header fields, one set for each IP version.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headers {
    v4: Header,
    v6: Header,
}

impl Headers {
    fn of(&mut self, level: i32) -> &mut Header {
        if level == IPV6 { &mut self.v6 } else { &mut self.v4 }
    }

    /// Sets an IP option; `None` if it is another option.
    pub fn set(&mut self, level: i32, name: i32, value: i32) -> Option<Result<(), Errno>> {
        let header = self.of(level);
        match (level, name) {
            (IP, IP_TOS) | (IPV6, IPV6_TCLASS) => {
                if level == IPV6 && !(-1..=255).contains(&value) {
                    return Some(Err(Errno::EINVAL));
                }
                header.class = value.max(0) as u8 & !ECN;
            }
            (IP, IP_TTL) | (IPV6, IPV6_UNICAST_HOPS) => match value {
                -1 => header.hops = None,
                0 if level == IP => return Some(Err(Errno::EINVAL)),
                0..=255 => header.hops = u8::try_from(value).ok(),
                _ => return Some(Err(Errno::EINVAL)),
            },
            _ => return None,
        }
        Some(Ok(()))
    }

    /// The value of an IP option; `None` if it is another option.
    pub fn get(&mut self, level: i32, name: i32) -> Option<i32> {
        let header = self.of(level);
        match (level, name) {
            (IP, IP_TOS) | (IPV6, IPV6_TCLASS) => Some(i32::from(header.class)),
            (IP, IP_TTL) | (IPV6, IPV6_UNICAST_HOPS) => Some(i32::from(header.hops.unwrap_or(wire::TTL))),
            _ => None,
        }
    }
}

impl Modelled {
    fn version(&self) -> i32 {
        if self.settings.is_ipv6() { IPV6 } else { IP }
    }

    /// Adopts a socket's header fields.
    pub(super) fn use_headers(&mut self, ports: Ports, mut headers: Headers) {
        let rehashes = self.headers.get(&ports).map_or(0, |header| header.rehashes);
        let header = Header { rehashes, ..*headers.of(self.version()) };
        self.headers.insert(ports, header);
    }

    /// A listener received a SYN: sets the fields of its answer and of the new connection (`tcp_reflect_tos`).
    pub(super) fn reflect(&mut self, ports: Ports, mut headers: Headers, class: u8) {
        if self.settings.sysctls.tcp_reflect_tos {
            headers.of(self.version()).class = class & !ECN;
        }
        self.use_headers(ports, headers);
    }

    /// An accepted connection inherits its handshake's fields.
    pub(super) fn inherit(&mut self, ports: Ports, headers: &mut Headers) {
        let version = self.version();
        if let Some(header) = self.headers.get(&ports) {
            *headers.of(version) = *header;
        }
    }

    /// How often the connection has changed its path.
    pub(super) fn note_rehashes(&mut self, ports: Ports, rehashes: u32) {
        self.headers.entry(ports).or_default().rehashes = rehashes;
    }

    /// Sets the fields of a datagram's IP header.
    pub(super) fn dress(&self, ports: Ports, datagram: &mut Datagram) {
        let header = self.headers.get(&ports).copied().unwrap_or_default();
        datagram.class |= header.class;
        datagram.ttl = header.hops.or(self.way.hop_limit).unwrap_or(wire::TTL);
        if self.version() == IPV6 && matches!(datagram.body, Body::Tcp(_)) {
            datagram.flow_label = FIRST_LABEL + header.rehashes;
        }
    }

    /// `IP_MTU`, which only a connected socket has.
    pub(super) fn path_mtu(&mut self, fd: i32, level: i32, name: i32) -> Option<Result<i32, Errno>> {
        if !matches!((level, name), (IP, IP_MTU) | (IPV6, IPV6_MTU)) {
            return None;
        }
        let now = self.now;
        let Some(File::Socket(socket)) = self.files.get_mut(&fd) else { return Some(Err(Errno::EBADF)) };
        let connection = socket.connection().ok_or(Errno::ENOTCONN);
        Some(connection.map(|connection| connection.info(now).pmtu as i32))
    }

    /// The open socket between two ports.
    pub(super) fn socket_of(&mut self, ports: Ports) -> Option<&mut Socket> {
        self.files.values_mut().find_map(|file| match file {
            File::Socket(socket) if socket.ports == Some(ports) => Some(&mut **socket),
            _ => None,
        })
    }
}
