//! Timeouts, tail loss probes and zero-window probes (tcp_timer.c and tcp_output.c, 6.18).

use super::acking::{AckFlags, Acking};
use super::info::millis_between;
use super::output::Amount;
use super::sender::{Probe, ProbeCount};
use super::skb::Skb;
use super::write::Nagle;
use crate::congestion::{CaEvent, CaState};
use crate::connection::{Connection, State};
use crate::errno::Errno;
use crate::timers::Pending;
use slowpath_model::{Flags, Instant, StreamOffset};
use std::time::Duration;

/// The minimum timeout (`TCP_TIMEOUT_MIN`), in ticks.
pub(crate) const MIN_TIMEOUT_TICKS: i64 = 2;
/// When to try again after a local drop (`TCP_RESOURCE_PROBE_INTERVAL`): half a second.
pub(super) const RESOURCE_PROBE: Duration = Duration::from_millis(500);
/// Consecutive retransmissions without backoff for a thin stream (`TCP_THIN_LINEAR_RETRIES`).
const THIN_RETRIES: u8 = 6;
/// `tcp_early_retrans`: the values that allow tail loss probes.
const TAIL_LOSS_PROBE: std::ops::RangeInclusive<u8> = 3..=4;

impl Connection {
    /// `tcp_reset_xmit_timer`.
    pub(crate) fn set_retransmit_timer(&mut self, now: Instant, pending: Pending, ticks: i64) {
        let pacing = self.snd.wire_at.since(now).map_or(0, |wait| self.ticks(wait));
        let ticks = (ticks + pacing).min(self.rto_max());
        self.timers.retransmit = Some((pending, self.settings.choices.clock.fires(now, ticks)));
    }

    /// `tcp_rearm_rto`.
    pub(crate) fn rearm_rto(&mut self, now: Instant) {
        // Until the SYN-ACK is acknowledged, only it is retransmitted.
        if self.is_fast_open_child() {
            return;
        }
        if self.snd.packets_out == 0 {
            if matches!(self.timers.retransmit, Some((pending, _)) if pending != Pending::WindowProbe) {
                self.timers.retransmit = None;
            }
            return;
        }
        let mut rto = self.snd.rtt.rto;
        // Another timer replaced the RTO: the RTO counts from the head's send time.
        if let Some((Pending::Reordering | Pending::LossProbe, _)) = self.timers.retransmit {
            let left = self.rto_left_us(now).max(1);
            rto = self.ticks(Duration::from_micros(u64::try_from(left).unwrap_or(1)));
        }
        self.set_retransmit_timer(now, Pending::Retransmit, rto);
    }

    /// The RTO in microseconds.
    fn rto_us(&self) -> i64 {
        self.snd.rtt.rto.saturating_mul(self.settings.choices.clock.tick_nanos()) / 1000
    }

    /// Microseconds until the head times out (`tcp_rto_delta_us`).
    fn rto_left_us(&self, now: Instant) -> i64 {
        let rto = self.rto_us();
        match self.snd.queue.head() {
            Some(id) => self.snd.queue[id].sent_at.nanos() / 1000 + rto - now.nanos() / 1000,
            None => rto,
        }
    }

    /// `tcp_set_xmit_timer`.
    pub(super) fn set_transmit_timer(&mut self, now: Instant) {
        if !self.schedule_loss_probe(now, true) {
            self.rearm_rto(now);
        }
    }

    /// `tcp_schedule_loss_probe`: whether a probe will be sent before the RTO. `advancing`: the RTO would restart.
    pub(super) fn schedule_loss_probe(&mut self, now: Instant, advancing: bool) -> bool {
        let allowed = self.settings.choices.tail_loss_probe
            && TAIL_LOSS_PROBE.contains(&self.settings.sysctls.tcp_early_retrans);
        let state = matches!(self.snd.ca_state, CaState::Open | CaState::Cwr);
        if !allowed || !state || self.snd.packets_out == 0 || self.is_reno() || self.is_fast_open_child() {
            return false;
        }
        let mut ticks = self.ticks(self.settings.choices.initial_rto);
        if self.snd.rtt.srtt_us != 0 {
            // Two RTTs, and the receiver's ACK delay for a single segment.
            let extra =
                if self.snd.packets_out == 1 { self.rto_min_us() } else { self.loss_timer_floor_us() };
            ticks =
                self.ticks(Duration::from_micros(u64::from(self.snd.rtt.srtt_us >> 2) + u64::from(extra)));
        }
        let left = if advancing { self.rto_us() } else { self.rto_left_us(now) };
        if let Ok(left @ 1..) = u64::try_from(left) {
            ticks = ticks.min(self.ticks(Duration::from_micros(left)));
        }
        self.set_retransmit_timer(now, Pending::LossProbe, ticks);
        true
    }

