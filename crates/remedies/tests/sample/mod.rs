//! A representative flow for every cause: a client fetches from a server 40 ms away, seen at the server.

use slowpath_analyses::report::{
    Closing, DirectionReport, Finding, FlowReport, LabelCounts, Measures, Opening, Overview, RttMeasures,
    ScaleKnown, SynOptions, VantageEvidence, VantageReport, WindowMeasures,
};
use slowpath_analyses::{Cause, Confidence, Evidence};
use slowpath_model::{Bytes, End, Endpoint, FlowEnd, FlowId, FlowKey, IcmpKind, Instant, Rate, Vantage};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn endpoint(address: &str, port: u16) -> Endpoint {
    Endpoint { address: address.parse().expect("an address"), port }
}

const OPTIONS: SynOptions =
    SynOptions { mss: Some(1460), window_scale: Some(10), sack_permitted: true, timestamps: true };

/// B sent 100 MB to A in 20 s, without problems.
pub fn report() -> FlowReport {
    let sent = Measures {
        packets: 7_000,
        data_packets: 6_900,
        bytes: Bytes::new(100_000_000),
        unique_bytes: Bytes::new(100_000_000),
        goodput: Some(Rate::mbit(40)),
        throughput: Some(Rate::mbit(40)),
        options: Some(OPTIONS),
        window_scale: ScaleKnown::Agreed(10),
        mss_seen: 1448,
        super_packets: 6_000,
        labels: LabelCounts { new: 6_900, ..LabelCounts::default() },
        rtt_by_ack: RttMeasures {
            count: 5_000,
            min: Some(ms(40)),
            mean: Some(ms(42)),
            max: Some(ms(55)),
            deviation: Some(ms(2)),
        },
        rto: Some(ms(242)),
        flight_max: Bytes::kib(208),
        flight_mean: Bytes::kib(195),
        idle_longest: ms(40),
        ..Measures::default()
    };
    let answered = Measures {
        packets: 3_500,
        pure_acks: 3_498,
        options: Some(OPTIONS),
        window_scale: ScaleKnown::Agreed(10),
        window: WindowMeasures {
            min: Some(Bytes::kib(64)),
            max: Some(Bytes::kib(208)),
            mean: Some(Bytes::kib(205)),
            zero_count: 0,
            zero_time: Duration::ZERO,
        },
        ..Measures::default()
    };
    let direction = |from, measures| DirectionReport {
        from,
        measures,
        spells: Vec::new(),
        awaited: Vec::new(),
        findings: Vec::new(),
        stalls: Vec::new(),
        stall_count: 0,
        overview: Overview::default(),
    };
    FlowReport {
        id: FlowId(3),
        key: FlowKey { a: endpoint("192.0.2.10", 40_000), b: endpoint("198.51.100.20", 443), occurrence: 0 },
        first: Instant::START,
        last: Instant::START + 20 * SECOND,
        ended: FlowEnd::EndOfRecording,
        vantage: VantageReport {
            vantage: Vantage::At(End::B),
            confidence: Confidence::High,
            to_a: Some(ms(40)),
            to_b: Some(Duration::ZERO),
            evidence: VantageEvidence::TooFewAnswers,
        },
        opening: Opening { round_trip: Some(ms(40)), ..Opening::default() },
        closing: Closing::default(),
        sender: End::B,
        directions: [direction(End::A, answered), direction(End::B, sent)],
    }
}

/// `cause` for 15 of the flow's 20 s.
pub fn finding(cause: Cause) -> Finding {
    // Nagle's waits are as long as a delayed ACK.
    let lasted = if cause == Cause::NagleDelayedAck { ms(440) } else { 15 * SECOND };
    Finding {
        from: End::B,
        cause,
        lasted,
        share: 0.75,
        spells: 10,
        confidence: Confidence::High,
        evidence: evidence(cause),
        alternatives: Vec::new(),
        instants: Vec::new(),
    }
}

