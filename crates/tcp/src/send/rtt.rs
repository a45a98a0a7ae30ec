//! RTT and RTO (RFC 6298 as Linux has it: `tcp_rtt_estimator`, tcp_input.c, 6.18).

use super::sender::micros;
use crate::connection::Connection;
use slowpath_model::Instant;
use std::time::Duration;

impl Connection {
    /// The minimum RTO (`tcp_rto_min`): the route's, the socket's or the host's.
    pub(crate) fn rto_min(&self) -> Duration {
        let own = self.options.rto_min.unwrap_or(self.settings.sysctls.tcp_rto_min);
        self.settings.route.rto_min.unwrap_or(own)
    }

    /// The minimum RTO in microseconds (`tcp_rto_min_us`).
    pub(crate) fn rto_min_us(&self) -> u32 {
        micros(self.rto_min())
    }

    /// The maximum RTO, in ticks (`tcp_rto_max`).
    pub(crate) fn rto_max(&self) -> i64 {
        self.ticks(self.options.rto_max.unwrap_or(self.settings.sysctls.tcp_rto_max))
    }

    /// A duration in ticks, rounded up.
    pub(crate) fn ticks(&self, span: Duration) -> i64 {
        self.settings.choices.clock.ticks(span)
    }

    /// The duration of `ticks`.
    pub(crate) fn span(&self, ticks: i64) -> Duration {
        Duration::from_nanos(
            u64::try_from(ticks.saturating_mul(self.settings.choices.clock.tick_nanos())).unwrap_or(0),
        )
    }

    /// The RTO from SRTT and RTTVAR, in ticks (`__tcp_set_rto`).
    pub(crate) fn measured_rto(&self) -> i64 {
        let rtt = &self.snd.rtt;
        self.ticks(Duration::from_micros(u64::from(rtt.srtt_us >> 3) + u64::from(rtt.rttvar_us)))
    }

    /// Adds an RTT sample to the estimate (`tcp_rtt_estimator`, `tcp_set_rto`).
    pub(crate) fn take_rtt(&mut self, rtt_us: u32) {
        let rtt_us = self.in_clock_resolution(rtt_us);
        let (floor, una, nxt) = (self.rto_min_us(), self.snd.una, self.snd.nxt);
        self.snd.rtt.sample(rtt_us, floor, una, nxt);
        self.snd.rtt.rto = self.measured_rto().min(self.rto_max());
    }

    /// Before 3.15 RTTs were counted in ticks.
    fn in_clock_resolution(&self, rtt_us: u32) -> u32 {
        if self.settings.choices.microsecond_rtt {
            return rtt_us;
        }
        let tick = u32::try_from(self.settings.choices.clock.tick_nanos() / 1000).unwrap_or(1);
        (rtt_us / tick).max(1) * tick
    }

    /// The first sample, from the handshake (`tcp_synack_rtt_meas`); none if the SYN was retransmitted.
    pub(crate) fn set_initial_rtt(&mut self, now: Instant, sample: Option<Duration>) {
        if let Some(rtt) = sample {
            let rtt_us = micros(rtt).max(1);
            self.snd.rtt.minimum.update(now, self.settings.sysctls.tcp_min_rtt_wlen, rtt_us);
            self.take_rtt(rtt_us);
        }
    }

    /// The minimum RTT in microseconds (`tcp_min_rtt`).
    pub(crate) fn min_rtt_us(&self) -> Option<u32> {
        self.snd.rtt.minimum.get()
    }
}
