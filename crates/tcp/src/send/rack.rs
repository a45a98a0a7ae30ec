//! RACK: losses by time (RFC 8985; net/ipv4/tcp_recovery.c, 6.18).

use super::ack::micros_since;
use super::acking::AckFlags;
use super::sender::{PERSIST, micros};
use super::skb::{Fate, Skb};
use super::timer::MIN_TIMEOUT_TICKS;
use crate::choices::LossTimerFloor;
use crate::congestion::CaState;
use crate::connection::Connection;
use crate::timers::Pending;
use slowpath_model::{Instant, StreamOffset};
use std::time::Duration;

/// `tcp_recovery`: 2 fixes the reordering window at a quarter of the minimum RTT, 4 ignores the duplicate threshold.
const STATIC_WINDOW: u8 = 2;
const NO_DUP_THRESHOLD: u8 = 4;

/// `TCP_TIMEOUT_MIN_US` (include/net/tcp.h, 6.18).
const MIN_TIMEOUT_US: u32 = 2_000;

/// Whether `first` was sent after `second` (`tcp_skb_sent_after`).
fn sent_after(first: (Instant, StreamOffset), second: (Instant, StreamOffset)) -> bool {
    first > second
}

impl Connection {
    /// `tcp_rack_advance`: a segment was delivered.
    pub(super) fn rack_advance(&mut self, now: Instant, skb: &Skb) {
        let rtt_us = micros_since(now, skb.sent_at);
        if skb.fate.any(Fate::ANY_RETRANSMISSION) && self.min_rtt_us().is_some_and(|least| rtt_us < least) {
            // Too soon for the retransmission: the original arrived, or the timestamp would show it.
            return;
        }
        let rack = &mut self.snd.rack;
        rack.advanced = true;
        rack.rtt_us = rtt_us;
        let this = (skb.sent_at, skb.end_seq);
        if rack.sent_at.is_none_or(|latest| sent_after(this, (latest, rack.end_seq))) {
            rack.sent_at = Some(skb.sent_at);
            rack.end_seq = skb.end_seq;
        }
    }

    /// `tcp_rack_reo_wnd`, in microseconds.
    fn reordering_window_us(&self) -> u32 {
        let snd = &self.snd;
        if snd.reordering_seen == 0 {
            // Without reordering, the window is zero in recovery or after the duplicate threshold.
            let enough = snd.sacked_out >= snd.reordering
                && self.settings.sysctls.tcp_recovery & NO_DUP_THRESHOLD == 0;
            if snd.ca_state >= CaState::Recovery || enough {
                return 0;
            }
        }
        let quarter = self.min_rtt_us().unwrap_or(u32::MAX) >> 2;
        quarter.saturating_mul(u32::from(snd.rack.steps)).min(snd.rtt.srtt_us >> 3)
    }

    /// Microseconds until a segment counts as lost (`tcp_rack_skb_timeout`); not positive if it does already.
    pub(super) fn rack_remaining_us(&self, now: Instant, skb: &Skb, window_us: u32) -> i64 {
        i64::from(self.snd.rack.rtt_us) + i64::from(window_us) - i64::from(micros_since(now, skb.sent_at))
    }

    /// `tcp_rack_detect_loss`: walks the segments sent before the latest delivered one; returns the time until the next
    /// counts as lost.
    fn rack_detect_loss(&mut self, now: Instant) -> Option<u32> {
        let latest = (self.snd.rack.sent_at?, self.snd.rack.end_seq);
        let window = self.reordering_window_us();
        let mut longest = None;
        let mut next = self.snd.queue.first_by_time();
        while let Some(id) = next {
            self.work.queue_steps += 1;
            next = self.snd.queue.next_by_time(id);
            let skb = self.snd.queue[id];
            if skb.fate.any(Fate::LOST) && !skb.fate.any(Fate::RETRANSMITTED) {
                continue;
            }
            if !sent_after(latest, (skb.sent_at, skb.end_seq)) {
                break;
            }
            let remaining = self.rack_remaining_us(now, &skb, window);
            if remaining <= 0 {
                self.mark_lost(now, id);
                self.snd.queue.leave_time_order(id);
            } else {
                longest = longest.max(u32::try_from(remaining).ok());
            }
        }
        longest
    }

    /// `tcp_rack_mark_lost`: detects losses if something was delivered; returns whether the reordering timer is armed.
    pub(super) fn rack_mark_lost(&mut self, now: Instant) -> bool {
        if !std::mem::take(&mut self.snd.rack.advanced) {
            return false;
        }
        let Some(remaining) = self.rack_detect_loss(now) else { return false };
        let micros = u64::from(remaining) + u64::from(self.loss_timer_floor_us());
        let wait = self.ticks(Duration::from_micros(micros));
        self.set_retransmit_timer(now, Pending::Reordering, wait);
        true
    }

    /// `tcp_rack_reo_timeout`: the reordering timer expired.
    pub(crate) fn reordering_timer(&mut self, now: Instant) {
        let (in_flight, lost) = (self.snd.in_flight(), self.snd.lost);
        self.rack_detect_loss(now);
        if in_flight != self.snd.in_flight() {
            if self.snd.ca_state != CaState::Recovery {
                self.enter_recovery(now, false);
                self.reduce_window(1, self.snd.lost.wrapping_sub(lost), AckFlags::default());
            }
            self.retransmit_queue(now);
        }
        if !matches!(self.timers.retransmit, Some((Pending::Retransmit, _))) {
            self.rearm_rto(now);
        }
    }

    /// `tcp_rack_update_reo_wnd`: wider after a DSACK, at most once per RTT; reset after 16 recoveries without one.
    pub(super) fn update_reordering_window(&mut self) {
        let Some(prior_delivered) = self.snd.rate.prior_delivered() else { return };
        if self.settings.sysctls.tcp_recovery & STATIC_WINDOW != 0 {
            return;
        }
        let delivered = self.snd.delivered;
        let rack = &mut self.snd.rack;
        if (prior_delivered.wrapping_sub(rack.last_delivered) as i32) < 0 {
            rack.dsack_seen = false;
        }
        if rack.dsack_seen {
            rack.steps = rack.steps.saturating_add(1);
            rack.dsack_seen = false;
            rack.last_delivered = delivered;
            rack.persist = PERSIST;
        } else if rack.persist == 0 {
            rack.steps = 1;
        }
    }

    /// A timeout does not mark what RACK would not consider lost yet.
    pub(super) fn rack_spares(&self, now: Instant, skb: &Skb) -> bool {
        self.uses_rack() && self.rack_remaining_us(now, skb, 0) > 0
    }

    /// What a timer for losses waits beyond the time of its loss, in microseconds.
    pub(super) fn loss_timer_floor_us(&self) -> u32 {
        match self.settings.choices.loss_timer_floor {
            LossTimerFloor::TwoTicks => micros(self.span(MIN_TIMEOUT_TICKS)),
            LossTimerFloor::TwoMilliseconds => MIN_TIMEOUT_US,
        }
    }
}
