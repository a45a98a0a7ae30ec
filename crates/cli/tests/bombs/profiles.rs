//! Profiles.

use crate::build::{Order, Recording, USER};
use crate::packed::{PACKED, Packing};
use crate::{Bomb, at, bomb};
use std::fs;
use std::io::Write;
use std::path::Path;

const ARGS: &[&str] = &["profile", "top", "@/p", "--root", "@"];

pub const BOMBS: &[Bomb] = &[
    bomb(
        "pprof, gzip: strings of nothing",
        ARGS,
        |to| pprof(to, b"\x32\0"),
        "the most that slowpath reads of them",
    ),
    bomb(
        "pprof, gzip: samples of nothing",
        ARGS,
        |to| pprof(to, b"\x12\0"),
        "the most that slowpath reads of them",
    ),
    bomb("pprof, gzip: one field of zeros", ARGS, long, "the most that slowpath reads of them"),
    bomb("pprof, gzip: locations", ARGS, locations, ""),
    bomb("pprof: stacks that multiply", ARGS, multiplied, ""),
    bomb(
        "folded stacks, gzip: one line",
        ARGS,
        |to| text(to, "a;b 1\n", "a;b;c 1\n"),
        "the most that slowpath reads of them",
    ),
    bomb("folded stacks, gzip: new functions", ARGS, functions, ""),
    bomb("folded stacks, gzip: deep", ARGS, deep, ""),
    bomb("perf script, gzip", ARGS, |to| text(to, SCRIPT, SCRIPT), "the most that slowpath reads of them"),
    bomb(
        "opreport, gzip",
        ARGS,
        |to| text(to, OPREPORT, "  9  50.0  vmlinux  ip_rcv\n"),
        "the most that slowpath reads of them",
    ),
    bomb("perf.data, gzip", ARGS, packed_perf, "the most that slowpath reads of them"),
    bomb("perf.data: packed samples of one stack", ARGS, samples, "the most that slowpath reads of them"),
    bomb("perf.data: packed new stacks", ARGS, |to| records(to, stack), ""),
    bomb("perf.data: packed names of files", ARGS, |to| records(to, names), ""),
    bomb("perf.data: packed names of threads", ARGS, |to| records(to, threads), ""),
    bomb("perf.data: packed symbols of the kernel", ARGS, |to| records(to, symbols), ""),
    bomb("perf.data: packed build-ids", ARGS, |to| records(to, build_ids), ""),
    bomb("perf.data: packed forks", ARGS, |to| records(to, forks), ""),
];

const SCRIPT: &str = "a 1 [0] 1.5: 3 cycles:\n\tff00 tcp_ack+0x1 ([kernel.kallsyms])\n\n";
const OPREPORT: &str = "samples  %        image name  symbol name\n----------\n  5  100.0  vmlinux  ip_rcv\n\
    9  50.0  vmlinux  tcp_v4_rcv\n";
/// A sample type, a sample, a location, a function and its name.
const PPROF: &[u8] =
    b"\x0a\x04\x08\x01\x10\x02\x12\x06\x0a\x01\x01\x12\x01\x05\x22\x06\x08\x01\x22\x02\x08\x01\
    \x2a\x04\x08\x01\x10\x03\x32\x00\x32\x07samples\x32\x05count\x32\x07tcp_ack";

fn write(folder: &Path, bytes: &[u8]) {
    fs::write(at(folder, "p"), bytes).expect("a disk with room");
}

fn pprof(folder: &Path, unit: &[u8]) {
    write(folder, &Packing::Gzip.repeated(PPROF, unit));
}

fn long(folder: &Path) {
    let field = [b"\x32\x80\x80\x80\x80\x04".to_vec(), vec![0; 1 << 20]].concat();
    write(folder, &Packing::Gzip.repeated(PPROF, &field));
}

