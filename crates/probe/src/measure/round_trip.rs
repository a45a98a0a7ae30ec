//! The RTT, by echoes.

use super::channel::Channel;
use super::{OnProgress, Progress};
use slowpath_model::statistics::lower_median;

/// Echoes sent: with three of them lost, one late echo does not move the median.
pub const ECHOES: u32 = 40;
/// From the end of one echo to the next. They should not meet each other, nor always the same tick of a timer: 250 a
/// second are 4 ms apart.
const APART_NS: u64 = 7_300_000;

/// The result of the echoes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundTrip {
    /// Echoes sent.
    pub echoes: u32,
    /// Of these, those that did not return.
    pub lost: u32,
    /// The shortest, in nanoseconds: the path without its queues. The far end's turnaround is subtracted. `None` if
    /// none returned.
    pub min_ns: Option<u64>,
    /// The median, in nanoseconds.
    pub median_ns: Option<u64>,
    /// The median difference between one and the next, in nanoseconds.
    pub jitter_ns: Option<u64>,
}

/// Sends echoes one after the other.
///
/// # Errors
/// If the channel cannot continue.
pub fn measure<C: Channel>(channel: &mut C, on_progress: OnProgress<'_>) -> Result<RoundTrip, C::Error> {
    on_progress(Progress::Echoes);
    let mut times = Vec::new();
    for _ in 0..ECHOES {
        if let Some(echo) = channel.echo()? {
            times.push(echo.away_ns.saturating_sub(echo.turned_ns));
        }
        channel.rest(APART_NS)?;
    }
    Ok(summed_up(ECHOES, &times))
}

fn summed_up(echoes: u32, times: &[u64]) -> RoundTrip {
    let changes: Vec<u64> = times.windows(2).map(|pair| pair[0].abs_diff(pair[1])).collect();
    RoundTrip {
        echoes,
        lost: echoes - times.len() as u32,
        min_ns: times.iter().min().copied(),
        median_ns: lower_median(times),
        jitter_ns: lower_median(&changes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_without_echoes_is_unknown() {
        let none = summed_up(4, &[]);
        assert_eq!((none.lost, none.min_ns, none.jitter_ns), (4, None, None));
        let some = summed_up(4, &[30, 10, 20]);
        assert_eq!(
            (some.lost, some.min_ns, some.median_ns, some.jitter_ns),
            (1, Some(10), Some(20), Some(10))
        );
    }
}
