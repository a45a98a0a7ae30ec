//! Recordings round-trip, and damage is reported.

use proptest::prelude::*;
use slowpath_model::{
    Bytes, CaState, DropReason, Ecn, End, Endpoint, Event, EventKind, Flags, FlowEnd, FlowId, FlowKey, Hold,
    Instant, Mark, SackBlock, Segment, Sink, SocketSample, StreamOffset, Timestamps, Wait,
};
use slowpath_recording::about::Side;
use slowpath_recording::writer::EVENTS;
use slowpath_recording::{About, Ending, Recording, RecordingSummary, Writer};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The calls to a sink.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "nearly all of them are events")]
enum Call {
    Open(FlowId, FlowKey),
    Event(FlowId, Event),
    Close(FlowId, FlowEnd),
}

#[derive(Default)]
struct All(Vec<Call>);

impl Sink for All {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.0.push(Call::Open(flow, *key));
    }
    fn accept(&mut self, flow: FlowId, event: &Event) {
        self.0.push(Call::Event(flow, *event));
    }
    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        self.0.push(Call::Close(flow, end));
    }
}

fn about() -> About {
    About {
        source: "simulated".to_owned(),
        title: "a title with \"quotes\" and µ".to_owned(),
        host: "sender".to_owned(),
        seed: Some(u64::MAX),
        side: Some(Side::Sender),
        main: true,
    }
}

fn write(folder: &Path, calls: &[Call], end: Option<Ending>) {
    let mut writer = Writer::create(folder, about()).expect("a folder to write to");
    for call in calls {
        match call {
            Call::Open(flow, key) => writer.open(*flow, key),
            Call::Event(flow, event) => writer.accept(*flow, event),
            Call::Close(flow, end) => writer.close(*flow, *end),
        }
    }
    writer.check().expect("a disk with room");
    if let Some(end) = end {
        writer.finish(end).expect("a disk with room");
    }
}

fn read(folder: &Path) -> (Vec<Call>, RecordingSummary) {
    let mut all = All::default();
    let summary = Recording::open(folder).expect("a recording").run(&mut all, |_, _| ()).expect("a segment");
    (all.0, summary)
}

fn key(port: u16, v6: bool) -> FlowKey {
    let address = if v6 { "2001:db8::1" } else { "192.0.2.1" };
    let endpoint = |port| Endpoint { address: address.parse().expect("an address"), port };
    FlowKey { a: endpoint(port), b: endpoint(443), occurrence: u32::from(port) }
}

fn ends() -> impl Strategy<Value = End> {
    prop::sample::select(End::BOTH.to_vec())
}

prop_compose! {
    fn segments()(
        from in ends(), bits in 0u16..512, seq in -(1i64 << 60)..(1 << 60), len: u32, ack: Option<u32>,
        window: u16, mss: Option<u16>, window_scale: Option<u8>, sack_permitted: bool,
        stamps: Option<(u32, u32)>, edges in prop::collection::vec((any::<u32>(), any::<u32>()), 0..=4),
        id: Option<u16>, ttl: u8, ecn in 0u8..4, frame: u64,
    ) -> Segment {
        let mut segment = Segment::new(from, Flags(bits), StreamOffset(seq), len);
        segment.ack = ack.map(|ack| StreamOffset(i64::from(ack) - 7));
        (segment.window, segment.mss, segment.window_scale) = (window, mss, window_scale);
        (segment.sack_permitted, segment.frame) = (sack_permitted, frame);
        segment.timestamps = stamps.map(|(val, ecr)| Timestamps { val, ecr });
        for (start, end) in edges {
            segment.sack.push(SackBlock { start: StreamOffset(start.into()), end: StreamOffset(end.into()) });
        }
        (segment.ip.id, segment.ip.ttl, segment.ip.ecn) = (id, ttl, Ecn::from_bits(ecn));
        segment
    }
}

fn samples() -> impl Strategy<Value = SocketSample> {
    let numbers = prop::collection::vec(any::<Option<u32>>(), SocketSample::FIELDS.len());
    let states = prop::option::of(prop::sample::select(CaState::ALL));
    (ends(), states, numbers).prop_map(|(end, ca_state, numbers)| {
        let mut sample = SocketSample { ca_state, ..SocketSample::unknown(end) };
        sample.values_mut().zip(numbers).for_each(|(field, number)| *field = number);
        sample
    })
}

