//! ICMP errors about a connection (`tcp_v4_err`, net/ipv4/tcp_ipv4.c, 6.18).

use crate::connection::{Connection, State};
use crate::errno::Errno;
use slowpath_model::{Instant, StreamOffset};

/// Why a packet was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// No route to the network (code 0).
    Network,
    /// No route to the host (code 1).
    Host,
    /// The host does not support TCP (code 2).
    Protocol,
    /// No listener (code 3).
    Port,
    /// It exceeds the MTU (in bytes) of a link and must not be fragmented (code 4, RFC 1191).
    TooBig(u32),
    /// Prohibited by an administrator (codes 9, 10 and 13).
    Prohibited,
    /// Its TTL or reassembly time ran out (time exceeded).
    TimeExceeded,
}

impl Unreachable {
    /// Whether it ends a handshake of which there is only a request (`tcp_v4_err`, `tcp_v6_err`: `tcp_req_err`).
    pub(super) const fn ends_request(self, is_ipv6: bool) -> bool {
        match self {
            Self::Network | Self::Host | Self::TimeExceeded => !is_ipv6,
            Self::Port | Self::Prohibited | Self::Protocol => is_ipv6,
            Self::TooBig(_) => false,
        }
    }

    /// The error of a system call (`icmp_err_convert`, net/ipv4/icmp.c).
    const fn error(self) -> Errno {
        match self {
            Self::Network => Errno::ENETUNREACH,
            Self::Host | Self::Prohibited | Self::TimeExceeded => Errno::EHOSTUNREACH,
            Self::Protocol => Errno::ENOPROTOOPT,
            Self::Port => Errno::ECONNREFUSED,
            Self::TooBig(_) => Errno::EMSGSIZE,
        }
    }
}

impl Connection {
    /// Processes an ICMP error about the segment that began at `seq`.
    pub fn handle_icmp(&mut self, now: Instant, kind: Unreachable, seq: StreamOffset) {
        if self.state == State::Closed {
            return;
        }
        // Only an outstanding segment can have caused it (RFC 5927, section 4.1).
        let handshake = self.rcv.fast_open.as_ref();
        let oldest = if handshake.is_some() { StreamOffset(0) } else { self.snd.una };
        if seq < oldest || seq > self.snd.nxt {
            self.rcv.counters.icmp_out_of_window += 1;
            return;
        }
        let accepted = handshake.map(|request| request.accepted);
        if let Unreachable::TooBig(mtu) = kind {
            if self.state != State::TimeWait {
                self.reduce_mtu(now, mtu);
            }
            return;
        }
        if accepted.is_none()
            && seq == self.snd.una
            && matches!(kind, Unreachable::Network | Unreachable::Host)
        {
            self.revert_back_off(now);
        }
        let error = kind.error();
        // An accepted child of a SYN with data is treated as established.
        if matches!(self.state, State::SynSent | State::SynReceived) && accepted != Some(true) {
            self.done_with_error(now, error);
        } else if self.options.receive_errors {
            self.error = Some(error);
            self.wakeups.state = true;
        } else {
            // Without IP_RECVERR, an established connection only stores it (RFC 1122, section 4.2.3.9).
            self.soft_error = Some(error);
        }
    }
}
