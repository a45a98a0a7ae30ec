//! The seeds that fuzzing starts from, under `fuzz/corpus/raw`: pieces of a file that is kept, small enough for a fuzzer.

use crate::raw::kept;
use slowpath_live::{RawError, replay};
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Sink};
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of a header, of a turn and of a flow's account (`src/raw.rs`, `src/record.rs`).
const HEADER: usize = 40;
const TURN: usize = 64;
const ACCOUNT: usize = 3664;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus/raw")
}

fn frame(kind: u32, bytes: &[u8]) -> Vec<u8> {
    [&kind.to_ne_bytes()[..], &(bytes.len() as u32).to_ne_bytes(), bytes].concat()
}

/// The frames of a file, by kind.
fn frames(mut bytes: &[u8]) -> Vec<(u32, &[u8])> {
    let mut frames = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<8>() {
        let [kind, length] =
            [0, 4].map(|at| u32::from_ne_bytes(*head[at..].first_chunk().expect("four bytes")));
        let (body, behind) = rest.split_at(length as usize);
        frames.push((kind, body));
        bytes = behind;
    }
    frames
}

fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let whole = fs::read(kept("transfer.raw")).expect("it is kept");
    let (header, behind) = whole.split_at(HEADER);
    let all = frames(behind);
    let of = |kind: u32| all.iter().filter(move |(of, _)| *of == kind).map(|(_, bytes)| *bytes);
    let told: Vec<&[u8]> = of(1).collect();
    let alive = of(2).find(|bytes| !bytes.is_empty()).expect("flows");
    let ended = told.last().expect("what was reported");
    let ended = &ended[ended.len() - ACCOUNT..];
    let names = &of(3).next().expect("names")[..200];
    let file = |frames: &[Vec<u8>]| [&[header.to_vec()], frames].concat().concat();
    vec![
        ("alive", file(&[frame(2, &alive[..ACCOUNT])])),
        ("other-end", file(&[frame(2, &alive[ACCOUNT..][..ACCOUNT])])),
        ("ended", file(&[frame(1, ended), frame(2, &[])])),
        ("turns", file(&[frame(1, &told[0][..TURN]), frame(2, &alive[..ACCOUNT])])),
        (
            "end",
            file(&[
                frame(3, names),
                frame(4, of(4).next().expect("what was not seen")),
                frame(6, of(6).next().expect("softirqs")),
                frame(5, of(5).next().expect("the end")),
            ]),
        ),
    ]
}

/// Writes them; run by hand when the layout of records changes.
#[test]
#[ignore = "writes fuzz/corpus"]
fn write_the_seeds() {
    for (name, bytes) in seeds() {
        fs::write(corpus().join(name), bytes).expect("a disk with room");
    }
}

struct Nothing;

impl Sink for Nothing {
    fn open(&mut self, _: FlowId, _: &FlowKey) {}
    fn accept(&mut self, _: FlowId, _: &Event) {}
    fn close(&mut self, _: FlowId, _: FlowEnd) {}
}

/// A seed of another version would end at its header, and nothing behind that would be fuzzed.
#[test]
fn every_seed_is_read_behind_its_header() {
    for (name, bytes) in seeds() {
        let kept = fs::read(corpus().join(name)).expect("a seed");
        assert!(kept == bytes, "{name} is of another layout; run write_the_seeds");
        assert!(bytes.len() <= 4096, "{name} is longer than fuzz/run takes");
        let replayed = replay(&bytes[..], &mut Nothing).expect("this version");
        let is_cut = matches!(replayed.incomplete, Some(RawError::Truncated { .. }));
        assert!(
            is_cut || name == "end" && replayed.incomplete.is_none(),
            "{name}: {:?}",
            replayed.incomplete
        );
    }
}
