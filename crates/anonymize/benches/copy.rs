//! The CPU time per packet, from a capture in memory to a copy that nobody keeps.
//!
//! `cargo bench -p slowpath-anonymize` copies captures that it makes: transfers between many hosts, with full packets, of
//! which checksums are verified, and with headers only. `cargo bench -p slowpath-anonymize -- FILE…` copies the given ones.

use slowpath_anonymize::{Key, Names, Ports, copy};
use slowpath_capture::Capture;
use slowpath_wire::{checksum, ip, pcap, tcp};
use std::io::{Cursor, sink};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

const PACKETS: u32 = 400_000;
const HOSTS: u32 = 2_000;
const PAYLOAD: usize = 1448;

/// Packets of transfers between hosts, alternating a full one and an ACK.
fn made(snap: usize, is_v6: bool) -> Vec<u8> {
    let mut file = pcap::header(65_535).to_vec();
    let address = |host: u32| -> IpAddr {
        match is_v6 {
            true => Ipv6Addr::from((0x2001_0db8_u128 << 96) + u128::from(host)).into(),
            false => Ipv4Addr::from(0x0a00_0000 + host).into(),
        }
    };
    for n in 0..PACKETS {
        let (client, server) = (address(1 + n / 8 % HOSTS), address(0x1_0000));
        let (between, payload) = if n % 2 == 0 { ((client, server), PAYLOAD) } else { ((server, client), 0) };
        let mut segment = Vec::new();
        let fields =
            tcp::Fields { source: 40_000, destination: 443, seq: n * 1448, ..tcp::Fields::default() };
        fields.put(&mut segment, &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        segment.resize(segment.len() + payload, n as u8);
        let length = segment.len() as u32;
        let pseudo = checksum::pseudo_header(checksum::addresses(between.0, between.1), ip::TCP, length);
        let sum = checksum::of(pseudo + checksum::sum(&segment));
        segment[tcp::CHECKSUM..tcp::CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        frame.extend(if is_v6 { [0x86, 0xdd] } else { [8, 0] });
        ip::Fields { ttl: 64, protocol: ip::TCP, ..ip::Fields::default() }.put(&mut frame, between, length);
        frame.extend(segment);
        let kept = frame.len().min(snap) as u32;
        let record = pcap::Record { at_ns: u64::from(n) * 1_200, kept, length: frame.len() as u32 };
        file.extend(record.bytes());
        file.extend(&frame[..kept as usize]);
    }
    file
}

/// CPU time of this process, in nanoseconds.
fn cpu_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that the call only writes to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn measure(name: &str, ports: Ports, open: impl Fn() -> Capture) {
    let mut best = f64::MAX;
    let mut packets = 0;
    for _ in 0..5 {
        let mut names = Names::new(&Key::from([7; 32]), ports);
        let began = cpu_time();
        packets = copy(open(), &mut names, &mut sink()).expect("a capture").frames;
        best = best.min((cpu_time() - began) as f64);
    }
    let each = best / packets as f64;
    println!("{name}: {packets} packets, {each:.0} ns each, {:.2} M packets/s", 1e3 / each);
}

fn main() {
    let files: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    for file in &files {
        measure(file, Ports::Keep, || Capture::open(file).expect("a file"));
    }
    if files.is_empty() {
        for (name, snap, is_v6, ports) in [
            ("full packets", usize::MAX, false, Ports::Keep),
            ("full packets, ports mapped", usize::MAX, false, Ports::Map),
            ("headers", 96, false, Ports::Keep),
            ("full packets of IPv6", usize::MAX, true, Ports::Keep),
        ] {
            let file: Arc<[u8]> = made(snap, is_v6).into();
            measure(name, ports, || Capture::from_reader("made", Cursor::new(file.clone())));
        }
    }
}
