//! When ACKs are sent (`icsk_ack`; net/ipv4/tcp_input.c and tcp_output.c, 6.18).

use super::receiver::Pending;
use crate::choices::Pingpong;
use crate::clock::Jiffies;
use crate::connection::{Connection, State};
use crate::packet::Packet;
use slowpath_model::{Ecn, Flags, Instant, StreamOffset};
use std::time::Duration;

/// `TCP_MAX_QUICKACKS` (include/net/tcp.h).
pub(super) const MAX_QUICKACKS: u8 = 16;
/// `TCP_ATO_MIN` and `TCP_DELACK_MIN`: HZ/25.
const ATO_MIN: Duration = Duration::from_millis(40);
/// `TCP_DELACK_MAX`: HZ/5.
const DELACK_MAX: Duration = Duration::from_millis(200);
/// The maximum delay of an ACK in neither pingpong nor pushed mode (`tcp_send_delayed_ack`: HZ/2).
const SLOW_ATO_MAX: Duration = Duration::from_millis(500);
/// `TCP_PINGPONG_THRESH`, 5.1 to 5.19.
const PINGPONG_TURNS: u8 = 3;

impl Connection {
    fn ato_min(&self) -> i64 {
        self.ticks(ATO_MIN)
    }

    /// Whether ACKs are delayed to be piggybacked (`inet_csk_in_pingpong_mode`).
    pub(crate) fn in_pingpong_mode(&self) -> bool {
        self.rcv.ack.pingpong >= self.pingpong_threshold()
    }

    fn pingpong_threshold(&self) -> u8 {
        match self.settings.choices.pingpong {
            Pingpong::Replies => self.settings.sysctls.tcp_pingpong_thresh,
            Pingpong::ThreeTurns => PINGPONG_TURNS,
        }
    }

    /// Enters pingpong mode: ACKs are delayed to be piggybacked (`inet_csk_enter_pingpong_mode`).
    pub(crate) fn enter_pingpong_mode(&mut self) {
        self.rcv.ack.pingpong = self.pingpong_threshold();
    }

    /// Leaves pingpong mode (`inet_csk_exit_pingpong_mode`).
    pub(crate) fn exit_pingpong_mode(&mut self) {
        self.rcv.ack.pingpong = 0;
    }

    /// An ACK is pending (`inet_csk_schedule_ack`).
    pub(crate) fn schedule_ack(&mut self) {
        self.rcv.ack.pending.scheduled = true;
    }

    /// Sends the next ACKs immediately, for up to half a window of segments (`tcp_incr_quickack`).
    fn increase_quickack(&mut self, most: u8) {
        let segments = self.rcv.wnd / (2 * self.rcv.ack.rcv_mss).max(1);
        let quick = u8::try_from(segments).unwrap_or(u8::MAX);
        let quick = if quick == 0 { 2 } else { quick }.min(most);
        self.rcv.ack.quick = self.rcv.ack.quick.max(quick);
    }

    /// `tcp_enter_quickack_mode`.
    pub(crate) fn enter_quickack_mode(&mut self, most: u8) {
        self.increase_quickack(most);
        self.exit_pingpong_mode();
        self.rcv.ack.ato = self.ato_min();
    }

    fn in_quickack_mode(&self) -> bool {
        self.settings.route.quickack || (self.rcv.ack.quick != 0 && !self.in_pingpong_mode())
    }

    /// Data arrived in order: adapts the ACK delay to the arrival interval (`tcp_event_data_recv`).
    pub(super) fn data_received(&mut self, now: Instant, packet: &Packet, truesize: u32) {
        self.schedule_ack();
        self.measure_rcv_mss(packet, truesize);
        self.measure_round_trip(now);
        self.adapt_ato(now);
        self.check_ecn(packet);
        if Self::is_telling(packet) {
            self.grow_window(packet.len, truesize);
        }
    }

