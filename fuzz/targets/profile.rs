//! A profile in any format: it is read to an end, what its entries name is there, and what is written of it is read back
//! with as many samples. The same for what a host did meanwhile.

use slowpath_cost::{Count, Entry, Profile, Roots};
use slowpath_profile::{Contents, Measure, SymbolSources, read, work, write_folded, write_pprof};
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::LazyLock;

/// No kernel's symbols and no files: nothing of this host is looked at.
static APART: LazyLock<SymbolSources> = LazyLock::new(|| {
    let nowhere = PathBuf::from("/nowhere");
    SymbolSources {
        kallsyms: Some(nowhere.join("kallsyms")),
        root: Some(nowhere),
        ..SymbolSources::default()
    }
});

fn samples(contents: &Contents, event: u16) -> u128 {
    let Contents::Stacks(profile) = contents else { return 0 };
    profile.entries.iter().filter(|entry| entry.event == event).map(|entry| u128::from(entry.samples)).sum()
}

/// What a host did, as it is kept next to a profile: what is read of it is written so that all of it is read again.
fn work_is_kept(data: &[u8]) {
    let Ok(found) = work::from_json("fuzz", data) else { return };
    let again = work::from_json("again", work::to_json(&found.work).as_bytes()).expect("it was just written");
    assert_eq!((again.work.counters, again.work.devices), (found.work.counters, found.work.devices));
    assert!(again.skipped.is_empty());
}

/// Who called for what is known for each stack, and parts of what each function cost sum to it.
fn who_called(profile: &Profile) {
    let calls = profile.calls();
    assert_eq!(calls.profile().stacks.len(), profile.stacks.len());
    let roots = Roots::high_level(&calls.profile().functions);
    let weight = |entry: &Entry| u128::from(entry.weight);
    if profile.entries.iter().map(weight).sum::<u128>() > u128::from(u64::MAX) {
        return;
    }
    for exact in calls.attribute(0, &roots, Count::WithCallees).iter().flatten() {
        let innermost: u64 = exact.innermost.iter().sum();
        assert_eq!(innermost + exact.elsewhere + exact.cannot_tell, exact.weight);
    }
}

pub fn try_input(data: &[u8]) {
    work_is_kept(data);
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
    who_called(profile);
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
}
