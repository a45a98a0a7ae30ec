//! The parameter cache: path metrics of one connection, for the next one to the same host (net/ipv4/tcp_metrics.c,
//! 6.18; until 3.5 `tcp_update_metrics` and `tcp_init_metrics` in tcp_input.c, here as in 2.6.14). `ubik` found that it
//! slows transfers long after a loss.
//!
//! The owner of the connections keeps a [`Metrics`] per destination. It is part of the settings of new connections, and
//! is updated with [`Connection::poll_metrics`].

use crate::choices::MetricsCache;
use crate::congestion::{CaState, INFINITE_SSTHRESH};
use crate::connection::Connection;
use crate::route::Metrics;
use std::time::Duration;

/// The RTO if the handshake gave no RTT sample (`TCP_TIMEOUT_FALLBACK`; RFC 6298, section 5.7).
const FALLBACK_RTO: Duration = Duration::from_secs(3);

/// The initial cwnd while the RTT is unknown, in 2.4 and 2.6.14 (`tcp_v4_init_sock`: `snd_cwnd` is 2;
/// `tcp_init_metrics` keeps it where it resets).
const UNKNOWN_PATH_CWND: u32 = 2;

impl Connection {
    /// Applies the destination's metrics before the first segment (`tcp_init_metrics`); returns the initial cwnd.
    pub(super) fn use_metrics(&mut self) -> u32 {
        let by_route = self.settings.choices.metrics == MetricsCache::Routes;
        let metrics = self.settings.route.known;
        if !by_route {
            // A retransmitted SYN has reduced it; until 3.0 it stayed reduced.
            self.snd.window.ssthresh = INFINITE_SSTHRESH;
        }
        if !self.settings.sysctls.tcp_no_ssthresh_metrics_save
            && let Some(ssthresh) = metrics.ssthresh
        {
            self.snd.window.ssthresh = ssthresh.min(self.snd.window.clamp);
        }
        if let Some(reordering) = metrics.reordering {
            self.snd.reordering = reordering;
        }
        if by_route && !self.go_on_measuring(metrics) {
            return UNKNOWN_PATH_CWND.min(self.snd.window.clamp);
        }
        if !by_route {
            self.seed_rto(metrics.rtt_us);
        }
        self.initial_cwnd()
    }

    /// The first RTO for data: from the cached RTT, or longer if the handshake gave no sample.
    fn seed_rto(&mut self, known_us: Option<u32>) {
        let measured = self.snd.rtt.srtt_us;
        if let Some(known) = known_us.filter(|&known| known > measured) {
            // In whole ticks.
            let rtt = i64::from(known) * i64::from(self.settings.choices.clock.hz) / 8_000_000;
            let least = self.ticks(Duration::from_micros(u64::from(self.rto_min_us())));
            self.snd.rtt.rto = (rtt + (2 * rtt).max(least)).min(self.rto_max());
        } else if measured == 0 {
            self.snd.rtt.fall_back(FALLBACK_RTO);
            self.snd.rtt.rto = self.ticks(FALLBACK_RTO);
        }
    }

    /// Until 3.5, a longer cached RTT counts as a measured one. Returns whether it was used.
    fn go_on_measuring(&mut self, known: Metrics) -> bool {
        let initial = self.settings.choices.initial_rto;
        let measured = self.snd.rtt.srtt_us != 0;
        let usable = |&rtt: &u32| measured || Duration::from_micros(u64::from(rtt >> 3)) >= initial;
        let known = known.rtt_us.filter(usable).map(|rtt| (rtt, known.rttvar_us.unwrap_or(0)));
        if let Some((rtt_us, rttvar_us)) = known {
            let (floor, round_end) = (self.rto_min_us(), self.snd.nxt);
            self.snd.rtt.go_on_from(rtt_us, rttvar_us, floor, round_end);
            self.snd.rtt.rto = self.measured_rto().min(self.rto_max());
        }
        let initial_ticks = self.ticks(initial);
        let is_short = known.is_none() || self.snd.rtt.rto < initial_ticks;
        let forgets = is_short && !self.negotiated.timestamps;
        if forgets {
            // Without timestamps, a too short RTO would never be noticed ("play conservative").
            self.snd.rtt.srtt_us = 0;
            self.snd.rtt.fall_back(initial);
            self.snd.rtt.rto = initial_ticks;
        }
        known.is_some() && !forgets
    }

    /// Whether [`poll_metrics`](Self::poll_metrics) has an update.
    pub const fn has_learned(&self) -> bool {
        self.snd.has_learned
    }

    /// The destination's metrics updated by this connection; once, when both sides have closed.
    pub fn poll_metrics(&mut self, known: Metrics) -> Option<Metrics> {
        std::mem::take(&mut self.snd.has_learned).then(|| self.add_to(known))
    }

    /// Both sides have closed: the next connection may use this one's metrics.
    pub(crate) fn learn_metrics(&mut self) {
        let kept = self.settings.choices.metrics != MetricsCache::No;
        self.snd.has_learned = kept && !self.settings.sysctls.tcp_no_metrics_save;
    }

    /// `tcp_update_metrics`.
    fn add_to(&self, mut metrics: Metrics) -> Metrics {
        if self.snd.backoff > 0 || self.snd.rtt.srtt_us == 0 {
            metrics.rtt_us = None;
        } else {
            self.add_rtt(&mut metrics);
            self.add_window(&mut metrics);
        }
        metrics
    }

    fn add_rtt(&self, metrics: &mut Metrics) {
        let (rtt, srtt) = (metrics.rtt_us.unwrap_or(0), self.snd.rtt.srtt_us);
        metrics.rtt_us = Some(if rtt <= srtt { srtt } else { rtt - ((rtt - srtt) >> 3) });
        let deviation = (rtt.abs_diff(srtt) >> 1).max(self.snd.rtt.mdev_us);
        let var = metrics.rttvar_us.unwrap_or(0);
        metrics.rttvar_us = Some(if deviation >= var { deviation } else { var - ((var - deviation) >> 2) });
    }

    fn add_window(&self, metrics: &mut Metrics) {
        let window = &self.snd.window;
        let keeps_threshold = !self.settings.sysctls.tcp_no_ssthresh_metrics_save;
        let known = metrics.cwnd.unwrap_or(0);
        // Until 3.5, whatever happened to cwnd.
        let mut keeps_reordering = self.settings.choices.metrics == MetricsCache::Routes;
        if window.ssthresh >= INFINITE_SSTHRESH {
            // Slow start never ended.
            if keeps_threshold {
                metrics.ssthresh = metrics.ssthresh.map(|ssthresh| ssthresh.max(window.cwnd >> 1));
            }
            metrics.cwnd = Some(known.max(window.cwnd));
        } else if !window.in_slow_start() && self.snd.ca_state == CaState::Open {
            if keeps_threshold {
                metrics.ssthresh = Some((window.cwnd >> 1).max(window.ssthresh));
            }
            metrics.cwnd = Some((known + window.cwnd) >> 1);
        } else {
            metrics.cwnd = Some((known + window.ssthresh) >> 1);
            if keeps_threshold {
                metrics.ssthresh = metrics.ssthresh.map(|ssthresh| ssthresh.max(window.ssthresh));
            }
            keeps_reordering = true;
        }
        if keeps_reordering && self.snd.reordering != self.settings.sysctls.tcp_reordering {
            metrics.reordering = metrics.reordering.max(Some(self.snd.reordering));
        }
    }
}
