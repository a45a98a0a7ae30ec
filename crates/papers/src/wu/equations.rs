//! The paper's equations (section 3): how long packets wait for a process that waits for a CPU, how the sender's RTT
//! estimate reacts, and when it times out spuriously.
//!
//! The scheduler is 2.6's with its two arrays; tasks are given by their nice values, from −20 to 19. RTTs are times,
//! loss probabilities are from 0 to 1.

use slowpath_kernels::schedule::o1_time_slice;
use slowpath_model::{Bytes, Rate, statistics};
use std::str::FromStr;
use std::time::Duration;

/// Equation 11's bounds (`TCP_RTO_MIN`, `TCP_RTO_MAX`).
pub const RTO_MIN: Duration = Duration::from_millis(200);
/// See [`RTO_MIN`].
pub const RTO_MAX: Duration = Duration::from_secs(120);
/// The constant of equation 8, of order 1: Mathis and others' value for an ACK per segment and random losses.
pub const MATHIS: f64 = 1.22;

/// The nice values of some tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tasks(pub Vec<i8>);

impl Tasks {
    /// The highest number of tasks that text can name.
    const MOST: usize = 100_000;
}

/// A part of a list of tasks that is neither a nice value nor a number of tasks with one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?}: write nice values from -20 to 19, such as 0,0,-5 or 10x0")]
pub struct TasksError(String);

impl FromStr for Tasks {
    type Err = TasksError;

    /// Nice values, or numbers of tasks with one nice value, between commas: `0,0,-5` or `10x0`.
    fn from_str(text: &str) -> Result<Self, TasksError> {
        let mut all = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (count, nice) = part.split_once('x').unwrap_or(("1", part));
            let room = Self::MOST - all.len();
            let count = count.trim().parse().ok().filter(|count| (1..=room).contains(count));
            let nice = nice.trim().parse().ok().filter(|nice| (-20..=19).contains(nice));
            let (count, nice) = count.zip(nice).ok_or_else(|| TasksError(part.to_owned()))?;
            all.resize(all.len() + count, nice);
        }
        Ok(Self(all))
    }
}

fn slices(nice: &[i8]) -> Duration {
    nice.iter().map(|nice| o1_time_slice(*nice)).sum()
}

/// Equations 1 and 3a: the minimum wait of a packet on the backlog whose process used up its time slice with the socket
/// locked, if all tasks use their whole slices: those left in the active array, and those among the expired that run
/// before it.
pub fn backlog_wait(active: &[i8], expired_before: &[i8]) -> Duration {
    slices(active) + slices(expired_before)
}

/// Equations 2 and 3b: the minimum wait of a packet on the prequeue whose process was woken for it: the tasks in the
/// active array that run before it.
pub fn prequeue_wait(active_before: &[i8]) -> Duration {
    slices(active_before)
}

/// The components of an RTT (equation 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrip {
    /// Putting the packet on the wire (T_t).
    pub transmission: Duration,
    /// Propagation (T_pd).
    pub propagation: Duration,
    /// Queueing on the path (T_q).
    pub queueing: Duration,
    /// Processing at hosts and routers (T_pp).
    pub processing: Duration,
}

impl RoundTrip {
    /// Equation 4, or with a wait equation 5.
    pub fn with_wait(self, wait: Duration) -> Duration {
        self.transmission + self.propagation + self.queueing + self.processing + wait
    }
}

/// Mean, and variance in seconds squared, of RTTs (equations 6 and 7); `None` if there are none.
pub fn mean_and_variance(round_trips: &[Duration]) -> Option<(Duration, f64)> {
    let seconds = || round_trips.iter().map(Duration::as_secs_f64);
    let mean = statistics::mean(seconds())?;
    let variance = statistics::mean(seconds().map(|time| (time - mean).powi(2)))?;
    Some((Duration::from_secs_f64(mean), variance))
}

/// Equation 8: Reno's throughput with this loss probability; `None` without losses, since nothing limits it then.
pub fn bandwidth(mss: Bytes, round_trip: Duration, loss: f64) -> Option<Rate> {
    let factor = MATHIS / loss.sqrt();
    let bytes = (mss.get() as f64 * factor) as u64;
    (loss > 0.0).then(|| Rate::of(Bytes::new(bytes), round_trip)).flatten()
}

