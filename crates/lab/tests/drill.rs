//! Every script of ours on this kernel: what the scripts say is what Linux does. Needs root and iproute2.

use slowpath_drill::{Config, Outcome, Script, Source};
use slowpath_lab::lateness::LatenessWatch;
use slowpath_lab::{drill, namespaces};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// The release that the scripts were validated on; an older kernel does other things.
const VALIDATED: (u32, u32) = (6, 18);
/// How often a script is tried: time is real here, and a busy machine is late by milliseconds for a second or more at
/// a time.
const RUNS: u32 = 10;
/// How long to wait before another try, after the first few.
const PAUSE: Duration = Duration::from_millis(500);
/// How late a CPU may have been for a failure to count: less than the tolerance of a script.
const STEADY: Duration = Duration::from_millis(2);
/// So many failures that count are the kernel's.
const ENOUGH: u32 = 3;

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

enum Verdict {
    Passes,
    Fails(String),
    /// This machine was too late each time to say.
    NotJudged {
        name: String,
        late: Duration,
    },
}

fn verdict(path: &Path) -> Verdict {
    let name = path.strip_prefix(folder()).expect("below the folder").display().to_string();
    let source = Source::new(&name, &fs::read_to_string(path).expect("a script"));
    let script = Script::parse(&source, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    let (mut passed, mut counted, mut least_late) = (0, 0, Duration::MAX);
    for run in 0..RUNS {
        if run > 2 {
            thread::sleep(PAUSE);
        }
        let watch = LatenessWatch::start();
        let outcome = drill::run(&script, &|_| None).expect("root, and iproute2").outcome;
        let late = watch.finish();
        least_late = least_late.min(late);
        match outcome {
            Outcome::Failed(failure) => {
                counted += u32::from(late < STEADY && !failure.runner_late);
                if counted == ENOUGH {
                    return Verdict::Fails(failure.to_string());
                }
            }
            _ => passed += 1,
        }
        // Once is enough, unless it failed on a steady machine: then it has to pass more often than it failed.
        if passed > counted {
            return Verdict::Passes;
        }
    }
    Verdict::NotJudged { name, late: least_late }
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
    let mut failures = Vec::new();
    for path in &found {
        match verdict(path) {
            Verdict::Passes => {}
            Verdict::Fails(failure) => failures.push(failure),
            Verdict::NotJudged { name, late } => {
                println!("not judged: {name}: a CPU was late by {late:?} at least")
            }
        }
    }
    assert!(failures.is_empty(), "{} of {} fail:\n{}", failures.len(), found.len(), failures.join("\n\n"));
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
    let (before, others) = (tasks(), namespaces::leftovers());
    // The call is still blocked when the script ends.
    let report = drill::run(&script, &|_| None).expect("root, and iproute2");
    assert!(!report.passed());
    assert_eq!(tasks(), before);
    assert!(namespaces::leftovers().iter().all(|name| others.contains(name)));
}
