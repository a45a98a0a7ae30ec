//! The relation between the clocks of two recordings: offset, drift and steps.
//!
//! A packet from the first recording to the second takes `d = transit + θ(t)` by the two timestamps, one in the other
//! direction `d' = transit' − θ(t)`, where `θ = offset + drift · t` is how far the second clock is ahead. No packet
//! arrives before it was sent, so each `d` bounds θ from above and each `−d'` from below, whatever path the packet
//! took: packets of all flows count ([`line`]). The drift is the slope that leaves most room between the two bounds,
//! which is a linear program (Moon, Skelly and Towsley, *Estimation and removal of clock skew from network delay
//! measurements*, INFOCOM 1999, solved for one direction; Paxson, *On calibrating measurements of packet transit
//! times*, SIGMETRICS 1998, has both).
//!
//! Between the bounds, timestamps cannot show more, and something is assumed ([`Basis`]): that the clocks are equal if
//! nothing contradicts it, or else that the shortest transit takes equally long both ways.
//!
//! A step of a clock raises one direction and lowers the other. A queue or a new route raises one direction and lowers
//! none, so it is not mistaken for a step.

mod envelopes;
mod line;
#[cfg(test)]
mod tests;

pub(super) use envelopes::Envelopes;

use slowpath_model::Instant;
use std::time::Duration;

/// The relation of the second recording's clock to the first's.
#[derive(Clone, Debug, PartialEq)]
pub struct Alignment {
    /// Times between which the clocks ran evenly, in order. More than one if a clock was set meanwhile.
    pub stretches: Vec<Stretch>,
    /// Packets it is based on, first to second and back.
    pub packets: [u64; 2],
}

/// How one offset is chosen among those that the packets leave possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The two clocks show the same time throughout, as those of one machine do, or two that PTP or NTP synchronises.
    /// No packet contradicts it.
    EqualClocks,
    /// The shortest transit takes equally long both ways.
    EqualWays,
}

impl Basis {
    /// `equal-clocks`, `equal-ways`.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::EqualClocks => "equal-clocks",
            Self::EqualWays => "equal-ways",
        }
    }
}

/// A time during which the two clocks ran evenly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// From this instant of the first recording's clock on.
    pub from: Instant,
    /// Until this one.
    pub to: Instant,
    /// How far the second clock is ahead of the first at `from`, by the wall-clock timestamps of the two recordings, in
    /// nanoseconds.
    pub offset_ns: i64,
    /// The assumption behind the offset.
    pub basis: Basis,
    /// The least and the most that the second clock can be ahead at `from`: beyond, a packet would have arrived
    /// before it was sent.
    pub offset_bounds_ns: [i64; 2],
    /// By how much the second clock runs faster, in parts per million.
    pub drift_ppm: f64,
    /// How far the drift may be off, in parts per million.
    pub drift_uncertainty_ppm: f64,
    /// How far the offset may be off, at any time of the stretch, and with it every one-way delay.
    pub uncertainty: Duration,
    /// The least transit time to the second recording plus the least back.
    pub round_trip: Duration,
}

impl Alignment {
    /// How far any one-way delay may be off.
    pub fn uncertainty(&self) -> Duration {
        self.stretches.iter().map(|stretch| stretch.uncertainty).max().unwrap_or_default()
    }

    /// How far the second clock is ahead at `at` nanoseconds on the first recording's clock; `None` while one of them
    /// was being set.
    pub(super) fn ahead(&self, at: i64) -> Option<i64> {
        let at = at.clamp(-(1 << 61), 1 << 61);
        let (first, last) = (self.stretches.first()?, self.stretches.last()?);
        let stretch = if at < first.from.nanos() {
            first
        } else if at > last.to.nanos() {
            last
        } else {
            let behind = self.stretches.partition_point(|stretch| stretch.from.nanos() <= at);
            let stretch = &self.stretches[behind.saturating_sub(1)];
            if at > stretch.to.nanos() {
                return None;
            }
            stretch
        };
        let since = (at - stretch.from.nanos()) as f64;
        Some(stretch.offset_ns.saturating_add((since * stretch.drift_ppm / 1e6).round() as i64))
    }

