//! Cases of the cookbook.

use crate::captures::Captures;
use crate::{json, outcome, run};
use std::fs;
use std::path::{Path, PathBuf};

fn captures(set: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(set)
}

/// The recordings of both ends of a labelled case.
fn both_ends(case: &Path) -> [String; 2] {
    let files = fs::read_dir(case).expect("a folder").map(|entry| entry.expect("an entry").path());
    let files: Vec<PathBuf> = files.collect();
    ["sender.pcap", "receiver.pcap"].map(|end| {
        let is_of =
            |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(end));
        files.iter().find(is_of).expect("a recording").display().to_string()
    })
}

fn add(folder: &Captures, captures: &[&str]) -> (i32, String, String) {
    let texts = ["--title", "Slow", "--what-helped", "A larger buffer", "--out", "case", "--json"];
    outcome(&run(folder, &[&["cookbook", "add"], captures, &texts].concat()))
}

#[test]
fn stored_cases_keep_their_verdicts() {
    let folder = Captures::new();
    let cases = captures("cookbook").display().to_string();
    let (code, out, err) = outcome(&run(&folder, &["cookbook", "check", &cases]));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.lines().count() >= 1, "{out}");
}

/// `add` itself compares the verdicts on the original and on the copy.
#[test]
fn anonymised_transfers_have_the_same_verdicts() {
    let all = fs::read_dir(captures("shipped")).expect("a folder");
    let mut all: Vec<PathBuf> = all.map(|entry| entry.expect("an entry").path()).collect();
    all.sort();
    for case in all.iter().step_by(9) {
        let folder = Captures::new();
        let [sender, receiver] = both_ends(case);
        let (code, _, err) = add(&folder, &[&sender, &receiver]);
        assert_eq!((code, err.as_str()), (0, ""), "{}", case.display());
    }
}

#[test]
fn case_is_written_checked_and_found_to_have_changed() {
    let folder = Captures::new();
    let [sender, _] = both_ends(&captures("shipped").join("cached-ssthresh-40mbit-80ms-12packets-cubic"));
    let (code, out, err) = add(&folder, &[&sender]);
    assert_eq!((code, err.as_str()), (0, ""));
    let case = &json(&out)["cases"][0];
    assert_eq!((&case["title"], &case["changes"]), (&"Slow".into(), &serde_json::json!([])));
    assert_eq!(case["flows"][0]["main_cause"], "congestion-window/early-exit");
    let readme = fs::read_to_string(folder.path("case/README.md")).expect("a description");
    for part in
        ["# Slow\n", "## Symptom", "congestion-window/early-exit", "## What helped\n\nA larger buffer\n"]
    {
        assert!(readme.contains(part), "{part}: {readme}");
    }
    // Nothing is overwritten.
    let (code, _, err) = add(&folder, &[&sender]);
    assert!(code == 2 && err.contains("case: exists already; name a new folder for --out"), "{err}");
    let verdict = folder.path("case/verdict.json");
    let text = fs::read_to_string(&verdict).expect("a verdict");
    let check = || outcome(&run(&folder, &["cookbook", "check", "case"]));
    assert_eq!(check().0, 0);
    fs::write(&verdict, text.replacen("congestion-window/early-exit", "path/policer", 1)).expect("written");
    let (code, out, _) = check();
    assert!(code == 1 && out.contains("flow 1: path/policer became congestion-window/early-exit"), "{out}");
    for (wrong, why) in [
        (text.replace("\"format\": 1", "\"format\": 7"), "verdict.json: format: 7 is not 1"),
        (text.replace("recording.pcap.zst", "../../secret"), "recordings.file: \"../../secret\""),
        (text.replace("\"title\"", "\"titel\""), "unknown field `titel`"),
    ] {
        fs::write(&verdict, wrong).expect("written");
        let (code, out, err) = check();
        assert!(code == 2 && out.is_empty() && err.contains(why), "{err}");
    }
}

#[test]
fn captures_that_make_no_case_are_refused_and_leave_no_folder() {
    let folder = Captures::new();
    folder.write("empty.pcap", b"");
    folder.write("text.pcap", b"no capture at all, but text");
    for (capture, why) in [
        ("nowhere.pcap", "nowhere.pcap: is no capture file"),
        ("empty.pcap", "empty.pcap"),
        ("text.pcap", "text.pcap"),
    ] {
        let (code, out, err) = add(&folder, &[capture]);
        assert!(code == 2 && out.is_empty() && err.contains(why), "{capture}: {err}");
        assert!(!folder.path("case").exists(), "{capture}");
    }
    let (code, _, err) = outcome(&run(&folder, &["cookbook", "check", "."]));
    assert!(code == 2 && err.contains("has no case; `slowpath cookbook add` writes one"), "{err}");
}
