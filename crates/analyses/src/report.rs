//! What is known of a flow when it is over: measures, limits over time, findings.
//!
//! Optional values are unknown where they are `None`; nothing is zero because it could not be seen.

use crate::cause::{Cause, Confidence};
use crate::evidence::Evidence;
pub use crate::limits::alternatives::{Alternative, Tally};
use crate::limits::thresholds;
pub use crate::overview::Overview;
pub use crate::stalls::{Stall, StallCause};
use slowpath_model::{
    Bytes, End, FlowEnd, FlowId, FlowKey, IcmpKind, Instant, Rate, Segment, StreamOffset, Vantage,
};
use std::cmp::Reverse;
use std::time::Duration;

/// A flow's place among others: most lost time first, then most data, then the earliest.
pub type Rank = (Reverse<Duration>, Reverse<Bytes>, FlowId);

/// One flow.
#[derive(Clone, Debug)]
pub struct FlowReport {
    /// Its number in the recording.
    pub id: FlowId,
    /// Its ends.
    pub key: FlowKey,
    /// First event.
    pub first: Instant,
    /// Last event, or the RST that cut the connection short: what was under way then passes later.
    pub last: Instant,
    /// Why the source reported no more of it.
    pub ended: FlowEnd,
    /// From where it was watched.
    pub vantage: VantageReport,
    /// The opening of the connection.
    pub opening: Opening,
    /// Which ends sent FIN, and which sent RST.
    pub closing: Closing,
    /// The end that sent more payload: whose direction the verdict is about.
    pub sender: End,
    /// What was sent by A, and by B.
    pub directions: [DirectionReport; 2],
}

impl FlowReport {
    /// The direction the verdict is about.
    pub const fn main(&self) -> &DirectionReport {
        &self.directions[self.sender.index()]
    }

    /// From the first event to the last; zero where time stepped back.
    pub fn lasted(&self) -> Duration {
        self.last.since(self.first).unwrap_or_default()
    }

    /// The time of the main direction that the transport could regain.
    pub fn time_lost(&self) -> Duration {
        let lost = self.main().findings.iter().filter(|finding| finding.cause.is_loss());
        lost.map(|finding| finding.lasted).sum()
    }

    /// Idle time before the first data of the main direction, and after its last.
    pub fn idle_outside(&self) -> Duration {
        let (spells, measures) = (&self.main().spells, &self.main().measures);
        let idle = spells.iter().filter(|spell| spell.cause == Cause::SenderIdle);
        idle.map(|spell| spell.outside(measures)).sum()
    }

    /// Its place among flows.
    pub fn rank(&self) -> Rank {
        (Reverse(self.time_lost()), Reverse(self.main().measures.unique_bytes), self.id)
    }
}

/// Where the tap was, and how that is known.
#[derive(Clone, Debug)]
pub struct VantageReport {
    /// The place.
    pub vantage: Vantage,
    /// How sure.
    pub confidence: Confidence,
    /// From the tap to A and back, at its shortest.
    pub to_a: Option<Duration>,
    /// From the tap to B and back, at its shortest.
    pub to_b: Option<Duration>,
    /// What it was inferred from.
    pub evidence: VantageEvidence,
}

/// What the place of the tap was inferred from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VantageEvidence {
    /// The user named it.
    Given,
    /// Only one end's answers can be timed.
    OneEndAnswered {
        /// That end.
        end: End,
        /// Its shortest answer.
        within: Duration,
    },
    /// Neither end's distance can be measured.
    TooFewAnswers,
    /// The shortest answers of both ends differ, or are both long.
    Distances {
        /// A's shortest answer.
        a: Duration,
        /// B's shortest answer.
        b: Duration,
    },
    /// Both ends are near, and one sends segments longer than the MSS, as offload on its host makes them.
    Offload {
        /// A's shortest answer.
        a: Duration,
        /// B's shortest answer.
        b: Duration,
        /// The end whose segments these are.
        end: End,
    },
    /// Both ends are too near to tell which is nearer.
    TooNear {
        /// A's shortest answer.
        a: Duration,
        /// B's shortest answer.
        b: Duration,
    },
}

