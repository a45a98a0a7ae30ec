//! Which segment may be sent now, and how it is built (`tcp_write_xmit`, tcp_output.c, 6.18).

use super::chrono::Waiting;
use super::mtu_probe::Probing;
use super::skb::{Skb, SkbId};
use super::tso::Defer;
use super::write::Nagle;
use crate::choices::TimestampClock;
use crate::congestion::CaEvent;
use crate::connection::{Connection, State};
use crate::packet::{DEFAULT_MSS, Packet, TCP_HEADER};
use crate::settings::Settings;
use slowpath_model::{Ecn, Flags, Instant, StreamOffset, Timestamps};

/// How much of the unsent data to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    /// All that windows and Nagle allow.
    All,
    /// One buffer (`push_one`).
    One,
    /// One segment although the window is full: a tail loss probe.
    Probe,
}

/// The timestamp clock at the recording's start: an echo of 0 means "none" (RFC 7323, section 3.2).
const TIMESTAMP_START: i64 = 1 << 20;

impl Settings {
    /// The timestamp at an instant (`tcp_time_stamp_ts`).
    pub(crate) fn timestamp(&self, at: Instant) -> u32 {
        let ticks = match self.choices.timestamp_clock {
            TimestampClock::Milliseconds => at.nanos().div_euclid(1_000_000),
            TimestampClock::Jiffies => self.choices.clock.jiffies(at).0,
        };
        // Wraps like the field.
        (ticks + TIMESTAMP_START) as u32
    }
}

impl Connection {
    /// The timestamp at an instant (`tcp_time_stamp_ts`).
    pub(crate) fn timestamp(&self, at: Instant) -> u32 {
        self.settings.timestamp(at)
    }

    /// Microseconds per tick of the timestamp clock.
    pub(crate) fn timestamp_micros(&self) -> u32 {
        match self.settings.choices.timestamp_clock {
            TimestampClock::Milliseconds => 1000,
            TimestampClock::Jiffies => {
                u32::try_from(self.settings.choices.clock.tick_nanos() / 1000).unwrap_or(1000)
            }
        }
    }

    /// The RTT sample from an ACK's echo, in microseconds (`tcp_rtt_tsopt_us`); at least one tick of the clock.
    pub(super) fn echoed_rtt_us(&self, now: Instant) -> Option<u32> {
        let ticks = self.timestamp(now).wrapping_sub(self.snd.rack.echoed?);
        let micros = self.timestamp_micros();
        (ticks < u32::MAX / micros).then(|| ticks.max(1) * micros)
    }

    /// The MSS of the next segment, without its options (`tcp_current_mss`).
    pub(crate) fn current_mss(&self) -> u32 {
        let (options, ecn_bytes) = self.options_after_handshake();
        let packet = Packet { options, ecn_bytes, ..Packet::new(Flags::ACK, self.snd.nxt, 0) };
        self.snd.mss.saturating_sub(packet.option_bytes()).max(1)
    }

    /// The current MSS, after a change of the route's MTU (`tcp_current_mss`).
    pub(super) fn mss_now(&mut self) -> u32 {
        if let Some(mtu) = self.snd.new_mtu.take() {
            self.snd.pmtu = mtu;
            self.sync_mss();
        }
        self.current_mss()
    }

    /// `tcp_sync_mss`: the MSS that the path's MTU and the peer allow.
    pub(crate) fn sync_mss(&mut self) {
        let mss = self.bound_to_half_window(self.mss_of_mtu(self.snd.pmtu));
        self.snd.mss = self.searched_mss().map_or(mss, |searched| searched.min(mss));
    }

    /// `tcp_bound_to_half_wnd`: at most half the largest window seen.
    pub(super) fn bound_to_half_window(&self, size: u32) -> u32 {
        let most = self.snd.max_window;
        let cutoff = if most > DEFAULT_MSS { most >> 1 } else { most };
        if cutoff > 0 && size > cutoff { cutoff.max(68 - TCP_HEADER) } else { size }
    }

    /// The path MTU is smaller than assumed.
    pub(crate) fn reduce_mtu(&mut self, now: Instant, mtu: u32) {
        if mtu < self.snd.pmtu {
            self.snd.pmtu = mtu;
            self.sync_mss();
            self.simple_retransmit(now);
        }
    }

    /// Sends what may be sent, with the socket's Nagle setting (`tcp_push_pending_frames`).
    pub(crate) fn push_pending(&mut self, now: Instant) {
        if !self.snd.queue.is_all_sent() {
            let mss = self.mss_now();
            self.push_frames(now, mss, self.nagle());
        }
    }

