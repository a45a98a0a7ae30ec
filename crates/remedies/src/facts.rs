//! The input of advice: the report's numbers, in the form needed here.

use crate::Host;
use crate::arithmetic;
use slowpath_analyses::Evidence;
use slowpath_analyses::report::{Finding, FlowReport, Measures, Overview, RttMeasures, SynOptions};
pub(crate) use slowpath_model::units::duration_text as time;
use slowpath_model::{Bytes, End, Endpoint, Rate, Vantage};
use std::time::Duration;

/// A finding and its flow.
pub(crate) struct Facts<'a> {
    pub(crate) finding: &'a Finding,
    pub(crate) report: &'a FlowReport,
}

impl<'a> Facts<'a> {
    pub(crate) const fn of(finding: &'a Finding, report: &'a FlowReport) -> Self {
        Self { finding, report }
    }

    /// The result of `choose` for the first evidence that it accepts.
    pub(crate) fn evidence<T>(&self, choose: impl Fn(&Evidence) -> Option<T>) -> Option<T> {
        self.finding.evidence.iter().find_map(choose)
    }

    /// Whether there is evidence of that kind.
    pub(crate) fn shows(&self, is_that: impl Fn(&Evidence) -> bool) -> bool {
        self.finding.evidence.iter().any(is_that)
    }