    fn adapt_ato(&mut self, now: Instant) {
        let jiffies = self.settings.choices.clock.jiffies(now);
        let gap = jiffies.0 - self.rcv.ack.last_data.0;
        self.rcv.ack.last_data = jiffies;
        let least = self.ato_min();
        let rto = self.snd.rtt.rto;
        let ato = self.rcv.ack.ato;
        if ato == 0 {
            self.increase_quickack(MAX_QUICKACKS);
            self.rcv.ack.ato = least;
        } else if gap <= least / 2 {
            self.rcv.ack.ato = (ato >> 1) + least / 2;
        } else if gap < ato {
            self.rcv.ack.ato = ((ato >> 1) + gap).min(rto);
        } else if gap > rto {
            // The peer restarts after a long idle time: do not delay its ACKs.
            self.increase_quickack(MAX_QUICKACKS);
        }
    }

    /// Checks the ECN field of the IP header (`tcp_data_ecn_check`, RFC 3168, section 6.1.3).
    pub(super) fn check_ecn(&mut self, packet: &Packet) {
        if !self.negotiated.ecn.is_on() {
            return;
        }
        match packet.ecn {
            Ecn::NotEct => {
                // Not-ECT among ECT segments: most likely a retransmission.
                if self.rcv.ecn_seen {
                    self.enter_quickack_mode(2);
                }
            }
            Ecn::Ce => {
                if !self.rcv.ecn_demand_cwr && self.negotiated.ecn.is_classic() {
                    self.enter_quickack_mode(2);
                    self.rcv.ecn_demand_cwr = true;
                }
                self.rcv.ecn_seen |= self.negotiated.ecn.is_classic();
            }
            Ecn::Ect0 | Ecn::Ect1 => self.rcv.ecn_seen |= self.negotiated.ecn.is_classic(),
        }
    }

    /// The peer has reduced its window (`tcp_ecn_accept_cwr`).
    pub(super) fn accept_cwr(&mut self, packet: &Packet) {
        if self.negotiated.ecn.is_classic() && packet.flags.has(Flags::CWR) {
            self.rcv.ecn_demand_cwr = false;
            if packet.end() != packet.seq {
                self.rcv.ack.pending.now = true;
            }
        }
    }

    /// Sends an ACK if one is due (`tcp_ack_snd_check`).
    pub(crate) fn ack_snd_check(&mut self, now: Instant) {
        if self.rcv.ack.pending.scheduled {
            self.decide_ack(now, true);
        }
    }

    /// `__tcp_ack_snd_check`; `beyond_hole`: whether there may be out-of-order data.
    pub(super) fn decide_ack(&mut self, now: Instant, beyond_hole: bool) {
        if self.ack_is_due() {
            if self.rcv.ack.held && self.settings.sysctls.tcp_backlog_ack_defer {
                self.rcv.ack.deferred = true;
            } else {
                self.send_ack(now);
            }
            return;
        }
        if !beyond_hole || self.rcv.ofo.is_empty() {
            self.send_delayed_ack(now);
            return;
        }
        if !self.hold_duplicate_ack(now) {
            self.send_ack(now);
        }
    }

    fn ack_is_due(&mut self) -> bool {
        let unacknowledged = self.rcv.nxt.distance_from(self.rcv.wup);
        // More than a segment arrived, and the window advances; or the reader will not wake for it.
        let segment_came = unacknowledged > i64::from(self.rcv.ack.rcv_mss);
        let unread = self.rcv.nxt.distance_from(self.rcv.copied);
        (segment_came
            && (self.congestion.acks_fast()
                || unread < i64::from(self.options.receive_lowat)
                || self.window_to_offer() >= self.rcv.wnd))
            || self.in_quickack_mode()
            || self.rcv.ack.pending.now
    }

