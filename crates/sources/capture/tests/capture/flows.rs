//! Flows: which segments belong together, which end is which, and the offsets of their bytes.

use crate::build::{
    self, ACK, CLIENT, FIN, PSH, RST, Recorded, SERVER, SYN, Tcp, ethernet, frames, ipv4, pcap, record,
};
use proptest::prelude::*;
use slowpath_capture::{Capture, CaptureSummary};
use slowpath_model::{
    Checksum, Ecn, End, Event, EventKind, Flags, FlowEnd, FlowId, FlowKey, IpFacts, SackBlock, Segment, Sink,
    StreamOffset, Timestamps,
};
use std::io::{self, Cursor, Read};

/// The calls, without times and remarks.
fn short(recorded: &Recorded) -> Vec<String> {
    let shorten = |line: &String| {
        let line = line.split(" // ").next().unwrap().replace("10.0.0.1:40000", "client");
        let line = line.replace("10.0.0.2:80", "server").replace(" win 1000", "");
        let mut words = line.split(' ').filter(|word| !word.starts_with("0.0"));
        words.by_ref().collect::<Vec<_>>().join(" ")
    };
    recorded.lines.iter().map(shorten).collect()
}

fn recorded(segments: &[Tcp]) -> Vec<String> {
    let frames: Vec<_> = segments.iter().map(Tcp::frame).collect();
    short(&build::frames(&frames).1)
}

#[test]
fn syn_or_syn_ack_determines_end_a() {
    let answer_first = recorded(&[
        Tcp::new(SYN | ACK, 499, 100, 0).back(),
        Tcp::new(SYN, 99, 0, 0),
        Tcp::new(ACK, 100, 500, 5),
    ]);
    assert_eq!(
        answer_first,
        [
            "1: open client > server",
            "1: < S. 0:0(0) ack 1",
            "1: > S 0:0(0)",
            "1: > . 1:6(5) ack 1",
            "1: close EndOfRecording"
        ]
    );
    let from_the_server = recorded(&[Tcp::new(SYN, 99, 0, 0).back()]);
    assert_eq!(from_the_server[0], "1: open server > client");
}

#[test]
fn capture_from_the_middle_starts_at_the_first_number_seen() {
    let lines = recorded(&[
        Tcp::new(ACK, 1000, 5000, 100),
        Tcp::new(ACK, 5000, 1100, 200).back(),
        Tcp::new(ACK, 900, 5200, 100),
        Tcp::new(SYN, 999, 0, 0),
        Tcp::new(SYN, 12_345, 0, 0),
    ]);
    assert_eq!(
        lines[..5],
        [
            "1: open client > server",
            "1: > . 0:100(100) ack 0",
            "1: < . 0:200(200) ack 100",
            "1: > . -100:0(100) ack 200",
            "1: > S -1:-1(0)",
        ],
        "a late SYN of the same connection"
    );
    assert_eq!(
        lines[5..],
        ["1: close Replaced", "2: open client > server (2nd)", "2: > S 0:0(0)", "2: close EndOfRecording"]
    );
}

#[test]
fn one_direction_alone_is_numbered() {
    // The third segment of the handshake shows the other direction's SYN.
    let sender = recorded(&[Tcp::new(SYN, 99, 0, 0), Tcp::new(ACK, 100, 500, 0), Tcp::new(ACK, 100, 700, 9)]);
    assert_eq!(sender[1..4], ["1: > S 0:0(0)", "1: > . 1:1(0) ack 1", "1: > . 1:10(9) ack 201"]);
    let receiver = recorded(&[Tcp::new(SYN | ACK, 499, 100, 0).back(), Tcp::new(ACK, 500, 300, 0).back()]);
    assert_eq!(receiver[1..3], ["1: < S. 0:0(0) ack 1", "1: < . 1:1(0) ack 201"]);
    // 6 GiB acknowledged, though none of these bytes was captured.
    let acks: Vec<_> = (0..=12).map(|n: u32| Tcp::new(ACK, 1, n.wrapping_mul(1 << 29), 0)).collect();
    assert!(recorded(&acks)[13].ends_with(" ack 6442450944"));
}

