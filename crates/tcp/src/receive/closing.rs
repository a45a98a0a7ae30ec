//! The end of a connection: FIN, RST, or timeout (`tcp_fin_time`, `tcp_reset`, `tcp_done`;
//! net/ipv4/tcp_input.c and tcp.c, 6.18).

use crate::connection::{Connection, State};
use crate::errno::Errno;
use crate::packet::Packet;
use crate::socket::options::Linger2;
use slowpath_model::{Flags, Instant};
use std::time::Duration;

/// `TCP_TIMEWAIT_LEN` (include/net/tcp.h).
pub(crate) const TIME_WAIT: Duration = Duration::from_secs(60);

/// How processing continues after the ACK of our FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    /// The rest of the segment is processed.
    GoOn,
    /// Nothing is left to process.
    Done,
    /// It carries data that nobody will read: the answer is a RST.
    Abort,
}

impl Connection {
    pub(crate) fn set_state(&mut self, state: State) {
        self.state = state;
    }

    /// Our FIN is acknowledged (`TCP_FIN_WAIT1` in `tcp_rcv_state_process`).
    pub(super) fn fin_acknowledged(&mut self, now: Instant, packet: &Packet) -> Closing {
        self.set_state(State::FinWait2);
        self.send_shutdown = true;
        if !self.orphaned {
            self.wakeups.state = true;
            return Closing::GoOn;
        }
        let unwanted = self.brings_unwanted(packet);
        if self.options.linger2 == Linger2::Never || unwanted {
            if unwanted && packet.flags.has(Flags::FIN) {
                self.blame_fast_open();
            }
            self.done();
            return Closing::Abort;
        }
        let timeout = self.fin_timeout();
        if timeout > TIME_WAIT {
            self.reset_keepalive_timer(now, timeout - TIME_WAIT);
        } else if packet.flags.has(Flags::FIN) {
            self.reset_keepalive_timer(now, timeout);
        } else {
            self.wait_for_fin(now, timeout);
            return Closing::Done;
        }
        Closing::GoOn
    }

    /// Whether a segment carries new data, or a FIN after new data, that nobody will read.
    pub(super) fn brings_unwanted(&self, packet: &Packet) -> bool {
        let fin = u32::from(packet.flags.has(Flags::FIN));
        packet.end() != packet.seq && packet.end() - fin > self.rcv.nxt
    }

    /// How long an orphan waits for the peer's FIN (`tcp_fin_time`): by option or sysctl, and at least three and a half
    /// RTOs.
    pub(crate) fn fin_timeout(&self) -> Duration {
        let wanted = match self.options.linger2 {
            Linger2::For(time) if !time.is_zero() => time,
            _ => self.settings.sysctls.tcp_fin_timeout,
        };
        let rto = self.snd.rtt.rto;
        wanted.max(self.span(rto.saturating_mul(4) - (rto >> 1)))
    }

    /// The peer has reset the connection (`tcp_reset`).
    pub(crate) fn reset(&mut self, now: Instant) {
        let error = match self.state {
            State::Closed => return,
            State::SynSent => Errno::ECONNREFUSED,
            State::CloseWait => Errno::EPIPE,
            _ => Errno::ECONNRESET,
        };
        self.done_with_error(now, error);
    }

    /// `tcp_done_with_error`.
    pub(crate) fn done_with_error(&mut self, now: Instant, error: Errno) {
        self.error = Some(error);
        self.purge_write_queue(now);
        self.done();
    }

    /// The connection is over (`tcp_done`). Received data can still be read.
    pub(crate) fn done(&mut self) {
        self.judge_fast_open();
        self.set_state(State::Closed);
        self.clear_timers();
        self.send_shutdown = true;
        self.receive_shutdown = true;
        if self.orphaned {
            // Nobody is left to read.
            self.purge_receive_queues();
        } else {
            self.wakeups.state = true;
        }
    }

    /// `tcp_clear_xmit_timers`, and that of keepalive.
    pub(crate) fn clear_timers(&mut self) {
        self.timers = crate::timers::Timers::default();
    }

    /// A RST in answer to a segment without a connection (`tcp_v4_send_reset`; RFC 9293, section 3.5.2).
    pub(crate) fn send_reset_for(&mut self, packet: &Packet) {
        if let Some(reset) = reset_for(packet) {
            self.out.push_back(reset);
        }
    }

    /// An active RST (`tcp_send_active_reset`).
    pub(crate) fn send_active_reset(&mut self, now: Instant) {
        let seq = self.acceptable_seq();
        self.transmit_control(now, Flags::RST.with(Flags::ACK), seq);
    }
}

/// The RST that answers a segment; none for a RST.
pub(crate) fn reset_for(packet: &Packet) -> Option<Packet> {
    if packet.flags.has(Flags::RST) {
        return None;
    }
    Some(match packet.acknowledges() {
        Some(ack) => Packet::new(Flags::RST, ack, 0),
        None => Packet {
            ack: packet.end(),
            ..Packet::new(Flags::RST.with(Flags::ACK), slowpath_model::StreamOffset(0), 0)
        },
    })
}
