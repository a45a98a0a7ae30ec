//! Small captures written byte by byte.

use std::path::PathBuf;

/// A temporary folder for captures.
pub struct Captures {
    folder: tempfile::TempDir,
}

/// The payload of a segment without MSS option (RFC 9293, section 3.7.1).
const PAYLOAD: u16 = 536;
/// A window of twenty segments.
const WINDOW: u16 = 20 * PAYLOAD;
const CLIENT: [u8; 4] = [192, 0, 2, 1];
const SERVER: [u8; 4] = [198, 51, 100, 7];

impl Captures {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder for temporary files") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("the folder takes files");
        path
    }

    /// A transfer limited by a window of 10,720 bytes over 20 ms, as its sender sees it.
    pub fn transfer(&self) -> PathBuf {
        self.write("transfer.pcap", &transfer(200))
    }
}

/// The sender's capture of a transfer over `rounds` RTTs of 20 ms.
pub fn transfer(rounds: u32) -> Vec<u8> {
    written(segments(rounds))
}

/// The receiver's capture of that transfer, 10 ms away; every 500th segment was lost.
pub fn transfer_at_receiver(rounds: u32) -> Vec<u8> {
    let mut all = segments(rounds);
    let mut number = 0;
    all.retain(|segment| {
        number += u32::from(segment.len > 0);
        segment.len == 0 || number % 500 != 0
    });
    for segment in &mut all {
        segment.micros = if segment.out { segment.micros + 10_000 } else { segment.micros - 10_000 };
    }
    all.sort_by_key(|segment| segment.micros);
    written(all)
}

/// The receiver's capture of an ACK-clocked transfer, in which the receiver acknowledges every second segment after 5
/// µs. The sender's segments have timestamps `late` microseconds late.
pub fn transfer_stamped_late(rounds: u32, late: u32) -> Vec<u8> {
    const ROUND_TRIP: u32 = 20_000;
    let data = |micros: u32, seq, flags, len| Packet {
        micros: micros + late,
        out: true,
        seq,
        ack: 501,
        flags,
        window: 500,
        len,
    };
    let back =
        |micros, seq, ack, flags| Packet { micros, out: false, seq, ack, flags, window: WINDOW, len: 0 };
    let mut all = vec![data(0, 100, 0x02, 0), back(20, 500, 101, 0x12), data(ROUND_TRIP, 101, 0x10, 0)];
    let mut arrivals: Vec<u32> = (0..20).map(|segment| ROUND_TRIP + 100 + 12 * segment).collect();
    let mut seq = 101;
    for _ in 0..rounds {
        let mut next = Vec::with_capacity(arrivals.len());
        for pair in arrivals.chunks(2) {
            for &arrival in pair {
                all.push(data(arrival, seq, 0x18, PAYLOAD));
                seq += u32::from(PAYLOAD);
            }
            let last = pair[pair.len() - 1];
            all.push(back(last + 5, 501, seq, 0x10));
            next.extend([last + ROUND_TRIP, last + ROUND_TRIP + 5]);
        }
        arrivals = next;
    }
    all.sort_by_key(|segment| segment.micros);
    written(all)
}

/// The sender's capture of that transfer; 2 s after its start, the clock is set back by `by` microseconds.
pub fn transfer_clock_set_back(rounds: u32, by: u32) -> Vec<u8> {
    let mut all = segments(rounds);
    for segment in all.iter_mut().filter(|segment| segment.micros >= 2_000_000) {
        segment.micros -= by;
    }
    written(all)
}

fn written(segments: Vec<Packet>) -> Vec<u8> {
    let mut file = header();
    segments.iter().for_each(|segment| push(&mut file, segment));
    file
}

struct Packet {
    micros: u32,
    out: bool,
    seq: u32,
    ack: u32,
    flags: u8,
    window: u16,
    len: u16,
}

fn segments(rounds: u32) -> Vec<Packet> {
    let mut all = Vec::new();
    let mut out = |micros, seq, ack, flags, len| {
        all.push(Packet { micros, out: true, seq, ack, flags, window: 500, len });
    };
    out(0, 100, 0, 0x02, 0);
    out(20_010, 101, 501, 0x10, 0);
    let (mut at, mut seq) = (20_010, 101);
    for _ in 0..rounds {
        for segment in 0..20 {
            out(at + segment, seq, 501, 0x18, PAYLOAD);
            seq += u32::from(PAYLOAD);
        }
        at += 20_000;
    }
    out(at + 10, seq, 501, 0x11, 0);
    out(at + 20_020, seq + 1, 502, 0x10, 0);
    let mut back = |micros, seq, ack, flags| {
        all.push(Packet { micros, out: false, seq, ack, flags, window: WINDOW, len: 0 });
    };
    back(20_000, 500, 101, 0x12);
    (at, seq) = (20_010, 101);
    for _ in 0..rounds {
        (at, seq) = (at + 20_000, seq + u32::from(WINDOW));
        for answer in (0..20).rev().step_by(2) {
            back(at - answer, 501, seq - u32::from(PAYLOAD) * answer, 0x10);
        }
    }
    back(at + 20_010, 501, seq + 1, 0x11);
    all.sort_by_key(|segment| segment.micros);
    all
}

/// The pcap header: raw IP, microseconds.
pub fn header() -> Vec<u8> {
    let mut file = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(65_535_u32.to_le_bytes());
    file.extend(101_u32.to_le_bytes());
    file
}

/// Appends a segment, of which only the headers are captured.
fn push(file: &mut Vec<u8>, segment: &Packet) {
    file.extend((segment.micros / 1_000_000).to_le_bytes());
    file.extend((segment.micros % 1_000_000).to_le_bytes());
    file.extend(40_u32.to_le_bytes());
    file.extend((40 + u32::from(segment.len)).to_le_bytes());
    let (from, to, ports) =
        if segment.out { (CLIENT, SERVER, [40_000_u16, 443]) } else { (SERVER, CLIENT, [443, 40_000]) };
    file.extend([0x45, 0]);
    file.extend((40 + segment.len).to_be_bytes());
    file.extend([0, 0, 0, 0, 64, 6, 0, 0]);
    file.extend(from);
    file.extend(to);
    file.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    file.extend(segment.seq.to_be_bytes());
    file.extend(segment.ack.to_be_bytes());
    file.extend([0x50, segment.flags]);
    file.extend(segment.window.to_be_bytes());
    file.extend([0, 0, 0, 0]);
}