#[test]
fn reused_ports_open_new_flows() {
    let open = [Tcp::new(SYN, 99, 0, 0), Tcp::new(SYN | ACK, 499, 100, 0).back(), Tcp::new(ACK, 100, 500, 7)];
    let flows = |more: &[&Tcp]| {
        let segments: Vec<_> = open.iter().chain(more.iter().copied()).cloned().collect();
        recorded(&segments).iter().filter(|line| line.contains("open")).count()
    };
    let fin = Tcp::new(FIN | ACK, 107, 500, 0);
    let fin_back = Tcp::new(FIN | ACK, 500, 108, 0).back();
    let reset = Tcp::new(RST, 107, 0, 0);
    let same = Tcp::new(SYN, 99, 0, 0);
    let other = Tcp::new(SYN, 77_777, 0, 0);
    let backwards = Tcp::new(SYN, 4_444, 0, 0).back();
    assert_eq!(flows(&[]), 1);
    assert_eq!(flows(&[&same]), 1, "a late retransmission");
    assert_eq!(flows(&[&other]), 2, "after data");
    assert_eq!(flows(&[&reset, &other]), 2);
    assert_eq!(flows(&[&reset, &same]), 1, "refused, and retried");
    assert_eq!(flows(&[&fin, &other]), 2);
    assert_eq!(flows(&[&fin, &fin_back, &same]), 2, "a generator that always starts at 99");
    assert_eq!(flows(&[&fin, &fin_back, &Tcp::new(ACK, 108, 501, 0)]), 1, "the last ACK");
    assert_eq!(flows(&[&backwards]), 2);
    assert_eq!(flows(&[&fin, &fin_back, &backwards, &other]), 2, "both at once");
    assert_eq!(flows(&[&reset, &Tcp::new(SYN | ACK, 888, 78_000, 0).back()]), 2, "its SYN was not captured");
    assert_eq!(flows(&[&Tcp::new(SYN | ACK, 499, 100, 0).back()]), 1, "a late retransmission");

    let again: Vec<_> =
        open.iter().cloned().chain([other, Tcp::new(SYN | ACK, 1, 77_778, 0).back()]).collect();
    let lines = recorded(&again);
    assert_eq!(
        lines[4..8],
        ["1: close Replaced", "2: open client > server (2nd)", "2: > S 0:0(0)", "2: < S. 0:0(0) ack 1",]
    );
}

#[test]
fn simultaneous_open_and_keepalive_probes_stay_one_flow() {
    let lines = recorded(&[
        Tcp::new(SYN, 99, 0, 0),
        Tcp::new(SYN, 499, 0, 0).back(),
        Tcp::new(SYN | ACK, 99, 500, 0),
        Tcp::new(SYN | ACK, 499, 100, 0).back(),
    ]);
    assert_eq!(
        lines[1..5],
        ["1: > S 0:0(0)", "1: < S 0:0(0)", "1: > S. 0:0(0) ack 1", "1: < S. 0:0(0) ack 1"]
    );
    let refused = recorded(&[Tcp::new(SYN, 99, 0, 0), Tcp::new(RST | ACK, 0, 100, 0).back()]);
    assert_eq!(refused[1..3], ["1: > S 0:0(0)", "1: < R. 0:0(0) ack 1"]);
    let alone = recorded(&[Tcp::new(RST, 5, 0, 0), Tcp::new(RST, 5, 0, 0)]);
    assert_eq!(alone[1..3], ["1: > R 0:0(0)", "1: > R 0:0(0)"]);
}

