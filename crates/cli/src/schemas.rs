//! The schemas of the documents that only the command line has.

use crate::{explain, live, probe, profile};
use std::path::PathBuf;

/// They are checked in, since other programs are written against them. `SLOWPATH_UPDATE=1` writes them anew.
#[test]
fn checked_in_schemas_are_those_of_the_code() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("schema");
    for (name, schema) in [
        ("live-1", schemars::schema_for!(live::Document<'static>)),
        ("explain-buffer-1", schemars::schema_for!(explain::BufferDocument)),
        ("explain-wait-1", schemars::schema_for!(explain::WaitDocument)),
        ("probe-1", schemars::schema_for!(probe::Document<'static>)),
        ("profile-record-1", schemars::schema_for!(profile::record::Document<'static>)),
        ("work-1", schemars::schema_for!(slowpath_profile::work::Document<'static>)),
        ("profile-top-1", schemars::schema_for!(profile::top::Document<'static>)),
        ("profile-descendants-1", schemars::schema_for!(profile::descendants::Document<'static>)),
        ("profile-calltree-1", schemars::schema_for!(profile::calltree::Document<'static>)),
        ("profile-attribution-1", schemars::schema_for!(profile::attribute::Document<'static>)),
        ("profile-costs-1", schemars::schema_for!(profile::costs::Document<'static>)),
        ("profile-comparison-1", schemars::schema_for!(profile::compare::Document<'static>)),
        ("paper-1", schemars::schema_for!(slowpath_papers::Report)),
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