fn varint(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn field(number: u8, bytes: &[u8], to: &mut Vec<u8>) {
    to.push(number << 3 | 2);
    varint(bytes.len() as u64, to);
    to.extend(bytes);
}

/// Locations, each with an address and a sample.
fn locations(folder: &Path) {
    let packed = Packing::Gzip.counted(PPROF, |number, to| {
        let (mut location, mut sample) = (vec![8], vec![]);
        varint(number + 2, &mut location);
        location.push(24);
        varint(number, &mut location);
        field(4, &location, to);
        let mut of = vec![];
        varint(number + 2, &mut of);
        field(1, &of, &mut sample);
        field(2, &[1], &mut sample);
        field(2, &sample, to);
    });
    write(folder, &packed);
}

/// A location of a thousand functions, and samples that contain it a thousand times.
fn multiplied(folder: &Path) {
    let mut bytes = PPROF.to_vec();
    let mut location = vec![8, 2];
    (0..1000).for_each(|_| field(4, &[8, 1], &mut location));
    field(4, &location, &mut bytes);
    let mut number = 0u32;
    while bytes.len() < PACKED {
        let mut sample = vec![];
        let mut stack = vec![2; 1000];
        // All stacks differ.
        stack.extend(number.to_le_bytes().map(|byte| byte % 2 + 1));
        stack.extend((0..24).map(|bit| (number >> bit & 1) as u8 + 1));
        field(1, &stack, &mut sample);
        field(2, &[1], &mut sample);
        field(2, &sample, &mut bytes);
        number += 1;
    }
    write(folder, &bytes);
}

fn text(folder: &Path, head: &str, line: &str) {
    write(folder, &Packing::Gzip.repeated(head.as_bytes(), line.as_bytes()));
}

fn functions(folder: &Path) {
    let packed = Packing::Gzip.counted(b"a;b 1\n", |number, to| {
        to.extend(format!("a;{number:x} 1\n").bytes());
    });
    write(folder, &packed);
}

/// Each line is a stack of a hundred thousand frames.
fn deep(folder: &Path) {
    let packed = Packing::Gzip.counted(b"a;b 1\n", |number, to| {
        to.extend_from_slice("a;".repeat(100_000).as_bytes());
        to.extend(format!("{number:x} 1\n").bytes());
    });
    write(folder, &packed);
}

fn sound() -> Recording {
    let mut recording = Recording::new(Order::Little);
    recording.comm(5, 7, "server", true).map(10, 7, [0x5000_0000, 0x1000, 0], "/nowhere").sample(
        20,
        7,
        1,
        &[USER, 0x5000_0010],
    );
    recording
}

fn packed_perf(folder: &Path) {
    let mut recording = sound();
    let head = recording.file();
    let start = recording.records.len();
    recording.sample(30, 7, 1, &[USER, 0x5000_0010]);
    // The data section extends to the end of the file.
    let mut head = head;
    head[48..56].fill(0);
    write(folder, &Packing::Gzip.repeated(&head, &recording.records[start..]));
}

/// A recording with as many compressed records as fit into a megabyte.
fn records(folder: &Path, record: fn(&mut Recording, u64)) {
    let mut number = 0;
    compressed(folder, |plain| {
        plain.records.clear();
        while plain.records.len() < 1 << 20 {
            record(plain, number);
            number += 1;
        }
    });
}

/// Each megabyte is the first one once more: to make a gigabyte of small records takes a quarter of a minute.
fn samples(folder: &Path) {
    compressed(folder, |plain| {
        while plain.records.len() < 1 << 20 {
            plain.sample(30, 7, 1, &[USER, 0x5000_0010]);
        }
    });
}

/// A recording with the records that are filled in again and again, compressed.
fn compressed(folder: &Path, mut fill: impl FnMut(&mut Recording)) {
    let mut recording = sound();
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 6).expect("memory");
    let mut plain = Recording::new(Order::Little);
    let mut unpacked = 0;
    while encoder.get_ref().len() < PACKED && unpacked < 1 << 30 {
        fill(&mut plain);
        unpacked += plain.records.len() as u64;
        encoder.write_all(&plain.records).expect("memory");
    }
    let packed = encoder.finish().expect("memory");
    for piece in packed.chunks(60_000) {
        recording.record(81, 0, piece);
    }
    write(folder, &recording.file());
}

fn stack(recording: &mut Recording, number: u64) {
    recording.sample(30, 7, 1, &[USER, 0x5000_0010 + number]);
}

fn named(number: u64) -> String {
    format!("/{number}{}", "n".repeat(4000))
}

fn names(recording: &mut Recording, number: u64) {
    recording.map(10, 7, [number << 12, 0x1000, 0], &named(number));
}

fn threads(recording: &mut Recording, number: u64) {
    recording.comm(5, number as u32, &named(number), false);
}

fn symbols(recording: &mut Recording, number: u64) {
    let name = crate::build::text(&named(number));
    let body = [Order::Little.u64(number << 12).to_vec(), Order::Little.pair(0x1000, 0), name].concat();
    recording.record(17, 0, &body);
}

fn build_ids(recording: &mut Recording, number: u64) {
    let body = [vec![0; 28], crate::build::text(&named(number))].concat();
    recording.record(67, 2, &body);
}

fn forks(recording: &mut Recording, number: u64) {
    let (child, parent) = (number as u32 + 8, number as u32 + 7);
    let order = Order::Little;
    let body = [
        order.pair(child, parent),
        order.pair(child, parent),
        order.u64(number).to_vec(),
        order.pair(7, 7),
        order.u64(number).to_vec(),
    ];
    recording.record(7, 0, &body.concat());
}
