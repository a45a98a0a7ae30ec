//! Whether a segment belongs to the connection (`tcp_validate_incoming`, net/ipv4/tcp_input.c, 6.18; RFC 5961,
//! RFC 7323).

use super::acks::MAX_QUICKACKS;
use super::receiver::Receiver;
use crate::connection::{Connection, State};
use crate::packet::Packet;
use slowpath_model::{Flags, Instant, StreamOffset, Timestamps};
use std::time::Duration;

/// `TCP_PAWS_WINDOW` (include/net/tcp.h): how far back a timestamp may be.
const PAWS_WINDOW: i32 = 1;
/// `TCP_PAWS_WRAP`: after this time a timestamp proves nothing (2147 s, since 6.7; 24 days before).
const PAWS_WRAP: Duration = Duration::from_secs(2147);
/// `TCP_PAWS_MSL`: after this time a RST is accepted whatever its timestamp.
const PAWS_MSL: Duration = Duration::from_secs(60);

/// How to treat a segment that PAWS would reject (`tcp_disordered_ack_check`).
enum Disordered {
    /// It is merely a reordered ACK.
    Harmless,
    /// An old ACK: dropped without an answer.
    OldAck,
    /// It is rejected.
    Refused,
}

impl Receiver {
    /// How far a timestamp is behind `ts_recent`.
    fn behind(&self, timestamps: Timestamps) -> i32 {
        // Timestamps wrap; the difference is signed (RFC 7323, section 5.2).
        self.ts_recent.wrapping_sub(timestamps.val) as i32
    }

    /// Whether `ts_recent` is older than `age`.
    fn ts_recent_older(&self, now: Instant, age: Duration) -> bool {
        self.ts_recent_stamp.is_none_or(|stamp| now.since(stamp).is_some_and(|since| since >= age))
    }

    /// Whether a timestamp passes (`tcp_paws_check`).
    fn paws_passes(&self, now: Instant, timestamps: Timestamps, window: i32) -> bool {
        self.behind(timestamps) <= window || self.ts_recent_older(now, PAWS_WRAP) || self.ts_recent == 0
    }

    /// Whether PAWS rejects a segment (`tcp_paws_reject`): RSTs are accepted after a while.
    pub(crate) fn paws_rejects(&self, now: Instant, timestamps: Timestamps, reset: bool) -> bool {
        let believed = reset && self.ts_recent_older(now, PAWS_MSL);
        !believed && !self.paws_passes(now, timestamps, 0)
    }

    /// Whether a timestamp is newer than `ts_recent`.
    pub(super) fn is_newer(&self, timestamps: Timestamps) -> bool {
        self.behind(timestamps) < 0
    }

    /// Whether a timestamp is older than `ts_recent`.
    pub(super) fn is_older(&self, timestamps: Timestamps) -> bool {
        self.behind(timestamps) > 0
    }

    /// Stores the timestamp to echo (`tcp_store_ts_recent`).
    pub(crate) fn store_ts_recent(&mut self, now: Instant, timestamps: Timestamps) {
        self.ts_recent = timestamps.val;
        self.ts_recent_stamp = Some(now);
    }
}

impl Connection {
    /// The timestamps of a segment, if the connection uses them.
    pub(super) fn timestamps_of(&self, packet: &Packet) -> Option<Timestamps> {
        packet.timestamps.filter(|_| self.negotiated.timestamps)
    }

    /// Stores the timestamp of a segment that begins at or before the last acknowledged number
    /// (`tcp_replace_ts_recent`; RFC 7323, section 4.3).
    pub(super) fn replace_ts_recent(&mut self, now: Instant, packet: &Packet) {
        if let Some(timestamps) = self.timestamps_of(packet)
            && packet.seq <= self.rcv.wup
            && self.rcv.paws_passes(now, timestamps, 0)
        {
            self.rcv.accurate.stamp_advanced = self.rcv.is_newer(timestamps);
            self.rcv.store_ts_recent(now, timestamps);
        }
    }