/// A SYN meets the other end's old connection (RFC 5961, section 4; RFC 9293, section 3.5.1, "half-open").
#[test]
fn challenge_ack_belongs_to_the_new_flow_numbered_by_its_syn_ack() {
    // The old connection's numbers, behind and ahead of the new ones.
    for (old, old_ack) in [(700_000, 4_294_000_000), (3_000_000_000, 1_000_000)] {
        let challenge = Tcp::new(ACK, old, old_ack, 0).back();
        let reset = Tcp::new(RST, old_ack, 0, 0);
        let transfer = |isn: u32| {
            vec![
                Tcp::new(SYN, isn, 0, 0),
                Tcp::new(SYN | ACK, 499, isn + 1, 0).back(),
                Tcp::new(ACK, isn + 1, 500, 0),
                Tcp::new(PSH | ACK, isn + 1, 500, 10),
                Tcp::new(ACK, 500, isn + 11, 1448).back(),
                Tcp::new(ACK, isn + 11, 1948, 0),
            ]
        };
        let expected = [
            "1: > S 0:0(0)",
            "1: < S. 0:0(0) ack 1",
            "1: > . 1:1(0) ack 1",
            "1: > P. 1:11(10) ack 1",
            "1: < . 1:1449(1448) ack 11",
            "1: > . 11:11(0) ack 1449",
            "1: close EndOfRecording",
        ];
        for isn in [99, 77_777] {
            // Once; after a retransmitted SYN; without the RST captured; with old data retransmitted.
            let syn = Tcp::new(SYN, 99, 0, 0);
            let data = Tcp::new(ACK, old - 100, old_ack, 100).back();
            for met in [
                vec![syn.clone(), challenge.clone(), reset.clone()],
                vec![
                    syn.clone(),
                    challenge.clone(),
                    reset.clone(),
                    syn.clone(),
                    challenge.clone(),
                    reset.clone(),
                ],
                vec![syn.clone(), challenge.clone()],
                vec![syn.clone(), challenge.clone(), reset.clone(), data.clone(), data],
                vec![syn.clone(), Tcp::new(SYN | ACK, old, old_ack, 0).back(), reset.clone()],
            ] {
                let lines = recorded(&[met.clone(), transfer(isn)].concat());
                assert_eq!(lines[met.len() + 1..], expected, "{lines:?}");
            }
        }
        // An old connection that was captured, too, ends with the new SYN.
        let before = Tcp::new(ACK, old - 50, old_ack, 50).back();
        let met = vec![before, Tcp::new(SYN, 99, 0, 0), challenge, reset];
        let lines = recorded(&[met, transfer(99)].concat());
        assert_eq!(lines[7..], expected.map(|line| line.replace("1: ", "2: ")), "{lines:?}");
    }
}

#[test]
fn flow_after_a_challenge_ack_without_a_captured_syn_ack() {
    let challenge = Tcp::new(ACK, 700_000, 4_294_000_000, 0).back();
    let syn = Tcp::new(SYN, 99, 0, 0);
    // The SYN-ACK was not captured.
    let lines = recorded(&[
        syn.clone(),
        challenge.clone(),
        syn.clone(),
        Tcp::new(ACK, 100, 500, 10),
        Tcp::new(ACK, 500, 110, 0).back(),
    ]);
    assert_eq!(lines[4..6], ["1: > . 1:11(10) ack 1", "1: < . 1:1(0) ack 11"]);
    let lines = recorded(&[syn.clone(), challenge.clone(), Tcp::new(ACK, 500, 100, 9).back()]);
    assert_eq!(lines[3], "1: < . 0:9(9) ack 1");
    // Data of the initiator was not captured: the other end's numbers count.
    let lines =
        recorded(&[syn.clone(), Tcp::new(ACK, 500, 5100, 0).back(), Tcp::new(ACK, 500, 6100, 9).back()]);
    assert_eq!(lines[2..4], ["1: < . 0:0(0) ack 5001", "1: < . 0:9(9) ack 6001"]);
    // A simultaneous open after all.
    let lines = recorded(&[
        syn.clone(),
        challenge,
        Tcp::new(SYN, 499, 0, 0).back(),
        Tcp::new(SYN | ACK, 499, 100, 0).back(),
        Tcp::new(SYN | ACK, 99, 500, 0),
    ]);
    assert_eq!(lines[3..6], ["1: < S 0:0(0)", "1: < S. 0:0(0) ack 1", "1: > S. 0:0(0) ack 1"]);
    // Refused, and retried with the same number: another connection.
    let lines = recorded(&[
        syn.clone(),
        Tcp::new(RST | ACK, 0, 100, 0).back(),
        syn,
        Tcp::new(SYN | ACK, 4_000_000_000, 100, 0).back(),
    ]);
    assert_eq!(lines[lines.len() - 3..][..2], ["2: > S 0:0(0)", "2: < S. 0:0(0) ack 1"]);
    // With only one direction, the target of the challenge is unknown, so the SYN-ACK opens the connection.
    let lines = recorded(&[
        Tcp::new(ACK, 700_000, 4_294_000_000, 0).back(),
        Tcp::new(SYN | ACK, 499, 100, 0).back(),
        Tcp::new(ACK, 500, 110, 9).back(),
    ]);
    assert_eq!(
        lines[3..6],
        ["2: open client > server (2nd)", "2: < S. 0:0(0) ack 1", "2: < . 1:10(9) ack 11"]
    );
}