    /// Holds back an ACK for out-of-order data, if allowed (ACK compression, since 4.18).
    fn hold_duplicate_ack(&mut self, now: Instant) -> bool {
        let sysctls = &self.settings.sysctls;
        if !self.settings.choices.compressed_acks
            || !self.negotiated.sack
            || self.rcv.ack.compressed >= u32::from(sysctls.tcp_comp_sack_nr)
        {
            return false;
        }
        let ack = &mut self.rcv.ack;
        if ack.hole != Some(self.rcv.nxt) {
            ack.hole = Some(self.rcv.nxt);
            ack.duplicates = 0;
        }
        if ack.duplicates < self.settings.choices.uncompressed_acks {
            ack.duplicates += 1;
            return false;
        }
        ack.compressed += 1;
        if self.timers.compressed_ack.is_none() {
            // A twentieth of the RTT. On an idle CPU, the timer uses its full slack.
            let srtt = self.snd.rtt.srtt_us;
            let seen = self.rcv.rtt.rtt_us;
            let rtt = if srtt != 0 && srtt < seen { srtt } else { seen };
            let delay = Duration::from_nanos(u64::from(rtt) * (1000 >> 3) / 20);
            self.timers.compressed_ack =
                Some(now + delay.min(sysctls.tcp_comp_sack_delay) + sysctls.tcp_comp_sack_slack);
        }
        true
    }

    /// Sends one ACK in place of those held back (`tcp_sack_compress_send_ack`).
    pub(super) fn flush_compressed_ack(&mut self, now: Instant) {
        if self.rcv.ack.compressed == 0 {
            return;
        }
        self.rcv.counters.acks_compressed += self.rcv.ack.compressed - 1;
        self.rcv.ack.compressed = 0;
        self.timers.compressed_ack = None;
        self.send_ack(now);
    }

    /// Sets the delayed ACK timer (`tcp_send_delayed_ack`).
    pub(super) fn send_delayed_ack(&mut self, now: Instant) {
        let clock = self.settings.choices.clock;
        let jiffies = clock.jiffies(now).0;
        let delay = self.ack_delay();
        let mut timeout = jiffies + delay;
        if self.rcv.ack.pending.timer {
            if self.rcv.ack.timeout.0 <= jiffies + (delay >> 2) {
                self.send_ack(now);
                return;
            }
            timeout = timeout.min(self.rcv.ack.timeout.0);
        }
        self.rcv.ack.pending.scheduled = true;
        self.rcv.ack.pending.timer = true;
        self.rcv.ack.timeout = Jiffies(timeout);
        self.timers.delayed_ack = Some(clock.fires(now, timeout - jiffies));
    }

    /// The ACK delay, in ticks.
    fn ack_delay(&self) -> i64 {
        let least = self.ato_min();
        let mut ato = self.rcv.ack.ato;
        if ato > least {
            let soon = self.in_pingpong_mode() || self.rcv.ack.pending.pushed;
            let mut most = self.ticks(if soon { DELACK_MAX } else { SLOW_ATO_MAX });
            if let Some(srtt) = self.snd.rtt.smoothed() {
                most = most.min(self.ticks(srtt).max(least));
            }
            ato = ato.min(most);
        }
        ato.min(self.longest_ack_delay())
    }

    /// `tcp_delack_max`: shorter than the minimum RTO.
    fn longest_ack_delay(&self) -> i64 {
        let rto_min = self.ticks(self.rto_min());
        self.ticks(self.options.delack_max.unwrap_or(DELACK_MAX)).min(rto_min.max(2) - 1)
    }

    /// The delayed ACK timer (`tcp_delack_timer_handler`).
    pub(crate) fn delayed_ack_timer(&mut self, now: Instant) {
        if self.state == State::Closed {
            return;
        }
        self.reclaim_memory();
        if self.rcv.ack.compressed != 0 {
            self.flush_compressed_ack(now);
            return;
        }
        if !std::mem::take(&mut self.rcv.ack.pending.timer) || !self.rcv.ack.pending.scheduled {
            return;
        }
        if self.in_pingpong_mode() {
            // No data was sent to piggyback it on.
            self.exit_pingpong_mode();
            self.rcv.ack.ato = self.ato_min();
        } else {
            self.rcv.ack.ato = (self.rcv.ack.ato << 1).min(self.snd.rtt.rto);
        }
        self.rcv.counters.delayed_acks += 1;
        self.send_ack(now);
    }

    /// The timer of a compressed ACK (`tcp_compressed_ack_kick`).
    pub(crate) fn compressed_ack_timer(&mut self, now: Instant) {
        self.flush_compressed_ack(now);
    }

