//! Reports built by hand: a small receive window, a download with loss recorded on the path, a refused connection and
//! many short ones.

use slowpath_analyses::report::*;
use slowpath_analyses::{Cause, Confidence, Evidence};
use slowpath_model::{Bytes, End, Endpoint, FlowEnd, FlowId, FlowKey, Instant, Rate, Vantage};
use slowpath_remedies::{Advice, Fix, Host};
use slowpath_views::rank::{Ranker, Selection};
use slowpath_views::{Diagnosis, Recording, Skipped};
use std::time::Duration;

pub fn at(millis: i64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn key(a: &str, b: &str) -> FlowKey {
    let endpoint = |text: &str| {
        let socket: std::net::SocketAddr = text.parse().expect("an address");
        Endpoint { address: socket.ip(), port: socket.port() }
    };
    FlowKey { a: endpoint(a), b: endpoint(b), occurrence: 0 }
}

fn direction(from: End) -> DirectionReport {
    DirectionReport {
        from,
        measures: Measures::default(),
        spells: Vec::new(),
        overview: Overview::default(),
        awaited: Vec::new(),
        findings: Vec::new(),
        stalls: Vec::new(),
        stall_count: 0,
    }
}

fn flow(id: u32, key: FlowKey, from: i64, to: i64) -> FlowReport {
    FlowReport {
        id: FlowId(id),
        key,
        first: at(from),
        last: at(to),
        ended: FlowEnd::EndOfRecording,
        vantage: VantageReport {
            vantage: Vantage::At(End::A),
            confidence: Confidence::High,
            to_a: Some(Duration::from_micros(12)),
            to_b: Some(Duration::from_millis(20)),
            evidence: VantageEvidence::Distances {
                a: Duration::from_micros(12),
                b: Duration::from_millis(20),
            },
        },
        opening: Opening {
            syn: Some(at(from)),
            syn_ack: Some(at(from + 20)),
            established: Some(at(from + 20)),
            retransmitted: 0,
            round_trip: Some(Duration::from_millis(20)),
            ..Opening::default()
        },
        closing: Closing { fin: [true; 2], rst: [false; 2], ..Closing::default() },
        sender: End::A,
        directions: [direction(End::A), direction(End::B)],
    }
}

/// Adds consecutive spells, and their findings.
fn bind(flow: &mut FlowReport, spells: &[(i64, Cause)]) {
    let (mut from, whole) = (flow.first, flow.lasted().as_secs_f64());
    let direction = &mut flow.directions[flow.sender.index()];
    for (until, cause) in spells {
        direction.spells.push(Spell { from, to: at(*until), cause: *cause });
        from = at(*until);
    }
    for cause in Cause::ALL {
        let own: Vec<_> = direction.spells.iter().filter(|spell| spell.cause == *cause).collect();
        if own.is_empty() {
            continue;
        }
        let lasted: Duration = own.iter().map(|spell| spell.lasted()).sum();
        direction.findings.push(Finding {
            from: direction.from,
            cause: *cause,
            lasted,
            share: lasted.as_secs_f64() / whole,
            spells: own.len() as u64,
            confidence: Confidence::High,
            evidence: Vec::new(),
            alternatives: Vec::new(),
            instants: own.iter().take(3).map(|spell| spell.from).collect(),
        });
    }
    direction.findings.sort_by_key(|finding| std::cmp::Reverse(finding.lasted));
}

/// 46 MiB through a window of 64 KiB.
pub fn small_window() -> FlowReport {
    let mut flow = flow(1, key("192.0.2.1:40000", "198.51.100.7:443"), 0, 12_300);
    let measures = &mut flow.directions[0].measures;
    *measures = Measures {
        packets: 33_105,
        data_packets: 33_100,
        bytes: Bytes::new(48_300_000),
        unique_bytes: Bytes::new(48_234_496),
        goodput: Rate::of(Bytes::new(48_234_496), Duration::from_millis(12_280)),
        throughput: Rate::of(Bytes::new(48_300_000), Duration::from_millis(12_280)),
        first_data: Some(at(20)),
        last_data: Some(at(12_280)),
        options: Some(SynOptions {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: true,
        }),
        window_scale: ScaleKnown::Agreed(7),
        mss_seen: 1448,
        labels: LabelCounts { new: 33_054, retransmission: 41, spurious: 5, ..LabelCounts::default() },
        window_full: 612,
        rtt_by_ack: RttMeasures {
            count: 16_000,
            min: Some(Duration::from_micros(20_113)),
            mean: Some(Duration::from_micros(20_400)),
            max: Some(Duration::from_micros(61_000)),
            deviation: Some(Duration::from_micros(800)),
        },
        rto: Some(Duration::from_millis(221)),
        flight_max: Bytes::kib(64),
        flight_mean: Bytes::kib(61),
        recoveries: 3,
        ..Measures::default()
    };
    flow.directions[1].measures = Measures {
        packets: 16_050,
        pure_acks: 16_048,
        window_scale: ScaleKnown::Agreed(7),
        window: WindowMeasures {
            min: Some(Bytes::kib(12)),
            max: Some(Bytes::kib(64)),
            mean: Some(Bytes::kib(63)),
            ..WindowMeasures::default()
        },
        duplicate_acks: 120,
        ..Measures::default()
    };
    bind(
        &mut flow,
        &[
            (20, Cause::Handshake),
            (200, Cause::SlowStart),
            (5_000, Cause::ReceiveBufferTooSmall),
            (5_400, Cause::FastRecovery),
            (5_900, Cause::AfterLoss),
            (12_300, Cause::ReceiveBufferTooSmall),
        ],
    );
    flow.directions[0].findings[0].evidence = vec![
        Evidence::WindowFilled { segments: 612, largest: Bytes::kib(64) },
        Evidence::WindowAllows {
            rtt: Duration::from_micros(20_113),
            rate: Rate::bits_per_second(26_067_000),
        },
    ];
    flow
}

/// A short transfer whose connection then stays open.
pub fn left_open() -> FlowReport {
    let mut flow = flow(9, key("192.0.2.1:40000", "198.51.100.7:443"), 0, 12_300);
    flow.directions[0].measures =
        Measures { first_data: Some(at(500)), last_data: Some(at(2_000)), ..Measures::default() };
    let spells = [
        (20, Cause::Handshake),
        (500, Cause::SenderIdle),
        (800, Cause::SlowStart),
        (1_000, Cause::SenderIdle),
        (2_000, Cause::SlowReader),
        (12_300, Cause::SenderIdle),
    ];
    bind(&mut flow, &spells);
    flow
}

/// A download over IPv6, recorded on the path, with an unknown window scale.
pub fn lossy_download() -> FlowReport {
    let mut flow =
        flow(2, key("[2001:db8::1]:51000", "[2001:db8:ffff:ffff:ffff:ffff:ffff:7]:8080"), 1_500, 9_500);
    flow.sender = End::B;
    flow.opening = Opening::default();
    flow.closing = Closing { fin: [false; 2], rst: [false, true], ..Closing::default() };
    flow.vantage.vantage = Vantage::Between;
    flow.vantage.confidence = Confidence::Medium;
    flow.vantage.evidence =
        VantageEvidence::Distances { a: Duration::from_millis(8), b: Duration::from_millis(12) };
    flow.directions[1].measures = Measures {
        packets: 7000,
        data_packets: 6990,
        bytes: Bytes::new(10_121_520),
        unique_bytes: Bytes::new(9_800_000),
        goodput: Rate::of(Bytes::new(9_800_000), Duration::from_millis(7_990)),
        labels: LabelCounts { new: 6768, retransmission: 222, ..LabelCounts::default() },
        unseen_bytes: Bytes::new(14_480),
        unseen_gaps: 3,
        missing_bytes: Bytes::ZERO,
        ..Measures::default()
    };
    bind(
        &mut flow,
        &[
            (2_000, Cause::SlowStart),
            (2_400, Cause::FastRecovery),
            (5_000, Cause::AfterLoss),
            (6_200, Cause::Timeout),
            (8_000, Cause::AfterLoss),
            (8_600, Cause::Timeout),
            (9_500, Cause::Undetermined),
        ],
    );
    let repairs =
        Evidence::Retransmitted { segments: 222, spurious: 0, lost_share: 0.032, recoveries: 2, timeouts: 2 };
    for finding in &mut flow.directions[1].findings {
        if matches!(finding.cause, Cause::AfterLoss | Cause::Timeout) {
            finding.evidence.push(repairs);
        }
    }
    flow
}

/// A refused connection.
pub fn refused() -> FlowReport {
    let mut flow = flow(3, key("192.0.2.1:40002", "198.51.100.7:81"), 3_000, 3_020);
    flow.opening = Opening { syn: Some(at(3_000)), refused: true, ..Opening::default() };
    flow.closing = Closing { fin: [false; 2], rst: [false, true], ..Closing::default() };
    bind(&mut flow, &[(3_020, Cause::Refused)]);
    flow
}

/// The `number`th of many short requests.
pub fn short(number: u32) -> FlowReport {
    let key = key(&format!("192.0.2.1:{}", 41_000 + number), "203.0.113.9:80");
    let start = 4_000 + i64::from(number) * 10;
    let mut flow = flow(10 + number, key, start, start + 45);
    flow.directions[0].measures.unique_bytes = Bytes::kib(8);
    bind(&mut flow, &[(start + 20, Cause::Handshake), (start + 45, Cause::ThinkTime)]);
    flow
}

pub fn flows() -> Vec<FlowReport> {
    let mut all = vec![refused(), lossy_download(), small_window()];
    all.extend((0..40).map(short));
    all
}

/// Sample advice.
pub fn advise(finding: &Finding, _: &FlowReport) -> Vec<Advice> {
    match finding.cause {
        Cause::ReceiveBufferTooSmall => vec![Advice {
            text:
                "Let the receive buffer grow to twice what the path holds: 6 MiB for 1 Gbit/s over 20.1 ms."
                    .to_owned(),
            fixes: vec![Fix {
                host: Host::Receiver,
                command: "sysctl -w net.ipv4.tcp_rmem='4096 131072 6291456'".to_owned(),
                effect: "how far the kernel lets a receive buffer grow".to_owned(),
                changes: true,
                needs: Some("root"),
                persists: None,
                source: None,
                change: None,
                undo: Some("sysctl -w net.ipv4.tcp_rmem='4096 131072 4194304'".to_owned()),
            }],
            caution: Some(
                "An application that sets SO_RCVBUF switches this off; it must stop doing so.".to_owned(),
            ),
        }],
        Cause::AfterLoss => vec![Advice {
            text: "Use a congestion control that does not take every loss for a full queue.".to_owned(),
            fixes: vec![Fix {
                host: Host::Sender,
                command: "sysctl -w net.ipv4.tcp_congestion_control=bbr".to_owned(),
                effect: "the congestion control of new connections".to_owned(),
                changes: true,
                needs: None,
                persists: None,
                source: None,
                change: None,
                undo: None,
            }],
            caution: None,
        }],
        _ => Vec::new(),
    }
}

pub fn recording() -> Recording {
    Recording {
        name: "transfer.pcapng".to_owned(),
        gone: false,
        format: "pcapng".to_owned(),
        host: None,
        frames: 56_220,
        segments: 56_203,
        span: Some((at(0), at(12_300))),
        epoch_ns: Some(1_795_923_145_000_000_000),
        skipped: vec![
            Skipped { count: 16, unit: "frame", what: "IP, but not TCP".to_owned(), matters: false },
            Skipped {
                count: 1,
                unit: "frame",
                what: "the snapshot length cut a header off".to_owned(),
                matters: true,
            },
        ],
        clock_steps: Vec::new(),
        is_clock_corrected: false,
        damage: Some("the file ends in the middle of a frame, at byte 4,813,201".to_owned()),
        account: serde_json::json!({ "frames": 56_220 }),
    }
}

pub fn diagnosis(flows: &[FlowReport], selection: Selection) -> Diagnosis<'static> {
    let mut ranker = Ranker::new(selection);
    for flow in flows {
        ranker.add(flow.clone());
    }
    Diagnosis {
        recordings: vec![recording()],
        ranking: ranker.finish(),
        flows_not_kept: 0,
        paired: None,
        advise: &advise,
    }
}
