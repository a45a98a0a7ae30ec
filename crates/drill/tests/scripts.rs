//! Every script in `scripts` on the model. `scripts/not-yet.txt` lists exactly those that the model does not pass yet.

use slowpath_drill::{Config, Modelled, Outcome, Script, Source, run};
use slowpath_kernels::registry;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The kernel that the scripts were validated on.
const KERNEL: &str = "linux-6.18";
/// The distribution's tick rate: that of the live kernel when the scripts were validated.
const HZ: u32 = 250;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts")
}

/// The scripts below a folder, in order.
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

fn outcome(path: &Path, name: &str) -> Outcome {
    let text = fs::read_to_string(path).expect("a script");
    let script =
        Script::parse(&Source::new(name, &text), &Config::default()).unwrap_or_else(|e| panic!("{e}"));
    let mut profile = registry::named(KERNEL).expect("today's kernel");
    profile.tcp.clock.hz = HZ;
    run(&script, &mut Modelled::new(profile, &script.config), &|_| None).outcome
}

#[test]
fn model_passes_all_scripts_not_listed() {
    let list = fs::read_to_string(folder().join("not-yet.txt")).expect("the list");
    let listed: BTreeSet<&str> =
        list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let mut found = Vec::new();
    scripts(&folder(), &mut found);
    assert!(found.len() > 100, "only {} scripts were found", found.len());
    let (mut wrong, mut failing, mut passed) = (Vec::new(), BTreeSet::new(), 0);
    for path in &found {
        let name = path.strip_prefix(folder()).expect("below the folder").display().to_string();
        match outcome(path, &name) {
            Outcome::Passed => passed += 1,
            Outcome::Failed(failure) => {
                if !listed.contains(name.as_str()) {
                    wrong.push(failure.to_string());
                }
                failing.insert(name);
            }
        }
    }
    for name in listed.iter().filter(|name| !failing.contains(**name)) {
        wrong.push(format!("{name} is listed, and passes or is not there"));
    }
    println!("{passed} of {} scripts pass on the model", found.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_script_begins_with_a_description() {
    let mut found = Vec::new();
    scripts(&folder(), &mut found);
    let silent: Vec<_> =
        found.iter().filter(|path| !fs::read_to_string(path).expect("a script").starts_with("// ")).collect();
    assert!(silent.is_empty(), "{silent:?}");
}
