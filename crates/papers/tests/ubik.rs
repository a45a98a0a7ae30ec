//! What ubik's experiments come to here.

use slowpath_papers::{Cell, Judged, Measured, Report, measure, ubik};
use std::sync::LazyLock;

/// One run of each experiment, but for the queue that is longer than any window.
static RUNS: LazyLock<Vec<Vec<Measured>>> = LazyLock::new(|| {
    let run = |case| measure::measure(case, 1).unwrap_or_else(|error| panic!("{error}"));
    let is_tried = |name: &str| !name.ends_with("20000");
    ubik::cases().iter().map(|case| if is_tried(&case.name) { vec![run(case)] } else { Vec::new() }).collect()
});

static REPORT: LazyLock<Report> = LazyLock::new(|| ubik::report(&RUNS));

fn cells(table: &str) -> &'static [Cell] {
    &REPORT.tables.iter().find(|one| one.name == table).expect("a table").cells
}

/// Whoever changes the machine's costs, or what a packet costs, has to fit the one factor again
/// (`slowpath_scenario::machines::UBIK_PC_PERCENT`).
#[test]
fn the_machine_is_fitted_to_the_cell_that_says_so() {
    let fitted: Vec<_> = REPORT
        .tables
        .iter()
        .flat_map(|table| &table.cells)
        .filter(|cell| cell.judged == Judged::Fitted)
        .collect();
    let [cell] = fitted[..] else { panic!("one cell, not {}", fitted.len()) };
    assert!(
        cell.error().expect("it is published").abs() < 0.01,
        "{} instead of {}",
        cell.ours,
        cell.published
    );
}

/// The rates at which UDP begins to lose and at which it ends follow from what a packet costs, with nothing fitted to them.
#[test]
fn datagrams_cost_what_the_paper_found() {
    for (cell, most) in cells("Section V")[1..].iter().zip([0.03, 0.09]) {
        assert_eq!(cell.judged, Judged::Share);
        assert!(cell.error().expect("published").abs() < most, "{}: {}", cell.row, cell.ours);
    }
}

/// A window of 1 MB is never more than it holds, and one from 4 MB on is slower than that, for want of room at the receiver.
#[test]
fn beyond_what_the_receiver_takes_larger_windows_are_slower() {
    let table = cells("Table I");
    let rates: Vec<f64> = table.iter().map(|cell| cell.ours).collect();
    assert!(rates[0] < 210.0 && rates[2] < rates[0] && rates[3] < rates[0], "{rates:?}");
    let lost = |name: &str| {
        let at = ubik::cases().iter().position(|case| case.name == name).expect("a case");
        RUNS[at][0].lost
    };
    assert_eq!(lost("1 MB, txqueuelen 100"), 0);
    assert!(lost("4 MB, txqueuelen 100") > 50);
}

/// What a sender puts into its queue faster than the card takes it is dropped there, unless the queue is longer.
#[test]
fn a_longer_queue_helps_a_sender_that_is_faster_than_its_card() {
    let claim = REPORT.claims.iter().find(|claim| claim.says.starts_with("its theory")).expect("a claim");
    assert!(claim.holds, "{}", claim.seen);
}

/// What bounds bursts here is the queue of the receiver's CPU: with a longer one, large windows pay.
#[test]
fn a_longer_queue_at_the_receiver_moves_the_peak() {
    let rates: Vec<f64> = cells("Table II again").iter().map(|cell| cell.ours).collect();
    let short: Vec<f64> = cells("Table II").iter().map(|cell| cell.ours).collect();
    let at_4_mb = 2;
    assert!(rates[at_4_mb] > 1.5 * short[at_4_mb] && rates[4] < rates[at_4_mb], "{rates:?}, {short:?}");
}

#[test]
fn the_handbook_says_what_comes_out() {
    let handbook = include_str!("../../../docs/src/ubik.md");
    let [_, woken, busy] = cells("Section V") else { panic!("three rows") };
    for says in [format!("{:.0} Mbit/s", woken.ours), format!("{:.0} Mbit/s", busy.ours)] {
        assert!(handbook.contains(&says), "{says}");
    }
    // Every published figure is in its tables.
    for cell in cells("Table I").iter().chain(cells("Table II")) {
        let row = format!("| {} | {:.0} |", cell.row, cell.published);
        assert!(handbook.contains(&row), "{row}");
    }
}

#[test]
fn the_report_has_all_of_the_paper() {
    let names: Vec<&str> = REPORT.tables.iter().map(|table| table.name).collect();
    assert_eq!(
        names,
        ["Section V", "Table I", "Table II", "Table II again", "Table I, both", "Table II, both"]
    );
    assert_eq!((cells("Table I").len(), cells("Table II").len()), (4, 5));
    assert!(REPORT.claims.len() >= 12);
    let arithmetic = REPORT.claims.iter().filter(|claim| claim.place.starts_with("section IV"));
    assert!(arithmetic.clone().count() == 4 && arithmetic.clone().all(|claim| claim.holds));
    let names: std::collections::BTreeSet<String> = ubik::cases().into_iter().map(|case| case.name).collect();
    assert_eq!(names.len(), ubik::cases().len());
}
