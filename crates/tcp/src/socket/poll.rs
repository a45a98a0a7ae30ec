//! The events of `poll` (`tcp_poll`, net/ipv4/tcp.c, 6.18).

use crate::connection::{Connection, State};
use crate::receive::receiver::UrgentByte;

/// The events of `poll` and `epoll`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the bits of poll's mask")]
pub struct Events {
    /// There is data or EOF to read (`POLLIN`, `POLLRDNORM`).
    pub readable: bool,
    /// There is room to write, or an error (`POLLOUT`, `POLLWRNORM`).
    pub writable: bool,
    /// The urgent byte has arrived (`POLLPRI`).
    pub urgent: bool,
    /// The peer has shut down writing (`POLLRDHUP`).
    pub read_closed: bool,
    /// Neither direction is open (`POLLHUP`).
    pub hung_up: bool,
    /// There is a pending error (`POLLERR`).
    pub error: bool,
}

impl Connection {
    /// The current events of `poll`.
    pub fn poll_events(&mut self) -> Events {
        // The application's socket is CLOSED while TIME-WAIT continues.
        let closed = matches!(self.state, State::Closed | State::TimeWait);
        let mut events = Events {
            hung_up: closed || (self.send_shutdown && self.receive_shutdown),
            readable: self.receive_shutdown,
            read_closed: self.receive_shutdown,
            error: self.error.is_some(),
            ..Events::default()
        };
        let open = match self.state {
            State::SynSent => false,
            State::SynReceived => self.rcv.fast_open.is_some(),
            _ => true,
        };
        if open {
            let skipped = u32::from(
                self.has_urgent() && self.rcv.urgent.seq == self.rcv.copied && !self.options.oob_inline,
            );
            events.readable |= self.has_to_read(self.options.receive_lowat.saturating_add(skipped));
            events.writable = self.send_shutdown || self.is_writable();
            // A poll counts as waiting: free space will be reported (`SOCK_NOSPACE`).
            self.snd.no_space |= !events.writable;
            events.urgent = self.rcv.urgent.byte == UrgentByte::Here;
        } else {
            // The SYN waits for data.
            events.writable = self.is_deferred();
        }
        events
    }

    /// Whether to wake a reader that waits for `target` bytes (`tcp_epollin_ready`).
    fn has_to_read(&self, target: u32) -> bool {
        let available = self.rcv.nxt.distance_from(self.rcv.copied);
        let pressed = self.rcv.rmem_alloc > self.rcv.buffer - (self.rcv.buffer >> 3);
        available > 0
            && (available >= i64::from(target) || pressed || self.rcv.window_left() <= self.rcv.ack.rcv_mss)
    }

    /// Whether a blocked read would return.
    pub(crate) fn is_readable(&self) -> bool {
        self.rcv.fin || self.has_to_read(self.options.receive_lowat)
    }
}