    /// What was sent by the end that the finding is about.
    pub(crate) const fn sent(&self) -> &'a Measures {
        &self.report.directions[self.finding.from.index()].measures
    }

    /// What the evidence about that end is drawn from.
    pub(crate) const fn overview(&self) -> &'a Overview {
        &self.report.directions[self.finding.from.index()].overview
    }

    /// Whether most of the finding's time passed after the last data of its end.
    pub(crate) fn is_after_last_data(&self) -> bool {
        let spells = &self.report.directions[self.finding.from.index()].spells;
        let own = spells.iter().filter(|spell| spell.cause == self.finding.cause);
        let after: Duration = own.map(|spell| spell.after_last_data(self.sent())).sum();
        after * 2 > self.finding.lasted
    }

    /// How often the sender waited for payload of the receiver.
    pub(crate) fn turns(&self) -> u64 {
        self.overview().waits.prompted
    }

    /// What the receiver sent: its ACKs, window and options.
    pub(crate) fn answered(&self) -> &'a Measures {
        &self.report.directions[(!self.finding.from).index()].measures
    }

    pub(crate) const fn sender(&self) -> &'a Endpoint {
        match self.finding.from {
            End::A => &self.report.key.a,
            End::B => &self.report.key.b,
        }
    }

    pub(crate) const fn receiver(&self) -> &'a Endpoint {
        match self.finding.from {
            End::A => &self.report.key.b,
            End::B => &self.report.key.a,
        }
    }

    /// The peer of the host at `host`: the other end of its sockets and routes.
    pub(crate) const fn peer_of(&self, host: Host) -> &'a Endpoint {
        match host {
            Host::Sender | Host::Path | Host::Either | Host::This => self.receiver(),
            Host::Receiver => self.sender(),
        }
    }

    pub(crate) fn host(&self, end: End) -> Host {
        if end == self.finding.from { Host::Sender } else { Host::Receiver }
    }

    /// The whole path's minimum RTT, from the best available source.
    ///
    /// The smallest of: both sides of the tap added up, the handshake, and data to ACK if the tap was at the sender.
    /// None of them can be smaller than the path's.
    ///
    /// In the time of a window or a buffer that holds less than the path, it may have been far longer.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        if let Some(longer) = self.overview().rtt_under(self.finding.cause) {
            return Some(longer);
        }
        let vantage = &self.report.vantage;
        let both_sides = vantage.to_a.zip(vantage.to_b).map(|(a, b)| a.saturating_add(b));
        let by_ack = if self.is_at_sender() { self.sent().rtt_by_ack.min } else { None };
        [both_sides, self.report.opening.round_trip, by_ack]
            .into_iter()
            .flatten()
            .filter(|time| !time.is_zero())
            .min()
    }

    /// Whether the tap was at the sender.
    pub(crate) fn is_at_sender(&self) -> bool {
        matches!(self.report.vantage.vantage, Vantage::At(end) if end == self.finding.from)
    }

    /// The rate reached.
    pub(crate) fn reached(&self) -> Option<Rate> {
        self.sent().goodput.filter(|rate| rate.get() > 0)
    }

    /// The most data outstanding: as seen, but at least what rate and RTT imply. A tap far from the sender sees less
    /// outstanding than there is.
    pub(crate) fn outstanding(&self) -> Bytes {
        let by_rate =
            self.reached().zip(self.round_trip()).map(|(rate, time)| arithmetic::window_for(rate, time));
        self.sent().flight_max.max(by_rate.unwrap_or_default())
    }

    /// The whole path's RTTs including all waits: known next to either end, not in between.
    pub(crate) fn round_trips(&self) -> Option<RttMeasures> {
        match self.report.vantage.vantage {
            Vantage::At(end) if end == self.finding.from => Some(self.sent().rtt_by_ack),
            Vantage::At(_) => Some(self.answered().rtt_by_timestamp),
            Vantage::Between | Vantage::Unknown => None,
        }
    }

    /// The rate at which a busy bottleneck delivered: the best rate held for about an RTT, or the mean.
    pub(crate) fn delivered(&self) -> Option<Rate> {
        self.reached().map(|mean| mean.max(self.peak().unwrap_or(mean)))
    }

    /// The best rate held for about an RTT.
    pub(crate) fn peak(&self) -> Option<Rate> {
        Some(Rate::bits_per_second(self.overview().peak_rate.max(0.0) as u64)).filter(|peak| peak.get() > 0)
    }

    /// A target rate; an assumption ([`arithmetic::target_for`]).
    pub(crate) fn target(&self) -> Option<Rate> {
        self.reached().map(arithmetic::target_for)
    }

    /// The window the target needs.
    pub(crate) fn target_window(&self) -> Option<Bytes> {
        Some(arithmetic::window_for(self.target()?, self.round_trip()?))
    }

    /// The rate without the finding's time, all else unchanged: only an upper bound.
    pub(crate) fn rate_without(&self) -> Option<Rate> {
        let rest = 1.0 - self.finding.share;
        let rate = self.reached()?;
        (rest > 0.01 && self.finding.share > 0.0)
            .then(|| Rate::bits_per_second((rate.get() as f64 / rest) as u64))
    }

    /// Mean length of the finding's spells.
    pub(crate) fn spell(&self) -> Option<Duration> {
        let spells = u32::try_from(self.finding.spells).ok().filter(|spells| *spells > 0)?;
        Some(self.finding.lasted / spells)
    }

    /// The payload of a full segment: as seen, or what the receiver's SYN allows less timestamps.
    pub(crate) fn mss(&self) -> u32 {
        let sent = self.sent();
        if sent.mss_seen > 0 {
            return sent.mss_seen;
        }
        self.answered().options.and_then(|options| options.mss).map_or(1448, u32::from)
    }

    /// Segments lost over segments sent, as in the evidence.
    pub(crate) fn loss(&self) -> Option<f64> {
        self.sent().lost_share()
    }

    /// The options of both SYNs, sender's first, each with its host; only those seen.
    pub(crate) fn options(&self) -> impl Iterator<Item = (Host, SynOptions)> {
        [(Host::Sender, self.sent().options), (Host::Receiver, self.answered().options)]
            .into_iter()
            .filter_map(|(host, options)| Some((host, options?)))
    }
}

/// A probability for people: `0.6 %`, `0.0012 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent <= 0.0 {
        return "0 %".to_owned();
    }
    let decimals = (1 - percent.log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{percent:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text.as_str() };
    format!("{text} %")
}

/// The rate that a window of `window` allows, as a clause: `at most 13.1 Mbit/s over 40 ms`.
pub(crate) fn allows(facts: &Facts<'_>, window: Bytes) -> Option<String> {
    let round_trip = facts.round_trip()?;
    let rate = arithmetic::largest_rate(window, round_trip)?;
    Some(format!("{window} per RTT of {} allow at most {rate}", time(round_trip)))
}

/// `1 time`, `7 times`.
pub(crate) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// The shortest and the longest, if both are known and differ; a time of zero is below the clock's resolution.
pub(crate) fn spread(rtt: &RttMeasures) -> Option<(Duration, Duration)> {
    rtt.min.zip(rtt.max).filter(|(min, max)| !min.is_zero() && min < max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_and_counts_are_formatted() {
        assert_eq!(percent(0.006), "0.6 %");
        assert_eq!(percent(0.000_012_3), "0.0012 %");
        assert_eq!(percent(0.25), "25 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.0), "0 %");
    }
}