    /// `TCP_NODELAY` was set: data held back by Nagle is sent (`__tcp_sock_set_nodelay`).
    pub(crate) fn push_now(&mut self, now: Instant) {
        if !self.snd.queue.is_all_sent() {
            let mss = self.current_mss();
            let nagle = Nagle { push: true, ..self.nagle() };
            self.push_frames(now, mss, nagle);
        }
    }

    /// `__tcp_push_pending_frames`: if nothing is sent and nothing is in flight, only a probe can find the window open.
    pub(super) fn push_frames(&mut self, now: Instant, mss: u32, nagle: Nagle) {
        if self.state == State::Closed {
            return;
        }
        if self.write_out(now, mss, nagle, Amount::All) {
            self.check_window_probe(now);
        }
    }

    /// `tcp_push_one`.
    pub(super) fn push_one(&mut self, now: Instant, mss: u32) {
        self.write_out(now, mss, Nagle::PUSH, Amount::One);
    }

    /// `tcp_write_xmit`; returns whether data waits although nothing is in flight.
    pub(super) fn write_out(&mut self, now: Instant, mss: u32, nagle: Nagle, amount: Amount) -> bool {
        let mss = self.mss_with_beacon(now, mss);
        let most_segments = self.tso_segments(mss);
        let (mut by_cwnd, mut by_window, mut sent) = (false, false, 0);
        if amount == Amount::All {
            match self.probe_mtu(now) {
                Probing::No => {}
                Probing::Waits => return false,
                Probing::Went => sent = 1,
            }
        }
        while let Some(id) = self.snd.queue.send_head() {
            if self.has_to_wait(now) {
                break;
            }
            let mut quota = self.cwnd_quota();
            if quota == 0 {
                if amount != Amount::Probe {
                    break;
                }
                quota = 1;
            }
            let quota = quota.min(most_segments);
            let missing = (quota * mss).saturating_sub(self.snd.queue[id].len());
            if self.settings.choices.grown_super_packets {
                self.grow_head(missing);
            }
            let segments = self.snd.queue[id].cut(mss);
            let skb = self.snd.queue[id];
            if !self.window_admits(&skb, mss) {
                by_window = true;
                break;
            }
            let is_last = self.snd.queue.unsent_count() == 1;
            if segments == 1 {
                let nagle = if is_last { nagle } else { Nagle::PUSH };
                if !self.nagle_admits(&skb, mss, nagle) {
                    break;
                }
            } else if amount == Amount::All {
                match self.should_defer(now, &skb, is_last, most_segments) {
                    Defer::No => {}
                    reason => {
                        by_cwnd = reason == Defer::ForCongestionWindow;
                        by_window = reason == Defer::ForReceiveWindow;
                        break;
                    }
                }
            }
            let limit = if segments > 1 && !self.snd.is_urgent() {
                self.split_point(&skb, is_last, mss, quota, nagle)
            } else {
                mss
            };
            if skb.len() > limit {
                self.fragment_unsent(id, limit, mss);
            }
            let skb = self.snd.queue[id];
            if skb.seq == skb.end_seq || self.is_throttled(&skb, false) {
                break;
            }
            sent += self.send_head(now, id, mss);
            if amount != Amount::All {
                break;
            }
        }
        self.after_writing(now, by_cwnd, by_window, sent, amount)
    }

    fn after_writing(
        &mut self,
        now: Instant,
        by_cwnd: bool,
        by_window: bool,
        sent: u32,
        amount: Amount,
    ) -> bool {
        if by_window {
            self.snd.chrono.start(now, Waiting::ReceiveWindow);
        } else {
            let idle = self.snd.is_idle();
            self.snd.chrono.stop(now, Waiting::ReceiveWindow, idle);
        }
        let limited = by_cwnd || self.snd.in_flight() >= self.snd.window.cwnd;
        if sent > 0 || limited {
            self.validate_window(now, limited);
        }
        if sent == 0 {
            return self.snd.packets_out == 0 && !self.snd.queue.is_all_sent();
        }
        if self.snd.in_reduction() {
            self.snd.prr_out += sent;
        }
        if amount != Amount::Probe {
            self.schedule_loss_probe(now, false);
        }
        false
    }

    /// `tcp_cwnd_test`: the number of segments that may be sent; at most half a window at once, so that two bursts are in flight.
    fn cwnd_quota(&self) -> u32 {
        let free = self.snd.window.cwnd.saturating_sub(self.snd.in_flight()).min(self.burst_left());
        if self.settings.choices.super_packets { free.min((self.snd.window.cwnd >> 1).max(1)) } else { free }
    }