/// How a connection opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opening {
    /// When A's first SYN passed; `None` for a flow that starts in the middle.
    pub syn: Option<Instant>,
    /// When B's first SYN-ACK passed.
    pub syn_ack: Option<Instant>,
    /// When the handshake's last ACK passed.
    pub established: Option<Instant>,
    /// SYNs and SYN-ACKs retransmitted.
    pub retransmitted: u32,
    /// SYNs of A that came before any SYN-ACK.
    pub unanswered: u32,
    /// Of these, how many carried data (RFC 7413).
    pub unanswered_with_data: u32,
    /// Of these, how many had a wrong TCP checksum.
    pub unanswered_wrong_checksum: u32,
    /// SYN-ACKs of B that reached A's host, which sent its SYN again; known next to A.
    pub unanswered_syn_acks: u32,
    /// Of these, how many had a wrong TCP checksum.
    pub damaged_syn_acks: u32,
    /// ACKs of an old connection that answered a SYN (RFC 5961, section 4).
    pub challenges: u32,
    /// From SYN to the last ACK, where no SYN was retransmitted: one RTT.
    pub round_trip: Option<Duration>,
    /// B's answer to A's request for ECN; `None` if there was no request, or the opening was not seen.
    pub ecn: Option<EcnAnswer>,
    /// B answered the SYN with a RST.
    pub refused: bool,
    /// SYN-ACKs that B retransmitted though the handshake's last ACK had passed long before.
    pub unaccepted: u32,
    /// Data segments of A that had passed before the last of them; or before B sent anything but its SYN-ACK, if data was
    /// retransmitted again and again until then.
    pub unaccepted_data: u32,
    /// When B first sent anything else after these.
    pub accepted: Option<Instant>,
    /// A SYN or a SYN-ACK was repeated though the first had not been lost: it came late.
    pub came_late: bool,
}

/// What B answered to a SYN that asked for ECN (RFC 3168, section 6.1.1; RFC 9768, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnAnswer {
    /// Nothing so far, or a SYN-ACK without it.
    Declined,
    /// Both use it.
    Accepted,
}

impl Opening {
    /// SYNs of A that got no answer: the last one before the SYN-ACK is the one that it answers.
    pub fn lost_syns(&self) -> u32 {
        self.unanswered.saturating_sub(u32::from(self.syn_ack.is_some()))
    }

    /// Whether the handshake did not end: A's last ACK never came, though an end repeated its SYN.
    pub const fn has_no_end(&self) -> bool {
        self.syn_ack.is_some() && self.established.is_none() && self.retransmitted > 0
    }
}

/// How a connection closed.
#[derive(Clone, Debug, Default)]
pub struct Closing {
    /// Ends that sent FIN: A, B.
    pub fin: [bool; 2],
    /// Ends that sent RST: A, B.
    pub rst: [bool; 2],
    /// The RST that ended the connection: the first one, or the first that cut something short.
    pub reset: Option<Box<Reset>>,
    /// A device's RST that its receiver did not accept.
    pub refused: Option<Box<Reset>>,
    /// A flow in which the same socket answered a segment of another address with a RST: a segment of this flow that a
    /// NAT did not translate back.
    pub stray: Option<FlowId>,
    /// How often each end retransmitted its FIN without an answer, and for how long.
    pub fin_unanswered: [Option<(u32, Duration)>; 2],
}

impl Closing {
    /// The cause of the reset, where it cut the connection short.
    pub fn cause(&self) -> Option<Cause> {
        // An end or a device on the path: the connection was gone from that RST on.
        let unknown = self.stray.map(|_| Cause::ResetUnknown);
        unknown.or_else(|| self.reset.as_ref()?.cause)
    }