fn kinds() -> impl Strategy<Value = EventKind> {
    let amount = || any::<u64>().prop_map(Bytes::new);
    let marks = (0..Mark::all().count(), amount()).prop_map(|(place, size)| {
        let mark = Mark::all().nth(place).expect("in range");
        Mark::of(mark.name(), mark.size().map(|_| size)).expect("its own name")
    });
    let waits = (ends(), prop::sample::select(Wait::ALL), any::<u64>(), amount(), any::<u64>());
    let holds = (ends(), prop::sample::select(Hold::ALL), any::<u64>());
    prop_oneof![
        segments().prop_map(EventKind::Seen),
        (segments(), prop::sample::select(DropReason::ALL))
            .prop_map(|(one, why)| EventKind::Dropped(one, why)),
        (ends(), amount()).prop_map(|(end, amount)| EventKind::Written { end, amount }),
        (ends(), amount()).prop_map(|(end, amount)| EventKind::Read { end, amount }),
        waits.prop_map(|(end, on, nanos, amount, times)| {
            EventKind::Waited { end, on, lasted: Duration::from_nanos(nanos), amount, times }
        }),
        holds.prop_map(|(end, by, nanos)| EventKind::Held { end, by, lasted: Duration::from_nanos(nanos) }),
        samples().prop_map(EventKind::Sampled),
        (ends(), marks).prop_map(|(end, mark)| EventKind::Marked { end, mark }),
        any::<u64>().prop_map(|events| EventKind::Missed { events }),
    ]
}

fn events() -> impl Strategy<Value = Event> {
    (-(1i64 << 60)..(1 << 60), kinds()).prop_map(|(at, kind)| Event { at: Instant::from_nanos(at), kind })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_event_round_trips(
        flows in prop::collection::vec((any::<u16>(), any::<bool>()), 1..4),
        events in prop::collection::vec((any::<prop::sample::Index>(), events()), 0..60),
    ) {
        let mut calls: Vec<Call> = Vec::new();
        let id = |place: usize| FlowId(place as u32 + 1);
        for (place, (port, v6)) in flows.iter().enumerate() {
            calls.push(Call::Open(id(place), key(*port, *v6)));
        }
        calls.extend(events.iter().map(|(flow, event)| Call::Event(id(flow.index(flows.len())), *event)));
        let why = [FlowEnd::EndOfRecording, FlowEnd::Replaced, FlowEnd::Gone, FlowEnd::Evicted];
        calls.extend((0..flows.len()).map(|place| Call::Close(id(place), why[place % 4])));
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), &calls, Some(Ending::Complete));
        let (back, summary) = read(folder.path());
        prop_assert_eq!(&back, &calls);
        prop_assert_eq!((summary.about, summary.end, summary.damage), (about(), Some(Ending::Complete), None));
        prop_assert_eq!((summary.events, summary.flows), (calls.len() as u64, flows.len() as u64));
    }
}

/// A flow with `events` packets and waits.
fn long(events: u64) -> Vec<Call> {
    let flow = FlowId(1);
    let mut calls = vec![Call::Open(flow, key(1, false))];
    for n in 1..events {
        let at = Instant::from_nanos(n as i64 * 1000);
        let kind = if n % 2 == 1 {
            let mut segment = Segment::new(End::A, Flags::ACK, StreamOffset(n as i64 * 1448), 1448);
            segment.frame = n;
            EventKind::Seen(segment)
        } else {
            let (on, lasted) = (Wait::Ring, Duration::from_nanos(n % 977));
            EventKind::Waited { end: End::A, on, lasted, amount: Bytes::new(1448), times: 1 }
        };
        calls.push(Call::Event(flow, Event { at, kind }));
    }
    calls
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

/// The files of a recording, by relative path.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let relative = |path: &PathBuf| path.strip_prefix(folder).expect("inside").to_owned();
    files(folder).iter().map(|path| (relative(path), fs::read(path).expect("a file"))).collect()
}