    /// `tcp_send_loss_probe`: new data if available, otherwise the last segment.
    pub(crate) fn send_loss_probe(&mut self, now: Instant) {
        // The timer has fired; what remains is where the RTO counts from.
        self.timers.retransmit = Some((Pending::LossProbe, now));
        if self.snd.probe.is_none() && self.loss_probe_went(now) {
            // The RTO restarts from here.
            self.timers.retransmit = None;
        }
        self.rearm_rto(now);
    }

    fn loss_probe_went(&mut self, now: Instant) -> bool {
        let mss = self.current_mss();
        if let Some(id) = self.snd.queue.send_head()
            && self.window_admits(&self.snd.queue[id], mss)
        {
            let before = self.snd.packets_out;
            self.write_out(now, mss, Nagle::OFF, Amount::Probe);
            if self.snd.packets_out > before {
                self.snd.probe =
                    Some(Probe { high_seq: self.snd.nxt, retransmission: false, app_limited: false });
                return true;
            }
            return false;
        }
        let Some(mut id) = self.snd.queue.tail() else { return false };
        let skb = self.snd.queue[id];
        if skb.segments > 1 && skb.len() > (skb.segments - 1) * skb.mss {
            id = self.fragment_sent(id, (skb.segments - 1) * skb.mss);
        }
        let app_limited = self.snd.queue[id].sent.app_limited;
        if !self.retransmit_uncounted(now, id, 1) {
            return false;
        }
        self.snd.probe = Some(Probe { high_seq: self.snd.nxt, retransmission: true, app_limited });
        true
    }

    /// `tcp_process_tlp_ack`: what an ACK reveals about the probe.
    pub(super) fn process_probe_ack(&mut self, ack: StreamOffset, acking: &mut Acking) {
        let (flags, now) = (acking.flags, acking.now);
        let Some(probe) = self.snd.probe.filter(|probe| ack >= probe.high_seq) else { return };
        if !probe.retransmission || flags.any(AckFlags::DSACK_TLP) {
            self.snd.probe = None;
        } else if ack > probe.high_seq {
            // The probe repaired a loss: cwnd is reduced as for any loss.
            self.tell_control(now, CaEvent::ProbeRepairedLoss { app_limited: probe.app_limited });
            self.begin_reduction(now);
            self.set_ca_state(now, CaState::Cwr);
            self.end_reduction(now);
            self.try_keep_open(now);
        } else if !flags.any(AckFlags::SND_UNA_ADVANCED)
            && !flags.any(AckFlags::NOT_DUP)
            && !flags.any(AckFlags::DATA_SACKED)
        {
            // The original and the probe both arrived.
            self.snd.probe = None;
        } else {
            acking.of_probe = true;
        }
    }

    /// `tcp_retransmit_timer`: the RTO expired.
    pub(crate) fn retransmit_timer(&mut self, now: Instant) {
        let Some(head) = self.snd.queue.head().filter(|_| self.snd.packets_out > 0) else { return };
        if self.snd.wnd == 0 && !self.orphaned && !self.is_opening() {
            // The window closed with data in flight: the retransmissions are probes.
            if self.window_probes_timed_out(now) {
                self.time_out(now);
                return;
            }
            self.enter_loss(now);
            self.retransmit_buffer(now, head, 1);
            self.back_off(now);
            return;
        }
        let gives_up = self.gives_up(now);
        self.suspect_fast_open(gives_up);
        if gives_up {
            self.time_out(now);
            return;
        }
        self.snd.rehashes = self.snd.rehashes.wrapping_add(1);
        self.enter_loss(now);
        self.count_timeout(now);
        let head = self.snd.queue.head().unwrap_or(head);
        if !self.retransmit_buffer(now, head, 1) {
            let ticks = self.ticks(RESOURCE_PROBE);
            self.set_retransmit_timer(now, Pending::Retransmit, ticks);
            return;
        }
        self.back_off(now);
    }