    /// When a RST cut the connection short.
    pub fn cut_at(&self) -> Option<Instant> {
        self.reset.as_ref().filter(|reset| reset.cause.is_some()).map(|reset| reset.at)
    }
}

/// A RST that ended a connection, and what it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    /// The end that sent it, by its address.
    pub by: End,
    /// When it passed.
    pub at: Instant,
    /// Why; `None` if it cut nothing short.
    pub cause: Option<Cause>,
    /// Payload that had not been acknowledged: what that end had sent, and the other.
    pub unacknowledged: [u32; 2],
    /// How long neither end had sent anything before the segment that it answers.
    pub pause: Duration,
    /// Its TTL, and that of the end's other packets, where they differ.
    pub ttl: Option<(u8, u8)>,
    /// The time in which it answered, and the end's shortest answer, where it is far shorter.
    pub too_soon: Option<(Duration, Duration)>,
    /// The offset after the highest that the end had sent.
    pub nxt: StreamOffset,
    /// What it acknowledged, if it did.
    pub ack: Option<StreamOffset>,
    /// The end sent new data afterwards.
    pub went_on: bool,
    /// The end acknowledged more afterwards.
    pub acknowledged_more: bool,
    /// The end was still sending, so its host had the connection until then.
    pub knew: bool,
}

/// One direction of a flow: what one end sent, and what bound it.
#[derive(Clone, Debug)]
pub struct DirectionReport {
    /// The end that sent.
    pub from: End,
    /// Counts, amounts, times.
    pub measures: Measures,
    /// Time split into spells: contiguous, in order, no overlap, from the flow's first event to its last. Empty
    /// where the direction carried no payload, unless that is what the report is about.
    pub spells: Vec<Spell>,
    /// Parts of them in which this end waited for data of the other, which was lost and repaired, or held back by Nagle's
    /// algorithm.
    pub awaited: Vec<Spell>,
    /// The spells summed up by cause, most time first.
    pub findings: Vec<Finding>,
    /// Pauses far longer than an RTT, in order of time; the longest 64 where there were more.
    pub stalls: Vec<Stall>,
    /// How many stalls there were.
    pub stall_count: u64,
    /// What the evidence is drawn from.
    pub overview: Overview,
}

/// What was counted and measured in one direction.
#[derive(Clone, Debug, Default)]
pub struct Measures {
    /// Segments, of any kind.
    pub packets: u64,
    /// Segments with payload.
    pub data_packets: u64,
    /// Segments with neither payload, SYN, FIN nor RST.
    pub pure_acks: u64,
    /// Payload, all of it.
    pub bytes: Bytes,
    /// Payload without what was seen before.
    pub unique_bytes: Bytes,
    /// Unique payload over the time from the first data segment to the last acknowledgment of data.
    pub goodput: Option<Rate>,
    /// All payload over the same time.
    pub throughput: Option<Rate>,
    /// First and last segment with payload.
    pub first_data: Option<Instant>,
    /// Last segment with payload.
    pub last_data: Option<Instant>,

    /// Options of this end's SYN.
    pub options: Option<SynOptions>,
    /// How this end's window field is scaled, and how that is known.
    pub window_scale: ScaleKnown,
    /// The TTL, or hop limit, that this end's packets start with: 64, 128 or 255, the next from the largest seen on. 128 is that
    /// of Windows, 64 that of Linux, BSD and macOS.
    pub initial_ttl: Option<u8>,
    /// Largest payload of a segment, not counting super-packets where the MSS is known.
    pub mss_seen: u32,
    /// Segments longer than the MSS: TSO on the way out or GRO on the way in.
    pub super_packets: u64,

