//! CUBIC (RFC 9438) with HyStart (Ha and Rhee, PFLDnet 2008), as net/ipv4/tcp_cubic.c has it (6.18).
//!
//! Integer arithmetic throughout, with the kernel's own scaling, so that the curve is the kernel's and not a
//! textbook's: time in 1/1024 s (`BICTCP_HZ` 10 bits), the cubic's coefficient 0.4 as 41/1024 · 2^-30.

use super::{AckSample, CaEvent, CaState, Control, Moment, Window};
use crate::choices::Hystart;

/// beta = 717/1024: the factor after a loss (`beta`).
const BETA: u32 = 717;
/// `BICTCP_BETA_SCALE`.
const BETA_SCALE: u32 = 1024;
/// `BICTCP_HZ`: the cubic's time unit is 2^-10 s.
const TIME_SHIFT: u32 = 10;
/// `bic_scale` * 10: C = 41 * 10 / 1024 = 0.4 (RFC 9438, section 5).
const CUBE_RTT_SCALE: u64 = 410;
/// `cube_factor` = 2^(10 + 3 * BICTCP_HZ) / (bic_scale * 10).
const CUBE_FACTOR: u64 = (1 << (10 + 3 * TIME_SHIFT)) / CUBE_RTT_SCALE;
/// `beta_scale` = 8 (1024 + beta) / 3 / (1024 - beta): the Reno-friendly slope.
const RENO_SCALE: u32 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);

/// HyStart is off below this window (`hystart_low_window`).
const HYSTART_LOW_WINDOW: u32 = 16;
/// RTT samples compared per round (`HYSTART_MIN_SAMPLES`).
const HYSTART_SAMPLES: u8 = 8;
/// Bounds of the delay increase that ends slow start, in microseconds.
const HYSTART_DELAY_MIN: u32 = 4_000;
const HYSTART_DELAY_MAX: u32 = 16_000;
/// ACKs closer than this belong to one train (`hystart_ack_delta_us`).
const HYSTART_ACK_DELTA: u32 = 2_000;

/// One connection's CUBIC (`struct bictcp`).
#[derive(Clone, Debug)]
pub struct Cubic {
    /// Acknowledged segments per increase by one.
    count: u32,
    last_max_cwnd: u32,
    last_cwnd: u32,
    last_time: i64,
    /// The window at the curve's origin, and when the curve reaches it, in 1/1024 s from the epoch's start.
    origin: u32,
    k: u32,
    /// Minimum delay since the last timeout, in microseconds; 0 before the first.
    delay_min: u32,
    epoch_start: Option<i64>,
    ack_count: u32,
    reno_cwnd: u32,
    // HyStart.
    samples: u8,
    found: bool,
    round_start: i64,
    end_seq: slowpath_model::StreamOffset,
    last_ack: i64,
    round_min: u32,
}

impl Default for Cubic {
    fn default() -> Self {
        Self {
            count: 0,
            last_max_cwnd: 0,
            last_cwnd: 0,
            last_time: 0,
            origin: 0,
            k: 0,
            delay_min: 0,
            epoch_start: None,
            ack_count: 0,
            reno_cwnd: 0,
            samples: 0,
            found: false,
            round_start: 0,
            end_seq: slowpath_model::StreamOffset(0),
            last_ack: 0,
            round_min: u32::MAX,
        }
    }
}

/// HyStart's clock, in microseconds (`bictcp_clock`, `bictcp_clock_us`).
const fn clock(moment: &Moment) -> i64 {
    let micros = moment.now.nanos() / 1_000;
    match moment.hystart {
        Hystart::Milliseconds => micros / 1_000 * 1_000,
        Hystart::Microseconds => micros,
    }
}

/// The cube root, rounded down. `cubic_root` approximates it within 0.2 %. Integers only, so that every machine gets
/// the same result.
fn cube_root(a: u64) -> u32 {
    let mut root: u64 = 0;
    for bit in (0..22).rev() {
        let next = root | 1 << bit;
        if next * next * next <= a {
            root = next;
        }
    }
    root as u32
}

impl Cubic {
    fn reset(&mut self) {
        *self = Self::default();
    }

    fn hystart_reset(&mut self, moment: &Moment) {
        self.round_start = clock(moment);
        self.last_ack = self.round_start;
        self.end_seq = moment.snd_nxt;
        self.round_min = u32::MAX;
        self.samples = 0;
    }

    /// `bictcp_update`.
    fn update(&mut self, window: &Window, moment: &Moment, acked: u32) {
        self.ack_count += acked;
        let now = moment.jiffies();
        let hz = i64::from(moment.hz);
        if self.last_cwnd == window.cwnd && now - self.last_time <= hz / 32 {
            return;
        }
        // The curve is computed once per tick; in between, only the Reno-friendly part changes.
        if self.epoch_start.is_none() || now != self.last_time {
            self.last_cwnd = window.cwnd;
            self.last_time = now;
            self.follow_curve(window, now, hz, acked);
        }
        self.be_friendly(window);
        self.count = self.count.max(2);
    }