    /// `tcp_update_rto_stats`.
    pub(crate) fn count_timeout(&mut self, now: Instant) {
        if self.snd.retransmits == 0 {
            self.snd.rto_since = Some(now);
        }
        self.snd.total_rto_recoveries =
            self.snd.total_rto_recoveries.saturating_add(u16::from(self.snd.retransmits == 0));
        self.snd.retransmits = self.snd.retransmits.saturating_add(1);
        self.snd.total_rto = self.snd.total_rto.saturating_add(1);
    }

    /// The consecutive timeouts are over (`tcp_update_rto_time`).
    pub(crate) fn end_timeouts(&mut self, now: Instant) {
        if let Some(since) = self.snd.rto_since.take() {
            self.snd.total_rto_ms = self.snd.total_rto_ms.saturating_add(millis_between(since, now));
        }
    }

    /// Doubles the RTO, unless this is a thin stream or one of the first SYNs.
    fn back_off(&mut self, now: Instant) {
        let thin = self.state == State::Established
            && (self.options.thin_linear_timeouts || self.settings.sysctls.tcp_thin_linear_timeouts)
            && self.snd.packets_out < 4
            && self.snd.rtt.srtt_us != 0
            && self.snd.retransmits <= THIN_RETRIES;
        let linear = u16::from(self.settings.sysctls.tcp_syn_linear_timeouts);
        if thin {
            self.snd.backoff = 0;
            self.snd.rtt.rto = self.measured_rto().min(self.rto_max());
        } else if self.state != State::SynSent || self.snd.total_rto > linear {
            self.snd.backoff = self.snd.backoff.saturating_add(1);
            self.snd.rtt.rto = (self.snd.rtt.rto << 1).min(self.rto_max());
        }
        let ticks = self.within_user_timeout(now, self.snd.rtt.rto);
        self.set_retransmit_timer(now, Pending::Retransmit, ticks);
    }

    /// A router could not forward the head: the timeout was not congestion, and its backoff is reverted
    /// (`tcp_ld_RTO_revert`, RFC 6069).
    pub(crate) fn revert_back_off(&mut self, now: Instant) {
        let Some(head) = self.snd.queue.head() else { return };
        if self.snd.retransmits == 0 || self.snd.backoff == 0 {
            return;
        }
        self.snd.backoff -= 1;
        let base = if self.snd.rtt.srtt_us == 0 {
            self.ticks(self.settings.choices.initial_rto)
        } else {
            self.measured_rto()
        };
        self.snd.rtt.rto = (base << self.snd.backoff.min(32)).min(self.rto_max());
        let since = now.since(self.snd.queue[head].sent_at).unwrap_or_default();
        let left = self.snd.rtt.rto - self.ticks(since);
        if left > 0 {
            self.set_retransmit_timer(now, Pending::Retransmit, left);
        } else {
            self.retransmit_timer(now);
        }
    }

    /// `tcp_clamp_rto_to_user_timeout`.
    fn within_user_timeout(&self, now: Instant, ticks: i64) -> i64 {
        let (Some(timeout), Some(since)) = (self.options.user_timeout, self.snd.retrans_stamp) else {
            return ticks;
        };
        match (since + timeout).since(now) {
            Some(left) if !left.is_zero() => ticks.min(self.ticks(left)),
            _ => 1,
        }
    }

    /// `tcp_write_timeout`: whether to give up. Before that, consecutive timeouts start path MTU probing.
    fn gives_up(&mut self, now: Instant) -> bool {
        let sysctls = &self.settings.sysctls;
        if self.is_opening() {
            let boundary = self.options.syn_count.unwrap_or(sysctls.tcp_syn_retries);
            let mut most = u16::from(boundary);
            if self.state == State::SynSent {
                most += u16::from(sysctls.tcp_syn_linear_timeouts);
            }
            return u16::from(self.snd.retransmits) >= most
                || self.has_timed_out(now, boundary, self.options.user_timeout);
        }
        let (retries1, mut boundary) = (sysctls.tcp_retries1, sysctls.tcp_retries2);
        if self.has_timed_out(now, retries1, None) {
            self.suspect_black_hole(now);
        }
        if self.orphaned {
            let alive = self.snd.rtt.rto < self.rto_max();
            boundary = self.orphan_retries(alive);
        }
        self.has_timed_out(now, boundary, self.options.user_timeout)
    }

