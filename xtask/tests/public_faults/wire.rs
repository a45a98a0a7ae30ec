//! Segments as a capture file in memory, and slowpath's reading of it.
//!
//! Segments are written in the model's notation or made by [`crate::transfer`]; here each becomes a frame with all its
//! headers, so that the reader of captures is tested as well.

use slowpath_analyses::pairing::{Both, Collector, Tap};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, AnalysisOptions, Judged, Label, Labels};
use slowpath_capture::Capture;
use slowpath_capture::summary::CaptureSummary;
use slowpath_model::{
    Checksum, End, Event, EventKind, Flags, FlowEnd, FlowId, FlowKey, Instant, Segment, Sink,
};
use slowpath_wire::options::{FAST_OPEN, MSS, NOP, SACK, SACK_PERMITTED, TIMESTAMPS, WINDOW_SCALE, put};
use slowpath_wire::{checksum, ip, pcap, tcp};
use std::io::Cursor;
use std::net::{IpAddr, Ipv4Addr};

/// Addresses and ports of the ends A and B.
const ADDRESSES: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2))];
const PORTS: [u16; 2] = [40_000, 5001];

/// Initial sequence numbers of A and B.
const ISNS: [u32; 2] = [1_000_000_007, 3_000_000_019];

/// The stored part of a frame: whole SYNs, whole damaged segments, and the headers of all others.
const KEPT: usize = 600;

/// A frame of a capture.
#[derive(Clone)]
pub struct Frame {
    pub at: Instant,
    pub bytes: Vec<u8>,
    /// How much of it is captured.
    kept: usize,
}

/// A segment as it passed a tap.
pub type Passed = (Instant, Segment);

/// Reads lines in the model's notation.
pub fn script(lines: &str) -> Vec<Passed> {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let event: Event = line.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
            let EventKind::Seen(segment) = event.kind else { panic!("no segment: {line}") };
            (event.at, segment)
        })
        .collect()
}

/// The address and port of an end.
pub type Address = (IpAddr, u16);

/// The ends A and B of [`file`]'s captures.
pub const ENDS: [Address; 2] = [(ADDRESSES[0], PORTS[0]), (ADDRESSES[1], PORTS[1])];

/// The capture file of what passed a tap.
pub fn file(passed: &[Passed]) -> Vec<u8> {
    file_of(&frames(passed, ENDS))
}

/// The capture file of what passed a tap, with this many bytes of each frame.
pub fn file_cut(passed: &[Passed], snap_length: usize) -> Vec<u8> {
    let mut frames = frames(passed, ENDS);
    frames.iter_mut().for_each(|frame| frame.kept = frame.kept.min(snap_length));
    file_of(&frames)
}

/// Frames between two ends.
pub fn frames(passed: &[Passed], ends: [Address; 2]) -> Vec<Frame> {
    let frame = |(at, segment): &Passed| {
        let bytes = frame(segment, ends);
        let kept = if segment.checksum == Checksum::Wrong { bytes.len() } else { bytes.len().min(KEPT) };
        Frame { at: *at, bytes, kept }
    };
    passed.iter().map(frame).collect()
}

/// The frame's IPv4 packet in two fragments, if it has more than `most` bytes of data: the first in a frame of its own,
/// a microsecond earlier.
pub fn in_fragments(frame: Frame, most: usize) -> (Frame, Option<Frame>) {
    const HEADERS: usize = 34;
    assert!(most.is_multiple_of(8), "fragments are cut at multiples of 8 bytes");
    if frame.bytes.len() <= HEADERS + most {
        return (frame, None);
    }
    let part = |data: &[u8], place: u16, at: Instant| {
        let mut bytes = frame.bytes[..HEADERS].to_vec();
        bytes[16..18].copy_from_slice(&((20 + data.len()) as u16).to_be_bytes());
        bytes[20..22].copy_from_slice(&place.to_be_bytes());
        bytes[24..26].copy_from_slice(&[0; 2]);
        let sum = checksum::of(checksum::sum(&bytes[14..HEADERS]));
        bytes[24..26].copy_from_slice(&sum.to_be_bytes());
        bytes.extend(data);
        let kept = bytes.len().min(frame.kept);
        Frame { at, bytes, kept }
    };
    let (first, second) = frame.bytes[HEADERS..].split_at(most);
    let earlier = Instant::from_nanos(frame.at.nanos() - 1_000);
    (part(first, 0x2000, earlier), Some(part(second, (most / 8) as u16, frame.at)))
}

