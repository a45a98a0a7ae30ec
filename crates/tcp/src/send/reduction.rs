//! Reduction of cwnd to ssthresh (RFC 6937 and RFC 9937, `tcp_cwnd_reduction`; before 3.2 rate halving,
//! `tcp_cwnd_down`).

use super::acking::AckFlags;
use crate::choices::{BurstModeration, WindowReduction};
use crate::congestion::{CaEvent, CaState};
use crate::connection::Connection;
use slowpath_model::Instant;

/// The largest harmless burst, in segments (`tcp_max_burst`, include/net/tcp.h, 2.4).
const MAX_BURST: u32 = 3;

impl Connection {
    /// `tcp_init_cwnd_reduction`.
    pub(super) fn begin_reduction(&mut self, now: Instant) {
        let moment = self.moment(now);
        let snd = &mut self.snd;
        snd.high_seq = snd.nxt;
        snd.probe = None;
        snd.window.count = 0;
        snd.window.prior_cwnd = snd.window.cwnd;
        snd.prr_delivered = 0;
        snd.prr_out = 0;
        snd.window.ssthresh = self.congestion.ssthresh(&snd.window, &moment);
        snd.queue_cwr = self.negotiated.ecn.is_classic();
    }

    /// `tcp_cwnd_reduction`: `delivered`, `lost` and `flags` are this ACK's.
    pub(super) fn reduce_window(&mut self, delivered: u32, lost: u32, flags: AckFlags) {
        let advanced = flags.any(AckFlags::SND_UNA_ADVANCED) && lost == 0;
        let repaired = flags.any(AckFlags::RETRANS_DATA_ACKED) && !flags.any(AckFlags::LOST_RETRANS);
        match self.settings.choices.window_reduction {
            WindowReduction::RateHalving => self.halve_rate(),
            WindowReduction::ProportionalForRepairs => self.reduce_in_proportion(delivered, repaired, false),
            WindowReduction::ProportionalForAdvances => self.reduce_in_proportion(delivered, advanced, false),
            WindowReduction::Proportional => self.reduce_in_proportion(delivered, advanced, true),
        }
    }

    /// Proportional rate reduction. Below ssthresh, an ACK that `progresses` sends one segment more than was delivered
    /// (PRR-SSRB); and it makes up for what was not sent before, which `always_catches_up` allows every ACK.
    fn reduce_in_proportion(&mut self, delivered: u32, progresses: bool, always_catches_up: bool) {
        let snd = &mut self.snd;
        if delivered == 0 || snd.window.prior_cwnd == 0 {
            return;
        }
        let in_flight = snd.in_flight();
        snd.prr_delivered += delivered;
        let mut send = if snd.window.ssthresh < in_flight {
            let share = u64::from(snd.window.ssthresh) * u64::from(snd.prr_delivered);
            let share = share.div_ceil(u64::from(snd.window.prior_cwnd));
            u32::try_from(share.saturating_sub(u64::from(snd.prr_out))).unwrap_or(0)
        } else {
            let mut send = delivered;
            if progresses || always_catches_up {
                send = send.max(snd.prr_delivered.saturating_sub(snd.prr_out));
            }
            send += u32::from(progresses);
            send.min(snd.window.ssthresh - in_flight)
        };
        // The first retransmission is always sent.
        send = send.max(u32::from(snd.prr_out == 0));
        snd.window.cwnd = in_flight + send;
    }

    /// One segment less for every second ACK, down to the minimum of the congestion control.
    fn halve_rate(&mut self) {
        let least = self.congestion.least_in_reduction(&self.snd.window);
        let snd = &mut self.snd;
        snd.window.count += 1;
        let down = snd.window.count / 2;
        snd.window.count %= 2;
        if snd.window.cwnd > least {
            snd.window.cwnd -= down;
        }
        if self.settings.choices.reduction_cap {
            snd.window.cwnd = snd.window.cwnd.min(snd.in_flight() + 1);
        }
        snd.window.cwnd = snd.window.cwnd.max(1);
    }

    /// `tcp_moderate_cwnd`.
    pub(super) fn moderate_bursts(&mut self, now: Instant) {
        if self.settings.choices.burst_moderation == BurstModeration::InFlight {
            self.snd.window.cwnd = self.snd.window.cwnd.min(self.snd.in_flight() + MAX_BURST);
            self.snd.cwnd_stamp = now;
        }
    }

    /// Segments that may still be sent for the last ACK.
    pub(super) fn burst_left(&self) -> u32 {
        let counts = self.settings.choices.burst_moderation == BurstModeration::ByAck;
        if counts && self.snd.ca_state >= CaState::Recovery {
            MAX_BURST.saturating_sub(self.snd.sent_for_ack)
        } else {
            u32::MAX
        }
    }

    /// `tcp_end_cwnd_reduction`.
    pub(super) fn end_reduction(&mut self, now: Instant) {
        if self.congestion.paces {
            return;
        }
        let snd = &mut self.snd;
        if self.settings.choices.window_reduction == WindowReduction::RateHalving {
            // `tcp_complete_cwr`, 2.4 to 3.1.
            snd.window.cwnd = snd.window.cwnd.min(snd.window.ssthresh);
            snd.cwnd_stamp = now;
        } else if snd.has_threshold() && (snd.ca_state == CaState::Cwr || snd.undo.is_some()) {
            snd.window.cwnd = snd.window.ssthresh;
            snd.cwnd_stamp = now;
        }
        self.tell_control(now, CaEvent::CompleteCwr);
    }

    /// `tcp_enter_cwr`: cwnd is reduced without a loss.
    pub(crate) fn enter_cwr(&mut self, now: Instant) {
        // The ssthresh that an undo of a recovery during the reduction would restore.
        let prior = if self.settings.choices.undo_again { self.prior_threshold() } else { 0 };
        self.snd.prior_ssthresh = prior;
        if self.snd.ca_state < CaState::Cwr {
            self.snd.undo = None;
            self.begin_reduction(now);
            if self.settings.choices.window_reduction == WindowReduction::RateHalving {
                // `__tcp_enter_cwr`, include/net/tcp.h, 2.4 to 3.1: no burst from here on.
                self.snd.window.cwnd = self.snd.window.cwnd.min(self.snd.in_flight() + 1);
            }
            self.set_ca_state(now, CaState::Cwr);
        }
    }
}