/// The evidence from which advice takes numbers.
fn evidence(cause: Cause) -> Vec<Evidence> {
    match cause {
        Cause::OldConnection => vec![Evidence::ChallengeAck { times: 1 }],
        Cause::FastOpenLost => vec![Evidence::SynDataLost { times: 1 }],
        Cause::NotAnswered => vec![Evidence::SynNotAnswered { times: 6, wrong_checksum: 6 }],
        Cause::PeerGone => vec![
            Evidence::PeerSilent { lasted: 15 * SECOND, retransmissions: 7 },
            Evidence::SilentAfterPause { pause: 360 * SECOND },
            Evidence::OnlyLargeUnanswered { smallest: Bytes::new(1448) },
        ],
        Cause::NotAccepted => {
            vec![Evidence::NotAccepted { packets: 40 }, Evidence::DamagedOnArrival { segments: 40 }]
        }
        Cause::EcnCleared => vec![Evidence::EcnNotCapable { segments: 1200 }],
        Cause::NoAnswer => vec![Evidence::SynUnanswered { times: 7 }],
        Cause::Refused => vec![Evidence::SynRefused { after: SECOND / 100 }],
        Cause::Unreachable => {
            vec![Evidence::IcmpErrors { times: 1, kind: IcmpKind::HostUnreachable }]
        }
        Cause::AcceptQueueFull => vec![Evidence::SynAckAgain { times: 3, data: 4 }],
        Cause::ResetUnknown => {
            vec![Evidence::ConnectionNotKnown {}, Evidence::ResetAfterPause { pause: 360 * SECOND }]
        }
        Cause::ResetClosed | Cause::ResetAborted => {
            vec![Evidence::UnacknowledgedAtReset { of_resetter: Bytes::ZERO, of_other: Bytes::new(300) }]
        }
        Cause::ResetOnPath => vec![Evidence::OtherTtl { ttl: 62, usual: 53 }],
        Cause::LocalRateLimit => vec![Evidence::SteadyRate {
            rate: Rate::bits_per_second(50_000_000),
            flight: Bytes::new(250_000),
        }],
        Cause::ProtocolWindow => vec![Evidence::FollowsPayload { waits: 300, by_ack: 2 }],
        Cause::WindowTakenBack => vec![Evidence::EdgeMovedBack { times: 2, largest: Bytes::kib(62) }],
        Cause::EcnMarks => vec![Evidence::EcnMarked { marked: 0, echoes: 140, reductions: 35 }],
        Cause::MtuBlackHole => vec![Evidence::LostAboveSize {
            lost: 17,
            smallest: Bytes::new(1448),
            largest_delivered: Bytes::new(1208),
        }],
        Cause::SuperPacketsDropped => vec![Evidence::LostAboveSize {
            lost: 31,
            smallest: Bytes::new(2896),
            largest_delivered: Bytes::new(1448),
        }],
        Cause::LocalQueue => vec![Evidence::LostBeforeTap { segments: 214 }],
        Cause::BeyondUnscaledWindow => vec![Evidence::LostBeyondWindowField { lost: 120, delivered: 900 }],
        _ => Vec::new(),
    }
}

/// The sample flow as `cause` would affect it.
pub fn report_of(cause: Cause) -> FlowReport {
    let mut report = report();
    let [answered, sent] = &mut report.directions;
    let (answered, sent) = (&mut answered.measures, &mut sent.measures);
    let bare = SynOptions { mss: Some(1460), window_scale: None, sack_permitted: false, timestamps: false };
    match cause {
        Cause::SynLost => report.opening.retransmitted = 2,
        Cause::AcceptQueueFull => report.opening.unaccepted = 2,
        Cause::SenderIdle | Cause::SlowStart => sent.idle_longest = 2 * SECOND,
        Cause::ThinkTime => sent.unique_bytes = Bytes::kib(640),
        Cause::NoWindowScaling => {
            answered.options = Some(SynOptions { window_scale: None, ..OPTIONS });
            sent.options = answered.options;
            answered.window.max = Some(Bytes::new(65_535));
            answered.window_scale = ScaleKnown::Agreed(0);
        }
        Cause::WindowScaleTooSmall => {
            answered.options = Some(SynOptions { window_scale: Some(2), ..OPTIONS });
            answered.window.max = Some(Bytes::new(65_535 << 2));
            answered.window_scale = ScaleKnown::Agreed(2);
        }
        Cause::SlowReader | Cause::ReaderStopped => {
            answered.window.zero_count = 12;
            answered.window.zero_time = 9 * SECOND;
        }
        Cause::AfterLoss | Cause::FastRecovery | Cause::LostRetransmission => {
            sent.labels.retransmission = 350;
            sent.recoveries = 41;
        }
        Cause::Timeout | Cause::TailLoss => {
            sent.labels.retransmission = 25;
            sent.timeouts = 10;
            sent.options = Some(bare);
            report.opening.round_trip = Some(ms(2));
        }
        Cause::SpuriousTimeout => sent.rtt_by_ack.max = Some(ms(650)),
        Cause::Reordering => {
            sent.labels.out_of_order = 420;
            sent.labels.spurious = 75;
        }
        Cause::StandingQueue => {
            sent.rtt_by_ack.mean = Some(ms(120));
            report.directions[End::B.index()].overview.peak_rate = 48e6;
        }
        Cause::ProtocolWindow => sent.flight_max = Bytes::new(65_535),
        Cause::EcnMarks => report.opening.round_trip = Some(ms(40)),
        Cause::BeyondUnscaledWindow => {
            answered.window_scale = ScaleKnown::Agreed(1);
            answered.window.max = Some(Bytes::kib(120));
        }
        Cause::CaptureGap => {
            sent.unseen_bytes = Bytes::kib(900);
            sent.unseen_gaps = 4;
        }
        Cause::OneDirection => answered.packets = 0,
        _ => {}
    }
    report
}
