//! ICMP errors about a connection (`tcp_v4_err`, net/ipv4/tcp_ipv4.c, 6.18).

use crate::connection::{Connection, State};
use crate::errno::Errno;
use slowpath_model::{Instant, StreamOffset};

/// Why a packet did not get there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// No way to the network (code 0).
    Network,
    /// No way to the host (code 1).
    Host,
    /// The host does not know TCP (code 2).
    Protocol,
    /// Nobody listens (code 3).
    Port,
    /// It is too big for a link of this MTU in bytes, and must not be cut (code 4, RFC 1191).
    TooBig(u32),
    /// The sender may not (codes 9, 10 and 13).
    Prohibited,
    /// It was under way for too long (time exceeded).
    TimeExceeded,
}

impl Unreachable {
    /// What a system call makes of it (`icmp_err_convert`, net/ipv4/icmp.c).
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
    /// An ICMP error about the segment that began at `seq`.
    pub fn handle_icmp(&mut self, now: Instant, kind: Unreachable, seq: StreamOffset) {
        // Only what is outstanding can have caused it (RFC 5927, section 4.1).
        if self.state == State::Closed || seq < self.snd.una || seq > self.snd.nxt {
            return;
        }
        if let Unreachable::TooBig(mtu) = kind {
            if self.state != State::TimeWait {
                self.reduce_mtu(now, mtu);
            }
            return;
        }
        if seq == self.snd.una && matches!(kind, Unreachable::Network | Unreachable::Host) {
            self.revert_back_off(now);
        }
        let error = kind.error();
        if matches!(self.state, State::SynSent | State::SynReceived) {
            self.done_with_error(now, error);
        } else if self.options.receive_errors {
            self.error = Some(error);
            self.wakeups.state = true;
        } else {
            // Without IP_RECVERR an established connection remembers it, and no more (RFC 1122, section 4.2.3.9).
            self.soft_error = Some(error);
        }
    }
}
