//! Captures, and what `diagnose --raw` keeps.

use crate::packed::Packing;
use crate::{Bomb, at, bomb};
use std::fs;
use std::path::Path;

const ARGS: &[&str] = &["diagnose", "@/c"];

pub const BOMBS: &[Bomb] = &[
    bomb("pcap, gzip: records of nothing", ARGS, |to| empty(to, Packing::Gzip), "beyond"),
    bomb("pcap, zstd: records of nothing", ARGS, |to| empty(to, Packing::Zstd), "beyond"),
    bomb("pcap, zstd: records of 256 KiB", ARGS, large, "beyond"),
    bomb("pcap, zstd: one flow per packet", ARGS, flows, ""),
    bomb("pcapng, zstd: blocks of nothing", ARGS, blocks, "beyond"),
    bomb("pcapng, zstd: one block of 4 GiB", ARGS, block, ""),
    bomb("--raw, zstd: a frame of 4 GiB", ARGS, raw, "c: "),
];

/// Ethernet, microseconds.
fn header() -> Vec<u8> {
    let words: [u32; 6] = [0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 262_144, 1];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn record(bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u32;
    let head = [1, 0, length, length].iter().flat_map(|word: &u32| word.to_le_bytes()).collect::<Vec<u8>>();
    [&head[..], bytes].concat()
}

fn empty(folder: &Path, packing: Packing) {
    fs::write(at(folder, "c"), packing.repeated(&header(), &record(&[]))).expect("a disk with room");
}

fn large(folder: &Path) {
    let packed = Packing::Zstd.repeated(&header(), &record(&[0; 200_000]));
    fs::write(at(folder, "c"), packed).expect("a disk with room");
}

fn flows(folder: &Path) {
    let packed = Packing::Zstd.counted(&header(), |number, to| {
        let mut frame = vec![0; 12];
        frame.extend([8, 0, 0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10]);
        frame.extend(&(number as u32).to_be_bytes()[1..]);
        frame.extend([
            192, 0, 2, 1, 0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0xff, 0xff, 0, 0, 0, 0,
        ]);
        to.extend(record(&frame));
    });
    fs::write(at(folder, "c"), packed).expect("a disk with room");
}

fn section() -> Vec<u8> {
    let section: [u32; 7] = [0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28];
    let interface: [u32; 5] = [1, 20, 1, 262_144, 20];
    section.iter().chain(&interface).flat_map(|word| word.to_le_bytes()).collect()
}

fn blocks(folder: &Path) {
    // A block of a type that is passed over.
    let block: Vec<u8> = [0x0bad_0000u32, 12, 12].iter().flat_map(|word| word.to_le_bytes()).collect();
    fs::write(at(folder, "c"), Packing::Zstd.repeated(&section(), &block)).expect("a disk with room");
}

fn block(folder: &Path) {
    let head = [section(), 6u32.to_le_bytes().to_vec(), 0xffff_fff0u32.to_le_bytes().to_vec()].concat();
    fs::write(at(folder, "c"), Packing::Zstd.repeated(&head, &[0; 4096])).expect("a disk with room");
}

/// The header of a sound file, and behind it a frame without end.
fn raw(folder: &Path) {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/raw");
    let sound = fs::read_dir(corpus).expect("the corpus").find_map(|seed| {
        let bytes = fs::read(seed.expect("a seed").path()).expect("a seed");
        (bytes.starts_with(b"slowpath-probe\n\0") && bytes.get(20) == Some(&3)).then_some(bytes)
    });
    let mut head = sound.expect("a sound seed")[..40].to_vec();
    head.extend([1u32, u32::MAX].iter().flat_map(|word| word.to_ne_bytes()));
    fs::write(at(folder, "c"), Packing::Zstd.repeated(&head, &[0; 4096])).expect("a disk with room");
}
