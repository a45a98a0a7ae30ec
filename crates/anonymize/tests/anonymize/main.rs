//! Copies of frames and files: the same is read from them, and nothing of the hosts is in them.

mod files;
mod frames;
mod secrets;

use proptest::prelude::*;
use slowpath_anonymize::{Key, Names, Ports};
use std::fs;
use std::path::PathBuf;

/// The replacements of all tests.
fn names() -> Names {
    Names::new(&Key::from(std::array::from_fn(|n| 91_u8.wrapping_mul(n as u8 + 1))), Ports::Map)
}

/// The seeds of a fuzz target, by name.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut seeds: Vec<_> = fs::read_dir(folder)
        .expect("a corpus")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.display().to_string(), fs::read(path).expect("a seed")))
        .collect();
    seeds.sort();
    assert!(seeds.len() >= 8, "{target}: {} seeds", seeds.len());
    seeds
}

/// One of these, with some bytes changed, and perhaps cut.
fn damaged(seeds: Vec<(String, Vec<u8>)>) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    (prop::sample::select(seeds), changes, prop::option::of(any::<prop::sample::Index>())).prop_map(
        |((_, mut bytes), changes, cut)| {
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()) + 1);
            }
            bytes
        },
    )
}