    /// Whether the segment is to be processed; if not, it has been answered as required (`tcp_validate_incoming`).
    pub(super) fn validate_incoming(&mut self, now: Instant, packet: &Packet) -> bool {
        let reset = packet.flags.has(Flags::RST);
        let syn = packet.flags.has(Flags::SYN);
        if let Some(timestamps) = self.timestamps_of(packet)
            && !self.rcv.paws_passes(now, timestamps, PAWS_WINDOW)
            && !self.survives_paws(now, packet, timestamps)
        {
            return false;
        }
        if !self.in_window(packet) {
            if reset {
                if self.is_reset_after_fin(packet) {
                    self.reset(now);
                }
            } else if syn && self.settings.choices.challenges {
                self.send_challenge_ack(now);
            } else {
                self.answer_out_of_window(now, packet);
            }
            return false;
        }
        if reset {
            if self.is_exact_reset(packet) {
                self.reset(now);
            } else {
                if self.rcv.counters.data_segs_in == 0 && self.state == State::Established {
                    self.blame_fast_open();
                }
                self.send_challenge_ack(now);
            }
            return false;
        }
        !syn || self.accepts_syn(now, packet)
    }

    /// A SYN within the window: a late copy of the handshake's may pass, a new one not (RFC 5961, section 4.2).
    fn accepts_syn(&mut self, now: Instant, packet: &Packet) -> bool {
        if !self.settings.choices.challenges {
            let new = packet.seq >= self.rcv.nxt;
            if new {
                self.reset(now);
                self.send_reset_for(packet);
            }
            return !new;
        }
        let repeated = self.is_repeated_syn_ack(packet);
        if !repeated {
            self.reflect_syn(packet);
            self.send_challenge_ack(now);
            self.forget_reflecting();
        }
        repeated
    }

    /// Whether a RST within the window is accepted: only at `rcv_nxt` (RFC 5961, section 3.2).
    fn is_exact_reset(&self, packet: &Packet) -> bool {
        !self.settings.choices.challenges
            || packet.seq == self.rcv.nxt
            || self.is_reset_after_fin(packet)
            || self.is_reset_after_sack(packet)
    }

    /// A segment whose timestamp is too old: returns whether it may pass anyway.
    fn survives_paws(&mut self, now: Instant, packet: &Packet, timestamps: Timestamps) -> bool {
        let disordered = self.disordered_ack(packet, timestamps);
        if matches!(disordered, Disordered::Harmless) || packet.flags.has(Flags::RST) {
            return true;
        }
        self.rcv.counters.paws_rejected += 1;
        if packet.flags.has(Flags::SYN) {
            self.send_challenge_ack(now);
        } else if matches!(disordered, Disordered::Refused) {
            self.answer_out_of_window(now, packet);
        }
        false
    }

    /// `tcp_disordered_ack_check`.
    fn disordered_ack(&self, packet: &Packet, timestamps: Timestamps) -> Disordered {
        if !packet.flags.has(Flags::ACK) || packet.seq != packet.end() {
            return Disordered::Refused;
        }
        if packet.seq != self.rcv.nxt {
            return if packet.seq < self.rcv.nxt { Disordered::OldAck } else { Disordered::Refused };
        }
        // An ACK may be reordered within an RTO of a peer with a millisecond clock, and slightly more.
        let replay = self.snd.rtt.rto.saturating_mul(1200) / i64::from(self.settings.choices.clock.hz.max(1));
        if packet.ack != self.snd.una
            || self.would_update_window(packet)
            || i64::from(self.rcv.behind(timestamps)) > replay
        {
            Disordered::Refused
        } else {
            Disordered::Harmless
        }
    }

