//! The checks: the handbook has a row for each, and the catalogue of causes agrees with them.

use slowpath_analyses::Cause;
use slowpath_analyses::cause::ReportedBy;
use slowpath_doctor::Check;
use std::collections::BTreeSet;

#[test]
fn every_check_is_in_the_handbook() {
    let page = include_str!("../../../docs/src/doctor.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let named: BTreeSet<&str> =
        rows.flat_map(|cell| cell.split(", ")).map(|name| name.trim_matches('`')).collect();
    let all: BTreeSet<&str> = Check::ALL.iter().map(|check| check.name()).collect();
    assert_eq!(all.len(), Check::ALL.len(), "a name occurs twice");
    // Rows about settings are measurements.
    let found: BTreeSet<&str> = named.into_iter().filter(|name| !name.contains("tcp_")).collect();
    assert_eq!(found, all);
}

#[test]
fn checks_cover_the_causes_that_the_catalogue_assigns_to_doctor() {
    let catalogue: BTreeSet<Cause> =
        Cause::ALL.iter().copied().filter(|cause| cause.is_reported_by(ReportedBy::Doctor)).collect();
    let checked: BTreeSet<Cause> = Check::ALL.iter().map(|check| check.cause()).collect();
    assert_eq!(checked, catalogue);
}
