//! The handbook is complete: every cause has its page with all sections, the table of contents lists every page, links
//! resolve, and every measure of a report is defined.

use slowpath_analyses::{Cause, ReportedBy};
use slowpath_remedies::handbook_text;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The sections of a cause's page, in this order.
const SECTIONS: [&str; 6] = [
    "## What it is",
    "## How slowpath recognises it",
    "## What else looks like it",
    "## What to change",
    "## What it looks like",
    "## Sources",
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn source() -> PathBuf {
    repository().join("docs/src")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All pages, as paths below `docs/src`.
fn pages() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![source()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let below = path.strip_prefix(source()).expect("below docs/src");
                found.insert(below.to_string_lossy().into_owned());
            }
        }
    }
    found
}

/// The targets of `[text](target)` in a page.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
}

#[test]
fn every_cause_has_a_complete_page() {
    for cause in Cause::ALL {
        let page = read(&source().join(cause.page()));
        assert_eq!(page, handbook_text(*cause), "{cause}");
        assert!(page.starts_with("# "), "{cause}: a title");
        assert!(page.contains(&format!("\n`{cause}`\n")), "{cause}: its name below the title");
        let mut at = 0;
        for section in SECTIONS {
            let found = page[at..].find(&format!("\n{section}\n\n"));
            at += found.unwrap_or_else(|| panic!("{cause}: \"{section}\" is missing or out of order"));
        }
        assert!(page[at..].contains("\n- "), "{cause}: at least one source");
        let captures = usize::from(cause.is_reported_by(ReportedBy::Capture));
        assert_eq!(
            page.matches("<!-- capture: ").count(),
            captures,
            "{cause}: a capture where one can show it"
        );
    }
}

#[test]
fn summary_lists_every_page_once() {
    let summary = read(&source().join("SUMMARY.md"));
    let listed: Vec<String> =
        links(&summary).filter(|target| !target.is_empty()).map(str::to_owned).collect();
    let unique: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), unique.len(), "a page is listed twice");
    let mut expected = pages();
    expected.remove("SUMMARY.md");
    assert_eq!(unique, expected);
    for page in &unique {
        let title = read(&source().join(page)).lines().next().unwrap_or_default().replace("# ", "");
        assert!(summary.contains(&format!("[{title}]({page})")), "{page}: its title is \"{title}\"");
    }
}

/// The anchor of a heading, as mdBook makes it; empty for any other line.
fn anchor_of(line: &str) -> String {
    let title = line.trim_start_matches('#');
    let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    if title == line {
        return String::new();
    }
    title.trim().to_lowercase().chars().filter(is_kept).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn handbook_links_resolve() {
    for page in pages() {
        let path = source().join(&page);
        let folder = path.parent().expect("a folder");
        for target in links(&read(&path)).filter(|target| !target.is_empty() && !target.contains("://")) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let linked = if file.is_empty() { path.clone() } else { folder.join(file) };
            assert!(linked.is_file(), "{page}: {target}");
            let has_anchor = || read(&linked).lines().any(|line| anchor_of(line) == anchor);
            assert!(
                anchor.is_empty() || !file.ends_with("md") && !file.is_empty() || has_anchor(),
                "{page}: {target}"
            );
        }
    }
}

/// A capture named by a page is shipped.
#[test]
fn captures_named_by_variant_are_shipped() {
    let shipped = repository().join("captures/shipped");
    for page in pages() {
        for name in read(&source().join(&page)).split("<!-- capture: ").skip(1) {
            let name = name.split(" -->").next().unwrap_or_default();
            let variant = name.contains(|c: char| c.is_ascii_digit());
            assert!(!variant || shipped.join(name).is_dir(), "{page}: {name}");
        }
    }
}

#[test]
fn every_measure_of_a_report_is_defined() {
    let measures = read(&source().join("measures.md"));
    let report = read(&repository().join("crates/analyses/src/report.rs"));
    for line in report.lines() {
        let Some(name) = line.trim().strip_prefix("pub ").and_then(|rest| rest.split_once(':')) else {
            continue;
        };
        if name.0.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
            assert!(measures.contains(&format!("`{}`", name.0)), "measures.md does not define `{}`", name.0);
        }
    }
}

#[test]
fn handbook_names_only_documented_sysctls() {
    let allowed = read(&repository().join("crates/remedies/tests/advice.rs"));
    // The reference page is generated by the program, from its own list.
    for page in pages().into_iter().filter(|page| page != "scenario-reference.md") {
        let text = read(&source().join(&page));
        for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '_')) {
            let word = word.trim_matches('.');
            if ["net.ipv4.", "net.core.", "net.netfilter."].iter().any(|start| word.starts_with(start)) {
                assert!(allowed.contains(&format!("\"{word}\"")), "{page}: {word}");
            }
        }
    }
}
