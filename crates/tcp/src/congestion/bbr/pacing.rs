//! The pacing rate of BBR (`bbr_set_pacing_rate`, the same in versions 1 and 3).

use super::scale::{RATE_ONE, bytes_per_second};
use crate::congestion::Moment;

/// A super-packet lasts about a millisecond (`sk_pacing_shift`), and is no longer than `GSO_LEGACY_MAX_SIZE` less headers.
const PACING_SHIFT: u32 = 10;
const MOST_SUPER_BYTES: u64 = 65_536 - 1 - 320;

/// The pacing rate of one connection.
#[derive(Clone, Debug, Default)]
pub(in crate::congestion) struct Pacing {
    /// Bytes a second.
    pub rate: u64,
    has_seen_rtt: bool,
}

impl Pacing {
    /// `bbr_init_pacing_rate_from_rtt`: cwnd in an RTT, with the gain of Startup.
    pub fn begin(&mut self, cwnd: u32, moment: &Moment, gain: u32) {
        self.has_seen_rtt |= moment.srtt.is_some();
        let rtt_us = moment.srtt.map_or(1000, |rtt| u64::try_from(rtt.as_micros()).unwrap_or(1).max(1));
        let rate = u64::from(cwnd) * RATE_ONE / rtt_us;
        self.rate = bytes_per_second(rate, moment.mss, gain).min(moment.most_pacing_rate);
    }

    /// The segments that it sends in a millisecond, and `more` bytes, as one super-packet can hold them.
    pub fn segments_in_a_millisecond(&self, more: u64, mss: u32) -> u32 {
        let bytes = ((self.rate >> PACING_SHIFT) + more).min(MOST_SUPER_BYTES) as u32;
        bytes / mss.max(1)
    }

    /// Paces at `gain` times a rate. Until the path is full, the pacing rate only rises.
    pub fn set(
        &mut self,
        moment: &Moment,
        (rate, gain): (u64, u32),
        (cwnd, first_gain): (u32, u32),
        is_full: bool,
    ) {
        let rate = bytes_per_second(rate, moment.mss, gain).min(moment.most_pacing_rate);
        if !self.has_seen_rtt && moment.srtt.is_some() {
            self.begin(cwnd, moment, first_gain);
        }
        if is_full || rate > self.rate {
            self.rate = rate;
        }
    }
}