    /// Whether its SYN or SYN-ACK is not acknowledged.
    const fn is_opening(&self) -> bool {
        matches!(self.state, State::SynSent | State::SynReceived)
    }

    /// `tcp_orphan_retries`.
    fn orphan_retries(&self, alive: bool) -> u8 {
        let retries = self.settings.sysctls.tcp_orphan_retries;
        if self.soft_error.is_some() && !alive {
            return 0;
        }
        if retries == 0 && alive { 8 } else { retries }
    }

    /// `retransmits_timed_out`: whether retransmissions have lasted as long as `boundary` timeouts would.
    fn has_timed_out(&self, now: Instant, boundary: u8, timeout: Option<Duration>) -> bool {
        if self.snd.retransmits == 0 {
            return false;
        }
        let Some(spent) = self.snd.retrans_stamp.and_then(|since| now.since(since)) else { return false };
        spent >= timeout.unwrap_or_else(|| self.model_timeout(boundary))
    }

    /// `tcp_model_timeout`: the sum of `boundary` timeouts with exponential backoff.
    fn model_timeout(&self, boundary: u8) -> Duration {
        let base = match self.is_opening() {
            true => self.settings.choices.initial_rto,
            false => Duration::from_micros(u64::from(self.rto_min_us())),
        };
        let most = self.span(self.rto_max());
        let doublings =
            u32::try_from(most.as_millis() / base.as_millis().max(1)).unwrap_or(u32::MAX).max(1).ilog2();
        let boundary = u32::from(boundary);
        let exponential = base * ((2 << boundary.min(doublings)) - 1);
        exponential + most * boundary.saturating_sub(doublings)
    }

    /// `tcp_write_err`: the peer does not answer.
    pub(crate) fn time_out(&mut self, now: Instant) {
        let error = self.soft_error.take().unwrap_or(Errno::ETIMEDOUT);
        self.done_with_error(now, error);
    }

    /// `tcp_check_probe_timer`: nothing is in flight and nothing may be sent: probes the window.
    pub(super) fn check_window_probe(&mut self, now: Instant) {
        if self.snd.packets_out == 0 && self.timers.retransmit.is_none() {
            let base = self.window_probe_base();
            self.set_retransmit_timer(now, Pending::WindowProbe, base);
        }
    }

    /// `tcp_probe0_base`.
    fn window_probe_base(&self) -> i64 {
        self.snd.rtt.rto.max(self.ticks(Duration::from_micros(u64::from(self.rto_min_us()))))
    }

    /// `tcp_probe0_when`.
    fn next_window_probe(&self) -> i64 {
        let most = self.rto_max();
        (self.window_probe_base() << self.snd.backoff.min(30)).min(most)
    }

    /// `tcp_ack_probe`: the answer to a probe.
    pub(super) fn ack_probe(&mut self, now: Instant) {
        let Some(id) = self.snd.queue.send_head() else { return };
        if self.snd.queue[id].end_seq <= self.snd.wnd_end() {
            self.snd.backoff = 0;
            self.snd.probes_since = None;
            if matches!(self.timers.retransmit, Some((Pending::WindowProbe, _))) {
                self.timers.retransmit = None;
            }
        } else {
            let ticks = self.within_probe_timeout(now, self.next_window_probe());
            self.set_retransmit_timer(now, Pending::WindowProbe, ticks);
        }
    }

    /// `tcp_clamp_probe0_to_user_timeout`.
    fn within_probe_timeout(&self, now: Instant, ticks: i64) -> i64 {
        let (Some(timeout), Some(since)) = (self.options.user_timeout, self.snd.probes_since) else {
            return ticks;
        };
        let left = (since + timeout).since(now).unwrap_or_default();
        ticks.min(self.ticks(left).max(MIN_TIMEOUT_TICKS))
    }

    /// `tcp_rtx_probe0_timed_out`: the window has been closed for too long.
    fn window_probes_timed_out(&self, now: Instant) -> bool {
        let timeout = self.options.user_timeout.unwrap_or_else(|| self.span(self.rto_max()) * 2);
        let silent = now.since(self.snd.last_ack).unwrap_or_default();
        let since = self.snd.retrans_stamp.and_then(|since| now.since(since)).unwrap_or_default();
        silent > timeout && since > timeout
    }

