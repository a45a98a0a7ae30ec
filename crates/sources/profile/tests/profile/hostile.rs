//! Reading any file terminates, with a profile or an error.

use crate::build::{KERNEL, Order, Recording, USER};
use crate::stacks::{profile, read_apart};
use proptest::collection::vec;
use proptest::prelude::*;
use slowpath_profile::{Contents, Input};

/// Invariants of every profile that was read.
fn check(input: &Input) {
    for note in &input.notes {
        assert!(note.count > 0, "{note}");
    }
    let Contents::Stacks(profile) = &input.contents else { return };
    for entry in &profile.entries {
        assert!(usize::from(entry.event) < profile.events.len());
        assert!((entry.task as usize) < profile.tasks.len());
        for frame in profile.stacks.frames(entry.stack) {
            assert!((frame.function.0 as usize) < profile.functions.len());
        }
    }
}

fn small() -> Vec<u8> {
    let mut recording = Recording::new(Order::Little);
    recording
        .map(0, u32::MAX, [0x1000, 0x1000, 0x1000], "[kernel.kallsyms]_text")
        .comm(5, 7, "server", true)
        .map(10, 7, [0x5000_0000, 0x1000, 0], "/nowhere/server")
        .sample(20, 7, 1, &[KERNEL, 0x1045, USER, 0x5000_0010])
        .sample(30, 7, 1, &[USER, 0x5000_0030]);
    recording.file()
}

#[test]
fn file_truncated_at_any_byte_reports_where_it_stopped() {
    let whole = small();
    let mut readable = 0;
    for length in 0..whole.len() {
        if let Ok(input) = read_apart(&whole[..length]) {
            check(&input);
            assert!(input.stopped.is_some(), "cut at {length} of {}", whole.len());
            readable += 1;
        }
    }
    assert!(readable > 50, "{readable}");
}

/// A data section that ends beyond the largest offset; found by the fuzz target.
#[test]
fn oversized_data_section_is_read_to_the_end_of_the_file() {
    let mut file = small();
    file[48..56].fill(0xff);
    let input = read_apart(&file).expect("the samples are there");
    check(&input);
    assert!(input.stopped.is_some());
}

#[test]
fn any_corrupted_byte_is_read_without_a_panic() {
    let whole = small();
    for at in 0..whole.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut changed = whole.clone();
            changed[at] = value;
            if let Ok(input) = read_apart(&changed) {
                check(&input);
            }
        }
    }
}

#[test]
fn truncating_a_recorded_file_only_removes_samples() {
    let whole = include_bytes!("data/dd.perf.data");
    let all = read_apart(whole).unwrap();
    let samples = |input: &Input| profile(input).entries.iter().map(|entry| entry.samples).sum::<u64>();
    let mut most = 0;
    for length in 0..whole.len() {
        if let Ok(input) = read_apart(&whole[..length]) {
            check(&input);
            let some = samples(&input);
            assert!(some >= most && some <= samples(&all), "{some} samples after {most}");
            most = some;
        }
    }
    assert_eq!(most, samples(&all));
}

proptest! {
    #[test]
    fn random_bytes_terminate(bytes in vec(any::<u8>(), 0..600), head in 0..5usize) {
        let heads: [&[u8]; 5] = [b"", b"PERFILE2", b"2ELIFREP", b"\x0a\x04", b"PERFILE2\x10\0\0\0\0\0\0\0"];
        if let Ok(input) = read_apart(&[heads[head], &bytes].concat()) {
            check(&input);
        }
    }

    #[test]
    fn random_records_terminate(
        records in vec((0..90u32, any::<u16>(), vec(prop_oneof![0..20u64, any::<u64>()], 0..12)), 0..20),
        is_pipe in any::<bool>(),
        is_big in any::<bool>(),
        format in any::<u64>(),
    ) {
        let order = if is_big { Order::Big } else { Order::Little };
        let mut recording = Recording::new(order);
        recording.format = format;
        for (kind, misc, words) in records {
            recording.record(kind, misc, &order.words(&words));
        }
        if let Ok(input) = read_apart(&if is_pipe { recording.pipe() } else { recording.file() }) {
            check(&input);
        }
    }

    #[test]
    fn random_text_terminates(
        lines in vec("[a-f0-9 ]{0,8}[ \t;:/()\\[\\]+x.a-z0-9-]{0,40}", 0..20),
        head in 0..3usize,
    ) {
        let heads = ["", "a 1 [0] 1.5: 3 cycles:\n", "samples  %        symbol name\n----------\n"];
        if let Ok(input) = read_apart(format!("{}{}", heads[head], lines.join("\n")).as_bytes()) {
            check(&input);
        }
    }
}