    /// Labels of the segments with payload; they add up to `data_packets`.
    pub labels: LabelCounts,
    /// Data segments that used up the advertised window.
    pub window_full: u64,
    /// Payload the capture did not see though it was acknowledged.
    pub unseen_bytes: Bytes,
    /// How often such a gap was noticed.
    pub unseen_gaps: u64,
    /// Holes: how often data was seen beyond data that was missing at the tap, whether or not that came later.
    pub holes: u64,
    /// Payload before the last byte seen that was neither seen nor acknowledged when the recording ended.
    pub missing_bytes: Bytes,

    /// Duplicate ACKs this end sent (RFC 5681, section 2).
    pub duplicate_acks: u64,
    /// SACK blocks this end sent.
    pub sack_blocks: u64,
    /// DSACK blocks this end sent (RFC 2883).
    pub dsack_blocks: u64,
    /// Largest, smallest non-zero and mean window this end advertised, scaled where known.
    pub window: WindowMeasures,

    /// RTTs from a data segment at the tap to its ACK at the tap (Karn's algorithm).
    pub rtt_by_ack: RttMeasures,
    /// RTTs by echoed timestamp, from the tap to the peer and back.
    pub rtt_by_timestamp: RttMeasures,
    /// The retransmission timeout Linux would have at the end (`tcp_rtt_estimator`, `tcp_set_rto`, 6.18).
    pub rto: Option<Duration>,

    /// Any segment of this end was ECN-capable at the tap, or marked.
    pub ecn_capable: bool,
    /// What few directions have; see [`Self::unusual`].
    pub unusual: Option<Box<Unusual>>,

    /// Largest amount outstanding, SACKed data left out.
    pub flight_max: Bytes,
    /// Outstanding data averaged over time.
    pub flight_mean: Bytes,
    /// Longest time without a data segment between the first and the last.
    pub idle_longest: Duration,
    /// Retransmission timeouts: times when the sender fell silent until its timer ran out.
    pub timeouts: u64,
    /// Episodes of loss recovery.
    pub recoveries: u64,
}

impl Measures {
    /// What few directions have.
    pub fn unusual(&self) -> &Unusual {
        self.unusual.as_deref().unwrap_or(&Unusual::NONE)
    }

    /// Segments with data, a super-packet counted as the segments of [`Self::mss_seen`] that it holds: an estimate.
    pub fn data_segments(&self) -> u64 {
        self.bytes.get().div_ceil(u64::from(self.mss_seen.max(1))).max(self.data_packets)
    }

    /// Payload that arrived, as far as known: seen once or more, or acknowledged.
    pub fn moved(&self) -> Bytes {
        self.unique_bytes + self.unseen_bytes
    }

    /// The share of that which the capture missed, 0 to 1.
    pub fn unseen_share(&self) -> f64 {
        self.unseen_bytes.get() as f64 / self.moved().get().max(1) as f64
    }

    /// Segments retransmitted, spuriously or not, counted in the same way.
    pub fn retransmitted(&self) -> u64 {
        self.labels.retransmission + self.labels.spurious + self.unusual().retransmitted_merged
    }

    /// How many of these were retransmitted and not spuriously, and of how many: those captured twice count once.
    pub fn lost(&self) -> [u64; 2] {
        // How large those are that turned out to be spurious is not kept: as large as the others.
        let LabelCounts { retransmission, spurious, duplicate, .. } = self.labels;
        let merged =
            self.unusual().retransmitted_merged * retransmission / (retransmission + spurious).max(1);
        let lost = retransmission + merged;
        [lost, self.data_segments().saturating_sub(duplicate).max(lost)]
    }

    /// The share of these, 0 to 1: every report's loss. `None` if nothing was lost.
    pub fn lost_share(&self) -> Option<f64> {
        let [lost, all] = self.lost();
        (lost > 0 && all > 0).then(|| (lost as f64 / all as f64).min(1.0))
    }
}