    /// How far the clock is ahead; while a clock was being set, as it was before.
    fn ahead_or_nearly(&self, at: i64) -> i64 {
        let behind = self.stretches.partition_point(|stretch| stretch.from.nanos() <= at);
        let nearest = self.stretches.get(behind.saturating_sub(1));
        self.ahead(at).or_else(|| self.ahead(nearest?.to.nanos())).unwrap_or(0)
    }

    /// Times at which one of the clocks was set, and by how much: between the end of a stretch and the start of
    /// the next, in nanoseconds.
    pub fn steps(&self) -> impl Iterator<Item = (Instant, Instant, i64)> {
        self.stretches.windows(2).map(|pair| {
            let (before, after) = (&pair[0], &pair[1]);
            let ran = after.from.nanos_since(before.from) as f64 * before.drift_ppm / 1e6;
            (
                before.to,
                after.from,
                after.offset_ns.saturating_sub(before.offset_ns).saturating_sub(ran.round() as i64),
            )
        })
    }
}

/// How long packets of one direction take, if the clocks are aligned. If not, the timestamps count as they are: good
/// for comparisons between packets, not for delays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transit<'a> {
    pub alignment: Option<&'a Alignment>,
    /// The recording nearer to the sender: 0 or 1.
    pub near: usize,
    /// The wall-clock time of the first recording's instant 0.
    pub epoch: i64,
    /// The shortest transit time, less the timestamps' uncertainty; [`Transit::UNKNOWN`] if no packet shows it.
    pub shortest: i64,
}

impl Transit<'_> {
    /// Shorter than any transit time.
    pub const UNKNOWN: i64 = i64::MIN / 4;

    /// Whether a packet showed the shortest transit time.
    pub const fn is_known(&self) -> bool {
        self.shortest > Self::UNKNOWN
    }

    /// From passing near to passing far, given both wall-clock times.
    pub fn of(&self, near: i64, far: i64) -> i64 {
        let first = if self.near == 0 { near } else { far };
        let ahead =
            self.alignment.map_or(0, |alignment| alignment.ahead_or_nearly(first.saturating_sub(self.epoch)));
        far.saturating_sub(near).saturating_sub(self.signed(ahead))
    }

    /// The delay between the two, if the clocks are known well enough. A packet that arrived before it was sent has
    /// none: its timestamps were taken while a clock was being set.
    pub fn delay(&self, near: i64, far: i64) -> Option<i64> {
        /// The error of microsecond timestamps, the scheduling of two taps of one host, and the drift within a bin.
        const SCATTER: i64 = 100_000;
        let first = if self.near == 0 { near } else { far };
        let ahead = self.alignment?.ahead(first.saturating_sub(self.epoch))?;
        let taken = far.saturating_sub(near).saturating_sub(self.signed(ahead));
        (taken >= -SCATTER).then_some(taken.max(0))
    }

    /// When, on far's wall clock, a packet that passes near at `near` would pass far if it took no time.
    pub fn at_far(&self, near: i64) -> i64 {
        let Some(alignment) = self.alignment else { return near };
        let mut first = near.saturating_sub(self.epoch);
        if self.near == 1 {
            // The offset at this time is needed, but this time is by the other clock; drift is small, so the iteration
            // converges.
            for _ in 0..3 {
                first = near.saturating_sub(self.epoch).saturating_sub(alignment.ahead_or_nearly(first));
            }
        }
        near.saturating_add(self.signed(alignment.ahead_or_nearly(first)))
    }

    fn signed(&self, ahead: i64) -> i64 {
        if self.near == 0 { ahead } else { ahead.saturating_neg() }
    }
}
