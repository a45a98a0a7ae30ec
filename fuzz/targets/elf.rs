//! A program, as one that a profile was recorded of, as the kernel and as the kernel's list of symbols: each is read to an end, with its
//! functions and what was put into them.

use slowpath_profile::{Contents, SymbolSources, read};
use std::fs;
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::LazyLock;

#[expect(dead_code, reason = "the profile crate's tests use more of it")]
#[path = "../../crates/sources/profile/tests/profile/build.rs"]
mod build;

/// Where the program is mapped from its first byte on, and how far.
const MAPPED: u64 = 0x5000_0000;
const LENGTH: u64 = 0x1000;
/// Between two addresses that are looked up.
const STEP: u64 = 32;

/// A folder with the program in it.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("slowpath-fuzz-elf-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder to write to");
    folder
});

/// A sample at each address of the program, as one of a process and one of the kernel.
static RECORDING: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut recording = build::Recording::new(build::Order::Little);
    recording.map(1, 7, [MAPPED, LENGTH, 0], "/program");
    for at in (0..LENGTH).step_by(STEP as usize) {
        recording.sample(2, 7, 1, &[build::KERNEL, 0x40_0000 + at, build::USER, MAPPED + at]);
    }
    recording.file()
});

fn samples(options: &SymbolSources) -> u64 {
    let input = read("fuzz", Cursor::new(&RECORDING[..]), options).expect("the recording is sound");
    let Contents::Stacks(profile) = input.contents else { panic!("it has stacks") };
    for entry in &profile.entries {
        let frames = profile.stacks.frames(entry.stack);
        assert!(frames.iter().all(|frame| (frame.function.0 as usize) < profile.functions.len()));
    }
    profile.entries.iter().map(|entry| entry.samples).sum()
}

pub fn try_input(data: &[u8]) {
    let program = FOLDER.join("program");
    fs::write(&program, data).expect("a disk with room");
    let root = Some(FOLDER.clone());
    let given = SymbolSources { root: root.clone(), inlined: true, ..SymbolSources::default() };
    let kinds = [
        SymbolSources { vmlinux: Some(program.clone()), ..given.clone() },
        SymbolSources { kallsyms: Some(program.clone()), ..given },
    ];
    // A list of symbols is text.
    let kind = &kinds[usize::from(!data.starts_with(b"\x7f"))];
    assert_eq!(samples(kind), LENGTH / STEP);
}
