//! TIME-WAIT, and FIN-WAIT-2 of an orphan (`tcp_timewait_state_process`, net/ipv4/tcp_minisocks.c, 6.18).
//!
//! The kernel keeps a small socket for it (`struct tcp_timewait_sock`); here the connection stays, and only what the
//! small socket knows is used.

use super::closing::TIME_WAIT;
use crate::connection::{Connection, State};
use crate::packet::Packet;
use slowpath_model::{Ecn, Flags, Instant, Timestamps};
use std::time::Duration;

impl Connection {
    /// Both sides have closed: waits for segments still in flight (`tcp_time_wait`).
    pub(crate) fn enter_time_wait(&mut self, now: Instant) {
        self.rcv.time_wait_since = now;
        self.wait_quietly(now, State::TimeWait, TIME_WAIT);
    }

    /// An orphan waiting for the peer's FIN needs no larger socket than TIME-WAIT does.
    pub(crate) fn wait_for_fin(&mut self, now: Instant, timeout: Duration) {
        let rto = self.snd.rtt.rto;
        let least = self.span(rto.saturating_mul(4) - (rto >> 1));
        self.wait_quietly(now, State::FinWait2, timeout.max(least));
        self.rcv.waiting_quietly = true;
    }

    fn wait_quietly(&mut self, now: Instant, state: State, timeout: Duration) {
        // The advertised window does not change.
        self.rcv.wnd = self.rcv.window_left();
        self.rcv.wup = self.rcv.nxt;
        self.learn_metrics();
        self.done();
        self.set_state(state);
        self.reschedule(now, timeout);
    }

    fn reschedule(&mut self, now: Instant, timeout: Duration) {
        self.timers.keepalive = Some(now + timeout);
    }

    /// Whether an active open may take the ports of this connection in TIME-WAIT (`tcp_twsk_unique`): timestamps tell
    /// old segments apart, and `tcp_tw_reuse_delay` has passed. 2 allows it for loopback only.
    pub fn leaves_its_ports(&self, now: Instant) -> bool {
        let millis = |at: Instant| at.nanos().div_euclid(1_000_000);
        let sysctls = &self.settings.sysctls;
        let delay = i64::try_from(sysctls.tcp_tw_reuse_delay.as_millis()).unwrap_or(i64::MAX);
        self.state == State::TimeWait
            && sysctls.tcp_tw_reuse == 1
            && self.rcv.ts_recent_stamp.is_some()
            && millis(now) - millis(self.rcv.time_wait_since) >= delay
    }

    /// Whether a SYN may begin a new connection in place of this one in TIME-WAIT (`TCP_TW_SYN`; RFC 9293, section
    /// 3.6.1, RFC 6191).
    ///
    /// The packet's `seq` counts from this connection's initial sequence number.
    pub fn accepts_reopening(&self, now: Instant, packet: &Packet) -> bool {
        let plain = packet.flags.has(Flags::SYN) && !packet.flags.has_any(Flags::RST.with(Flags::ACK));
        let timestamps = self.timestamps_of(packet);
        let newer = timestamps.is_some_and(|stamps| self.rcv.is_newer(stamps));
        self.state == State::TimeWait
            && plain
            && !self.time_wait_paws_rejects(now, packet)
            && (packet.seq > self.rcv.nxt || newer)
    }

    fn time_wait_paws_rejects(&self, now: Instant, packet: &Packet) -> bool {
        let reset = packet.flags.has(Flags::RST);
        self.timestamps_of(packet).is_some_and(|stamps| self.rcv.paws_rejects(now, stamps, reset))
    }

    /// A segment in TIME-WAIT.
    pub(super) fn receive_time_wait(&mut self, now: Instant, packet: &Packet) {
        let refused = self.time_wait_paws_rejects(now, packet);
        let reset = packet.flags.has(Flags::RST);
        if !refused && packet.seq == self.rcv.nxt && (packet.seq == packet.end() || reset) {
            if reset {
                // TIME-WAIT assassination (RFC 1337).
                if !self.settings.sysctls.tcp_rfc1337 {
                    self.done();
                    return;
                }
            } else {
                self.reschedule(now, TIME_WAIT);
            }
            self.note_quietly(now, packet);
            return;
        }
        if refused {
            self.rcv.counters.paws_rejected += 1;
        }
        if !reset {
            // A lone SYN may be valid with an unlucky sequence number: it must not prolong the wait.
            if refused || packet.flags.has(Flags::ACK) {
                self.reschedule(now, TIME_WAIT);
            }
            self.answer_quietly(now, packet);
        }
    }

    /// A segment for an orphan that waits for the FIN.
    pub(super) fn receive_quiet_fin_wait2(&mut self, now: Instant, packet: &Packet) {
        let end = packet.end();
        let flags = packet.flags;
        if self.time_wait_paws_rejects(now, packet) || !self.overlaps_window(packet) {
            self.answer_quietly(now, packet);
        } else if flags.has(Flags::RST) {
            self.done();
        } else if flags.has(Flags::SYN) && packet.seq >= self.rcv.nxt {
            self.abort_quietly(packet);
        } else if !flags.has(Flags::ACK) || end <= self.rcv.nxt || end == packet.seq {
            // A duplicate ACK.
        } else if !flags.has(Flags::FIN) || end != self.rcv.nxt + 1 {
            // Data that nobody will read.
            self.abort_quietly(packet);
        } else {
            self.rcv.nxt = end;
            self.rcv.wup = end;
            self.rcv.waiting_quietly = false;
            self.note_quietly(now, packet);
            self.rcv.time_wait_since = now;
            self.set_state(State::TimeWait);
            self.reschedule(now, TIME_WAIT);
            self.send_quiet_ack(now, self.last_ecn());
        }
    }

    fn abort_quietly(&mut self, packet: &Packet) {
        self.done();
        self.send_reset_for(packet);
    }

    /// `tcp_in_window`.
    fn overlaps_window(&self, packet: &Packet) -> bool {
        let (start, limit) = (self.rcv.nxt, self.rcv.nxt + self.rcv.wnd);
        packet.seq == start
            || (packet.end() > start && packet.seq < limit)
            || (packet.seq == limit && packet.seq == packet.end())
    }

    fn note_quietly(&mut self, now: Instant, packet: &Packet) {
        if let Some(timestamps) = self.timestamps_of(packet) {
            self.rcv.store_ts_recent(now, timestamps);
        }
    }

    /// `tcp_timewait_check_oow_rate_limit`.
    fn answer_quietly(&mut self, now: Instant, packet: &Packet) {
        let has_data = packet.seq != packet.end() && !packet.flags.has(Flags::SYN);
        if has_data || !self.is_rate_limited(now) {
            self.send_quiet_ack(now, Ecn::NotEct);
        }
    }

    /// An ACK with the final sequence numbers (`tcp_v4_timewait_ack`): no options but timestamps. Only the first has the
    /// ECN field of what was sent before (`TCP_TW_ACK`, not `TCP_TW_ACK_OOW`).
    fn send_quiet_ack(&mut self, now: Instant, ecn: Ecn) {
        let window = (self.rcv.wnd >> self.receive_scale()).min(65_535);
        let timestamps = self
            .negotiated
            .timestamps
            .then(|| Timestamps { val: self.timestamp(now), ecr: self.rcv.ts_recent });
        self.out.push_back(Packet {
            ack: self.rcv.nxt,
            window: window as u16,
            timestamps,
            ecn,
            ..Packet::new(Flags::ACK, self.snd.nxt, 0)
        });
    }

    /// The wait is over.
    pub(crate) fn end_time_wait(&mut self) {
        self.done();
    }
}
