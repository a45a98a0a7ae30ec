//! Programs whose symbols or debug information multiply. Whoever sends a folder for `--root` can build such programs.

use crate::build::{Order, Recording, USER};
use crate::packed::PACKED;
use crate::{Bomb, at, bomb};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

const ARGS: &[&str] = &["profile", "top", "@/p", "--root", "@", "--inline"];

pub const BOMBS: &[Bomb] = &[
    bomb("ELF: debug strings, zlib", ARGS, |to| strings(to, 1), "debug information"),
    bomb("ELF: debug strings, zstd", ARGS, |to| strings(to, 2), "debug information"),
    bomb("ELF: units without end", ARGS, |to| info(to, &[0xff; 12].repeat(PACKED / 12)), ""),
    bomb("ELF: smallest units", ARGS, |to| info(to, &unit(&[0]).repeat(PACKED / 13)), ""),
    bomb("ELF: smallest functions", ARGS, functions, ""),
    bomb("ELF: functions that share their ranges", ARGS, ranges, ""),
    bomb("ELF: units that share their ranges", ARGS, unit_ranges, "debug information"),
    bomb("ELF: abbreviations that overlap", ARGS, abbreviations, ""),
    bomb("ELF: a symbol table in a hole", ARGS, hole, "more memory"),
    bomb("ELF: symbols that share a long name", ARGS, long_name, "more memory"),
];

/// The address of the program's mapping, and the sampled offset in it.
const MAPPED: u64 = 0x5000_0000;
const SAMPLED: u64 = 0x1010;

struct Section {
    name: &'static str,
    kind: u32,
    flags: u64,
    bytes: Vec<u8>,
    link: u32,
    /// The size of a table's entries.
    each: u64,
}

fn section(name: &'static str, kind: u32, bytes: Vec<u8>) -> Section {
    Section { name, kind, flags: 0, bytes, link: 0, each: 0 }
}

