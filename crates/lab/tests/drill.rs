//! Every script of ours on this kernel: what the scripts say is what Linux does. Needs root and iproute2.

use slowpath_drill::{Config, Outcome, Script, Source};
use slowpath_lab::{drill, namespaces};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// The release that the scripts were validated on; an older kernel does other things.
const VALIDATED: (u32, u32) = (6, 18);
/// How often a script is tried before it counts as failed: time is real here, and a busy machine is late by
/// milliseconds for a second or more at a time. What the kernel does otherwise it does every time.
const RUNS: u32 = 10;
/// How long to wait before another try, after the first few.
const PAUSE: Duration = Duration::from_millis(500);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../drill/scripts")
}

fn scripts(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            scripts(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            found.push(path);
        }
    }
}

/// The kernel's release, of `6.18.44-fc`: 6 and 18.
fn release() -> (u32, u32) {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease").expect("the kernel's release");
    let mut numbers = text.split(['.', '-']).map(|part| part.trim().parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Why a script fails, and whether only because we were late for its lines each time.
fn failure(path: &Path) -> Option<(String, bool)> {
    let name = path.strip_prefix(folder()).expect("below the folder").display().to_string();
    let source = Source::new(&name, &fs::read_to_string(path).expect("a script"));
    let script = Script::parse(&source, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut last = None;
    for run in 0..RUNS {
        if run > 2 {
            thread::sleep(PAUSE);
        }
        match drill::run(&script, &|_| None).expect("root, and iproute2").outcome {
            Outcome::Passed => return None,
            Outcome::Failed(failure) => last = Some((failure.to_string(), failure.runner_late)),
        }
    }
    last
}

#[test]
#[ignore = "needs root"]
fn this_kernel_passes_every_script() {
    if release() < VALIDATED {
        eprintln!("the scripts say what Linux {VALIDATED:?} does; this is {:?}", release());
        return;
    }
    let mut found = Vec::new();
    scripts(&folder(), &mut found);
    let (late, failures): (Vec<_>, Vec<_>) =
        found.iter().filter_map(|path| failure(path)).partition(|(_, late)| *late);
    let list = |failures: Vec<(String, bool)>| {
        failures.into_iter().map(|(text, _)| text).collect::<Vec<_>>().join("\n\n")
    };
    // Nothing is known of these, which may not be many.
    let unjudged = late.len();
    eprintln!("{unjudged} of {} could not be kept in time:\n{}", found.len(), list(late));
    assert!(failures.is_empty(), "{} of {} fail:\n{}", failures.len(), found.len(), list(failures));
    assert!(unjudged * 10 <= found.len(), "this machine is too busy to judge {unjudged} scripts");
}

#[test]
#[ignore = "needs root"]
fn nothing_is_left_behind() {
    let source = Source::new(
        "blocks",
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0...1 connect(3, ..., ...) = 0\n",
    );
    let script = Script::parse(&source, &Config::default()).expect("a script");
    let tasks = || fs::read_dir("/proc/self/task").expect("the threads").count();
    let (before, namespaces_before) = (tasks(), namespaces::leftovers().len());
    // The call is still blocked when the script ends.
    let report = drill::run(&script, &|_| None).expect("root, and iproute2");
    assert!(!report.passed());
    assert_eq!((tasks(), namespaces::leftovers().len()), (before, namespaces_before));
}
