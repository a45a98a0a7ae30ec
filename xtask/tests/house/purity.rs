//! Pure crates use no clock, randomness, threads or I/O.

use crate::dependencies::{PURE, PURE_PARTS, sources_of};
use crate::repository::{expect_none, texts};

/// Paths by which the standard library reaches the system. `std::net` is not among them: addresses are values.
const REACHING_OUT: &[&str] = &[
    "SystemTime",
    "std::time::Instant",
    "Instant::now",
    "std::thread",
    "std::fs",
    "std::process",
    "std::env",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "ToSocketAddrs",
    "io::stdin",
    "io::stdout",
    "io::stderr",
    "println!",
    "eprintln!",
    "unsafe ",
];

/// What comes before `// …`: a comment may name what the code must not.
fn code(line: &str) -> &str {
    line.split_once("//").map_or(line, |(code, _)| code)
}

#[test]
fn pure_crates_do_not_touch_the_system() {
    let parts = PURE_PARTS.iter().map(|part| (*part).to_owned());
    // A part is a folder and the file of its name.
    let parts = parts.flat_map(|part| [format!("{part}/"), format!("{part}.rs")]);
    let folders: Vec<String> =
        PURE.iter().map(|name| format!("{}/", sources_of(name))).chain(parts).collect();
    let mut wrong = Vec::new();
    let mut read = 0;
    for file in texts() {
        if !file.is(&[".rs"]) || !folders.iter().any(|folder| file.path.starts_with(folder)) {
            continue;
        }
        read += 1;
        for (number, line) in file.lines() {
            if let Some(found) = REACHING_OUT.iter().find(|path| code(line).contains(**path)) {
                wrong.push(format!("{}:{number}: {}", file.path, found.trim()));
            }
        }
    }
    assert!(read >= 20, "only {read} files of pure crates were found");
    expect_none(&wrong, "a pure crate touches the system:");
}

/// What writes to a terminal.
const PRINTS: &[&str] = &["println!", "eprintln!", " print!", " eprint!", "io::stdout", "io::stderr"];

/// Where that is allowed: all other output goes through the first of these, which escapes what a terminal would obey.
const MAY_PRINT: &[&str] = &[
    "crates/cli/src/console.rs",
    // What is recorded is the user's own command, whose output is its own.
    "crates/sources/profile/src/record/command.rs",
    // It asks whether there is a terminal. What is drawn are cells of a screen, which take no controls.
    "crates/watch/src/real.rs",
];

#[test]
fn only_the_console_prints() {
    let (mut wrong, mut read) = (Vec::new(), 0);
    for file in texts().iter().filter(|file| file.is(&[".rs"]) && file.path.starts_with("crates/")) {
        if !file.path.contains("/src/") || MAY_PRINT.contains(&&*file.path) {
            continue;
        }
        read += 1;
        for (number, line) in file.lines() {
            if let Some(found) = PRINTS.iter().find(|print| code(line).contains(**print)) {
                wrong.push(format!("{}:{number}: {}", file.path, found.trim()));
            }
        }
    }
    assert!(read >= 300, "only {read} files were found");
    expect_none(&wrong, "prints without crates/cli/src/console.rs:");
}