/// RFC 7413, section 4.1.
#[test]
fn data_in_a_syn_begins_after_the_syn() {
    let cookie = [34, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1];
    let (_, recorded) = frames(&[
        Tcp::new(SYN, 99, 0, 10).options(&cookie).frame(),
        Tcp::new(SYN | ACK, 499, 110, 0).back().frame(),
        Tcp::new(ACK, 500, 110, 20).back().frame(),
        Tcp::new(ACK, 110, 520, 5).frame(),
    ]);
    let segment = |n: usize| *recorded.events[n].1.kind.segment().unwrap();
    let syn = segment(0);
    assert!(syn.fast_open && !segment(1).fast_open);
    assert_eq!((syn.first_byte(), syn.end(), syn.len), (StreamOffset(1), StreamOffset(11), 10));
    assert_eq!(segment(1).ack, Some(StreamOffset(11)));
    assert_eq!((segment(2).seq, segment(3).seq), (StreamOffset(1), StreamOffset(11)));
    // Only the SYN is acknowledged, and the data is retransmitted.
    let lines = self::recorded(&[
        Tcp::new(SYN, 99, 0, 10).options(&cookie),
        Tcp::new(SYN | ACK, 499, 100, 0).back(),
        Tcp::new(ACK, 100, 500, 10),
    ]);
    assert_eq!(lines[1..4], ["1: > S 0:10(10) <FO>", "1: < S. 0:0(0) ack 1", "1: > . 1:11(10) ack 1"]);
}

#[test]
fn sack_blocks_of_another_connection_have_no_offsets() {
    let sack = |edges: [u32; 4]| {
        let edges = edges.map(u32::to_be_bytes).concat();
        [&[1, 1, 5, 18], edges.as_slice()].concat()
    };
    let lines = recorded(&[
        Tcp::new(SYN, 99, 0, 0),
        Tcp::new(SYN | ACK, 499, 100, 0).back(),
        Tcp::new(ACK, 100, 500, 1000),
        Tcp::new(ACK, 2100, 500, 1000),
        Tcp::new(ACK, 500, 1100, 0).back().options(&sack([2100, 3100, 1_000_003_100, 1_000_004_100])),
        Tcp::new(ACK, 500, 1100, 0).back().options(&sack([3100, 2100, 3_000_000_000, 3_000_001_000])),
        // A duplicate, and data that was not captured.
        Tcp::new(ACK, 500, 1100, 0).back().options(&sack([100, 1100, 1_002_100, 1_003_100])),
    ]);
    let ends = ["<sack 2001:3001,sack-outside 1>", "<sack-outside 2>", "<sack 1:1001 1002001:1003001>"];
    for (line, end) in lines[5..8].iter().zip(ends) {
        assert!(line.ends_with(end), "{lines:?}");
    }
}

#[test]
fn sequence_numbers_wrap_and_strays_are_not_followed() {
    let isn = u32::MAX - 100;
    let sack = |start: u32, end: u32| {
        let edges = [start.to_be_bytes(), end.to_be_bytes()].concat();
        [&[1, 1, 5, 10], edges.as_slice()].concat()
    };
    let lines = recorded(&[
        Tcp::new(SYN, isn, 0, 0),
        Tcp::new(SYN | ACK, 7, isn.wrapping_add(1), 0).back(),
        Tcp::new(ACK, isn.wrapping_add(1), 8, 1000),
        Tcp::new(ACK, 8, isn.wrapping_add(1), 0).back().options(&sack(isn.wrapping_add(51), 400)),
        Tcp::new(ACK, 8, isn.wrapping_add(1), 0).back().options(&sack(isn.wrapping_add(1 << 30), 9)),
    ]);
    assert!(lines[4].ends_with("<sack 51:501>"), "{lines:?}");
    assert!(lines[5].ends_with("<sack-outside 1>"), "{lines:?}");

    let lines = recorded(&[Tcp::new(PSH, 1, 0, 0).options(&sack(500, 600))]);
    assert!(lines[1].ends_with("<sack 0:100>"), "without an acknowledgment: {lines:?}");

    // One stray number, 1.5 GiB ahead, moves nothing; neither does a RST's.
    let ahead = 3 << 29;
    let stray = [
        Tcp::new(SYN, 0, 0, 0),
        Tcp::new(ACK, ahead, 1, 10),
        Tcp::new(ACK, 1, 1, 10),
        Tcp::new(RST, 1 << 31, 0, 0),
        Tcp::new(ACK, 11, 1, 10),
        Tcp::new(ACK, 2 * ahead, 1, 10),
        Tcp::new(ACK, 21, 1, 10),
    ];
    let lines = recorded(&stray);
    assert_eq!(lines[3], "1: > . 1:11(10) ack 0");
    assert_eq!(lines[5], "1: > . 11:21(10) ack 0");
    assert_eq!(lines[7], "1: > . 21:31(10) ack 0");
    // Twice in a row it is a gap in the capture, and followed: 6 GiB in steps of 1.5.
    let gaps: Vec<_> = (0..=4u32)
        .flat_map(|n| {
            [Tcp::new(PSH, n.wrapping_mul(ahead), 0, 1), Tcp::new(PSH, n.wrapping_mul(ahead) + 1, 0, 1)]
        })
        .collect();
    assert!(recorded(&gaps)[10].contains(" 6442450945:"), "{:?}", recorded(&gaps));
}