/// The ICMP error of a router about a frame of the end A of [`file`]: destination unreachable, with its code.
pub fn unreachable(about: &Frame, at: Instant, code: u8) -> Frame {
    const ETHERNET: usize = 14;
    let mut message = vec![3, code, 0, 0, 0, 0, 0, 0];
    // RFC 792: the IP header and 8 bytes.
    message.extend(&about.bytes[ETHERNET..][..28]);
    let sum = checksum::of(checksum::sum(&message));
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let router = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 254));
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x08, 0x00];
    let fields = ip::Fields { ttl: 64, protocol: ip::ICMP, ..ip::Fields::default() };
    fields.put(&mut frame, (router, ADDRESSES[0]), message.len() as u32);
    frame.extend(message);
    Frame { at, kept: frame.len(), bytes: frame }
}

/// The capture file of frames.
pub fn file_of(frames: &[Frame]) -> Vec<u8> {
    let mut file = pcap::header(1 << 16).to_vec();
    for Frame { at, bytes, kept } in frames {
        let record = pcap::Record {
            at_ns: 1_700_000_000_000_000_000 + at.nanos().unsigned_abs(),
            kept: *kept as u32,
            length: bytes.len() as u32,
        };
        file.extend(record.bytes());
        file.extend(&bytes[..*kept]);
    }
    file
}

/// The Ethernet frame of a segment between `ends`, whose payload is zeros.
fn frame(segment: &Segment, ends: [Address; 2]) -> Vec<u8> {
    let from = segment.from.index();
    let [(source, source_port), (destination, destination_port)] = [ends[from], ends[1 - from]];
    let mut options = Vec::new();
    put_options(segment, &mut options);
    options.resize(options.len().next_multiple_of(4), 0);
    let ack = segment.ack.map_or(0, |ack| ISNS[1 - from].wrapping_add(ack.0 as u32));
    let header = tcp::Fields {
        source: source_port,
        destination: destination_port,
        seq: ISNS[from].wrapping_add(segment.seq.0 as u32),
        ack,
        control: segment.flags,
        window: segment.window,
        urgent: 0,
    };
    let mut frame = vec![2, 0, 0, 0, 0, 2 - from as u8, 2, 0, 0, 0, 0, 1 + from as u8, 0x08, 0x00];
    let length = (tcp::HEADER + options.len()) as u32 + segment.len;
    let between = (source, destination);
    let fields = ip::Fields {
        class: segment.ip.ecn.bits(),
        id: segment.ip.id.unwrap_or(0),
        ttl: segment.ip.ttl.max(1),
        protocol: ip::TCP,
        ..ip::Fields::default()
    };
    fields.put(&mut frame, between, length);
    let begin = frame.len();
    header.put(&mut frame, &options);
    frame.resize(begin + length as usize, 0);
    let pseudo = checksum::pseudo_header(checksum::addresses(between.0, between.1), ip::TCP, length);
    let right = checksum::of(pseudo + checksum::sum(&frame[begin..]));
    // Neither the sum that offload leaves nor 0: a wrong sum.
    let sum = if segment.checksum == Checksum::Wrong { right ^ 0x0f0f } else { right };
    frame[begin + tcp::CHECKSUM..][..2].copy_from_slice(&sum.to_be_bytes());
    frame
}

