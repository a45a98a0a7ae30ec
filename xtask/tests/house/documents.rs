//! Links between documents resolve.

use crate::repository::{Text, expect_none, root, texts};
use std::path::Path;

/// The targets of a document's links and pictures, with their lines; code is left out.
fn links(file: &Text) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_block = false;
    for (number, line) in file.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        // Every second part is between backticks.
        for prose in line.split('`').step_by(2) {
            for rest in prose.split("](").skip(1) {
                if let Some((target, _)) = rest.split_once(')') {
                    found.push((number, target.to_owned()));
                }
            }
        }
    }
    found
}

#[test]
fn links_between_documents_resolve() {
    let root = root();
    let mut wrong = Vec::new();
    let mut followed = 0;
    for file in texts().iter().filter(|file| file.is(&[".md"])) {
        let folder = Path::new(&file.path).parent().expect("a file is in a folder");
        for (number, target) in links(file) {
            let path = target.split(['#', ' ']).next().unwrap_or_default();
            if path.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            followed += 1;
            if !root.join(folder).join(path).exists() {
                wrong.push(format!("{}:{number}: {target}", file.path));
            }
        }
    }
    assert!(followed > 50, "only {followed} links were found");
    expect_none(&wrong, "broken links:");
}

#[test]
fn summary_lists_all_handbook_pages() {
    let all = texts();
    let summary = all.iter().find(|file| file.path == "docs/src/SUMMARY.md").expect("docs/src/SUMMARY.md");
    let listed: Vec<String> =
        links(summary).into_iter().map(|(_, target)| format!("docs/src/{target}")).collect();
    let missing: Vec<String> = all
        .iter()
        .filter(|file| file.path.starts_with("docs/src/") && file.is(&[".md"]))
        .filter(|file| file.path != "docs/src/SUMMARY.md" && !listed.contains(&file.path))
        .map(|file| file.path.clone())
        .collect();
    expect_none(&missing, "not in docs/src/SUMMARY.md:");
}

#[test]
fn readme_describes_each_crate() {
    let all = texts();
    let readme = all.iter().find(|file| file.path == "README.md").expect("README.md");
    let folders: Vec<&str> = all
        .iter()
        .filter_map(|file| file.path.strip_suffix("/Cargo.toml"))
        .filter(|folder| folder.starts_with("crates/"))
        .collect();
    assert!(folders.len() > 15, "only {folders:?} were found");
    let missing: Vec<String> = folders
        .into_iter()
        .filter(|folder| !readme.text.contains(&format!("(`{folder}`)")))
        .map(str::to_owned)
        .collect();
    expect_none(&missing, "README.md does not describe:");
}

#[test]
fn links_are_found_outside_code() {
    let text = "see [a](b.md#c) and `x[0](y)` and ![p](q.svg)\n```sh\n[not](this)\n```\n[z](w)".to_owned();
    let file = Text { path: "x.md".to_owned(), text };
    let targets: Vec<String> = links(&file).into_iter().map(|(_, target)| target).collect();
    assert_eq!(targets, ["b.md#c", "q.svg", "w"]);
}
