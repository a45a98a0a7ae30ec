//! Captures written byte by byte, small enough to read.

use std::path::PathBuf;

/// A folder with captures in it, removed at the end of a test.
pub struct Captures {
    folder: tempfile::TempDir,
}

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

    /// A transfer bound by a window of 20,000 bytes over 20 ms, as its sender sees it.
    pub fn transfer(&self) -> PathBuf {
        self.write("transfer.pcap", &transfer(200))
    }
}

/// The capture of a transfer in `rounds` round trips of 20 ms.
pub fn transfer(rounds: u32) -> Vec<u8> {
    let mut file = header();
    let mut at = 0;
    push(&mut file, at, true, 100, 0, 0x02, 65_535, 0);
    at += 20_000;
    push(&mut file, at, false, 500, 101, 0x12, 20_000, 0);
    at += 10;
    push(&mut file, at, true, 101, 501, 0x10, 500, 0);
    let mut seq = 101;
    for _ in 0..rounds {
        for segment in 0..20 {
            push(&mut file, at + segment, true, seq, 501, 0x18, 500, 1000);
            seq += 1000;
        }
        at += 20_000;
        for answer in (0..20).rev().step_by(2) {
            push(&mut file, at - answer, false, 501, seq - 1000 * answer, 0x10, 20_000, 0);
        }
    }
    push(&mut file, at + 10, true, seq, 501, 0x11, 500, 0);
    push(&mut file, at + 20_010, false, 501, seq + 1, 0x11, 20_000, 0);
    push(&mut file, at + 20_020, true, seq + 1, 502, 0x10, 500, 0);
    file
}

/// The header of a pcap of raw IP in microseconds.
pub fn header() -> Vec<u8> {
    let mut file = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(65_535_u32.to_le_bytes());
    file.extend(101_u32.to_le_bytes());
    file
}

/// One segment, of which the headers are captured.
#[expect(clippy::too_many_arguments, reason = "the fields of a segment, in their order")]
fn push(file: &mut Vec<u8>, micros: u32, out: bool, seq: u32, ack: u32, flags: u8, window: u16, len: u16) {
    file.extend((micros / 1_000_000).to_le_bytes());
    file.extend((micros % 1_000_000).to_le_bytes());
    file.extend(40_u32.to_le_bytes());
    file.extend((40 + u32::from(len)).to_le_bytes());
    let (from, to, ports) =
        if out { (CLIENT, SERVER, [40_000_u16, 443]) } else { (SERVER, CLIENT, [443, 40_000]) };
    file.extend([0x45, 0]);
    file.extend((40 + len).to_be_bytes());
    file.extend([0, 0, 0, 0, 64, 6, 0, 0]);
    file.extend(from);
    file.extend(to);
    file.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    file.extend(seq.to_be_bytes());
    file.extend(ack.to_be_bytes());
    file.extend([0x50, flags]);
    file.extend(window.to_be_bytes());
    file.extend([0, 0, 0, 0]);
}