    fn follow_curve(&mut self, window: &Window, now: i64, hz: i64, acked: u32) {
        let epoch_start = match self.epoch_start {
            Some(start) => start,
            None => self.begin_epoch(window, now, acked),
        };
        let ahead = (i64::from(self.delay_min) * hz + 999_999) / 1_000_000;
        let t = ((now - epoch_start + ahead) << TIME_SHIFT) as u64 / hz as u64;
        let offset = t.abs_diff(u64::from(self.k));
        let delta = (u128::from(CUBE_RTT_SCALE) * u128::from(offset).pow(3)) >> (10 + 3 * TIME_SHIFT);
        let delta = u32::try_from(delta).unwrap_or(u32::MAX);
        let target = if t < u64::from(self.k) {
            self.origin.saturating_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        };
        self.count =
            if target > window.cwnd { window.cwnd / (target - window.cwnd) } else { 100 * window.cwnd };
        // The first window after the start of the connection grows by at least 5 % per RTT.
        if self.last_max_cwnd == 0 && self.count > 20 {
            self.count = 20;
        }
    }

    /// A new epoch begins: up to the last maximum, or from here on.
    fn begin_epoch(&mut self, window: &Window, now: i64, acked: u32) -> i64 {
        self.epoch_start = Some(now);
        self.ack_count = acked;
        self.reno_cwnd = window.cwnd;
        if self.last_max_cwnd <= window.cwnd {
            (self.k, self.origin) = (0, window.cwnd);
        } else {
            self.k = cube_root(CUBE_FACTOR * u64::from(self.last_max_cwnd - window.cwnd));
            self.origin = self.last_max_cwnd;
        }
        now
    }

    /// At least as fast as Reno (`tcp_friendliness`).
    fn be_friendly(&mut self, window: &Window) {
        let delta = ((u64::from(window.cwnd) * u64::from(RENO_SCALE)) >> 3).max(1) as u32;
        while self.ack_count > delta {
            self.ack_count -= delta;
            self.reno_cwnd += 1;
        }
        if self.reno_cwnd > window.cwnd {
            let most = window.cwnd / (self.reno_cwnd - window.cwnd);
            self.count = self.count.min(most);
        }
    }

    /// How long a train of ACKs may last, in microseconds.
    fn longest_train(&self, moment: &Moment) -> u32 {
        match moment.hystart {
            Hystart::Milliseconds => self.delay_min / 2 / 1_000 * 1_000,
            Hystart::Microseconds => {
                let train = self.delay_min + hystart_ack_delay(moment);
                // Pacing spreads the train over the RTT anyway.
                if moment.paced { train } else { train / 2 }
            }
        }
    }

    /// `hystart_update`: leaves slow start when an ACK train has lasted half an RTT, or when the round's minimum delay
    /// has grown.
    fn hystart(&mut self, window: &mut Window, moment: &Moment, delay: u32) {
        if moment.snd_una > self.end_seq {
            self.hystart_reset(moment);
        }
        if window.cwnd < HYSTART_LOW_WINDOW {
            return;
        }
        let now = clock(moment);
        if now - self.last_ack <= i64::from(HYSTART_ACK_DELTA) {
            self.last_ack = now;
            let threshold = self.longest_train(moment);
            if now - self.round_start > i64::from(threshold) {
                self.found = true;
                window.ssthresh = window.cwnd;
            }
        }
        if moment.hystart == Hystart::Microseconds || self.samples < HYSTART_SAMPLES {
            self.round_min = self.round_min.min(delay);
        }
        if self.samples < HYSTART_SAMPLES {
            self.samples += 1;
            return;
        }
        let rise = (self.delay_min >> 3).clamp(HYSTART_DELAY_MIN, HYSTART_DELAY_MAX);
        if self.round_min > self.delay_min + rise {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }
}

/// How much of a train is due to segments sent as one (`hystart_ack_delay`): four super-packets of 64 KB at the pacing
/// rate, at most a millisecond.
fn hystart_ack_delay(moment: &Moment) -> u32 {
    const SUPER_PACKET: u64 = 65_536;
    if moment.pacing_rate == 0 {
        return 0;
    }
    u32::try_from((SUPER_PACKET * 4 * 1_000_000 / moment.pacing_rate).min(1_000)).unwrap_or(1_000)
}

impl Control for Cubic {
    fn name(&self) -> &'static str {
        "cubic"
    }

