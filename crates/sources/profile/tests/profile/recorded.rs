//! Recordings of `perf record` on this machine, compared with `perf script`.

use crate::stacks::{profile, read_bytes, stack_lines};
use slowpath_cost::Profile;
use slowpath_profile::{Format, Oddity};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, Stdio};
use tempfile::{TempDir, tempdir};

/// perf's recording of a short program; prints why if perf is missing or not permitted.
fn record(test: &str, folder: &TempDir, arguments: &[&str]) -> Option<Vec<u8>> {
    let file = folder.path().join("perf.data");
    let program = ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=20000"];
    let output = Command::new("perf")
        .args(["record", "-q", "-o"])
        .arg(&file)
        .args(arguments)
        .arg("--")
        .args(["sh", "-c", &format!("{}; exec {}", program.join(" "), program.join(" "))])
        .stdin(Stdio::null())
        .output();
    let reason = match output {
        Err(error) => format!("perf does not start: {error}"),
        Ok(output) if !output.status.success() => {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            text.lines().find(|line| !line.is_empty()).unwrap_or("perf record fails").to_owned()
        }
        Ok(_) => return Some(fs::read(&file).unwrap()),
    };
    println!("not judged: {test}: {reason}");
    None
}

fn script(folder: &TempDir) -> Vec<u8> {
    let file = folder.path().join("perf.data");
    let output = Command::new("perf").args(["script", "-i"]).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// A frame, with known differences between slowpath and perf removed.
fn alike(frame: &str) -> String {
    let (name, image) = frame.rsplit_once(" (").unwrap();
    match (name, image) {
        // slowpath names the entry point of an ELF file `_start`, with or without symbols.
        ("_start", "dash)" | "dd)") => "[0x…]".to_owned(),
        // perf reads its own vDSO. It shows an unresolved address as one in memory if there is no stack, and as one in
        // the file if there is.
        (_, "[vdso])") => "[0x…]".to_owned(),
        // perf names the entries of the PLT, slowpath does not.
        _ if name.ends_with("@plt") || name.starts_with("[0x") => "[0x…]".to_owned(),
        _ => frame.to_owned(),
    }
}

/// Lines that only one of the two has.
fn differences(ours: &Profile, perfs: &Profile, is_group: bool) -> Vec<String> {
    let lines = |profile| -> BTreeSet<String> {
        let mut counts = BTreeMap::<String, (u64, u64)>::new();
        for (line, (samples, weight)) in stack_lines(profile) {
            // perf makes a sample for each member of a group, weighted by its count; slowpath keeps the leader's only.
            if is_group && !line.starts_with("cpu-clock ") {
                continue;
            }
            let weight = if is_group { 0 } else { weight };
            let (task, stack) = line.split_once(": ").unwrap();
            // Without frames: perf discards a whole stack if its frame pointers lead to an impossible address.
            let frames = stack.trim_start_matches("… ").split("; ").filter(|frame| !frame.is_empty());
            let frames: Vec<String> = frames.map(alike).collect();
            let line = format!("{task}: {}", frames.join("; "));
            let count = counts.entry(line).or_default();
            *count = (count.0 + samples, count.1 + weight);
        }
        counts.into_iter().map(|(line, (samples, weight))| format!("{line} {samples} {weight}")).collect()
    };
    let (ours, perfs) = (lines(ours), lines(perfs));
    let only = |whose, a: &BTreeSet<String>, b: &BTreeSet<String>| -> Vec<String> {
        a.difference(b).map(|line| format!("{whose}: {line}")).collect()
    };
    [only("ours", &ours, &perfs), only("perf's", &perfs, &ours)].concat()
}

fn samples(profile: &Profile) -> u64 {
    profile.entries.iter().map(|entry| entry.samples).sum()
}

/// Every event, task, stack, count and weight equals perf's.
fn agrees(test: &str, arguments: &[&str]) {
    let folder = tempdir().unwrap();
    let Some(bytes) = record(test, &folder, arguments) else { return };
    let text = script(&folder);
    let (ours, perfs) = (read_bytes(&bytes).unwrap(), read_bytes(&text).unwrap());
    assert_eq!((ours.format, perfs.format), (Format::PerfData, Format::PerfScript));
    assert_eq!((&ours.stopped, &perfs.stopped), (&None, &None));
    let (of_ours, of_perfs) = (profile(&ours), profile(&perfs));
    assert!(samples(of_ours) > 20, "{test}: few samples");
    let differences = differences(of_ours, of_perfs, test == "group");
    let lost = [of_ours.lost, of_perfs.lost].map(|lost| [lost.samples, lost.without_stack, lost.unreadable]);
    let discarded = lost[1][1].saturating_sub(lost[0][1]);
    // If a return address is the start of a function, the call is the last instruction of the function before it, which
    // perf does not show. Each such sample, and each whose stack perf discards, may differ in one line of each side.
    let at_first = String::from_utf8_lossy(&text).matches("+0x0 (").count();
    let differ = differences.len() as u64;
    assert!(differ <= 2 * (at_first as u64 + discarded), "{test}:\n{}", differences.join("\n"));
    let but_discarded = [lost[1][0], lost[1][1] - discarded, lost[1][2]];
    assert!(lost[0] == but_discarded || test == "group", "{test}: {lost:?}");
    assert!(discarded * 50 <= samples(of_perfs), "{test}: perf discarded {discarded} stacks");
    let mut units: Vec<_> = of_ours.events.iter().map(|event| (&event.name, event.unit)).collect();
    units.sort();
    assert!(!units.is_empty() && units.iter().all(|(name, unit)| !name.ends_with("-clock") || *unit == "ns"));
}

#[test]
fn stacks_match_perf_script() {
    agrees("stacks", &["-g", "-e", "cpu-clock", "-F", "1999"]);
}

#[test]
fn compressed_records_match_perf_script() {
    agrees("packed", &["-z", "-g", "-e", "cpu-clock", "-F", "1999"]);
}

#[test]
fn samples_without_call_chains_match_perf_script() {
    agrees("flat", &["-e", "cpu-clock", "-F", "1999"]);
}

#[test]
fn multiple_events_match_perf_script() {
    agrees("events", &["-g", "-e", "cpu-clock,task-clock,page-faults", "-F", "1999"]);
    // With the values of a group, a sample's stack is not at a fixed place.
    agrees("group", &["-g", "-e", "{cpu-clock,page-faults}:S", "-F", "1999"]);
}

#[test]
fn piped_recording_equals_the_file() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("perf.data");
    let (mut from_file, mut recordings) = (None, 0);
    // `perf inject` loses the names of BPF programs, which other tests may run at this time: then the program records again.
    while from_file.is_none() {
        let Some(bytes) = record("pipe", &folder, &["-g", "-e", "cpu-clock", "-F", "1999"]) else { return };
        let lines = stack_lines(profile(&read_bytes(&bytes).unwrap()));
        let has_bpf = lines.keys().any(|line| line.contains("(module bpf)"));
        from_file = (!has_bpf).then_some(lines);
        recordings += 1;
        assert!(recordings < 20, "every recording has a BPF program");
    }
    let inject = |arguments: &[&str]| {
        let output =
            Command::new("perf").arg("inject").args(arguments).arg("-i").arg(&file).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    // Pipe format has no sections: attrs, names and build-ids are records.
    let piped = inject(&["-o", "-"]);
    assert_eq!(piped[8..16], 16u64.to_ne_bytes());
    let from_pipe = read_bytes(&piped).unwrap();
    assert_eq!(Some(stack_lines(profile(&from_pipe))), from_file);
}

#[test]
fn unfinished_recording_is_read() {
    let folder = tempdir().unwrap();
    let Some(mut bytes) = record("unfinished", &folder, &["-g", "-e", "cpu-clock", "-F", "1999"]) else {
        return;
    };
    let whole = read_bytes(&bytes).unwrap();
    let field = |bytes: &[u8], at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let end = field(&bytes, 40) + field(&bytes, 48);
    // perf writes its header's `data.size` and everything after the data when it ends.
    bytes.truncate(end);
    bytes[48..56].fill(0);
    let input = read_bytes(&bytes).unwrap();
    assert_eq!(input.stopped, None);
    assert!(input.notes.iter().any(|note| note.oddity == Oddity::Unfinished), "{:?}", input.notes);
    assert_eq!(stack_lines(profile(&input)), stack_lines(profile(&whole)));
}
