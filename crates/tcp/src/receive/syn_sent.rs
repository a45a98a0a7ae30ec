//! The answer to our SYN (`tcp_rcv_synsent_state_process`, net/ipv4/tcp_input.c, 6.18).

use super::acks::MAX_QUICKACKS;
use super::ecn_field::answering_flags;
use crate::connection::{Connection, State};
use crate::packet::{Packet, TcpOptions};
use crate::send::timer::MIN_TIMEOUT_TICKS;
use crate::timers::Pending;
use slowpath_model::{Flags, Instant, Timestamps};
use std::time::Duration;

/// How long the ACK of a SYN-ACK waits to be piggybacked (`TCP_DELACK_MAX`).
const ACK_WAITS: Duration = Duration::from_millis(200);

impl Connection {
    /// A segment for a connection in SYN-SENT.
    pub(super) fn receive_syn_sent(&mut self, now: Instant, packet: &Packet) {
        let flags = packet.flags;
        if flags.has(Flags::ACK) {
            let elsewhere = packet.ack <= self.snd.una || packet.ack > self.snd.nxt;
            if elsewhere && self.snd.retransmits == 0 {
                // It belongs to an older connection that our RST ends: retransmit the SYN soon.
                self.set_retransmit_timer(now, Pending::Retransmit, MIN_TIMEOUT_TICKS);
            }
            if elsewhere || self.echoes_nonsense(now, packet) {
                self.send_reset_for(packet);
            } else if flags.has(Flags::RST) {
                self.reset(now);
            } else if flags.has(Flags::SYN) {
                self.syn_ack_received(now, packet);
            }
        } else if flags.has(Flags::SYN) && !flags.has(Flags::RST) && !self.old_syn(now, packet) {
            self.simultaneous_open(now, packet);
        }
    }

    /// Whether the echoed timestamp is none that was sent since the first SYN.
    fn echoes_nonsense(&self, now: Instant, packet: &Packet) -> bool {
        let Some(stamps) = packet.timestamps.filter(|stamps| stamps.ecr != 0) else { return false };
        if self.settings.sysctls.tcp_timestamps == 0 {
            return false;
        }
        let newest = self.timestamp(now);
        let oldest = self.snd.retrans_stamp.map_or(newest, |first| self.timestamp(first));
        newest.wrapping_sub(stamps.ecr) > newest.wrapping_sub(oldest)
    }

    fn old_syn(&self, now: Instant, packet: &Packet) -> bool {
        packet.timestamps.is_some_and(|stamps| {
            self.rcv.ts_recent_stamp.is_some() && self.rcv.paws_rejects(now, stamps, false)
        })
    }

    fn syn_ack_received(&mut self, now: Instant, packet: &Packet) {
        self.learn_ecn(packet);
        self.learn_syn_options(packet);
        if self.negotiated.window_scale.is_none() {
            self.rcv.window_clamp = self.rcv.window_clamp.min(65_535);
        }
        self.snd.wl1 = packet.seq;
        self.ack(now, packet, true);
        self.rcv.nxt = packet.seq + 1;
        self.rcv.wup = self.rcv.nxt;
        self.rcv.copied = self.rcv.nxt;
        if let Some(timestamps) = self.timestamps_of(packet) {
            self.rcv.advmss = self.rcv.advmss.saturating_sub(12);
            self.rcv.store_ts_recent(now, timestamps);
        }
        self.snd_established(now, packet);
        self.begin_mtu_search(now);
        self.sync_mss();
        self.init_rcv_mss();
        self.finish_connect(now);
        self.wakeups.state |= !self.orphaned;
        self.wakeups.writable |= !self.orphaned;
        if self.fast_open_answered(now, packet) {
            // The retransmitted data carries the ACK.
            self.forget_reflecting();
            self.urgent_received(packet);
            self.data_snd_check(now);
            return;
        }
        // A pending write and some options promise data to carry the ACK.
        if std::mem::take(&mut self.snd.write_pending)
            || self.options.defer_accept != 0
            || self.in_pingpong_mode()
        {
            self.schedule_ack();
            self.enter_quickack_mode(MAX_QUICKACKS);
            self.forget_reflecting();
            self.rcv.ack.pending.timer = true;
            let clock = self.settings.choices.clock;
            self.timers.delayed_ack = Some(clock.fires(now, clock.ticks(ACK_WAITS)));
            return;
        }
        self.send_ack(now);
        self.urgent_received(packet);
        self.data_snd_check(now);
    }

