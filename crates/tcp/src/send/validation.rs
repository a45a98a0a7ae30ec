//! The congestion window of a sender that does not use it (RFC 7661; `tcp_cwnd_validate`, tcp_output.c, 6.18).

use super::chrono::Waiting;
use crate::choices::InitialWindow;
use crate::congestion::{CaEvent, CaState};
use crate::connection::{Connection, State};
use slowpath_model::Instant;

impl Connection {
    /// The initial cwnd (`tcp_init_cwnd`).
    pub(super) fn initial_cwnd(&self) -> u32 {
        let of_kernel = match self.settings.choices.initial_window {
            InitialWindow::Segments(segments) => segments,
            InitialWindow::Rfc3390 => match self.snd.mss {
                0..=1095 => 4,
                1096..=2190 => 3,
                _ => 2,
            },
        };
        self.settings.route.initcwnd.unwrap_or(of_kernel).min(self.snd.window.clamp)
    }

    /// `tcp_cwnd_validate`: records whether cwnd or something else limited the sender.
    pub(super) fn validate_window(&mut self, now: Instant, limited: bool) {
        let snd = &mut self.snd;
        let round_over = snd.una >= snd.cwnd_usage_seq;
        if round_over || limited || (!snd.window.limited && snd.packets_out > snd.window.most_outstanding) {
            snd.window.limited = limited;
            snd.window.most_outstanding = snd.packets_out;
            snd.cwnd_usage_seq = snd.nxt;
        }
        // Before 3.16 only a full window counted as limiting.
        let limiting = if self.settings.choices.window_validation {
            snd.window.is_limiting()
        } else {
            snd.packets_out >= snd.window.cwnd
        };
        if limiting {
            snd.cwnd_used = 0;
            snd.cwnd_stamp = now;
            return;
        }
        snd.cwnd_used = snd.cwnd_used.max(snd.packets_out);
        let idle = now.since(snd.cwnd_stamp).unwrap_or_default();
        if self.settings.sysctls.tcp_slow_start_after_idle
            && idle >= self.span(self.snd.rtt.rto)
            && !self.congestion.paces
        {
            self.shrink_unused_window(now);
        }
        let waits = self.snd.queue.is_all_sent() && self.snd.no_space;
        if waits && matches!(self.state, State::Established | State::CloseWait) {
            self.snd.chrono.start(now, Waiting::SendBuffer);
        }
    }

    /// `tcp_cwnd_application_limited`: half way down to the used part.
    fn shrink_unused_window(&mut self, now: Instant) {
        if self.snd.ca_state == CaState::Open && !self.snd.no_space {
            let used = self.snd.cwnd_used.max(self.initial_cwnd());
            if used < self.snd.window.cwnd {
                self.snd.window.ssthresh = self.snd.current_ssthresh();
                self.snd.window.cwnd = (self.snd.window.cwnd + used) >> 1;
            }
            self.snd.cwnd_used = 0;
        }
        self.snd.cwnd_stamp = now;
    }

    /// `tcp_slow_start_after_idle_check` and `tcp_cwnd_restart`: cwnd halves for every RTO of idle time.
    pub(super) fn restart_after_idle(&mut self, now: Instant) {
        if !self.settings.sysctls.tcp_slow_start_after_idle
            || self.snd.packets_out > 0
            || self.congestion.paces
        {
            return;
        }
        let clock = self.settings.choices.clock;
        let rto = self.snd.rtt.rto.max(1);
        let mut silent = clock.jiffies(now).0 - clock.jiffies(self.snd.last_sent).0;
        if silent <= rto {
            return;
        }
        self.tell_control(now, CaEvent::WindowRestart);
        self.snd.window.ssthresh = self.snd.current_ssthresh();
        let mut cwnd = self.snd.window.cwnd;
        let restart = self.initial_cwnd().min(cwnd);
        silent -= rto;
        while silent > 0 && cwnd > restart {
            cwnd >>= 1;
            silent -= rto;
        }
        self.snd.window.cwnd = cwnd.max(restart);
        self.snd.cwnd_stamp = now;
        self.snd.cwnd_used = 0;
    }
}