fn words(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn halves(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// `Elf64_Sym`: a global function.
fn symbol(name: u32, address: u64) -> Vec<u8> {
    [halves(&[name]), vec![0x12, 0, 1, 0], words(&[address, 1])].concat()
}

/// Writes an x86-64 executable whose first two pages are mapped unchanged, and a profile with a sample in it. Returns
/// the offset of the section headers.
fn write(folder: &Path, sections: Vec<Section>) -> u64 {
    let mut all = vec![section("", 0, vec![]), Section { flags: 6, ..section(".text", 1, vec![0x90; 16]) }];
    all.extend(sections);
    let mut names = vec![];
    let places: Vec<u32> = all
        .iter()
        .chain([&section(".shstrtab", 3, vec![])])
        .map(|section| {
            let place = names.len() as u32;
            names.extend(section.name.bytes().chain([0]));
            place
        })
        .collect();
    all.push(section(".shstrtab", 3, names));
    let (mut body, mut headers) = (vec![], vec![]);
    for (section, name) in all.iter().zip(places) {
        let offset = 120 + body.len() as u64;
        let address = if section.name == ".text" { 0x1000 } else { 0 };
        headers.extend(halves(&[name, section.kind]));
        headers.extend(words(&[section.flags, address, offset, section.bytes.len() as u64]));
        headers.extend([halves(&[section.link, 0]), words(&[1, section.each])].concat());
        body.extend(&section.bytes);
    }
    let table = 120 + body.len() as u64;
    let mut file = [b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec(), halves(&[62 << 16 | 2, 1])].concat();
    file.extend(words(&[0x1000, 64, table]));
    file.extend(halves(&[0, 56 << 16 | 64, 64 << 16 | 1, (all.len() as u32 - 1) << 16 | all.len() as u32]));
    file.extend([halves(&[1, 5]), words(&[0, 0, 0, 0x2000, 0x2000, 0x1000])].concat());
    file.extend([body, headers].concat());
    fs::write(at(folder, "program"), &file).expect("a disk with room");
    let mut recording = Recording::new(Order::Little);
    recording.map(1, 7, [MAPPED, 0x2000, 0], "/program").sample(2, 7, 1, &[USER, MAPPED + SAMPLED]);
    fs::write(at(folder, "p"), recording.file()).expect("a disk with room");
    table
}

/// Abbreviations: a unit with address and length, a function with both, a function with ranges, an empty unit, and a
/// unit with ranges.
const ABBREVIATIONS: &[u8] =
    b"\x01\x11\x01\x11\x01\x12\x06\0\0\x02\x2e\0\x11\x01\x12\x0b\0\0\x03\x2e\0\x55\x17\0\0\
    \x04\x11\0\0\0\x05\x11\0\x55\x17\0\0\0";

/// A DWARF 5 unit with these entries.
fn unit(entries: &[u8]) -> Vec<u8> {
    let length = entries.len() as u32 + 8;
    [halves(&[length]), vec![5, 0, 1, 8], halves(&[0]), entries.to_vec()].concat()
}

/// A unit that covers the sample, with these entries.
fn around(entries: &[u8]) -> Vec<u8> {
    unit(&[b"\x01".to_vec(), words(&[0]), halves(&[0x2000]), entries.to_vec(), vec![0]].concat())
}

fn info(folder: &Path, info: &[u8]) {
    let abbreviations = section(".debug_abbrev", 1, ABBREVIATIONS.to_vec());
    write(folder, vec![section(".debug_info", 1, info.to_vec()), abbreviations]);
}

/// A gibibyte of zeros, compressed.
fn strings(folder: &Path, packing: u32) {
    const BYTES: u64 = 1 << 30;
    let piece = vec![0; 1 << 20];
    let pieces = BYTES >> 20;
    let packed = if packing == 1 {
        // Compressed once, as blocks that need none before them; then an empty block, which is the last, and Adler-32.
        let mut blocks = Vec::with_capacity(PACKED);
        let mut encoder = flate2::Compress::new(flate2::Compression::best(), false);
        encoder.compress_vec(&piece, &mut blocks, flate2::FlushCompress::Full).expect("memory");
        let sum = (BYTES % 65_521) as u32 * 0x1_0000 + 1;
        [vec![0x78, 0xda], blocks.repeat(pieces as usize), vec![3, 0], sum.to_be_bytes().to_vec()].concat()
    } else {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).expect("memory");
        (0..pieces).for_each(|_| encoder.write_all(&piece).expect("memory"));
        encoder.finish().expect("memory")
    };
    let bytes = [halves(&[packing, 0]), words(&[BYTES, 1]), packed].concat();
    write(
        folder,
        vec![
            section(".debug_info", 1, around(&[])),
            section(".debug_abbrev", 1, ABBREVIATIONS.to_vec()),
            // `SHF_COMPRESSED`
            Section { flags: 1 << 11, ..section(".debug_str", 1, bytes) },
        ],
    );
}

fn functions(folder: &Path) {
    let function = [b"\x02".to_vec(), words(&[SAMPLED]), vec![1]].concat();
    info(folder, &around(&function.repeat(PACKED / function.len())));
}

/// Half a megabyte of functions that all have the same half a megabyte of ranges.
fn ranges(folder: &Path) {
    shared(folder, around(&[3, 16, 0, 0, 0].repeat(PACKED / 10)));
}

/// Units that share one list of ranges.
fn unit_ranges(folder: &Path) {
    shared(folder, unit(&[5, 16, 0, 0, 0]).repeat(PACKED / 34));
}

fn shared(folder: &Path, info: Vec<u8>) {
    // `DW_RLE_offset_pair` from 1 to 2.
    let list = b"\x04\x01\x02".repeat(PACKED / 6);
    let lists = [halves(&[list.len() as u32 + 13]), vec![5, 0, 8, 0], halves(&[1, 4]), list, vec![0]];
    write(
        folder,
        vec![
            section(".debug_info", 1, info),
            section(".debug_abbrev", 1, ABBREVIATIONS.to_vec()),
            section(".debug_rnglists", 1, lists.concat()),
        ],
    );
}

/// Units whose abbreviation tables each start one byte after the previous one's.
fn abbreviations(folder: &Path) {
    let units: Vec<u8> = (0..PACKED as u32 / 32)
        .flat_map(|number| [halves(&[9]), vec![5, 0, 1, 8], halves(&[number]), vec![1]].concat())
        .collect();
    // An abbreviation of code 1, tag 1 and attributes starts at every byte.
    let table = vec![1; PACKED / 2];
    write(folder, vec![section(".debug_info", 1, units), section(".debug_abbrev", 1, table)]);
}

/// The first section that is read consists of its header only; the rest is a hole.
fn hole(folder: &Path) {
    let symbols = Section { link: 3, each: 24, ..section(".symtab", 2, symbol(1, 0x1000)) };
    let table = write(folder, vec![symbols, section(".strtab", 3, b"\0main\0".to_vec())]);
    let path = at(folder, "program");
    let mut bytes = fs::read(&path).expect("it was written");
    // `sh_offset` and `sh_size` of the third section.
    let header = usize::try_from(table).expect("a small file") + 2 * 64;
    bytes[header + 24..header + 40].copy_from_slice(&words(&[1 << 20, 4 << 30]));
    fs::write(&path, &bytes).expect("a disk with room");
    File::options().write(true).open(&path).and_then(|file| file.set_len(5 << 30)).expect("a hole");
}

fn long_name(folder: &Path) {
    let names = [vec![b'n'; 4000], vec![0]].concat();
    let symbols: Vec<u8> =
        (0..PACKED as u32 / 24).flat_map(|number| symbol(number % 64, 0x1000 + u64::from(number))).collect();
    let symbols = Section { link: 3, each: 24, ..section(".symtab", 2, symbols) };
    write(folder, vec![symbols, section(".strtab", 3, names)]);
}
