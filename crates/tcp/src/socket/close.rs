//! Closing (`tcp_shutdown`, `__tcp_close`, `tcp_disconnect`; net/ipv4/tcp.c and af_inet.c, 6.18).

use super::options::Linger2;
use crate::connection::{Connection, State};
use crate::errno::Errno;
use crate::receive::closing::TIME_WAIT;
use slowpath_model::Instant;

/// Which directions `shutdown` closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Reading (`SHUT_RD`); the peer is not notified.
    Read,
    /// Writing (`SHUT_WR`): a FIN is sent.
    Write,
    /// Both (`SHUT_RDWR`).
    Both,
}

impl Connection {
    /// Closes one direction or both (`inet_shutdown`).
    ///
    /// # Errors
    ///
    /// `ENOTCONN` if there is no connection.
    pub fn shutdown(&mut self, now: Instant, how: Shutdown) -> Result<(), Errno> {
        if self.state == State::SynSent {
            self.disconnect(now);
            return Ok(());
        }
        let connected = !matches!(self.state, State::Closed | State::TimeWait);
        self.receive_shutdown |= how != Shutdown::Write;
        if how != Shutdown::Read {
            self.send_shutdown = true;
            if matches!(self.state, State::Established | State::CloseWait) {
                self.close_send(now);
            }
        }
        self.wakeups.state = true;
        if connected { Ok(()) } else { Err(Errno::ENOTCONN) }
    }

    /// Sends the FIN, if the state requires one (`tcp_close_state`, `tcp_send_fin`).
    pub(crate) fn close_send(&mut self, now: Instant) {
        let next = match self.state {
            State::Established | State::SynReceived => State::FinWait1,
            State::CloseWait => State::LastAck,
            State::SynSent | State::TimeWait | State::Closed => {
                self.done();
                return;
            }
            State::FinWait1 | State::FinWait2 | State::Closing | State::LastAck => return,
        };
        self.set_state(next);
        self.send_fin(now);
    }

    /// The last descriptor is closed (`tcp_close`). The connection continues by itself until
    /// [`is_gone`](Self::is_gone).
    pub fn close(&mut self, now: Instant) {
        self.send_shutdown = true;
        self.receive_shutdown = true;
        let unread = self.rcv.nxt.distance_from(self.rcv.copied) > i64::from(self.rcv.fin);
        let freed = self.rcv.queue.release(self.rcv.nxt);
        self.uncharge(freed);
        if self.is_detached() {
            // Already over, or TIME-WAIT continues without the application.
        } else if unread {
            // Unread data is lost, and the peer must know (RFC 2525, section 2.17).
            self.set_state(State::Closed);
            self.send_active_reset(now);
        } else if self.options.linger.is_some_and(|time| time.is_zero()) {
            self.disconnect(now);
        } else {
            self.close_send(now);
        }
        self.orphan(now);
    }

    /// Whether the application is done with it: CLOSED, or in the states of `struct tcp_timewait_sock`.
    fn is_detached(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait)
    }

    /// `adjudge_to_death`.
    fn orphan(&mut self, now: Instant) {
        self.orphaned = true;
        if self.state == State::FinWait2 {
            if self.options.linger2 == Linger2::Never {
                self.set_state(State::Closed);
                self.send_active_reset(now);
            } else {
                let timeout = self.fin_timeout();
                if timeout > TIME_WAIT {
                    self.reset_keepalive_timer(now, timeout - TIME_WAIT);
                } else {
                    self.wait_for_fin(now, timeout);
                }
            }
        }
        if self.state == State::Closed {
            self.purge_write_queue(now);
            self.done();
        }
    }

    /// Ends the connection immediately, with a RST if the peer may still have it (`tcp_disconnect`).
    pub fn disconnect(&mut self, now: Instant) {
        let before = self.state;
        self.set_state(State::Closed);
        let unsent = self.snd.nxt != self.snd.write_seq;
        let reset = match before {
            State::Established
            | State::CloseWait
            | State::FinWait1
            | State::FinWait2
            | State::SynReceived => true,
            State::Closing | State::LastAck => unsent,
            State::SynSent | State::TimeWait | State::Closed => false,
        };
        if reset {
            self.send_active_reset(now);
        }
        if reset || before == State::SynSent {
            self.error = Some(Errno::ECONNRESET);
        }
        self.purge_write_queue(now);
        self.purge_receive_queues();
        self.done();
    }

    /// Whether nothing is left: no application, no connection, nothing to send.
    pub fn is_gone(&self) -> bool {
        self.orphaned && self.state == State::Closed && self.out.is_empty()
    }
}