    /// `tcp_snd_wnd_test`.
    pub(super) fn window_admits(&self, skb: &Skb, mss: u32) -> bool {
        let end = if skb.len() > mss { skb.seq + mss } else { skb.end_seq };
        end <= self.snd.wnd_end()
    }

    /// `tcp_nagle_test`.
    pub(super) fn nagle_admits(&self, skb: &Skb, mss: u32, nagle: Nagle) -> bool {
        nagle.push
            || self.snd.is_urgent()
            || skb.flags.has(Flags::FIN)
            || !self.nagle_holds(skb.len() < mss, nagle)
    }

    /// `tcp_nagle_check` with Minshall's change: only a small segment in flight holds back another.
    fn nagle_holds(&self, partial: bool, nagle: Nagle) -> bool {
        let small_out = self.snd.small_end > self.snd.una && self.snd.small_end <= self.snd.nxt;
        partial && (nagle.cork || (!nagle.off && !nagle.push && self.snd.packets_out > 0 && small_out))
    }

    /// `tcp_mss_split_point`.
    fn split_point(&self, skb: &Skb, is_last: bool, mss: u32, quota: u32, nagle: Nagle) -> u32 {
        let window = u32::try_from(self.snd.wnd_end().distance_from(skb.seq)).unwrap_or(0);
        let most = mss * quota;
        if most <= window && !is_last {
            return most;
        }
        let needed = skb.len().min(window);
        if most <= needed {
            return most;
        }
        let partial = needed % mss;
        if self.nagle_holds(partial != 0, nagle) { needed - partial } else { needed }
    }

    /// Moves up to `amount` bytes from the following buffers into the first unsent one.
    pub(super) fn grow_head(&mut self, amount: u32) {
        if amount > 0 && self.snd.queue.grow_head(amount) {
            self.free_head();
        }
    }

    pub(super) fn fragment_unsent(&mut self, id: SkbId, len: u32, mss: u32) {
        let rest = self.snd.queue.fragment(id, len);
        self.charge_head();
        self.snd.queue[id].cut(mss);
        self.snd.queue[rest].segments = 0;
    }

    /// Sends the first unsent buffer (`tcp_event_new_data_sent`); returns its number of segments.
    pub(super) fn send_head(&mut self, now: Instant, id: SkbId, mss: u32) -> u32 {
        self.transmit(now, id);
        let skb = self.snd.queue[id];
        let first = self.snd.packets_out == 0;
        self.snd.nxt = skb.end_seq;
        self.snd.queue.head_was_sent();
        if self.snd.highest_sack.is_none() {
            self.snd.highest_sack = Some(id);
        }
        self.snd.packets_out += skb.segments;
        if first || matches!(self.timers.retransmit, Some((crate::timers::Pending::LossProbe, _))) {
            self.rearm_rto(now);
        }
        // `tcp_minshall_update`.
        if skb.len() < skb.segments * mss {
            self.snd.small_end = skb.end_seq;
        }
        self.check_space(now);
        skb.segments
    }

    /// Builds the segment of a buffer and hands it to the network (`__tcp_transmit_skb`).
    pub(super) fn transmit(&mut self, now: Instant, id: SkbId) {
        self.snd.wire_at = self.snd.wire_at.max(now);
        let segments = self.snd.queue[id].segments;
        let record = self.rate_sent(now, segments);
        let skb = &mut self.snd.queue[id];
        skb.sent = record;
        skb.sent_at = self.snd.wire_at;
        let skb = *skb;
        let mut packet = self.header(now, skb.flags, skb.seq);
        packet.len = skb.len();
        if skb.segments > 1 {
            packet.gso_size = u16::try_from(skb.mss).unwrap_or(u16::MAX);
            if self.settings.choices.push_super_packets {
                // The receiver's GRO must pass merged segments up now. The buffer itself keeps its flags for a
                // retransmission.
                packet.flags = packet.flags.with(Flags::PSH);
            }
        }
        self.set_urgent(&mut packet);
        self.set_ecn(&mut packet);
        let last_sent = self.snd.last_sent;
        self.account_sent(now, &skb);
        self.pace(now, skb.len());
        self.hand_down(&packet, skb.segments.max(1));
        self.out.push_back(packet);
        // A changed route is found by the first packet sent (`__sk_dst_check`).
        if self.snd.changed_mtu.is_some() {
            self.snd.new_mtu = self.snd.changed_mtu.take();
        }
        if packet.flags.has(Flags::ACK) {
            self.ack_was_sent(now);
        }
        if skb.len() > 0 {
            self.data_was_sent(now, last_sent);
        }
    }