    /// Sends an ACK (`tcp_send_ack`).
    pub(crate) fn send_ack(&mut self, now: Instant) {
        if self.state != State::Closed {
            let seq = self.acceptable_seq();
            self.transmit_control(now, Flags::ACK, seq);
        }
    }

    /// The sequence number of a segment without data: within the peer's window, even if that shrank
    /// (`tcp_acceptable_seq`).
    pub(crate) fn acceptable_seq(&self) -> StreamOffset {
        let window_end = self.snd.una + self.snd.wnd;
        let beyond = self.snd.nxt.distance_from(window_end);
        let rounding = self.negotiated.window_scale.map_or(0, |(_, ours)| 1_i64 << ours);
        if beyond <= 0 || beyond < rounding { self.snd.nxt } else { window_end }
    }

    /// A segment with an ACK was sent (`tcp_event_ack_sent`): no ACK is pending any more.
    pub(crate) fn ack_was_sent(&mut self, now: Instant) {
        let least = self.ato_min();
        let ack = &mut self.rcv.ack;
        if ack.compressed != 0 {
            self.rcv.counters.acks_compressed += ack.compressed;
            ack.compressed = 0;
            self.timers.compressed_ack = None;
        }
        // Only an ACK that was pending counts against the quick ones (`tcp_dec_quickack_mode`).
        if ack.quick != 0 && ack.pending.scheduled {
            ack.quick -= 1;
            if ack.quick == 0 {
                ack.ato = least;
            }
        }
        ack.pending = Pending::default();
        ack.deferred = false;
        ack.last_sent = Some(now);
        self.timers.delayed_ack = None;
        self.rcv.duplicate_sack = None;
    }

    /// Data was sent: if it answers received data, later ACKs wait for piggybacking (`tcp_event_data_sent`).
    pub(crate) fn data_was_sent(&mut self, now: Instant, last_sent: Instant) {
        let clock = self.settings.choices.clock;
        let gap = clock.jiffies(now).0 - self.rcv.ack.last_data.0;
        let counts = match self.settings.choices.pingpong {
            Pingpong::Replies => true,
            // In ticks: a turn within one tick is not counted.
            Pingpong::ThreeTurns => clock.jiffies(last_sent).0 < self.rcv.ack.last_data.0,
        };
        if counts && gap < self.rcv.ack.ato {
            self.rcv.ack.pingpong = self.rcv.ack.pingpong.saturating_add(1);
        }
    }

    /// A process has locked the socket and processes its backlog: immediate ACKs wait for
    /// [`end_backlog`](Self::end_backlog) (`tcp_backlog_ack_defer`).
    pub fn begin_backlog(&mut self) {
        self.rcv.ack.held = true;
    }

    /// The backlog is processed: one ACK for all of it (`tcp_release_cb`).
    pub fn end_backlog(&mut self, now: Instant) {
        self.rcv.ack.held = false;
        if std::mem::take(&mut self.rcv.ack.deferred) && self.rcv.ack.pending.scheduled {
            self.send_ack(now);
        }
    }

    /// The application has read data: sends a window update if it matters (`__tcp_cleanup_rbuf`).
    pub(crate) fn cleanup_rbuf(&mut self, now: Instant, copied: u32) {
        let rcv = &self.rcv;
        let mut time_to_ack = false;
        if rcv.ack.pending.scheduled {
            let unacknowledged = rcv.nxt.distance_from(rcv.wup);
            let emptied = copied > 0 && rcv.rmem_alloc == 0;
            let quiet = !self.in_pingpong_mode();
            time_to_ack = unacknowledged > i64::from(rcv.ack.rcv_mss)
                || (emptied && (rcv.ack.pending.pushed2 || (rcv.ack.pending.pushed && quiet)));
        }
        // A window update that at least doubles the peer's remaining window.
        if copied > 0 && !time_to_ack && !self.receive_shutdown {
            let left = self.rcv.window_left();
            if 2 * u64::from(left) <= u64::from(self.rcv.window_clamp) {
                let new = self.window_to_offer();
                time_to_ack = new != 0 && u64::from(new) >= 2 * u64::from(left);
            }
        }
        if time_to_ack {
            self.send_ack(now);
        }
    }
}
