//! JSON documents are made of types of `views`.
//!
//! Each type of a document derives a schema as well, which the types of its fields must have; and no other crate can
//! derive one. So a document with a type of another crate does not compile.

use crate::dependencies::{HTTP, LAB, LIVE, PATH, PATHS, PROFILE, RUNS, VIEWS, packages, sources_of, text};
use crate::repository::{expect_none, texts};
use std::collections::BTreeSet;

/// The crates that write JSON, and why.
const WRITES_JSON: &[(&str, &str)] = &[
    (VIEWS, "documents"),
    (LAB, "a run's files, such as truth.json, which are read back"),
    (PATH, "the path in a run's files"),
    (LIVE, "TCP_INFO in a run's files"),
    ("slowpath-uapi", "a CPU's time in a run's files"),
    (PROFILE, "the work next to a profile, which is read back"),
    (RUNS, "a paper's stored cases, which are read back"),
    ("slowpath-tune", "a journal, which is read back"),
    (HTTP, "why a server refuses a request"),
    (PATHS, "what its server and its clients say to each other, which both read"),
    ("xtask", "scores"),
];

/// The crates that derive schemas. That of `profile` is of the work next to a profile, a file format.
const HAS_SCHEMAS: &[&str] = &[VIEWS, PROFILE];

/// The crates that depend on one of these, except for tests.
fn dependents(on: &[&str]) -> BTreeSet<String> {
    let packages = packages();
    let depends = packages.iter().filter(|package| {
        let dependencies = package["dependencies"].as_array().expect("dependencies");
        dependencies.iter().any(|one| one["kind"].is_null() && on.contains(&text(&one["name"])))
    });
    depends.map(|package| text(&package["name"]).to_owned()).collect()
}

#[test]
fn only_listed_crates_write_json() {
    let listed = WRITES_JSON.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(dependents(&["serde", "serde_json"]), listed);
}

#[test]
fn only_views_and_profile_depend_on_schemas() {
    let listed = HAS_SCHEMAS.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(dependents(&["schemars"]), listed);
}

#[test]
fn every_document_type_has_a_schema() {
    let sources = format!("{}/", sources_of(VIEWS));
    let (mut serialised, mut wrong) = (0, Vec::new());
    for file in texts().iter().filter(|file| file.is(&[".rs"]) && file.path.starts_with(&sources)) {
        for (number, line) in file.lines() {
            let is_derived = line.contains("derive(") && line.contains("Serialize");
            serialised += usize::from(is_derived);
            if line.contains("Serialize for") || is_derived && !line.contains("JsonSchema") {
                wrong.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    assert!(serialised >= 100, "only {serialised} types of documents were found");
    expect_none(&wrong, "serialised without a schema:");
}

/// JSON that is printed, or stands in a page, has escapes for all that a terminal or a browser would obey.
#[test]
fn views_write_json_in_one_place() {
    let sources = format!("{}/", sources_of(VIEWS));
    let mut wrong = Vec::new();
    for file in texts().iter().filter(|file| file.is(&[".rs"]) && file.path.starts_with(&sources)) {
        for (number, line) in file.lines() {
            if ["serde_json::to_", "Serializer::"].iter().any(|writer| line.contains(writer))
                && file.path != format!("{sources}json/mod.rs")
            {
                wrong.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    expect_none(&wrong, "writes JSON without crates/views/src/json/mod.rs:");
}