    fn account_sent(&mut self, now: Instant, skb: &Skb) {
        let totals = &mut self.snd.totals;
        totals.segments_out = totals.segments_out.wrapping_add(skb.segments.max(1));
        if skb.len() == 0 {
            return;
        }
        totals.data_segments_out = totals.data_segments_out.wrapping_add(skb.segments.max(1));
        totals.bytes_sent += u64::from(skb.len());
        self.snd.sent_for_ack = self.snd.sent_for_ack.saturating_add(skb.segments.max(1));
        if self.snd.in_flight() == 0 {
            self.tell_control(now, CaEvent::TransmitStart);
        }
        self.snd.last_sent = now;
    }

    fn set_urgent(&self, packet: &mut Packet) {
        let distance = self.snd.urgent.distance_from(packet.seq);
        if self.snd.is_urgent() && (1..0x1_0000).contains(&distance) {
            packet.urgent = u16::try_from(distance).unwrap_or(u16::MAX);
            packet.flags = packet.flags.with(Flags::URG);
        }
    }

    /// `tcp_ecn_send`: only new data is ECN-capable and carries CWR.
    fn set_ecn(&mut self, packet: &mut Packet) {
        if !self.negotiated.ecn.is_on() || packet.flags.has(Flags::SYN) {
            return;
        }
        if self.negotiated.ecn.is_accurate() {
            self.set_accurate_ecn(packet);
            return;
        }
        if packet.len > 0 && packet.seq >= self.snd.nxt {
            packet.ecn = Ecn::Ect0;
            if std::mem::take(&mut self.snd.queue_cwr) {
                packet.flags = packet.flags.with(Flags::CWR);
            }
        }
        if self.rcv.ecn_demand_cwr {
            packet.flags = packet.flags.with(Flags::ECE);
        }
    }

    /// The header fields of every segment after the handshake.
    fn header(&mut self, now: Instant, flags: Flags, seq: StreamOffset) -> Packet {
        let mut packet = Packet::new(flags, seq, 0);
        if flags.has(Flags::SYN) {
            packet.window = self.initial_window_field();
        } else {
            packet.window = self.select_window();
            self.rcv.accurate.clock = now;
            (packet.options, packet.ecn_bytes) = self.options_after_handshake();
            self.note_ecn_option_sent(now, packet.ecn_bytes.is_some());
        }
        if flags.has(Flags::ACK) {
            packet.ack = self.rcv.nxt;
        }
        if self.negotiated.timestamps {
            packet.timestamps = Some(Timestamps { val: self.timestamp(now), ecr: self.rcv.ts_recent });
        }
        packet
    }

    /// Sends a segment without payload that is not queued: an ACK, a RST, a probe.
    pub(crate) fn transmit_control(&mut self, now: Instant, flags: Flags, seq: StreamOffset) {
        let mut packet = self.header(now, flags, seq);
        self.set_urgent(&mut packet);
        self.set_ecn(&mut packet);
        self.snd.totals.segments_out = self.snd.totals.segments_out.wrapping_add(1);
        self.out.push_back(packet);
        if flags.has(Flags::ACK) {
            self.ack_was_sent(now);
        }
    }

    /// `tcp_send_fin`: on the last unsent buffer if there is one.
    pub(crate) fn send_fin(&mut self, now: Instant) {
        if let Some(id) = self.snd.queue.unsent_tail() {
            let skb = &mut self.snd.queue[id];
            skb.flags = skb.flags.with(Flags::FIN);
            skb.end_seq = skb.end_seq + 1;
            skb.segments = 0;
        } else {
            let seq = self.snd.write_seq;
            self.snd.queue.push_unsent(Skb::new(seq, seq + 1, Flags::FIN.with(Flags::ACK)));
            self.charge_head();
        }
        self.snd.write_seq = self.snd.write_seq + 1;
        let mss = self.current_mss();
        self.push_frames(now, mss, Nagle::OFF);
    }

    /// `tcp_write_queue_purge`.
    pub(crate) fn purge_write_queue(&mut self, now: Instant) {
        self.snd.chrono.stop(now, Waiting::Busy, true);
        self.snd.queue.clear();
        self.snd.wmem_queued = 0;
        self.snd.hints.retransmit = None;
        self.snd.highest_sack = None;
        // SACKed, lost and retransmitted counts stay.
        self.snd.packets_out = 0;
        self.snd.backoff = 0;
        self.timers.retransmit = None;
        self.timers.pacing = None;
    }

    /// Whether data may be sent in this state (`TCPF_ESTABLISHED | …`).
    pub(crate) const fn may_still_send(&self) -> bool {
        matches!(
            self.state,
            State::Established | State::FinWait1 | State::Closing | State::CloseWait | State::LastAck
        )
    }
}
