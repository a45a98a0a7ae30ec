//! sock_diag(7): the kernel's TCP sockets over netlink, which needs no privilege (include/uapi/linux/inet_diag.h).

use crate::netlink::number;

/// `SOCK_DIAG_BY_FAMILY`: the type of the request and of its answers.
pub const BY_FAMILY: u16 = 20;
/// `INET_DIAG_INFO`: `struct tcp_info`.
pub const INFO: u16 = 2;
/// `INET_DIAG_SKMEMINFO`: the numbers of [`MEMINFO`].
pub const SKMEMINFO: u16 = 7;
const IPPROTO_TCP: u8 = 6;
/// Of `struct inet_diag_req_v2`.
const REQUEST_BYTES: usize = 56;
/// Of `struct inet_diag_msg`.
const MESSAGE_BYTES: usize = 72;

/// `SK_MEMINFO_VARS` in order, 32 bits each, in bytes except for the last (include/uapi/linux/sock_diag.h).
pub const MEMINFO: [&str; 9] = [
    "SK_MEMINFO_RMEM_ALLOC",
    "SK_MEMINFO_RCVBUF",
    "SK_MEMINFO_WMEM_ALLOC",
    "SK_MEMINFO_SNDBUF",
    "SK_MEMINFO_FWD_ALLOC",
    "SK_MEMINFO_WMEM_QUEUED",
    "SK_MEMINFO_OPTMEM",
    "SK_MEMINFO_BACKLOG",
    "SK_MEMINFO_DROPS",
];

/// Decodes [`MEMINFO`]; fields that the kernel does not have are 0.
pub fn meminfo(bytes: &[u8]) -> [u32; MEMINFO.len()] {
    std::array::from_fn(|place| number(bytes, place * 4))
}

/// `struct inet_diag_req_v2` for the TCP sockets of an address family in these states (a bit each), with any ports and
/// addresses, with [`INFO`] and [`SKMEMINFO`].
pub fn tcp_sockets(family: u8, states: u32) -> [u8; REQUEST_BYTES] {
    let mut request = [0; REQUEST_BYTES];
    request[..4].copy_from_slice(&[family, IPPROTO_TCP, 1 << (INFO - 1) | 1 << (SKMEMINFO - 1), 0]);
    request[4..8].copy_from_slice(&states.to_ne_bytes());
    request
}

/// `struct inet_diag_msg`: the kernel's description of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The address family of the socket.
    pub family: u8,
    /// TCP's state, such as 1 for established.
    pub state: u8,
    /// The ports, its own and its peer's.
    pub ports: [u16; 2],
    /// The addresses, its own and its peer's; IPv4 addresses in the first four bytes.
    pub addresses: [[u8; 16]; 2],
    /// A number that is never reused.
    pub cookie: u64,
    /// `idiag_rqueue`: `rcv_nxt - copied_seq`, in bytes; of a listening socket, connections in its accept queue.
    pub receive_queue: u32,
    /// `idiag_wqueue`: `write_seq - snd_una`, in bytes; of a listening socket, the most connections that its accept
    /// queue takes.
    pub write_queue: u32,
    /// The inode of its file.
    pub inode: u32,
    /// The rest, for [`attributes`](crate::netlink::attributes).
    pub attributes: &'a [u8],
}

impl<'a> Message<'a> {
    /// Decodes an answer's body; `None` if it is cut short.
    pub fn decode(body: &'a [u8]) -> Option<Self> {
        let (fixed, attributes) = body.split_first_chunk::<MESSAGE_BYTES>()?;
        let port = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let address = |at: usize| std::array::from_fn(|byte| fixed[at + byte]);
        Some(Self {
            family: fixed[0],
            state: fixed[1],
            ports: [port(4), port(6)],
            addresses: [address(8), address(24)],
            cookie: u64::from(number(fixed, 44)) | u64::from(number(fixed, 48)) << 32,
            receive_queue: number(fixed, 56),
            write_queue: number(fixed, 60),
            inode: number(fixed, 68),
            attributes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sock_diag_fields_are_at_the_kernels_offsets() {
        let mut body: Vec<u8> = (0..MESSAGE_BYTES as u8).collect();
        body.extend([1, 2, 3]);
        let message = Message::decode(&body).expect("whole");
        assert_eq!((message.family, message.state, message.ports), (0, 1, [0x0405, 0x0607]));
        assert_eq!((message.addresses[0][0], message.addresses[1][15]), (8, 39));
        assert_eq!(message.cookie.to_ne_bytes(), [44, 45, 46, 47, 48, 49, 50, 51]);
        assert_eq!(message.receive_queue.to_ne_bytes(), [56, 57, 58, 59]);
        assert_eq!(message.write_queue.to_ne_bytes(), [60, 61, 62, 63]);
        assert_eq!(message.inode.to_ne_bytes(), [68, 69, 70, 71]);
        assert_eq!(message.attributes, [1, 2, 3]);
        assert_eq!(Message::decode(&body[..MESSAGE_BYTES - 1]), None);
    }

    #[test]
    fn sock_diag_request_has_both_extensions() {
        let request = tcp_sockets(2, 1 << 1);
        assert_eq!(
            request[..8],
            [2, 6, 0b100_0010, 0, 2_u32.to_ne_bytes()[0], 2_u32.to_ne_bytes()[1], 0, 0][..]
        );
    }
}