#[test]
fn equal_events_give_equal_bytes() {
    let calls = long(EVENTS + EVENTS / 2);
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    for folder in &folders {
        write(folder.path(), &calls, Some(Ending::Complete));
    }
    let [one, two] = folders.each_ref().map(|folder| contents(folder.path()));
    assert!(one == two, "not the same bytes");
    assert!(one.iter().any(|(path, _)| path.starts_with("000002")));
    let bytes: usize = one.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(bytes < calls.len() * 4, "{bytes} bytes for {} events", calls.len());
    let (mut back, summary) = read(folders[0].path());
    // A flow that was not closed is closed at the end.
    assert_eq!(back.pop(), Some(Call::Close(FlowId(1), FlowEnd::EndOfRecording)));
    assert!(back == calls && summary.damage.is_none());
}

/// Dropping a writer leaves the same files as killing the program.
#[test]
fn complete_segments_of_an_unfinished_recording_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let calls = long(EVENTS + 10);
    write(folder.path(), &calls, None);
    let (back, summary) = read(folder.path());
    assert_eq!((summary.events, summary.end), (EVENTS, None));
    assert!(back[..EVENTS as usize] == calls[..EVENTS as usize]);
    let damage = summary.damage.expect("it says what is missing");
    assert!(
        damage.contains("1.048575000 s") && damage.contains("000002 was begun and never finished"),
        "{damage}"
    );
    // Before the first segment is complete, nothing can be read.
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), &long(10), None);
    let error = Recording::open(folder.path()).err().expect("nothing to read").to_string();
    assert!(error.contains("its first was begun and never finished"), "{error}");
    let again = Writer::create(folder.path(), about()).err().expect("it is taken").to_string();
    assert!(again.contains("holds a recording already"), "{again}");
}

/// Truncates every file at many places, and changes many bytes: the result is an error, a partial result that says so,
/// or, where damage cannot be detected, other numbers. It never panics.
#[test]
fn damage_is_reported_or_gives_other_numbers_and_never_panics() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut calls = long(300);
    for mark in Mark::all() {
        let event = Event { at: Instant::START, kind: EventKind::Marked { end: End::B, mark } };
        calls.push(Call::Event(FlowId(1), event));
    }
    write(folder.path(), &calls, Some(Ending::Interrupted));
    let whole = read(folder.path());
    assert_eq!(whole.1.damage.as_deref(), Some("Interrupted after 0.000299000 s."));
    let mut detected = 0;
    for file in files(folder.path()) {
        let bytes = fs::read(&file).expect("a file");
        for cut in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
            fs::write(&file, &bytes[..cut]).expect("a file");
            let error = Recording::open(folder.path()).err().expect("a footer is missing").to_string();
            assert!(error.contains(file.file_name().expect("a name").to_str().expect("text")), "{error}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            fs::write(&file, &changed).expect("a file");
            let mut all = All::default();
            let outcome = Recording::open(folder.path()).and_then(|one| one.run(&mut all, |_, _| ()));
            detected += usize::from(outcome.is_err() || outcome.is_ok_and(|summary| summary != whole.1));
        }
        fs::write(&file, &bytes).expect("a file");
    }
    assert!(detected > 1000, "only {detected} were noticed");
}

#[test]
fn main_host_of_several_recordings_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    for (host, main) in [("receiver", false), ("sender", true)] {
        let about = About { host: host.to_owned(), main, ..about() };
        let writer = Writer::create(&folder.path().join(host), about).expect("a folder to write to");
        writer.finish(Ending::Complete).expect("a disk with room");
    }
    let open = |path: PathBuf| Recording::open(&path).expect("a recording").about().host.clone();
    assert_eq!(open(folder.path().to_owned()), "sender");
    assert_eq!(open(folder.path().join("receiver")), "receiver");
    let error =
        Recording::open(&folder.path().join("sender/000001")).err().expect("no recording").to_string();
    assert!(error.contains("is no recording"), "{error}");
}

/// The handbook page is generated from the code.
#[test]
fn handbook_reference_matches_the_schema() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/recording-reference.md");
    assert!(
        fs::read_to_string(file).unwrap_or_default() == slowpath_recording::schema::page(),
        "run: cargo run -p slowpath-recording --example recording-reference > docs/src/recording-reference.md"
    );
}
