//! The schemas of all documents.

use crate::{doctor, drill, explain, json, lab, live, page, papers, probe, profile, run, sweep, tunings};

/// The schema of every document, with the name of its file.
pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
    vec![
        ("diagnosis-1", schemars::schema_for!(json::Diagnosis<'static>)),
        ("flows-1", schemars::schema_for!(json::FlowList<'static>)),
        ("event-1", schemars::schema_for!(json::EventLine)),
        ("causes-1", schemars::schema_for!(json::Causes)),
        ("live-1", schemars::schema_for!(live::Document<'static>)),
        ("explain-buffer-1", schemars::schema_for!(explain::Buffer)),
        ("explain-wait-1", schemars::schema_for!(explain::Wait)),
        ("probe-1", schemars::schema_for!(probe::Document<'static>)),
        ("profile-record-1", schemars::schema_for!(profile::record::Document<'static>)),
        ("profile-top-1", schemars::schema_for!(profile::top::Document<'static>)),
        ("profile-descendants-1", schemars::schema_for!(profile::descendants::Document<'static>)),
        ("profile-calltree-1", schemars::schema_for!(profile::calltree::Document<'static>)),
        ("profile-attribution-1", schemars::schema_for!(profile::attribute::Document<'static>)),
        ("profile-costs-1", schemars::schema_for!(profile::costs::Document<'static>)),
        ("profile-comparison-1", schemars::schema_for!(profile::compare::Document<'static>)),
        ("work-1", schemars::schema_for!(slowpath_profile::work::Document<'static>)),
        ("paper-1", schemars::schema_for!(papers::Document)),
        ("doctor-1", schemars::schema_for!(doctor::Document)),
        ("drill-1", schemars::schema_for!(drill::Document<'static>)),
        ("lab-check-1", schemars::schema_for!(lab::Check<'static>)),
        ("lab-compare-1", schemars::schema_for!(lab::Comparison<'static>)),
        ("lab-run-1", schemars::schema_for!(lab::Document<'static>)),
        ("run-1", schemars::schema_for!(run::Document<'static>)),
        ("sweep-1", schemars::schema_for!(sweep::Document<'static>)),
        ("tunings-1", schemars::schema_for!(tunings::Document)),
        ("page-1", schemars::schema_for!(page::Page)),
    ]
}
