//! The time per packet: CPU time from file to sink, with a sink that does nothing.
//!
//! `cargo bench -p slowpath-capture` writes its own captures into the system's folder for temporary files and reads
//! each of them five times; `cargo bench -p slowpath-capture -- FILE…` reads the given ones.

use slowpath_capture::Capture;
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Sink};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Adds up enough that nothing can be optimised away.
#[derive(Default)]
struct Null(u64);

impl Sink for Null {
    fn open(&mut self, flow: FlowId, _key: &FlowKey) {
        self.0 ^= u64::from(flow.0);
    }
    fn accept(&mut self, flow: FlowId, event: &Event) {
        self.0 ^=
            u64::from(flow.0) ^ event.at.nanos() as u64 ^ std::hint::black_box(event) as *const _ as u64;
    }
    fn close(&mut self, flow: FlowId, _end: FlowEnd) {
        self.0 ^= u64::from(flow.0);
    }
}

/// CPU time of this process, in nanoseconds.
fn cpu_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that the call only writes to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A deterministic stream of numbers (Marsaglia's xorshift64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

struct Packet {
    connection: u32,
    from_client: bool,
    flags: u8,
    seq: u32,
    ack: u32,
    payload: usize,
}

struct Writer {
    file: BufWriter<File>,
    snap: usize,
    now: u64,
    id: u16,
    frame: Vec<u8>,
}

impl Writer {
    fn create(path: &Path, snap: usize) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        file.write_all(&0xa1b2_3c4du32.to_le_bytes())?;
        file.write_all(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0])?;
        file.write_all(&(snap as u32).to_le_bytes())?;
        file.write_all(&1u32.to_le_bytes())?;
        Ok(Self { file, snap, now: 1_700_000_000_000_000_000, id: 0, frame: Vec::new() })
    }

    fn write(&mut self, packet: &Packet) -> io::Result<()> {
        self.now += 1_200;
        self.id = self.id.wrapping_add(1);
        let [client, server] = [
            (0x0a00_0000 + packet.connection / 50_000, (packet.connection % 50_000) as u16 + 10_000),
            (0xc0a8_0001, 443),
        ];
        let (source, destination) = if packet.from_client { (client, server) } else { (server, client) };
        let frame = &mut self.frame;
        frame.clear();
        frame.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0]);
        frame.extend((20 + 32 + packet.payload as u16).to_be_bytes());
        frame.extend(self.id.to_be_bytes());
        frame.extend([0x40, 0, 64, 6, 0, 0]);
        frame.extend(source.0.to_be_bytes());
        frame.extend(destination.0.to_be_bytes());
        frame.extend(source.1.to_be_bytes());
        frame.extend(destination.1.to_be_bytes());
        frame.extend(packet.seq.to_be_bytes());
        frame.extend(packet.ack.to_be_bytes());
        frame.extend([0x80, packet.flags, 1, 246, 0, 0, 0, 0, 1, 1, 8, 10]);
        frame.extend(((self.now / 1_000_000) as u32).to_be_bytes());
        frame.extend(((self.now / 1_000_000) as u32 - 20).to_be_bytes());
        let wire = frame.len() + packet.payload;
        frame.resize(wire.min(self.snap), 0xa5);
        self.file.write_all(&((self.now / 1_000_000_000) as u32).to_le_bytes())?;
        self.file.write_all(&((self.now % 1_000_000_000) as u32).to_le_bytes())?;
        self.file.write_all(&(frame.len() as u32).to_le_bytes())?;
        self.file.write_all(&(wire as u32).to_le_bytes())?;
        self.file.write_all(frame)
    }
}

/// Bulk transfers over 9 connections, alternating two segments and an acknowledgment, in trains.
fn bulk(path: &Path, snap: usize, packets: usize) -> io::Result<()> {
    let mut writer = Writer::create(path, snap)?;
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut sent = [1u32; 9];
    let mut written = 0;
    while written < packets {
        let connection = numbers.below(9) as usize;
        for _ in 0..1 + numbers.below(8) {
            for n in 0..3 {
                let payload = if n == 2 { 0 } else { 1448 };
                let seq = if n == 2 { 1 } else { sent[connection] };
                let ack = if n == 2 { sent[connection] } else { 1 };
                let connection_number = connection as u32;
                writer.write(&Packet {
                    connection: connection_number,
                    from_client: n < 2,
                    flags: 0x10,
                    seq,
                    ack,
                    payload,
                })?;
                sent[connection] = sent[connection].wrapping_add(payload as u32);
                written += 1;
            }
        }
    }
    writer.file.flush()
}

/// Connections of ten packets each, all live at the same time, interleaved.
fn short(path: &Path, connections: u32) -> io::Result<()> {
    let mut writer = Writer::create(path, 96)?;
    for step in 0..10u32 {
        for n in 0..connections {
            // A stride that is coprime to the number scatters them.
            let connection = (u64::from(n) * 16_127 % u64::from(connections)) as u32;
            let flags = [0x02, 0x12, 0x10, 0x18, 0x18, 0x10, 0x11, 0x10, 0x11, 0x10][step as usize];
            let from_client = matches!(step, 0 | 2 | 3 | 5 | 7 | 8);
            let payload = if flags == 0x18 { 300 } else { 0 };
            writer.write(&Packet { connection, from_client, flags, seq: step * 300, ack: 1, payload })?;
        }
    }
    writer.file.flush()
}

/// The CPU time of only reading the file.
fn read_only(path: &Path) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 512 * 1024];
    let start = cpu_time();
    while file.read(&mut buffer)? > 0 {}
    Ok(cpu_time() - start)
}

fn measure(name: &str, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut best = u64::MAX;
    let (mut plain, mut frames, mut flows) = (u64::MAX, 0, 0);
    for _ in 0..5 {
        plain = plain.min(read_only(path)?);
        let mut sink = Null::default();
        let start = cpu_time();
        let summary = Capture::open(path)?.run(&mut sink)?;
        best = best.min(cpu_time() - start);
        (frames, flows) = (summary.frames, summary.flows);
        std::hint::black_box(sink.0);
    }
    let each = |time: u64| time as f64 / frames.max(1) as f64;
    println!(
        "{name:<28} {frames:>9} frames {flows:>6} flows  {:>7.3} s  {:>6.1} ns/frame, of which reading the file \
         {:>6.1}",
        best as f64 / 1e9,
        each(best),
        each(plain),
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<PathBuf> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).map(PathBuf::from).collect();
    for file in &files {
        measure(&file.display().to_string(), file)?;
    }
    if !files.is_empty() {
        return Ok(());
    }
    let folder = std::env::temp_dir().join(format!("slowpath-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("bench.pcap");
    let measured = bulk(&file, 66, 3_900_000)
        .map_err(Into::into)
        .and_then(|()| measure("headers only, 9 flows", &file))
        .and_then(|()| Ok(bulk(&file, 65_535, 920_000)?))
        .and_then(|()| measure("full payload, 9 flows", &file))
        .and_then(|()| Ok(short(&file, 40_000)?))
        .and_then(|()| measure("40,000 short flows", &file));
    std::fs::remove_dir_all(&folder)?;
    measured
}
