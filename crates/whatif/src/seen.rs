//! One transfer in numbers: the captured one, and each simulated one, from the analyses' report and the trace.

use crate::exchange::Requests;
use crate::trace::{Loss, Pace, Trace, Traces};
use slowpath_analyses::report::{FlowReport, SynOptions};
use slowpath_analyses::{Analysis, Cause, Limit};
use slowpath_model::{Bytes, End, Instant, Rate, Vantage};
use std::cmp::Reverse;
use std::time::Duration;

/// A transfer as a tap next to its sender saw it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Unique payload.
    pub amount: Bytes,
    /// From the first data to the last, and the shortest RTT: until it is acknowledged.
    pub lasted: Duration,
    /// The amount over that time.
    pub rate: Rate,
    /// The path's shortest RTT.
    pub least_rtt: Option<Duration>,
    /// Mean RTT over ACKs.
    pub mean_rtt: Option<Duration>,
    /// The longest RTT of data that was neither lost nor behind a hole.
    pub longest_rtt: Option<Duration>,
    /// Retransmitted segments of all with data, spurious ones included: 0 to 1.
    pub retransmitted: f64,
    /// Segments with data, a super-packet counted as what it holds.
    pub segments: u64,
    /// The share of the time that each cause took, largest first.
    pub causes: Vec<(Cause, f64)>,
    /// The largest window that the receiver advertised once data had come, and the first, scaled.
    pub window: Option<(Bytes, Bytes)>,
    /// The most data outstanding.
    pub flight: Bytes,
    /// Data outstanding on average: the rate times the mean RTT (Little).
    pub mean_flight: Bytes,
    /// Payload sent before any of it was acknowledged.
    pub first_flight: Bytes,
    /// The pace that ACKs agree on.
    pub pace: Option<Pace>,
    /// What was lost.
    pub losses: Vec<Loss>,
    /// There were more losses.
    pub losses_cut: bool,
    /// Payload of a full segment.
    pub mss: u32,
    /// The rate that a policer lets through, of payload.
    pub policed: Option<Rate>,
    /// Segments that were reordered, or captured or delivered twice.
    pub disturbed: u64,
    /// SACK blocks that do not say that data came twice (RFC 2883).
    pub sacked: u64,
    /// Options of the sender's SYN.
    pub sender_options: Option<SynOptions>,
    /// Options of the receiver's SYN.
    pub receiver_options: Option<SynOptions>,
    /// Segments longer than the MSS.
    pub super_packets: u64,
    /// Where it was seen from.
    pub vantage: Vantage,
    /// The end that sent.
    pub sender: End,
    /// Payload that the receiver sent.
    pub answered: Bytes,
    /// The requests that it answered, if they are alike.
    pub requests: Option<Requests>,
    /// SYNs that were lost.
    pub lost_syns: u32,
    /// Data that was acknowledged and is not in the capture.
    pub unseen: Bytes,
    /// Segments with the congestion mark, or reports of one.
    pub marked: u64,
    /// Whether the handshake is in the capture.
    pub from_start: bool,
}