fn put_options(segment: &Segment, into: &mut Vec<u8>) {
    if let Some(mss) = segment.mss {
        put(into, MSS, mss.to_be_bytes());
    }
    if segment.sack_permitted {
        put(into, SACK_PERMITTED, []);
    }
    if let Some(times) = segment.timestamps {
        if !segment.flags.has(Flags::SYN) {
            into.extend([NOP, NOP]);
        }
        put(into, TIMESTAMPS, [times.val, times.ecr].into_iter().flat_map(u32::to_be_bytes));
    }
    if let Some(shift) = segment.window_scale {
        into.push(NOP);
        put(into, WINDOW_SCALE, [shift]);
    }
    if segment.fast_open {
        put(into, FAST_OPEN, [7; 8]);
    }
    if !segment.sack.is_empty() {
        let isn = ISNS[1 - segment.from.index()];
        let edges = segment.sack.as_slice().iter().flat_map(|block| [block.start, block.end]);
        into.extend([NOP, NOP]);
        put(into, SACK, edges.flat_map(|edge| isn.wrapping_add(edge.0 as u32).to_be_bytes()));
    }
}

/// The labels of segments that have one, in order.
#[derive(Debug, Default)]
struct Noted(Vec<(Instant, Segment, Label)>);

impl Labels for Noted {
    fn judged(&mut self, _: FlowId, event: &Event, judged: Judged) {
        if let (EventKind::Seen(segment), Some(label)) = (&event.kind, judged.label) {
            self.0.push((event.at, *segment, label));
        }
    }
}

/// What `slowpath show` prints.
#[derive(Default)]
struct Shown(Vec<String>);

impl Sink for Shown {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.0.push(format!("# flow {flow}: {key}"));
    }
    fn accept(&mut self, _: FlowId, event: &Event) {
        self.0.push(event.to_string());
    }
    fn close(&mut self, _: FlowId, _: FlowEnd) {}
}

/// Reads a capture into a sink.
pub fn read(file: Vec<u8>, sink: &mut impl Sink) -> CaptureSummary {
    Capture::from_reader("written", Cursor::new(file)).run(sink).expect("a capture")
}

/// A capture's collected packets, for comparison with another, and the reports of its flows.
pub fn collected(file: Vec<u8>) -> (Tap, Vec<FlowReport>) {
    let (mut analysis, mut collector) = (Analysis::new(AnalysisOptions::default()), Collector::default());
    let summary = read(file, &mut Both(&mut analysis, &mut collector));
    (collector.finish(summary.epoch_ns.expect("frames")), analysis.finish().flows)
}

/// The lines of `slowpath show`.
pub fn shown(file: Vec<u8>) -> Vec<String> {
    let mut shown = Shown::default();
    read(file, &mut shown);
    shown.0
}

/// The reports of all flows of a capture.
pub fn reports(file: Vec<u8>) -> Vec<FlowReport> {
    let mut analysis = Analysis::new(AnalysisOptions::default());
    read(file, &mut analysis);
    analysis.finish().flows
}

/// The report of a capture that has one flow.
pub fn report(passed: &[Passed]) -> FlowReport {
    let mut reports = reports(file(passed));
    assert_eq!(reports.len(), 1, "one flow");
    reports.remove(0)
}

/// The label of each segment that has one.
pub fn labels(passed: &[Passed]) -> Vec<(Instant, Segment, Label)> {
    let mut analysis = Analysis::with_labels(AnalysisOptions::default(), Noted::default());
    read(file(passed), &mut analysis);
    let mut noted = analysis.finish_each(|_| {}).1.0;
    noted.sort_by_key(|(_, segment, _)| segment.frame);
    noted
}

/// How many segments of `from` have `label`.
pub fn count(labels: &[(Instant, Segment, Label)], from: End, label: Label) -> usize {
    labels.iter().filter(|(_, segment, found)| segment.from == from && *found == label).count()
}
