//! Captures, and raw files of `diagnose --raw`.

use crate::packed::Packing;
use crate::{Bomb, at, bomb};
use std::fs;
use std::path::Path;

const ARGS: &[&str] = &["diagnose", "@/c"];

pub const BOMBS: &[Bomb] = &[
    bomb(
        "pcap, gzip: records of nothing",
        ARGS,
        |to| empty(to, Packing::Gzip),
        "Nothing in it could be read as TCP",
    ),
    bomb(
        "pcap, zstd: records of nothing",
        ARGS,
        |to| empty(to, Packing::Zstd),
        "if you trust it, unpack it first",
    ),
    bomb("pcap, zstd: records of 256 KiB", ARGS, large, "if you trust it, unpack it first"),
    bomb("pcapng, zstd: blocks of nothing", ARGS, blocks, "if you trust it, unpack it first"),
    bomb("pcapng, zstd: one block of 4 GiB", ARGS, block, "claims to be"),
    bomb("--raw, zstd: a frame of 4 GiB", ARGS, raw, "unpack it first"),
];

/// The pcap header: Ethernet, microseconds.
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

fn section() -> Vec<u8> {
    let section: [u32; 7] = [0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28];
    let interface: [u32; 5] = [1, 20, 1, 262_144, 20];
    section.iter().chain(&interface).flat_map(|word| word.to_le_bytes()).collect()
}

fn blocks(folder: &Path) {
    // A block of an unknown type, which is skipped.
    let block: Vec<u8> = [0x0bad_0000u32, 12, 12].iter().flat_map(|word| word.to_le_bytes()).collect();
    fs::write(at(folder, "c"), Packing::Zstd.repeated(&section(), &block)).expect("a disk with room");
}

fn block(folder: &Path) {
    let head = [section(), 6u32.to_le_bytes().to_vec(), 0xffff_fff0u32.to_le_bytes().to_vec()].concat();
    fs::write(at(folder, "c"), Packing::Zstd.repeated(&head, &[0; 4096])).expect("a disk with room");
}

/// The header of a valid file, followed by an endless frame.
fn raw(folder: &Path) {
    let sound = concat!(env!("CARGO_MANIFEST_DIR"), "/../sources/live/tests/live/kept/transfer.raw");
    let mut head = fs::read(sound).expect("it is kept")[..40].to_vec();
    head.extend([1u32, u32::MAX].iter().flat_map(|word| word.to_ne_bytes()));
    fs::write(at(folder, "c"), Packing::Zstd.repeated(&head, &[0; 4096])).expect("a disk with room");
}