impl Seen {
    /// The numbers of the main direction of a flow; `None` if it carried too little to have a rate.
    pub fn of(report: &FlowReport, trace: &Trace) -> Option<Self> {
        let direction = report.main();
        let measures = &direction.measures;
        let answers = &report.directions[(!report.sender).index()].measures;
        let overview = &direction.overview;
        let least_rtt = overview.base_rtt.map(|rtt| Duration::from_micros(rtt.into()));
        let (first, last) = (measures.first_data?, measures.last_data?);
        // A simulated run ends when all is read, before the last ACK.
        let lasted = last.since(first).filter(|lasted| !lasted.is_zero())? + least_rtt.unwrap_or_default();
        let scaled = |field: u16| Bytes::new(u64::from(field) << answers.window_scale.shift());
        let marks =
            [measures.unusual(), answers.unusual()].map(|unusual| unusual.marked + unusual.mark_echoes);
        let rate = Rate::of(measures.unique_bytes, lasted)?;
        Some(Self {
            amount: measures.unique_bytes,
            lasted,
            rate,
            least_rtt,
            mean_rtt: measures.rtt_by_ack.mean,
            longest_rtt: trace.rtts.map(|(_, longest)| longest),
            retransmitted: measures.retransmitted() as f64 / measures.data_segments().max(1) as f64,
            segments: measures.data_segments(),
            causes: causes(report, first, last),
            window: trace.windows.map(|(first, largest)| (scaled(largest), scaled(first))),
            flight: measures.flight_max,
            mean_flight: rate.amount_in(measures.rtt_by_ack.mean.unwrap_or_default()),
            first_flight: Bytes::new(trace.first_flight),
            pace: trace.pace(),
            losses: trace.losses.clone(),
            losses_cut: trace.is_cut,
            mss: measures.mss_seen,
            policed: overview.rare().policed.map(|rate| Rate::bits_per_second(rate as u64)),
            disturbed: measures.labels.out_of_order + measures.labels.duplicate,
            sacked: answers.sack_blocks.saturating_sub(answers.dsack_blocks),
            sender_options: measures.options,
            receiver_options: answers.options,
            super_packets: measures.super_packets,
            vantage: report.vantage.vantage,
            sender: report.sender,
            answered: answers.unique_bytes,
            requests: trace.requests(),
            lost_syns: report.opening.lost_syns() + report.opening.retransmitted,
            unseen: measures.unseen_bytes,
            marked: marks.into_iter().sum(),
            from_start: report.opening.established.is_some(),
        })
    }

    /// The numbers of the flow with the most data; `None` if none has a rate.
    pub fn of_largest(analysis: Analysis<Traces>) -> Option<Self> {
        let mut reports = Vec::new();
        let (_, mut traces) = analysis.finish_each(|report| reports.push(report));
        let report = largest(&reports)?;
        Self::of(report, &traces.take(report.id, report.sender)?)
    }

    /// The share of the time under a limit, 0 to 1.
    pub fn of_limit(&self, limit: Limit) -> f64 {
        self.causes.iter().filter(|(cause, _)| cause.limit() == limit).map(|(_, share)| share).sum()
    }

    /// The share of the time under a cause, 0 to 1.
    pub fn of_cause(&self, cause: Cause) -> f64 {
        self.causes.iter().find(|(of, _)| *of == cause).map_or(0.0, |(_, share)| *share)
    }

    /// The limit that took most of the time, its largest cause, and the limit's share.
    pub fn main_limit(&self) -> Option<(Limit, Cause, f64)> {
        let shares = Limit::ALL.map(|limit| (limit, self.of_limit(limit)));
        let (limit, share) = shares.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let (cause, _) = self.causes.iter().find(|(cause, _)| cause.limit() == limit)?;
        Some((limit, *cause, share))
    }
}

/// The flow with the most data; of several, the first.
pub fn largest(reports: &[FlowReport]) -> Option<&FlowReport> {
    reports.iter().max_by_key(|report| (report.main().measures.unique_bytes, Reverse(report.id)))
}

/// The share of each cause in the time from the first data to the last: behind it, only its ACK is awaited.
fn causes(report: &FlowReport, first: Instant, last: Instant) -> Vec<(Cause, f64)> {
    let whole = last.nanos_since(first).max(1) as f64;
    let mut causes: Vec<(Cause, f64)> = Vec::new();
    for spell in &report.main().spells {
        let lasted = spell.to.min(last).nanos_since(spell.from.max(first)).max(0) as f64 / whole;
        match causes.iter_mut().find(|(cause, _)| *cause == spell.cause) {
            _ if lasted <= 0.0 => {}
            Some((_, share)) => *share += lasted,
            None => causes.push((spell.cause, lasted)),
        }
    }
    causes.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    causes
}
