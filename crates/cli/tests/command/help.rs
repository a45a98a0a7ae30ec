//! The complete help texts.

use crate::captures::Captures;
use crate::{outcome, run};

const COMMANDS: [&str; 17] = [
    "anonymize",
    "diagnose",
    "diff",
    "show",
    "flows",
    "causes",
    "doctor",
    "tune",
    "paths",
    "probe",
    "drill",
    "run",
    "sweep",
    "scenario",
    "kernels",
    "completions",
    "man",
];

/// The long help of every command.
pub fn pages(folder: &Captures) -> Vec<String> {
    let mut pages = vec![outcome(&run(folder, &["--help"])).1];
    pages.extend(COMMANDS.map(|command| outcome(&run(folder, &[command, "--help"])).1));
    pages
}

#[test]
fn long_help() {
    let folder = Captures::new();
    insta::assert_snapshot!(pages(&folder).join("\n=====\n\n"));
}

#[test]
fn short_help() {
    let folder = Captures::new();
    insta::assert_snapshot!(outcome(&run(&folder, &["-h"])).1);
}