    /// Option negotiation (`tcp_parse_options` and what follows).
    fn learn_syn_options(&mut self, packet: &Packet) {
        let theirs = packet.syn_options();
        let sysctls = &self.settings.sysctls;
        let agreed = &mut self.negotiated;
        agreed.mss = crate::socket::peer_mss(theirs.mss, &self.options, &self.settings);
        agreed.timestamps = sysctls.tcp_timestamps != 0 && packet.timestamps.is_some();
        agreed.sack = sysctls.tcp_sack && theirs.sack_permitted;
        let ours = self.rcv.offered_scale;
        agreed.window_scale = theirs
            .window_scale
            .filter(|_| sysctls.tcp_window_scaling)
            .map(|shift| (shift.min(super::initial_window::MAX_WINDOW_SCALE), ours));
    }

    /// `tcp_finish_connect`.
    fn finish_connect(&mut self, now: Instant) {
        self.set_state(State::Established);
        self.snd.last_sent = now;
        self.rcv.ack.last_data = self.settings.choices.clock.jiffies(now);
        self.init_transfer(now);
        self.init_receive_buffer(now);
        self.start_keepalive(now);
        self.rcv.fast_path = self.negotiated.window_scale.is_none_or(|(theirs, _)| theirs == 0);
    }

    /// Both sides have sent a SYN (RFC 9293, section 3.5, figure 8).
    fn simultaneous_open(&mut self, now: Instant, packet: &Packet) {
        self.set_state(State::SynReceived);
        self.learn_syn_options(packet);
        if self.negotiated.window_scale.is_none() && self.settings.sysctls.tcp_window_scaling {
            // Linux does not check here whether the peer scales, and scales our windows anyway.
            self.negotiated.window_scale = Some((0, self.rcv.offered_scale));
        }
        if let Some(timestamps) = self.timestamps_of(packet) {
            self.rcv.store_ts_recent(now, timestamps);
        }
        self.rcv.nxt = packet.seq + 1;
        self.rcv.copied = self.rcv.nxt;
        self.rcv.wup = self.rcv.nxt;
        self.snd.wnd = u32::from(packet.window);
        self.snd.wl1 = packet.seq;
        self.snd.max_window = self.snd.wnd;
        self.learn_ecn_of_crossed_syn(packet);
        self.sync_mss();
        self.init_rcv_mss();
        self.send_crossed_syn_ack(now);
    }

    /// Retransmits our SYN with the ACK of the peer's (`tcp_send_synack`).
    fn send_crossed_syn_ack(&mut self, now: Instant) {
        let flags = answering_flags(self.negotiated.ecn, self.rcv.accurate.syn());
        if let Some(id) = self.snd.queue.head() {
            // A retransmission must carry the same flags.
            self.snd.queue[id].flags = flags;
        }
        let timestamps = (self.settings.sysctls.tcp_timestamps != 0)
            .then(|| Timestamps { val: self.timestamp(now), ecr: self.rcv.ts_recent });
        self.out.push_back(Packet {
            ack: self.rcv.nxt,
            window: self.initial_window_field(),
            timestamps,
            options: TcpOptions::Syn(self.syn_options()),
            ..Packet::new(flags, self.snd.una, 0)
        });
        self.ack_was_sent(now);
    }

    /// The window scale that our SYN offers.
    pub(crate) fn offered_window_scale(&self) -> u8 {
        self.rcv.offered_scale
    }
}
