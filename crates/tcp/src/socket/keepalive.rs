//! Keepalive probes, and the wait of closing connections (`tcp_keepalive_timer`, net/ipv4/tcp_timer.c, 6.18).

use super::options::Linger2;
use crate::connection::{Connection, State};
use crate::errno::Errno;
use crate::receive::closing::TIME_WAIT;
use slowpath_model::Instant;
use std::time::Duration;

impl Connection {
    /// `keepalive_time_when`.
    pub(super) fn keepalive_time(&self) -> Duration {
        self.options.keepalive_time.unwrap_or(self.settings.sysctls.tcp_keepalive_time)
    }

    fn keepalive_interval(&self) -> Duration {
        self.options.keepalive_interval.unwrap_or(self.settings.sysctls.tcp_keepalive_intvl)
    }

    fn keepalive_probes(&self) -> u8 {
        self.options.keepalive_probes.unwrap_or(self.settings.sysctls.tcp_keepalive_probes)
    }

    /// The time since anything was received (`keepalive_time_elapsed`).
    pub(super) fn idle_for(&self, now: Instant) -> Duration {
        let clock = self.settings.choices.clock;
        let last_data = clock.instant(self.rcv.ack.last_data);
        let last = self.snd.last_ack.max(last_data);
        now.since(last).unwrap_or_default()
    }

    /// Sets the timer (`tcp_reset_keepalive_timer`).
    pub(crate) fn reset_keepalive_timer(&mut self, now: Instant, after: Duration) {
        let clock = self.settings.choices.clock;
        self.timers.keepalive = Some(clock.fires(now, clock.ticks(after)));
    }

    /// A connection begins: starts keepalive if it is on (`tcp_finish_connect`, `tcp_create_openreq_child`).
    pub(crate) fn start_keepalive(&mut self, now: Instant) {
        if self.options.keepalive {
            self.reset_keepalive_timer(now, self.keepalive_time());
        }
    }

    /// The timer is due.
    pub(crate) fn keepalive_timer(&mut self, now: Instant) {
        if self.is_fast_open_child() {
            self.fast_open_timer(now);
        } else if self.state == State::TimeWait || self.rcv.waiting_quietly {
            self.end_time_wait();
        } else if self.state == State::FinWait2 && self.orphaned {
            self.orphan_waited(now);
        } else if self.options.keepalive && !matches!(self.state, State::Closed | State::SynSent) {
            self.probe_if_idle(now);
        }
    }

    /// The first part of an orphan's wait in FIN-WAIT-2 is over.
    fn orphan_waited(&mut self, now: Instant) {
        let timeout = self.fin_timeout();
        if self.options.linger2 != Linger2::Never && timeout > TIME_WAIT {
            self.wait_for_fin(now, timeout - TIME_WAIT);
        } else {
            self.send_active_reset(now);
            self.done();
        }
    }

    fn probe_if_idle(&mut self, now: Instant) {
        let wanted = self.keepalive_time();
        let busy = self.snd.packets_out > 0 || !self.snd.queue.is_all_sent();
        let idle = self.idle_for(now);
        if busy {
            self.reset_keepalive_timer(now, wanted);
            return;
        }
        if idle < wanted {
            self.reset_keepalive_timer(now, wanted - idle);
            return;
        }
        let probes = self.snd.probes_out;
        let given_up = match self.options.user_timeout {
            Some(timeout) => idle >= timeout && probes > 0,
            None => probes >= self.keepalive_probes(),
        };
        if given_up {
            self.send_active_reset(now);
            let error = self.soft_error.unwrap_or(Errno::ETIMEDOUT);
            self.done_with_error(now, error);
            return;
        }
        self.write_wakeup(now);
        self.snd.probes_out = probes.saturating_add(1);
        self.reset_keepalive_timer(now, self.keepalive_interval());
    }
}
