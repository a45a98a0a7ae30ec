//! The handbook has a row for each finding, and no others.

use slowpath_doctor::NAMES;
use std::collections::BTreeSet;

#[test]
fn every_finding_is_in_the_handbook() {
    let page = include_str!("../../../docs/src/doctor.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let named: BTreeSet<&str> =
        rows.flat_map(|cell| cell.split(", ")).map(|name| name.trim_matches('`')).collect();
    let all: BTreeSet<&str> = NAMES.into_iter().collect();
    assert_eq!(all.len(), NAMES.len(), "a name is there twice");
    // Rows of settings are those of what was measured.
    let found: BTreeSet<&str> = named.into_iter().filter(|name| !name.contains("tcp_")).collect();
    assert_eq!(found, all);
}
