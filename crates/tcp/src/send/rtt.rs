//! Round trips and the retransmission timeout (RFC 6298 as Linux has it: `tcp_rtt_estimator`, tcp_input.c, 6.18).

use crate::connection::{Connection, Settings};
use crate::filter::RunningMax;
use slowpath_model::{Instant, StreamOffset};
use std::time::Duration;

/// The smoothed round trip and its variation, in the kernel's scaling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    /// Eight times the smoothed round trip in microseconds; 0 before the first sample (`srtt_us`).
    pub srtt_us: u32,
    /// Four times the mean deviation (`mdev_us`), its maximum in this round trip, and the variation that the timeout
    /// takes (`rttvar_us`).
    pub mdev_us: u32,
    mdev_max_us: u32,
    pub rttvar_us: u32,
    round_end: StreamOffset,
    /// The timeout in ticks (`icsk_rto`).
    pub rto: i64,
    pub minimum: MinFilter,
}

/// The least value of a window of time, in microseconds (`minmax_running_min`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MinFilter(RunningMax);

impl MinFilter {
    /// `None` before the first.
    pub fn get(&self) -> Option<u32> {
        self.0.get().and_then(|value| u32::try_from(-value).ok())
    }

    pub fn update(&mut self, now: Instant, window: Duration, value: u32) {
        // In nanoseconds: a `Duration` is divided into seconds, several times for each ACK.
        let window = i64::try_from(window.as_nanos()).unwrap_or(i64::MAX);
        self.0.update(now.nanos(), window, -i64::from(value));
    }
}

impl Rtt {
    pub fn new(settings: &Settings) -> Self {
        Self {
            srtt_us: 0,
            // `tcp_init_sock`: mdev_us = TCP_TIMEOUT_INIT.
            mdev_us: micros(settings.choices.initial_rto),
            mdev_max_us: 0,
            rttvar_us: 0,
            round_end: StreamOffset(0),
            rto: settings.choices.clock.ticks(settings.choices.initial_rto),
            minimum: MinFilter::default(),
        }
    }

    /// The smoothed round trip; `None` before the first sample.
    pub fn smoothed(&self) -> Option<Duration> {
        (self.srtt_us != 0).then(|| Duration::from_micros(u64::from(self.srtt_us >> 3)))
    }

    /// No sample came from the handshake: the variation stands for a careful timeout.
    pub fn fall_back(&mut self, rto: Duration) {
        let rto = micros(rto);
        (self.rttvar_us, self.mdev_us, self.mdev_max_us) = (rto, rto, rto);
    }

    /// Goes on from an estimate that was made before, where it is the longer one (`tcp_init_metrics`, 2.6.14).
    pub fn go_on_from(&mut self, srtt_us: u32, mdev_us: u32, floor: u32, round_end: StreamOffset) {
        if srtt_us > self.srtt_us {
            self.srtt_us = srtt_us;
            self.round_end = round_end;
        }
        if mdev_us > self.mdev_us {
            self.mdev_us = mdev_us;
            self.rttvar_us = mdev_us.max(floor);
            self.mdev_max_us = self.rttvar_us;
        }
    }

    /// Takes a sample. `floor` is the least variation (`tcp_rto_min_us`).
    fn sample(&mut self, rtt_us: u32, floor: u32, snd_una: StreamOffset, snd_nxt: StreamOffset) {
        if self.srtt_us == 0 {
            self.srtt_us = (rtt_us << 3).max(1);
            self.mdev_us = rtt_us << 1;
            self.rttvar_us = self.mdev_us.max(floor);
            self.mdev_max_us = self.rttvar_us;
            self.round_end = snd_nxt;
            return;
        }
        let error = i64::from(rtt_us) - i64::from(self.srtt_us >> 3);
        self.srtt_us = u32::try_from(i64::from(self.srtt_us) + error).unwrap_or(1).max(1);
        let mut change = error.abs() - i64::from(self.mdev_us >> 2);
        // A round trip that got shorter is no sign of a varying one: take an eighth of the change.
        if error < 0 && change > 0 {
            change >>= 3;
        }
        self.mdev_us = u32::try_from(i64::from(self.mdev_us) + change).unwrap_or(0);
        if self.mdev_us > self.mdev_max_us {
            self.mdev_max_us = self.mdev_us;
            self.rttvar_us = self.rttvar_us.max(self.mdev_max_us);
        }
        if snd_una > self.round_end {
            if self.mdev_max_us < self.rttvar_us {
                self.rttvar_us -= (self.rttvar_us - self.mdev_max_us) >> 2;
            }
            self.round_end = snd_nxt;
            self.mdev_max_us = floor;
        }
    }
}

