//! The schemas of the documents that only the command line has.

use crate::{lab, run, sweep, tunings};
use std::path::PathBuf;

/// They are checked in, since other programs are written against them. `SLOWPATH_UPDATE=1` writes them anew.
#[test]
fn checked_in_schemas_are_those_of_the_code() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("schema");
    for (name, schema) in [
        ("run-1", schemars::schema_for!(run::Document<'static>)),
        ("sweep-1", schemars::schema_for!(sweep::Document<'static>)),
        ("tunings-1", schemars::schema_for!(tunings::TuningsDocument)),
        ("lab-run-1", schemars::schema_for!(lab::RunDocument<'static>)),
        ("lab-compare-1", schemars::schema_for!(lab::CompareDocument<'static>)),
    ] {
        let path = folder.join(format!("{name}.json"));
        let wanted = serde_json::to_string_pretty(&schema).expect("plain data") + "\n";
        if std::env::var_os("SLOWPATH_UPDATE").is_some() {
            std::fs::write(&path, &wanted).expect("the folder is there");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == wanted, "{} is not that of the code; run with SLOWPATH_UPDATE=1", path.display());
    }
}
