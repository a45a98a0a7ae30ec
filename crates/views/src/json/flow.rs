//! One flow.

use super::finding::{Finding, Spell, Stall};
use super::measures::Measures;
use super::pairing::Pair;
use crate::diagnosis::{Advise, Diagnosis};
use crate::headline::main_finding;
use crate::words;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::report::{self, DirectionReport, EcnAnswer, FlowReport};
use slowpath_model::nanos;
use slowpath_model::{End, FlowEnd};

/// One connection, from its first packet in the recording to its last.
#[derive(Serialize, JsonSchema)]
pub struct Flow {
    /// Its number in the recording, from 1: what `--flow` takes.
    flow: u32,
    /// Address and port of the end that opened it (where the start was not recorded: that sent the first packet).
    a: String,
    /// Address and port of the other end.
    b: String,
    /// How many earlier connections in the recording had the same addresses and ports.
    occurrence: u32,
    /// When its first packet was recorded.
    first_ns: i64,
    /// When its last packet was recorded.
    last_ns: i64,
    /// From the first packet to the last.
    lasted_ns: u64,
    /// Why no more of it was seen: `end-of-recording`, `replaced` by another connection of the same ports,
    /// `gone` as its socket is, or `evicted` to save memory.
    ended: &'static str,
    /// Where it was recorded.
    vantage: Vantage,
    /// How it opened.
    opening: Opening,
    /// How it closed.
    closing: Closing,
    /// The end that sent more data, `a` or `b`: the verdict is about this direction.
    sender: &'static str,
    /// The verdict in words.
    verdict: String,
    /// What limited the sender for most of the time; `null` where there was no data.
    #[schemars(extend("enum" = super::finding::cause_names_or_null()))]
    main_cause: Option<String>,
    /// The time that could be recovered: not limited by the application, the path's capacity or the unknown.
    lost_ns: u64,
    /// What A sent, then what B sent.
    directions: Vec<Direction>,
    /// The fate of its packets between two recordings; `null` where only one has it.
    pair: Option<Pair>,
}

/// Where a flow was recorded, and how that is known.
#[derive(Serialize, JsonSchema)]
pub struct Vantage {
    /// `at-a`, `at-b`, `between` or `unknown`.
    place: &'static str,
    /// `low`, `medium` or `high`.
    confidence: &'static str,
    /// The minimum RTT from the vantage point to A.
    to_a_ns: Option<u64>,
    /// The minimum RTT from the vantage point to B.
    to_b_ns: Option<u64>,
    /// What it was inferred from.
    evidence: String,
}

/// How a connection opened.
#[derive(Serialize, JsonSchema)]
pub struct Opening {
    /// When A's first SYN passed; `null` for a flow whose start was not recorded.
    syn_ns: Option<i64>,
    /// When B's first SYN-ACK passed.
    syn_ack_ns: Option<i64>,
    /// When the handshake's last ACK passed.
    established_ns: Option<i64>,
    /// SYNs and SYN-ACKs retransmitted.
    retransmitted: u32,
    /// SYNs of A that came before any SYN-ACK.
    unanswered: u32,
    /// Of these, how many carried data (RFC 7413).
    unanswered_with_data: u32,
    /// Of these, how many had a wrong TCP checksum.
    unanswered_wrong_checksum: u32,
    /// ACKs of an old connection that answered a SYN (RFC 5961, section 4).
    challenges: u32,
    /// From SYN to the last ACK, where no SYN was retransmitted.
    round_trip_ns: Option<u64>,
    /// Whether B `accepted` or `declined` ECN; `null` if A did not ask for it, or the opening was not recorded.
    ecn: Option<&'static str>,
    /// B answered the SYN with a RST.
    refused: bool,
    /// SYN-ACKs that B retransmitted although the handshake was complete.
    unaccepted: u32,
    /// When B first sent anything else after these.
    accepted_ns: Option<i64>,
}

/// How a connection closed.
#[derive(Serialize, JsonSchema)]
pub struct Closing {
    /// Which ends sent FIN.
    fin: Vec<&'static str>,
    /// Which ends sent RST.
    rst: Vec<&'static str>,
    /// The RST that ended the connection before everything was transferred and acknowledged; `null` where none did.
    reset: Option<Reset>,
    /// The flow with a segment of this connection whose address was not translated back, and which was answered with a RST.
    stray_flow: Option<u32>,
}

/// A RST that ended a connection.
#[derive(Serialize, JsonSchema)]
pub struct Reset {
    /// The end whose address it bears, `a` or `b`.
    by: &'static str,
    /// When it passed.
    at_ns: i64,
    /// Why; `null` if it interrupted nothing.
    #[schemars(extend("enum" = super::finding::cause_names_or_null()))]
    cause: Option<String>,
}