#[test]
fn tunnelled_and_plain_segments_of_a_connection_are_one_flow() {
    let (summary, recorded) = frames(&[
        Tcp::new(SYN, 99, 0, 0).frame(),
        ethernet(0x0800, &ipv4(4, 1, 2, &Tcp::new(SYN | ACK, 499, 100, 0).back().v4())),
        ethernet(0x86dd, &Tcp::new(SYN, 99, 0, 0).v6()),
    ]);
    assert_eq!((summary.flows, summary.segments), (2, 3));
    assert!(
        recorded.lines.iter().any(|line| line == "2: open [fd00::1]:40000 > [fd00::2]:80"),
        "{recorded:?}"
    );
}

/// Endless half-open flows, with a transfer in between.
struct Flood {
    left: u32,
    pending: Cursor<Vec<u8>>,
}

impl Read for Flood {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.pending.position() == self.pending.get_ref().len() as u64 {
            if self.left == 0 {
                return Ok(0);
            }
            let mut bytes = Vec::new();
            for _ in 0..100 {
                self.left -= 1;
                let syn = Tcp { source: 1, ..Tcp::new(SYN, 0, 0, 0) };
                let frame = ethernet(0x0800, &ipv4(6, self.left + (1 << 30), SERVER.0, &syn.bytes()));
                bytes.extend(record(0, 0, &frame, frame.len()));
            }
            let transfer = Tcp::new(ACK, 1, 1, 10).frame();
            bytes.extend(record(0, 0, &transfer, transfer.len()));
            self.pending = Cursor::new(bytes);
        }
        self.pending.read(buffer)
    }
}

/// Stores only a little: how many flows are open.
#[derive(Default)]
struct Open {
    now: usize,
    most: usize,
    evicted: u64,
    transfer: Vec<FlowId>,
    transfer_evicted: bool,
}

impl Sink for Open {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.now += 1;
        self.most = self.most.max(self.now);
        if key.a.port == CLIENT.1 {
            self.transfer.push(flow);
        }
    }
    fn accept(&mut self, _: FlowId, _: &Event) {}
    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        self.now -= 1;
        self.evicted += u64::from(end == FlowEnd::Evicted);
        self.transfer_evicted |= end == FlowEnd::Evicted && self.transfer.contains(&flow);
    }
}

fn flood(flows: u32, most: usize) -> (CaptureSummary, Open) {
    let reader = Flood { left: flows, pending: Cursor::new(pcap(1, &[])) };
    let mut open = Open::default();
    let summary = Capture::from_reader("flood", reader).max_live_flows(most).run(&mut open).unwrap();
    (summary, open)
}

#[test]
fn half_open_flood_does_not_evict_the_transfer() {
    let (summary, open) = flood(2_000_000, 10_000);
    assert_eq!((summary.flows, summary.evicted_flows), (2_000_001, 2_000_001 - 10_000));
    assert_eq!((open.most, open.now, open.evicted), (10_000, 0, summary.evicted_flows));
    assert!(open.transfer.len() == 1 && !open.transfer_evicted, "the transfer was active");
    let (summary, open) = flood(1000, 0);
    assert_eq!((summary.evicted_flows, open.most), (summary.flows - 1, 1), "at least one flow is watched");
}

fn wire(isn: u32, offset: StreamOffset) -> u32 {
    isn.wrapping_add(offset.0 as u32)
}