    /// `tcp_may_update_window`, for an ACK of nothing new.
    fn would_update_window(&self, packet: &Packet) -> bool {
        let theirs = self.negotiated.window_scale.map_or(0, |(theirs, _)| theirs);
        let window = u32::from(packet.window) << theirs;
        packet.seq > self.snd.wl1 || (packet.seq == self.snd.wl1 && (window > self.snd.wnd || window == 0))
    }

    /// Whether a segment overlaps the window (`tcp_sequence`).
    fn in_window(&self, packet: &Packet) -> bool {
        if packet.end() < self.rcv.wup {
            return false;
        }
        let limit = self.rcv.nxt + self.rcv.window_left();
        let fin = u32::from(packet.flags.has(Flags::FIN));
        // Data beyond the window comes from a stack that ignores it: accepted only if the receive queue is empty
        // (6.17); a lone FIN does no harm.
        packet.end() <= limit
            || packet.end() - fin <= limit
            || (packet.seq <= limit
                && (self.rcv.queue.is_empty() || self.settings.choices.data_beyond_window))
    }

    /// The peer has closed, and then sent a RST with the sequence number of its FIN (`tcp_reset_check`).
    fn is_reset_after_fin(&self, packet: &Packet) -> bool {
        packet.seq + 1 == self.rcv.nxt
            && matches!(self.state, State::CloseWait | State::LastAck | State::Closing)
    }

    /// A RST at the right edge of the highest SACK block (RFC 5961, section 3.2, extended to SACK).
    fn is_reset_after_sack(&self, packet: &Packet) -> bool {
        self.negotiated.sack
            && self.rcv.sacks.as_slice().iter().map(|block| block.end).max() == Some(packet.seq)
    }

    /// A retransmitted SYN-ACK of a simultaneous open.
    fn is_repeated_syn_ack(&self, packet: &Packet) -> bool {
        self.state == State::SynReceived
            && packet.flags.has(Flags::ACK)
            && packet.len == 0
            && packet.seq + 1 == self.rcv.nxt
            && packet.ack == self.snd.nxt
    }

    /// Sends a duplicate ACK, unless one was sent recently (`tcp_send_dupack`, `tcp_oow_rate_limited`).
    fn answer_out_of_window(&mut self, now: Instant, packet: &Packet) {
        let has_data = packet.seq != packet.end() && !packet.flags.has(Flags::SYN);
        if !has_data && self.is_rate_limited(now) {
            return;
        }
        if packet.end() != packet.seq && packet.seq < self.rcv.nxt {
            self.enter_quickack_mode(MAX_QUICKACKS);
            self.note_duplicate_again(packet);
            let end = packet.end().min(self.rcv.nxt);
            self.set_duplicate_sack(packet.seq, end);
        }
        self.send_ack(now);
    }

    /// Rate limit of ACKs for out-of-window segments; if it allows one, counts it as sent now
    /// (`__tcp_oow_rate_limited`).
    pub(crate) fn is_rate_limited(&mut self, now: Instant) -> bool {
        let clock = self.settings.choices.clock;
        let limit = self.settings.sysctls.tcp_invalid_ratelimit;
        if let Some(last) = self.rcv.last_oow_ack {
            let elapsed = clock.jiffies(now).0 - clock.jiffies(last).0;
            if (0..clock.ticks(limit)).contains(&elapsed) {
                return true;
            }
        }
        self.rcv.last_oow_ack = Some(now);
        false
    }

    /// Sends a challenge ACK (`tcp_send_challenge_ack`; RFC 5961, section 7).
    pub(crate) fn send_challenge_ack(&mut self, now: Instant) {
        if !self.is_rate_limited(now) {
            self.rcv.counters.challenge_acks += 1;
            self.send_ack(now);
        }
    }

    /// Whether an ACK number is for something sent and is not too old (`tcp_ack`'s first checks).
    pub(super) fn acknowledges_outstanding(&self, ack: StreamOffset) -> bool {
        self.snd.una <= ack && ack <= self.snd.nxt
    }
}
