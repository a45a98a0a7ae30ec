//! The schemas of all documents.

use crate::{
    cookbook, copy, doctor, drill, explain, ftp, json, kernels, lab, live, page, papers, paths, probe,
    profile, run, sweep, tune, tunings,
};

/// The schema of every document, with the name of its file.
pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
    vec![
        ("diagnosis-1", schemars::schema_for!(json::Diagnosis<'static>)),
        ("flows-1", schemars::schema_for!(json::FlowList<'static>)),
        ("event-1", schemars::schema_for!(json::EventLine)),
        ("causes-1", schemars::schema_for!(json::Causes)),
        ("live-1", schemars::schema_for!(live::LiveDocument<'static>)),
        ("ftp-1", schemars::schema_for!(ftp::FtpDocument<'static>)),
        ("kernels-1", schemars::schema_for!(kernels::Table)),
        ("explain-buffer-1", schemars::schema_for!(explain::Buffer)),
        ("explain-wait-1", schemars::schema_for!(explain::Wait)),
        ("probe-1", schemars::schema_for!(probe::ProbeDocument<'static>)),
        ("copy-1", schemars::schema_for!(copy::CopyDocument<'static>)),
        ("profile-record-1", schemars::schema_for!(profile::record::ProfileRecordDocument<'static>)),
        ("profile-top-1", schemars::schema_for!(profile::top::TopDocument<'static>)),
        ("profile-descendants-1", schemars::schema_for!(profile::descendants::DescendantsDocument<'static>)),
        ("profile-calltree-1", schemars::schema_for!(profile::calltree::CalltreeDocument<'static>)),
        ("profile-attribution-1", schemars::schema_for!(profile::attribute::AttributionDocument<'static>)),
        ("profile-costs-1", schemars::schema_for!(profile::costs::CostsDocument<'static>)),
        ("profile-comparison-1", schemars::schema_for!(profile::compare::ProfileComparisonDocument<'static>)),
        ("work-1", schemars::schema_for!(slowpath_profile::work::WorkDocument<'static>)),
        ("paper-1", schemars::schema_for!(papers::PaperDocument)),
        ("paths-forget-1", schemars::schema_for!(paths::ForgetDocument)),
        ("paths-history-1", schemars::schema_for!(paths::HistoryDocument)),
        ("paths-import-1", schemars::schema_for!(paths::ImportDocument)),
        ("paths-measure-1", schemars::schema_for!(paths::MeasureDocument)),
        ("paths-show-1", schemars::schema_for!(paths::ShowDocument)),
        ("doctor-1", schemars::schema_for!(doctor::DoctorDocument)),
        ("drill-1", schemars::schema_for!(drill::DrillDocument<'static>)),
        ("lab-check-1", schemars::schema_for!(lab::LabCheckDocument<'static>)),
        ("lab-compare-1", schemars::schema_for!(lab::LabComparisonDocument<'static>)),
        ("lab-run-1", schemars::schema_for!(lab::LabRunDocument<'static>)),
        ("run-1", schemars::schema_for!(run::RunDocument<'static>)),
        ("sweep-1", schemars::schema_for!(sweep::SweepDocument<'static>)),
        ("tune-advise-1", schemars::schema_for!(tune::AdviseDocument)),
        ("tune-apply-1", schemars::schema_for!(tune::ApplyDocument)),
        ("tune-connections-1", schemars::schema_for!(tune::ConnectionsDocument)),
        ("tune-lab-1", schemars::schema_for!(tune::TuneLabDocument)),
        ("tune-status-1", schemars::schema_for!(tune::StatusDocument)),
        ("tune-revert-1", schemars::schema_for!(tune::RevertDocument)),
        ("tune-verify-1", schemars::schema_for!(tune::VerifyDocument)),
        ("tunings-1", schemars::schema_for!(tunings::TuningsDocument)),
        ("cookbook-1", schemars::schema_for!(cookbook::CookbookDocument<'static>)),
        ("page-1", schemars::schema_for!(page::Page)),
    ]
}
