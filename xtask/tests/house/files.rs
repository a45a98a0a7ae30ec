//! Contents that no file may have, and its maximum length.

use crate::repository::{expect_none, texts};

/// A file has one subject; past this length it has two.
const MOST_LINES: usize = 700;

/// Source files that people write.
const SOURCES: &[&str] = &[".rs", ".ts", ".mjs", ".c", ".h", ".py"];

#[test]
fn no_file_is_too_long() {
    let mut wrong = Vec::new();
    for file in texts().iter().filter(|file| file.is(SOURCES)) {
        let lines = file.lines().count();
        if lines > MOST_LINES {
            wrong.push(format!("{}: {lines} lines", file.path));
        }
    }
    expect_none(&wrong, &format!("longer than {MOST_LINES} lines:"));
}

#[test]
fn no_todo_or_debug_macros_are_left() {
    // Put together here, so that this file does not contain them.
    let left = ["todo", "unimplemented", "dbg"].map(|name| format!("{name}!("));
    let mut wrong = Vec::new();
    for file in texts().iter().filter(|file| file.is(&[".rs"])) {
        for (number, line) in file.lines() {
            if let Some(found) = left.iter().find(|macro_call| line.contains(*macro_call)) {
                wrong.push(format!("{}:{number}: {found}…)", file.path));
            }
        }
    }
    expect_none(&wrong, "to-do or debug macros:");
}

#[test]
fn lints_are_silenced_with_a_reason() {
    let mut wrong = Vec::new();
    for file in texts().iter().filter(|file| file.is(&[".rs"])) {
        let bare = ["allow", "cfg_attr(test, allow"].map(|name| format!("#[{name}("));
        for (number, line) in file.lines() {
            if bare.iter().any(|attribute| line.trim_start().starts_with(attribute)) {
                wrong.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    expect_none(&wrong, "use #[expect(lint, reason = \"…\")]:");
}

#[test]
fn nothing_names_the_machine_it_was_written_on() {
    // Folders of one machine, and hosts that packages come from: neither means anything elsewhere.
    let folders = ["work", "root", "home", "Users", "tmp/target"].map(|name| format!("/{name}/"));
    let hosts = ["registry", "mirror", "proxy", "nexus", "artifactory", "debian.org", "pypi", "npmjs"];
    let mut wrong = Vec::new();
    for file in texts() {
        for (number, line) in file.lines() {
            let names_folder = folders.iter().any(|folder| names_path(line, folder));
            // Cargo.lock calls its one index a registry, by the address that every Cargo.lock has.
            let host = line.split("://").skip(1).filter_map(|rest| rest.split(['/', '"', ' ']).next());
            let names_host = host.into_iter().any(|host| hosts.iter().any(|part| host.contains(part)));
            if names_folder || names_host {
                wrong.push(format!(
                    "{}:{number}: {}",
                    file.path,
                    line.trim().chars().take(80).collect::<String>()
                ));
            }
        }
    }
    expect_none(&wrong, "machine-specific paths or hosts:");
}

/// Whether `line` has the absolute path `folder`, not a longer path that has the same name inside it.
fn names_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        !line[..at].ends_with(|before: char| before.is_alphanumeric() || ".-_~*}".contains(before))
    })
}
