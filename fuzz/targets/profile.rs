//! A profile in any format: it is read to an end, what its entries name is there, and what is written of it is read back
//! with as many samples.
#![no_main]

use libfuzzer_sys::fuzz_target;
use slowpath_profile::{Contents, Measure, Options, read, write_folded, write_pprof};
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::LazyLock;

/// No kernel's symbols and no files: nothing of this host is looked at.
static APART: LazyLock<Options> = LazyLock::new(|| {
    let nowhere = PathBuf::from("/nowhere");
    Options { kallsyms: Some(nowhere.join("kallsyms")), vmlinux: None, root: Some(nowhere) }
});

fn samples(contents: &Contents, event: u16) -> u128 {
    let Contents::Stacks(profile) = contents else { return 0 };
    profile.entries.iter().filter(|entry| entry.event == event).map(|entry| u128::from(entry.samples)).sum()
}

fuzz_target!(|data: &[u8]| {
    let Ok(input) = read("fuzz", Cursor::new(data), &APART) else { return };
    let profile = match &input.contents {
        Contents::Stacks(profile) => profile,
        Contents::Calls(graph) => {
            assert_eq!(graph.self_samples.len(), graph.functions.len());
            let is_there = |function: slowpath_cost::Function| (function.0 as usize) < graph.functions.len();
            assert!(graph.edges.iter().all(|(caller, callee, _)| is_there(*caller) && is_there(*callee)));
            return;
        }
    };
    for entry in &profile.entries {
        assert!(usize::from(entry.event) < profile.events.len());
        assert!((entry.task as usize) < profile.tasks.len());
        let functions = profile.stacks.frames(entry.stack).iter().map(|frame| frame.function.0 as usize);
        assert!(functions.into_iter().all(|function| function < profile.functions.len()));
    }
    // Sums of hostile counts saturate.
    let total = samples(&input.contents, 0);
    if total == 0 || total > u128::from(u32::MAX) {
        return;
    }
    let mut folded = Vec::new();
    write_folded(profile, 0, Measure::Samples, &mut folded).expect("memory");
    // What begins like another format, or like a comment, is not taken for folded stacks.
    if let Ok(again) = read("folded", Cursor::new(&folded), &APART)
        && again.format == slowpath_profile::Format::Folded
        && again.notes.is_empty()
    {
        assert!(samples(&again.contents, 0) <= total);
    }
    let mut packed = Vec::new();
    write_pprof(profile, 0, &mut packed).expect("memory");
    let again = read("pprof", Cursor::new(&packed), &APART).expect("what was written is read");
    assert_eq!(samples(&again.contents, 0), total);
});
