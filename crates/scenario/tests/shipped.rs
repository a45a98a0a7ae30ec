//! The repository's scenarios are valid, and begin with what they show.

use slowpath_scenario::{Estimate, check};
use std::fs;
use std::path::{Path, PathBuf};

fn scenarios() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let inside = |folder: PathBuf| fs::read_dir(folder).expect("a folder of scenarios");
    let entries =
        ["live", "wu"].into_iter().flat_map(|name| inside(folder.join(name))).chain(inside(folder.clone()));
    let files = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    files.sort();
    files
}

#[test]
fn every_shipped_scenario_is_valid() {
    let files = scenarios();
    assert!(files.len() >= 20, "only {} scenarios", files.len());
    for file in files {
        let text = fs::read_to_string(&file).expect("a text");
        let name = file.file_name().expect("a name").to_string_lossy();
        let checked = check(&name, &text, &[], None).unwrap_or_else(|error| panic!("{error}"));
        assert!(text.starts_with("# "), "{name} does not begin with what it shows");
        assert!(!checked.scenario.title.is_empty(), "{name} has no title");
        // A full run of all of them takes minutes, not hours.
        assert!(Estimate::of(&checked.scenario).packets < 20_000_000, "{name}");
    }
}

/// A hint in a comment such as `--set hosts.receiver.kernel=6.18` must work.
#[test]
fn overrides_suggested_in_comments_are_valid() {
    let mut tried = 0;
    for file in scenarios() {
        let text = fs::read_to_string(&file).expect("a text");
        let comment: String = text.lines().filter_map(|line| line.strip_prefix('#')).collect();
        for hint in comment.split("--set ").skip(1) {
            let words = hint.split_whitespace().next().expect("a key and a value");
            let with = words.trim_end_matches(['.', ',', ';']).parse().expect("a key and a value");
            if let Err(error) = check("x.toml", &text, &[with], None) {
                panic!("{}: --set {words}: {error}", file.display());
            }
            tried += 1;
        }
    }
    assert!(tried >= 8, "only {tried} hints were found");
}