/// What few directions have: kept apart, since a recording may have a hundred thousand flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unusual {
    /// SACK blocks sent of data that the other end never sent.
    pub sack_outside: u64,
    /// Payload that this end had sent, by the sequence number of its last ACK, and that never passed the tap.
    pub sent_unseen: Bytes,
    /// Segments of this end with the congestion mark CE at the tap (RFC 3168, section 5).
    pub marked: u64,
    /// Segments of this end that report marks to the other (ECE), the SYN left out.
    pub mark_echoes: u64,
    /// Segments of this end that report a reduced congestion window (CWR).
    pub window_reductions: u64,
    /// ICMP errors about segments of this end.
    pub icmp_errors: u64,
    /// What the last of them said.
    pub icmp_kind: Option<IcmpKind>,
    /// Since when this end has sent and received nothing, up to the end of the flow.
    pub unheard: Option<Unheard>,
    /// Retransmissions of the oldest segment, each alone on its way, that were answered by an ACK of nothing, since anything was
    /// last acknowledged.
    pub answered_in_vain: u32,
    /// DSACK blocks this end sent for data that was not retransmitted: the network delivered it twice.
    pub dsack_copies: u64,
    /// Segments in retransmitted super-packets, beyond the first of each: an estimate.
    pub retransmitted_merged: u64,
    /// Segments that the recording has behind later ones, by their timestamps and by their sequence numbers.
    pub written_late: u64,
    /// Segments whose timestamps are before those of earlier ones.
    pub stamped_early: u64,
}

impl Unusual {
    /// Nothing of it.
    pub const NONE: Self = Self {
        sack_outside: 0,
        sent_unseen: Bytes::ZERO,
        marked: 0,
        mark_echoes: 0,
        window_reductions: 0,
        icmp_errors: 0,
        icmp_kind: None,
        unheard: None,
        answered_in_vain: 0,
        dsack_copies: 0,
        retransmitted_merged: 0,
        written_late: 0,
        stamped_early: 0,
    };
}

/// An end sends and receives nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unheard {
    /// Since when.
    pub since: Instant,
    /// How long neither end had sent anything then.
    pub pause: Duration,
    /// Retransmissions and probes since.
    pub tries: u32,
    /// Payload of the smallest segment sent since, in bytes.
    pub smallest: u32,
    /// Segments that the other end sent since, and that show that it received nothing.
    pub unaware: u32,
}

impl Unheard {
    /// Whether everything was too large for a path whose MTU has become smaller, as far as is known: where nothing of the
    /// other end's arrives either, the size is not the reason.
    pub const fn is_only_large(&self) -> bool {
        self.smallest >= thresholds::DEFAULT_MSS && self.unaware < thresholds::LEAST_TRIES
    }
}

/// Options of a SYN or SYN-ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynOptions {
    /// MSS; 536 is assumed where absent (RFC 9293, section 3.7.1).
    pub mss: Option<u16>,
    /// Window scale as sent; more than 14 counts as 14 (RFC 7323, section 2.3).
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: bool,
}

impl SynOptions {
    /// Those of a SYN or SYN-ACK.
    pub const fn of(segment: &Segment) -> Self {
        Self {
            mss: segment.mss,
            window_scale: segment.window_scale,
            sack_permitted: segment.sack_permitted,
            timestamps: segment.timestamps.is_some(),
        }
    }
}

/// How far the window field is shifted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScaleKnown {
    /// Agreed in the handshake, which was seen (0 where either end did not offer it).
    Agreed(u8),
    /// The handshake was not seen; under this shift, segments end to the byte where the window ends.
    Fits(u8),
    /// The handshake was not seen; this is the smallest shift under which the data outstanding fits the window.
    AtLeast(u8),
    /// Nothing to infer it from: windows are as on the wire and may be larger.
    #[default]
    Unknown,
}

impl ScaleKnown {
    /// The largest shift (RFC 7323, section 2.3).
    pub const MOST: u8 = 14;

    /// The least shift, from `shift` on, under which a window `field` has room for `outstanding` bytes, if there is one.
    pub fn least(shift: u8, field: u32, outstanding: i64) -> Option<u8> {
        (shift..=Self::MOST).find(|shift| i64::from(field) << shift >= outstanding)
    }