    /// `tcp_probe_timer`.
    pub(crate) fn window_probe_timer(&mut self, now: Instant) {
        if self.snd.packets_out > 0 || self.snd.queue.is_all_sent() {
            self.snd.probes_out = 0;
            self.snd.probes_since = None;
            return;
        }
        let since = *self.snd.probes_since.get_or_insert(now);
        let mut most = self.settings.sysctls.tcp_retries2;
        let user =
            self.options.user_timeout.is_some_and(|timeout| now.since(since).unwrap_or_default() >= timeout);
        let mut give_up = user && since != now;
        if self.orphaned {
            let alive = self.next_window_probe() < self.rto_max();
            most = self.orphan_retries(alive);
            give_up |= !alive && self.snd.backoff >= most;
        }
        if give_up || self.snd.probes_out >= most {
            self.time_out(now);
        } else {
            self.send_window_probe(now);
        }
    }

    /// `tcp_send_probe0`.
    pub(crate) fn send_window_probe(&mut self, now: Instant) {
        let before = (self.snd.probes_out, self.snd.backoff, self.snd.probes_since);
        self.write_wakeup(now);
        self.snd.device.probe = Some(before);
        if self.snd.packets_out > 0 || self.snd.queue.is_all_sent() {
            self.snd.probes_out = 0;
            self.snd.backoff = 0;
            self.snd.probes_since = None;
            return;
        }
        self.snd.probes_out = self.snd.probes_out.saturating_add(1);
        if self.snd.backoff < self.settings.sysctls.tcp_retries2 {
            self.snd.backoff += 1;
        }
        let ticks = self.within_probe_timeout(now, self.next_window_probe());
        self.set_retransmit_timer(now, Pending::WindowProbe, ticks);
    }

    /// The qdisc dropped a probe: it is repeated soon, without backoff (`tcp_send_probe0`).
    pub(super) fn window_probe_was_dropped(&mut self, now: Instant, before: ProbeCount) {
        let (out, backoff, since) = before;
        self.snd.probes_out = out.saturating_add(1);
        self.snd.backoff = backoff;
        self.snd.probes_since = since;
        let ticks = self.within_probe_timeout(now, self.ticks(RESOURCE_PROBE));
        self.set_retransmit_timer(now, Pending::WindowProbe, ticks);
    }

    /// `tcp_write_wakeup`: data if the window allows any, or a segment that elicits an ACK.
    pub(crate) fn write_wakeup(&mut self, now: Instant) {
        if self.state == State::Closed {
            return;
        }
        if let Some(id) = self.snd.queue.send_head()
            && self.snd.queue[id].seq < self.snd.wnd_end()
        {
            self.send_into_small_window(now, id);
            return;
        }
        if self.snd.urgent > self.snd.una && self.snd.urgent <= self.snd.una + 0xffff {
            self.send_empty_probe(now, true);
        }
        self.send_empty_probe(now, false);
    }

    /// The window is open, but smaller than sender SWS avoidance requires.
    fn send_into_small_window(&mut self, now: Instant, id: super::skb::SkbId) {
        let mss = self.current_mss();
        let skb: Skb = self.snd.queue[id];
        let room = u32::try_from(self.snd.wnd_end().distance_from(skb.seq)).unwrap_or(u32::MAX);
        self.snd.pushed_seq = self.snd.pushed_seq.max(skb.end_seq);
        let size = room.min(mss);
        if skb.len() > size {
            let rest = self.snd.queue.fragment(id, size);
            self.charge_head();
            self.snd.queue[rest].segments = 0;
        }
        self.snd.queue[id].cut(mss);
        let flags = self.snd.queue[id].flags;
        self.snd.queue[id].flags = flags.with(Flags::PSH);
        self.send_head(now, id, mss);
    }

    /// `tcp_xmit_probe_skb`: an old sequence number, which the peer must answer.
    fn send_empty_probe(&mut self, now: Instant, urgent: bool) {
        let seq = if urgent { self.snd.una } else { self.snd.una - 1 };
        self.transmit_control(now, Flags::ACK, seq);
    }
}