    /// `cubictcp_recalc_ssthresh`, with fast convergence.
    fn ssthresh(&mut self, window: &Window, _moment: &Moment) -> u32 {
        self.epoch_start = None;
        self.last_max_cwnd = if window.cwnd < self.last_max_cwnd {
            (u64::from(window.cwnd) * u64::from(BETA_SCALE + BETA) / u64::from(2 * BETA_SCALE)) as u32
        } else {
            window.cwnd
        };
        ((u64::from(window.cwnd) * u64::from(BETA) / u64::from(BETA_SCALE)) as u32).max(2)
    }

    fn least_in_reduction(&self, window: &Window) -> u32 {
        window.ssthresh
    }

    fn cong_avoid(&mut self, window: &mut Window, moment: &Moment, acked: u32) {
        if !window.is_limiting() {
            return;
        }
        let left = if window.in_slow_start() { window.slow_start(acked) } else { acked };
        if left > 0 {
            self.update(window, moment, left);
            window.additive_increase(self.count, left);
        }
    }

    fn set_state(&mut self, to: CaState, _window: &mut Window, moment: &Moment) {
        if to == CaState::Loss {
            self.reset();
            self.hystart_reset(moment);
        }
    }

    /// The curve's clock stops during idle time (`cubictcp_cwnd_event`).
    fn event(&mut self, event: CaEvent, _window: &mut Window, moment: &Moment) {
        if event == CaEvent::TransmitStart
            && let Some(start) = self.epoch_start
        {
            let idle = moment.jiffies() - moment.last_sent.nanos() / moment.tick_ns();
            if idle > 0 {
                self.epoch_start = Some((start + idle).min(moment.jiffies()));
            }
        }
    }

    fn acked(&mut self, window: &mut Window, moment: &Moment, sample: &AckSample) {
        let Some(rtt) = sample.rtt else { return };
        // Discard samples right after fast recovery: recovery inflates them (`cubictcp_acked`).
        if let Some(start) = self.epoch_start
            && moment.jiffies() - start < i64::from(moment.hz)
        {
            return;
        }
        let delay = u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX).max(1);
        // Eighths of a millisecond.
        let delay = match moment.hystart {
            Hystart::Milliseconds => (delay / 125).max(1) * 125,
            Hystart::Microseconds => delay,
        };
        if self.delay_min == 0 || self.delay_min > delay {
            self.delay_min = delay;
        }
        if !self.found && window.in_slow_start() {
            self.hystart(window, moment, delay);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::Instant;

    #[test]
    fn constants_match_the_kernel() {
        assert_eq!(CUBE_FACTOR, (1u64 << 40) / 410);
        assert_eq!(RENO_SCALE, 15);
    }

    #[test]
    fn cube_root_rounds_down_exactly() {
        for root in [1u64, 2, 3, 100, 4095, 2_097_151] {
            let cube = root * root * root;
            assert_eq!(u64::from(cube_root(cube)), root);
            assert_eq!(u64::from(cube_root(cube - 1)), root - 1);
        }
    }

    fn moment(hystart: Hystart, at_ms: i64) -> Moment {
        Moment {
            now: Instant::from_nanos(at_ms * 1_000_000),
            snd_nxt: slowpath_model::StreamOffset(1_000_000),
            in_flight: 100,
            hystart,
            ..Moment::of_tests()
        }
    }

    /// A path whose RTT drops from 150 ms to 100 ms within a round: until 5.7 that round's minimum stayed at 150 ms, far
    /// above the new minimum, and slow start ended (b344579ca847).
    #[test]
    fn drop_of_the_rtt_ends_slow_start_only_with_milliseconds() {
        let is_over = |hystart| {
            let (mut cubic, mut window) = (Cubic::default(), Window::new(100));
            for (nth, rtt_ms) in [150; 8].into_iter().chain([100; 2]).enumerate() {
                let rtt = Some(std::time::Duration::from_millis(rtt_ms));
                // Apart, so that they are no train.
                let moment = moment(hystart, 10 + 5 * nth as i64);
                cubic.acked(&mut window, &moment, &AckSample { acked: 1, rtt, in_flight: 100 });
            }
            !window.in_slow_start()
        };
        assert!(is_over(Hystart::Milliseconds));
        assert!(!is_over(Hystart::Microseconds));
    }

    /// Pacing spreads the ACKs of a window over half an RTT: since 5.6 that is no sign of a full path (ede656e84658).
    #[test]
    fn paced_train_ends_slow_start_only_with_milliseconds() {
        let lasts = |hystart| {
            let (mut cubic, mut window) = (Cubic::default(), Window::new(100));
            (0..200).find(|ms| {
                let moment = Moment { paced: true, ..moment(hystart, 10 + ms) };
                let rtt = Some(std::time::Duration::from_millis(100));
                cubic.acked(&mut window, &moment, &AckSample { acked: 1, rtt, in_flight: 100 });
                !window.in_slow_start()
            })
        };
        assert_eq!(lasts(Hystart::Milliseconds), Some(51));
        assert!(lasts(Hystart::Microseconds).is_some_and(|ms| ms > 100));
    }
}