    /// Whether the window is known, and nothing is sent beyond it.
    pub const fn is_known(self) -> bool {
        matches!(self, Self::Agreed(_) | Self::Fits(_))
    }

    /// The shift to count with.
    pub const fn shift(self) -> u8 {
        match self {
            Self::Agreed(shift) | Self::Fits(shift) | Self::AtLeast(shift) => shift,
            Self::Unknown => 0,
        }
    }
}

/// How many data segments have each label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelCounts {
    /// Data never seen before, in order.
    pub new: u64,
    /// Retransmitted because it was lost, or believed to be.
    pub retransmission: u64,
    /// Retransmitted though it had arrived: by DSACK, by timestamp, or seen to arrive twice.
    pub spurious: u64,
    /// Reordered on the way.
    pub out_of_order: u64,
    /// A copy of a frame: captured, or delivered, twice.
    pub duplicate: u64,
    /// One byte, or none, that was acknowledged already (RFC 9293, section 3.8.4).
    pub keep_alive: u64,
    /// Sent against a closed window (RFC 9293, section 3.8.6.1).
    pub window_probe: u64,
}

/// An advertised window over the life of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowMeasures {
    /// Smallest window above zero.
    pub min: Option<Bytes>,
    /// Largest.
    pub max: Option<Bytes>,
    /// Mean over segments.
    pub mean: Option<Bytes>,
    /// How often it closed to zero: intervals, not segments.
    pub zero_count: u64,
    /// How long it was closed.
    pub zero_time: Duration,
}

/// Round-trip times.
#[derive(Clone, Copy, Debug, Default)]
pub struct RttMeasures {
    /// Samples.
    pub count: u64,
    /// Smallest.
    pub min: Option<Duration>,
    /// Mean.
    pub mean: Option<Duration>,
    /// Largest.
    pub max: Option<Duration>,
    /// Standard deviation.
    pub deviation: Option<Duration>,
}

/// A time during which one cause bound the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spell {
    /// Its start.
    pub from: Instant,
    /// Its end.
    pub to: Instant,
    /// What bound.
    pub cause: Cause,
}

impl Spell {
    /// How long it lasted.
    pub fn lasted(&self) -> Duration {
        self.to.since(self.from).unwrap_or_default()
    }

    /// How much of it is before the first data of its direction, and after the last.
    pub fn outside(&self, measures: &Measures) -> Duration {
        let before = measures.first_data.and_then(|first| first.min(self.to).since(self.from));
        before.unwrap_or_default() + self.after_last_data(measures)
    }

    /// How much of it is after the last data of its direction.
    pub fn after_last_data(&self, measures: &Measures) -> Duration {
        let after = measures.last_data.and_then(|last| self.to.since(last.max(self.from)));
        after.unwrap_or_default()
    }
}

/// One cause, over the life of a direction.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The end whose sending it bound; the other end, where this one waited for data that was lost.
    pub from: End,
    /// What bound.
    pub cause: Cause,
    /// For how long, all its spells together.
    pub lasted: Duration,
    /// The share of the flow's life, 0 to 1.
    pub share: f64,
    /// In how many spells; 0 for what happened at one instant.
    pub spells: u64,
    /// How sure.
    pub confidence: Confidence,
    /// What shows it.
    pub evidence: Vec<Evidence>,
    /// What else could have held the sender in this time, and what excludes it.
    pub alternatives: Vec<Alternative>,
    /// Where to look: the start and frame of its longest spells, at most three.
    pub instants: Vec<Instant>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_share_ignores_frames_captured_twice() {
        let mut measures = Measures { data_packets: 200, ..Measures::default() };
        (measures.labels.duplicate, measures.labels.retransmission) = (100, 1);
        assert_eq!(measures.lost_share(), Some(0.01));
    }
}
