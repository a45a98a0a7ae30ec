//! The sockets that listen, and their accept queues.

use super::netlink::Netlink;
use crate::error::LiveError;
use slowpath_model::Endpoint;

/// A socket that listens, and its accept queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Its address; unspecified if it listens on all.
    pub at: Endpoint,
    /// Connections that are complete and that its process has not accepted (`sk_ack_backlog`).
    pub length: u32,
    /// The most of them that it takes: the smaller of the backlog that the process asked for and `net.core.somaxconn`
    /// (`sk_max_ack_backlog`).
    pub limit: u32,
}

/// The sockets that listen in this thread's network namespace.
///
/// # Errors
/// If the kernel lacks `NETLINK_SOCK_DIAG` (CONFIG_INET_DIAG), or refuses.
pub fn listeners() -> Result<Vec<Listener>, LiveError> {
    let mut found = Vec::new();
    Netlink::open()?.each_listening(|one| {
        found.push(Listener { at: one.ends[0], length: one.receive_queue, limit: one.write_queue });
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn accept_queue_has_the_connections_that_wait() {
        let socket = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = socket.local_addr().expect("an address");
        let _waiting = [(); 2].map(|()| TcpStream::connect(address).expect("a connection"));
        let all = listeners().expect("the kernel answers");
        let one = all.iter().find(|one| one.at.port == address.port()).expect("it listens");
        assert_eq!((one.at.address, one.length), (address.ip(), 2));
        assert!(one.limit >= 2, "{one:?}");
    }
}
