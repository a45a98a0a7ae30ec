//! Every script in `scripts` on the model. `scripts/not-yet.txt` lists exactly those that the model does not pass yet.

use slowpath_drill::{Config, Modelled, Outcome, Script, Source, run};
use slowpath_kernels::{KernelProfile, Release, registry};
use slowpath_tcp::Sysctls;
use std::collections::{BTreeMap, BTreeSet};
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
    outcome_on(registry::named(KERNEL).expect("today's kernel"), path, name)
}

fn outcome_on(mut profile: KernelProfile, path: &Path, name: &str) -> Outcome {
    let text = fs::read_to_string(path).expect("a script");
    let script =
        Script::parse(&Source::new(name, &text), &Config::default()).unwrap_or_else(|e| panic!("{e}"));
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

/// The kernels before today's with RACK, oldest first.
fn older() -> impl Iterator<Item = Release> {
    let lineage = Release::Linux6_18.lineage();
    Release::ALL
        .into_iter()
        .filter(move |release| lineage.contains(release))
        .filter(|release| *release != Release::Linux6_18 && release.lineage().contains(&Release::Linux4_18))
}

/// An older kernel with today's buffer sizes, which the scripts describe.
fn with_todays_buffers(release: Release) -> KernelProfile {
    let today = Release::Linux6_18.sysctls();
    let sysctls = Sysctls {
        tcp_rmem: today.tcp_rmem,
        rmem_max: today.rmem_max,
        wmem_max: today.wmem_max,
        ..release.sysctls()
    };
    KernelProfile { sysctls, ..release.profile() }
}

/// The scripts that describe 6.18 and not an older kernel. What the lab finds on the real 6.1 and 6.12 is compared with
/// the same list. `SLOWPATH_UPDATE=1` writes it.
#[test]
fn scripts_that_older_kernels_fail_are_listed() {
    let path = folder().join("older-kernels.txt");
    let mut found = Vec::new();
    scripts(&folder(), &mut found);
    let mut failing: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for release in older() {
        for script in &found {
            let name = script.strip_prefix(folder()).expect("below the folder").display().to_string();
            if let Outcome::Failed(_) = outcome_on(with_todays_buffers(release), script, &name) {
                failing.entry(name).or_default().push(release.name());
            }
        }
    }
    let mut text = String::from(
        "# Scripts that fail on the model of an older kernel with 6.18's buffer sizes, and that kernel.\n\
         # Each describes a change that `slowpath kernels` names. Made by SLOWPATH_UPDATE=1 cargo test -p slowpath-drill\n",
    );
    for (script, kernels) in &failing {
        text.push_str(&format!("{script} {}\n", kernels.join(" ")));
    }
    if std::env::var_os("SLOWPATH_UPDATE").is_some() {
        fs::write(&path, &text).expect("the folder is there");
    }
    let listed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        listed == text,
        "{} is not that of the model; run with SLOWPATH_UPDATE=1\n{text}",
        path.display()
    );
}

#[test]
fn every_script_begins_with_a_description() {
    let mut found = Vec::new();
    scripts(&folder(), &mut found);
    let silent: Vec<_> =
        found.iter().filter(|path| !fs::read_to_string(path).expect("a script").starts_with("// ")).collect();
    assert!(silent.is_empty(), "{silent:?}");
}