/// The frame of a segment of the connection whose initial sequence numbers are `isn`.
fn write(segment: &Segment, isn: [u32; 2]) -> Vec<u8> {
    let (own, other) = (isn[segment.from.index()], isn[(!segment.from).index()]);
    let mut options = Vec::new();
    if let Some(mss) = segment.mss {
        options.extend([2, 4]);
        options.extend(mss.to_be_bytes());
    }
    if let Some(shift) = segment.window_scale {
        options.extend([3, 3, shift]);
    }
    if segment.sack_permitted {
        options.extend([4, 2]);
    }
    if let Some(Timestamps { val, ecr }) = segment.timestamps {
        options.extend([1, 1, 8, 10]);
        options.extend(val.to_be_bytes());
        options.extend(ecr.to_be_bytes());
    }
    if !segment.sack.is_empty() {
        options.extend([5, 2 + 8 * segment.sack.as_slice().len() as u8]);
        for block in segment.sack.as_slice() {
            options.extend(wire(other, block.start).to_be_bytes());
            options.extend(wire(other, block.end).to_be_bytes());
        }
    }
    options.resize(options.len().next_multiple_of(4), 0);
    let mut tcp = Tcp::new(
        segment.flags.0,
        wire(own, segment.seq),
        segment.ack.map_or(0, |ack| wire(other, ack)),
        segment.len as usize,
    )
    .options(&options);
    tcp.window = segment.window;
    let mut frame = if segment.from == End::A { tcp } else { tcp.back() }.frame();
    frame[15] = match segment.ip.ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    frame[18..20].copy_from_slice(&segment.ip.id.unwrap().to_be_bytes());
    frame[22] = segment.ip.ttl;
    frame
}

fn segments() -> impl Strategy<Value = Vec<Segment>> {
    let one = (
        (any::<bool>(), 0u16..512, -50_000i64..100_000, 0u32..1400, -50_000i64..100_000),
        (any::<u16>(), any::<Option<(u32, u32)>>(), any::<u16>(), any::<u8>(), 0u8..4),
        prop::collection::vec((-50_000i64..100_000, 1i64..100_000), 0..=2),
    );
    prop::collection::vec(one, 0..30).prop_map(|all| {
        let mut far = [1i64, 1];
        let mut segments = Vec::new();
        for ((a, bits, step, len, back), (window, stamps, id, ttl, ecn), blocks) in all {
            let from = if a { End::A } else { End::B };
            let (own, other) = (from.index(), (!from).index());
            // No second SYN, and no end: they would belong to another connection.
            let flags = Flags(bits & !(SYN | FIN | RST));
            let seq = far[own] + step;
            far[own] = far[own].max(seq);
            let mut segment = Segment::new(from, flags, StreamOffset(seq), len);
            if flags.has(Flags::ACK) {
                segment.ack = Some(StreamOffset(far[other] + back));
                far[other] = far[other].max(far[other] + back);
            }
            for (start, length) in blocks {
                let start = far[other] + start;
                let (start, end) = (StreamOffset(start), StreamOffset(start + length));
                segment.sack.push(SackBlock { start, end });
            }
            segment.window = window;
            segment.timestamps = stamps.map(|(val, ecr)| Timestamps { val, ecr });
            segment.ip = IpFacts { id: Some(id), ttl, ecn: Ecn::from_bits(ecn) };
            segments.push(segment);
        }
        segments
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Segments written as frames are parsed back unchanged, wherever the sequence numbers wrap.
    #[test]
    fn written_segments_are_read_back(
        isn: [u32; 2], mss: Option<u16>, shift: Option<u8>, permitted: bool, rest in segments(),
    ) {
        let mut syn = Segment::new(End::A, Flags::SYN, StreamOffset(0), 0);
        (syn.mss, syn.window_scale, syn.sack_permitted) = (mss, shift, permitted);
        let mut answer = Segment::new(End::B, Flags::SYN.with(Flags::ACK), StreamOffset(0), 0);
        answer.ack = Some(StreamOffset(1));
        let mut expected: Vec<_> = [syn, answer].into_iter().chain(rest).collect();
        for (n, segment) in expected.iter_mut().enumerate() {
            segment.frame = n as u64 + 1;
            segment.ip.id.get_or_insert(9);
        }
        let frames: Vec<_> = expected.iter().map(|segment| write(segment, isn)).collect();
        let (summary, recorded) = build::frames(&frames);
        let read: Vec<_> = recorded.events.iter().map(|(_, event)| match event.kind {
            // A checksum that was never filled in is sometimes correct by chance.
            EventKind::Seen(segment) => Segment { checksum: Checksum::Unknown, ..segment },
            other => panic!("{other:?}"),
        }).collect();
        prop_assert_eq!(read, expected);
        prop_assert_eq!(summary.flows, 1);
        // The notation preserves everything.
        for (_, event) in &recorded.events {
            prop_assert_eq!(&event.to_string().parse::<Event>().unwrap(), event);
        }
    }
}
