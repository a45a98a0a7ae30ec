//! Dependencies: their licences and where they come from. `deny.toml` has the list, for cargo-deny as well.

use crate::repository::{expect_none, root};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// The licences in `deny.toml`.
fn allowed() -> Vec<String> {
    let text = fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let (_, list) = text.split_once("\nallow = [").expect("a list of licences");
    let (list, _) = list.split_once(']').expect("its end");
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// What cargo knows of all packages for this platform. Those of others may not have been downloaded.
fn packages() -> Vec<Value> {
    let output = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).current_dir(root()).output().expect("cargo");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let version = output("rustc", &["-vV"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a platform");
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let args = ["metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform", host];
    let metadata: Value = serde_json::from_str(&output(cargo, &args)).expect("JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

/// Whether an SPDX expression can be satisfied with these licences: `OR` needs one side, `AND` both.
fn is_satisfied(expression: &str, allowed: &[String]) -> bool {
    // Older crates write `/` for `OR`.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let is_satisfied = any_of(&mut words, allowed);
    is_satisfied && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut found = all_of(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        found |= all_of(words, allowed);
    }
    found
}

fn all_of(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut found = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        found &= one(words, allowed);
    }
    found
}

fn one(words: &mut Words<'_>, allowed: &[String]) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let found = any_of(words, allowed);
        return words.next() == Some(")") && found;
    }
    let Some(licence) = words.next() else { return false };
    let with = words.next_if_eq(&"WITH").and_then(|_| words.next());
    let named = with.map_or_else(|| licence.to_owned(), |exception| format!("{licence} WITH {exception}"));
    allowed.contains(&named)
}

#[test]
fn every_dependency_has_an_allowed_licence_and_one_source() {
    let (packages, allowed) = (packages(), allowed());
    assert!(packages.len() > 100 && allowed.len() > 5, "{} packages, {allowed:?}", packages.len());
    let mut sources: Vec<&str> = packages.iter().filter_map(|package| package["source"].as_str()).collect();
    sources.sort_unstable();
    sources.dedup();
    assert!(sources.len() == 1 && sources[0].starts_with("registry+"), "{sources:?}");
    let mut wrong = Vec::new();
    for package in &packages {
        let licence = package["license"].as_str().unwrap_or("none");
        if !is_satisfied(licence, &allowed) {
            wrong.push(format!("{} {}: {licence}", package["name"], package["version"]));
        }
    }
    expect_none(&wrong, "dependencies with licences that deny.toml does not allow:");
}

#[test]
fn licence_expressions_are_understood() {
    let allowed = ["MIT", "Apache-2.0", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
    for satisfied in [
        "MIT",
        "GPL-3.0 OR MIT",
        "MIT/GPL-3.0",
        "(MIT OR GPL-3.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
        "GPL-3.0 AND ISC OR MIT",
    ] {
        assert!(is_satisfied(satisfied, &allowed), "{satisfied}");
    }
    for not in [
        "",
        "none",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR ISC) AND GPL-3.0",
        "(MIT",
        "MIT MIT",
        "MIT WITH x",
    ] {
        assert!(!is_satisfied(not, &allowed), "{not}");
    }
}
