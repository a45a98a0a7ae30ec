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
