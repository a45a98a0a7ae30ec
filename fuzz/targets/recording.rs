//! A recording of which one table has been changed in a few places: it is read to its end, with as many events as its summary
//! counts, and only of flows that are open.
//!
//! The input is a list of changes to a sound file, each of four bytes, since a Parquet file from scratch is out of a
//! fuzzer's reach: its first byte names the table, then what is done, where (two bytes) and with what.

use slowpath_model::{
    Bytes, CaState, End, Endpoint, Event, EventKind, FlowEnd, FlowId, FlowKey, Hold, Instant, Mark, Sink,
    SocketSample, Wait,
};
use slowpath_recording::about::About;
use slowpath_recording::{Ending, Recording, Writer};
use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

/// The packets of the recording: a handshake, data that arrives out of order, its SACK, and a drop.
const PACKETS: [&str; 6] = [
    "0.000 > S 0:0(0) win 64240 <mss 1460,sackOK,TS val 1 ecr 0,wscale 7> // frame 1 id 4660 ttl 64",
    "0.100 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,TS val 7 ecr 1,wscale 8> // frame 2 id 0 ttl 63 ect0",
    "0.101 > P. 1:1001(1000) ack 1 win 502 <TS val 2 ecr 7> // frame 3 id 4661 ttl 64",
    "0.102 > P. 2001:3001(1000) ack 1 win 502 <TS val 3 ecr 7> // frame 4 id 4663 ttl 64",
    "0.150 < . 1:1(0) ack 1001 win 500 <TS val 8 ecr 2,sack 2001:3001> // frame 5 ttl 63 ce",
    "0.160 dropped qdisc > . 1001:2001(1000) ack 1 win 502 // frame 0 ttl 64",
];

/// A recording on disk, and its tables as they were written.
struct Sound {
    folder: PathBuf,
    tables: Vec<(PathBuf, Vec<u8>)>,
}

static SOUND: LazyLock<Sound> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("slowpath-fuzz-recording-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let mut writer = Writer::create(&folder, About::default()).expect("a folder to write to");
    let end = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
    writer.open(FlowId(1), &FlowKey { a: end(1, 40_000), b: end(2, 80), occurrence: 0 });
    let sample =
        SocketSample { end: End::A, ca_state: Some(CaState::Recovery), ..SocketSample::unknown(End::A) };
    let packets = PACKETS.iter().map(|line| line.parse::<Event>().expect(line));
    let kinds = [
        EventKind::Written { end: End::A, amount: Bytes::new(1000) },
        EventKind::Waited {
            end: End::B,
            on: Wait::ALL[0],
            lasted: Duration::from_millis(1),
            amount: Bytes::new(1),
            times: 1,
        },
        EventKind::Held { end: End::A, by: Hold::ALL[0], lasted: Duration::from_millis(2) },
        EventKind::Marked { end: End::A, mark: Mark::SendBuffer(Bytes::kib(16)) },
        EventKind::Missed { events: 3 },
        EventKind::Sampled(sample),
    ];
    let others = kinds.into_iter().map(|kind| Event { at: Instant::from_nanos(200_000_000), kind });
    for event in packets.chain(others) {
        writer.accept(FlowId(1), &event);
    }
    writer.close(FlowId(1), FlowEnd::EndOfRecording);
    writer.finish(Ending::Complete).expect("a disk with room");
    let mut read = Checked::default();
    Recording::open(&folder).and_then(|recording| recording.run(&mut read, |_, _| ())).expect("it is sound");
    assert_eq!(read.packets, PACKETS.len(), "each packet is a row");
    let segment = folder.join("000001");
    let mut files: Vec<_> =
        fs::read_dir(segment).expect("a segment").map(|file| file.expect("a file").path()).collect();
    files.sort();
    let tables = files.into_iter().map(|file| (file.clone(), fs::read(&file).expect("a table"))).collect();
    Sound { folder, tables }
});

#[derive(Default)]
struct Checked {
    live: HashSet<FlowId>,
    flows: u64,
    told: u64,
    packets: usize,
}

impl Sink for Checked {
    fn open(&mut self, flow: FlowId, _: &FlowKey) {
        self.flows += 1;
        self.told += 1;
        assert!(self.live.insert(flow));
    }
    fn accept(&mut self, flow: FlowId, event: &Event) {
        self.told += 1;
        self.packets += usize::from(matches!(event.kind, EventKind::Seen(_) | EventKind::Dropped(..)));
        assert!(self.live.contains(&flow));
    }
    fn close(&mut self, flow: FlowId, _: FlowEnd) {
        assert!(self.live.remove(&flow));
    }
}

fn change(table: &mut Vec<u8>, edit: [u8; 4]) {
    let [what, high, low, with] = edit;
    let place = usize::from(u16::from_be_bytes([high, low])) % table.len().max(1);
    match what % 8 {
        0 => table.truncate(place),
        1 => table.insert(place, with),
        2 => drop(table.drain(place..(place + usize::from(with)).min(table.len()))),
        // What a variable-length integer needs to become large.
        3 if place < table.len() => table[place] |= 0x80,
        _ if place < table.len() => table[place] = with,
        _ => {}
    }
}

pub fn try_input(data: &[u8]) {
    let Some((table, edits)) = data.split_first() else { return };
    let sound = &*SOUND;
    let (file, contents) = &sound.tables[usize::from(*table) % sound.tables.len()];
    let mut changed = contents.clone();
    for edit in edits.chunks_exact(4).take(64) {
        change(&mut changed, [edit[0], edit[1], edit[2], edit[3]]);
    }
    fs::write(file, &changed).expect("a disk with room");
    let mut sink = Checked::default();
    if let Ok(summary) =
        Recording::open(&sound.folder).and_then(|recording| recording.run(&mut sink, |_, _| ()))
    {
        assert!(sink.live.is_empty(), "what is open at the end is closed");
        assert_eq!(summary.flows, sink.flows);
        assert!((sink.told..=sink.told + sink.flows).contains(&summary.events));
    }
    fs::write(file, contents).expect("a disk with room");
}