/// What one end sent, and what limited it.
#[derive(Serialize, JsonSchema)]
pub struct Direction {
    /// The end that sent, `a` or `b`.
    from: &'static str,
    /// What was counted and measured.
    measures: Measures,
    /// What limited it over time: without gaps or overlap from the flow's first packet to its last. Empty where it sent no
    /// data.
    spells: Vec<Spell>,
    /// The findings, summed over the spells, the longest first.
    findings: Vec<Finding>,
    /// Pauses longer than min(2 SRTT, RTO), the longest 64 of them.
    stalls: Vec<Stall>,
    /// How many such pauses there were.
    stall_count: u64,
}

impl Flow {
    pub(super) fn of(flow: &FlowReport, diagnosis: Option<&Diagnosis<'_>>) -> Self {
        let advise = diagnosis.map(|diagnosis| diagnosis.advise);
        let paired = diagnosis.and_then(|diagnosis| words::pair(diagnosis, flow));
        Self {
            flow: flow.id.0,
            a: flow.key.a.to_string(),
            b: flow.key.b.to_string(),
            occurrence: flow.key.occurrence,
            first_ns: flow.first.nanos(),
            last_ns: flow.last.nanos(),
            lasted_ns: nanos(flow.lasted()),
            ended: match flow.ended {
                FlowEnd::EndOfRecording => "end-of-recording",
                FlowEnd::Replaced => "replaced",
                FlowEnd::Gone => "gone",
                FlowEnd::Evicted => "evicted",
            },
            vantage: Vantage::of(&flow.vantage),
            opening: Opening::of(&flow.opening),
            closing: Closing::of(&flow.closing),
            sender: flow.sender.letter(),
            verdict: words::verdict(flow),
            main_cause: main_finding(flow).map(|finding| finding.cause.to_string()),
            lost_ns: nanos(flow.time_lost()),
            directions: flow
                .directions
                .iter()
                // Advice is about the direction the verdict is about.
                .map(|direction| {
                    Direction::of(direction, flow, advise.filter(|_| direction.from == flow.sender))
                })
                .collect(),
            pair: paired.map(|(paired, pair)| Pair::of(paired, pair)),
        }
    }
}

fn ends(which: [bool; 2]) -> Vec<&'static str> {
    End::BOTH.into_iter().filter(|other| which[other.index()]).map(End::letter).collect()
}

impl Vantage {
    fn of(vantage: &report::VantageReport) -> Self {
        Self {
            place: match vantage.vantage {
                slowpath_model::Vantage::At(End::A) => "at-a",
                slowpath_model::Vantage::At(End::B) => "at-b",
                slowpath_model::Vantage::Between => "between",
                slowpath_model::Vantage::Unknown => "unknown",
            },
            confidence: vantage.confidence.slug(),
            to_a_ns: vantage.to_a.map(nanos),
            to_b_ns: vantage.to_b.map(nanos),
            evidence: words::sentence(&words::vantage_evidence(&vantage.evidence)),
        }
    }
}

impl Opening {
    fn of(opening: &report::Opening) -> Self {
        Self {
            syn_ns: opening.syn.map(slowpath_model::Instant::nanos),
            syn_ack_ns: opening.syn_ack.map(slowpath_model::Instant::nanos),
            established_ns: opening.established.map(slowpath_model::Instant::nanos),
            retransmitted: opening.retransmitted,
            unanswered: opening.unanswered,
            unanswered_with_data: opening.unanswered_with_data,
            unanswered_wrong_checksum: opening.unanswered_wrong_checksum,
            challenges: opening.challenges,
            round_trip_ns: opening.round_trip.map(nanos),
            ecn: opening.ecn.map(|answer| match answer {
                EcnAnswer::Declined => "declined",
                EcnAnswer::Accepted => "accepted",
            }),
            refused: opening.refused,
            unaccepted: opening.unaccepted,
            accepted_ns: opening.accepted.map(slowpath_model::Instant::nanos),
        }
    }
}

impl Closing {
    fn of(closing: &report::Closing) -> Self {
        Self {
            fin: ends(closing.fin),
            rst: ends(closing.rst),
            reset: closing.reset.as_ref().map(|reset| Reset {
                by: reset.by.letter(),
                at_ns: reset.at.nanos(),
                cause: reset.cause.map(|cause| cause.to_string()),
            }),
            stray_flow: closing.stray.map(|flow| flow.0),
        }
    }
}

impl Direction {
    fn of(direction: &DirectionReport, flow: &FlowReport, advise: Option<&Advise>) -> Self {
        Self {
            from: direction.from.letter(),
            measures: Measures::of(&direction.measures),
            spells: direction.spells.iter().map(Spell::of).collect(),
            findings: direction.findings.iter().map(|finding| Finding::of(finding, flow, advise)).collect(),
            stalls: direction.stalls.iter().map(Stall::of).collect(),
            stall_count: direction.stall_count,
        }
    }
}