/// A sender's RTT estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// SRTT.
    pub smoothed: Duration,
    /// RTTVAR.
    pub variation: Duration,
}

impl Estimate {
    /// Equations 9 and 10: adds an RTT sample.
    #[must_use]
    pub fn after(self, measured: Duration) -> Self {
        Self {
            variation: (self.variation.saturating_mul(3) / 4)
                .saturating_add(self.smoothed.abs_diff(measured) / 4),
            smoothed: (self.smoothed.saturating_mul(7) / 8).saturating_add(measured / 8),
        }
    }

    /// Equation 11: the RTO. (Linux applies the minimum to RTTVAR instead: its RTO is at least 200 ms more than SRTT.)
    pub fn timeout(self) -> Duration {
        self.smoothed.saturating_add(self.variation.saturating_mul(4)).clamp(RTO_MIN, RTO_MAX)
    }
}

/// Equation 12: whether the sender times out spuriously.
pub fn times_out(wait: Duration, timeout: Duration, round_trip: Duration) -> bool {
    wait > timeout.saturating_sub(round_trip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_nice_values_or_counts_of_one() {
        assert_eq!("0,-5, 3x19".parse(), Ok(Tasks(vec![0, -5, 19, 19, 19])));
        assert_eq!("".parse(), Ok(Tasks::default()));
        for wrong in ["20", "-21", "x0", "0x0", "1x", "a", "99999999999x0", "100000x0,1"] {
            assert!(wrong.parse::<Tasks>().is_err(), "{wrong}");
        }
    }

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn time_slices_match_table_i() {
        for (nice, slice) in [(-20, 800), (-15, 700), (-10, 600), (0, 100), (19, 5)] {
            assert_eq!(o1_time_slice(nice), MS(slice), "nice {nice}");
        }
    }

    #[test]
    fn ten_tasks_delay_a_packet_by_a_second() {
        let wait = backlog_wait(&[0; 6], &[0; 4]);
        assert_eq!((wait, prequeue_wait(&[-10, 19])), (MS(1000), MS(605)));
        // The paper's example below equation 12.
        let estimate = Estimate { smoothed: MS(1), variation: Duration::ZERO };
        assert!(times_out(wait, estimate.timeout(), MS(1)));
        assert!(!times_out(MS(199), MS(200), MS(1)) && times_out(MS(200), MS(200), MS(1)));
    }

    #[test]
    fn waits_raise_mean_variance_and_rto() {
        let parts = RoundTrip { propagation: MS(10), queueing: MS(2), ..RoundTrip::default() };
        let usual = [parts.with_wait(Duration::ZERO); 4];
        assert_eq!(usual[0], MS(12));
        let mut waited = usual;
        waited[3] = parts.with_wait(MS(400));
        let [(mean, variance), (mean_waited, variance_waited)] =
            [usual, waited].map(|times| mean_and_variance(&times).expect("there are some"));
        assert!(mean_waited == mean + MS(100) && variance == 0.0 && variance_waited > 0.02);
        assert_eq!(mean_and_variance(&[]), None);
        let estimate = Estimate { smoothed: MS(80), variation: MS(40) };
        let after = estimate.after(MS(400));
        assert_eq!(after, Estimate { smoothed: MS(120), variation: MS(110) });
        assert_eq!((estimate.timeout(), after.timeout()), (MS(240), MS(560)));
        assert_eq!(after.after(Duration::from_secs(4000)).timeout(), RTO_MAX);
        let longest = Estimate { smoothed: Duration::MAX, variation: Duration::MAX };
        assert_eq!(longest.after(Duration::MAX).timeout(), RTO_MAX);
    }

    #[test]
    fn bandwidth_is_inverse_to_rtt_and_root_of_loss() {
        let of = |ms, loss| bandwidth(Bytes::new(1448), MS(ms), loss).expect("there is loss").get();
        assert!((14_000_000..14_200_000).contains(&of(100, 1e-4)), "{}", of(100, 1e-4));
        assert_eq!(of(100, 1e-4) / of(200, 1e-4), 2);
        assert_eq!(of(100, 1e-4) / of(100, 4e-4), 2);
        assert_eq!(bandwidth(Bytes::new(1448), MS(100), 0.0), None);
    }
}