pub(crate) fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

impl Connection {
    /// The least timeout (`tcp_rto_min`): the route's, the socket's, the host's.
    pub(crate) fn rto_min(&self) -> Duration {
        let own = self.options.rto_min.unwrap_or(self.settings.sysctls.tcp_rto_min);
        self.settings.route.rto_min.unwrap_or(own)
    }

    /// The least timeout in microseconds (`tcp_rto_min_us`).
    pub(crate) fn rto_min_us(&self) -> u32 {
        micros(self.rto_min())
    }

    /// The longest timeout, in ticks (`tcp_rto_max`).
    pub(crate) fn rto_max(&self) -> i64 {
        self.ticks(self.options.rto_max.unwrap_or(self.settings.sysctls.tcp_rto_max))
    }

    /// A span in ticks, rounded up.
    pub(crate) fn ticks(&self, span: Duration) -> i64 {
        self.settings.choices.clock.ticks(span)
    }

    /// A span of ticks.
    pub(crate) fn span(&self, ticks: i64) -> Duration {
        Duration::from_nanos(
            u64::try_from(ticks.saturating_mul(self.settings.choices.clock.tick_nanos())).unwrap_or(0),
        )
    }

    /// The timeout that the measurements ask for, in ticks (`__tcp_set_rto`).
    pub(crate) fn measured_rto(&self) -> i64 {
        let rtt = &self.snd.rtt;
        self.ticks(Duration::from_micros(u64::from(rtt.srtt_us >> 3) + u64::from(rtt.rttvar_us)))
    }

    /// Takes a round trip into the estimate (`tcp_rtt_estimator`, `tcp_set_rto`).
    pub(crate) fn take_rtt(&mut self, rtt_us: u32) {
        let rtt_us = self.in_clock_resolution(rtt_us);
        let (floor, una, nxt) = (self.rto_min_us(), self.snd.una, self.snd.nxt);
        self.snd.rtt.sample(rtt_us, floor, una, nxt);
        self.snd.rtt.rto = self.measured_rto().min(self.rto_max());
    }

    /// Before 3.15 a round trip was counted in ticks.
    fn in_clock_resolution(&self, rtt_us: u32) -> u32 {
        if self.settings.choices.microsecond_rtt {
            return rtt_us;
        }
        let tick = u32::try_from(self.settings.choices.clock.tick_nanos() / 1000).unwrap_or(1);
        (rtt_us / tick).max(1) * tick
    }

    /// The first sample, from the handshake (`tcp_synack_rtt_meas`); none if the SYN was sent again.
    pub(crate) fn set_initial_rtt(&mut self, now: Instant, sample: Option<Duration>) {
        if let Some(rtt) = sample {
            let rtt_us = micros(rtt).max(1);
            self.snd.rtt.minimum.update(now, self.settings.sysctls.tcp_min_rtt_wlen, rtt_us);
            self.take_rtt(rtt_us);
        }
    }

    /// The least round trip in microseconds (`tcp_min_rtt`).
    pub(crate) fn min_rtt_us(&self) -> Option<u32> {
        self.snd.rtt.minimum.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_keeps_the_least_of_its_window() {
        let mut filter = MinFilter::default();
        let at = |s: i64| Instant::from_nanos(s * 1_000_000_000);
        for (second, value) in [(0, 50), (1, 40), (2, 60), (9, 45), (12, 70)] {
            filter.update(at(second), Duration::from_secs(10), value);
        }
        assert_eq!(filter.get(), Some(45));
    }
}
