//! The results of ubik's experiments.

use slowpath_papers::{Cell, FlowMeasures, Judged, Report, measure, ubik};
use std::sync::LazyLock;

/// Runs of each experiment: five of the tables' cells, as in the report, one of the others, and none of the queue that
/// is longer than any window.
static RUNS: LazyLock<Vec<Vec<FlowMeasures>>> = LazyLock::new(|| {
    let run = |case, seed| measure::measure(case, seed).unwrap_or_else(|error| panic!("{error}"));
    let seeds = |name: &str| {
        if name.ends_with("20000") {
            0
        } else if name.ends_with("txqueuelen 100") || name.ends_with("txqueuelen 1000") {
            5
        } else {
            1
        }
    };
    ubik::cases().iter().map(|case| (1..=seeds(&case.name)).map(|seed| run(case, seed)).collect()).collect()
});

static REPORT: LazyLock<Report> = LazyLock::new(|| ubik::report(&RUNS));

fn cells(table: &str) -> &'static [Cell] {
    &REPORT.tables.iter().find(|one| one.name == table).expect("a table").cells
}

/// A change of the machine's costs, or of a packet's cost, requires fitting the one factor again
/// (`slowpath_scenario::machines::UBIK_PC_PERCENT`).
#[test]
fn machine_costs_are_fitted_to_the_marked_cell() {
    let fitted: Vec<_> = REPORT
        .tables
        .iter()
        .flat_map(|table| &table.cells)
        .filter(|cell| cell.judged == Judged::Fitted)
        .collect();
    let [cell] = fitted[..] else { panic!("one cell, not {}", fitted.len()) };
    assert!(
        cell.error().expect("it is published").abs() < 0.01,
        "{} instead of {:?}",
        cell.ours,
        cell.published
    );
}

/// The costs fitted to TCP receive as much as UDP's maximum, and a sender with the costs of a `pc-2002` keeps up with
/// 1000 Mbit/s. Losses do not begin at the paper's rate: its receiver wrote a log.
#[test]
fn udp_rates_match_the_paper() {
    let [_, sent, most, whole] = cells("Section V") else { panic!("four rows") };
    assert!(sent.error().expect("published").abs() < 0.001, "{}", sent.ours);
    assert!(most.error().expect("published").abs() < 0.05, "{}", most.ours);
    assert!(whole.ours > 340.0 && whole.ours <= most.ours, "{}", whole.ours);
}

/// The values of the handbook. Where losses decide, they vary with the seed: medians of five.
#[test]
fn tables_i_and_ii_have_the_values_of_the_handbook() {
    let values =
        [("Table I", &[155.0, 277.0, 138.0, 131.0][..]), ("Table II", &[155.0, 277.0, 357.0, 228.0, 268.0])];
    for (table, values) in values {
        for (cell, value) in cells(table).iter().zip(values) {
            assert!((cell.ours / value - 1.0).abs() < 0.05, "{table}, {}: {}", cell.row, cell.ours);
        }
    }
    let mut errors: Vec<f64> = cells("Table I")
        .iter()
        .chain(cells("Table II"))
        .map(|cell| cell.error().expect("published").abs())
        .collect();
    errors.sort_by(f64::total_cmp);
    assert!(errors.len() == 9 && (0.1..0.17).contains(&errors[4]), "{errors:?}");
}

/// With the large windows there are losses, but no timeout, and RTTs stay far below the paper's 120 ms.
#[test]
fn large_windows_have_the_losses_and_rtts_of_the_handbook() {
    for (window, retransmits, [least, most]) in [(8, 434, [50.0, 66.0]), (16, 1138, [50.0, 70.0])] {
        let name = format!("{window} MB, txqueuelen 1000");
        let at = ubik::cases().iter().position(|case| case.name == name).expect("a case");
        let median = |of: &dyn Fn(&FlowMeasures) -> f64| measure::spread(&RUNS[at], of)[1];
        let again = median(&|run| f64::from(run.retransmits));
        assert!((again / f64::from(retransmits) - 1.0).abs() < 0.2, "{name}: {again}");
        assert_eq!(median(&|run| f64::from(run.timeouts)), 0.0, "{name}");
        let rtt = median(&|run| run.longest_rtt * 1e3);
        assert!((least..most).contains(&rtt), "{name}: {rtt} ms");
    }
}

#[test]
fn claims_of_the_handbook() {
    let handbook = include_str!("../../../docs/src/ubik.md");
    // Nothing was run with the longest queue: what needs it cannot hold.
    let failing: Vec<&str> =
        REPORT.claims.iter().filter(|claim| claim.holds != Some(true)).map(|claim| claim.says).collect();
    assert_eq!(
        failing,
        [
            "these losses frequently result in repeated slow starts",
            "these connections have RTTs of up to 120 ms",
            "a txqueuelen of 1000 makes large windows faster (by 133 and 128 % with 4 and 8 MB)",
            "a txqueuelen beyond 1000 changes nothing further",
        ]
    );
    let (holding, of) = (REPORT.claims.len() - 3, REPORT.claims.len());
    assert!(handbook.contains(&format!("{holding} of {of} claims hold")), "{holding} of {of}");
}

/// Segments of a 4 MB window are dropped by a queue of 100 packets, and not by one of 1000; nothing is lost on the
/// path.
#[test]
fn short_queue_limits_large_windows() {
    let of = |name: &str| {
        let at = ubik::cases().iter().position(|case| case.name == name).expect("a case");
        RUNS[at][0]
    };
    let [short, long] = [100, 1000].map(|queue| of(&format!("4 MB, txqueuelen {queue}")));
    assert!(long.rate() > 2.0 * short.rate(), "{} and {}", short.rate(), long.rate());
    assert!(short.lost > 0 && long.lost == 0, "{} and {}", short.lost, long.lost);
}

#[test]
fn handbook_states_the_results() {
    let handbook = include_str!("../../../docs/src/ubik.md");
    // Every published figure is in its tables.
    for cell in cells("Table I").iter().chain(cells("Table II")) {
        let row = format!("| {} | {:.0} |", cell.row, cell.published.expect("published"));
        assert!(handbook.contains(&row), "{row}");
    }
}

#[test]
fn report_covers_the_whole_paper() {
    let names: Vec<&str> = REPORT.tables.iter().map(|table| table.name).collect();
    assert_eq!(names, ["Section V", "Table I", "Table II", "Table I, 300", "Table II, 300"]);
    assert_eq!((cells("Table I").len(), cells("Table II").len()), (4, 5));
    assert!(REPORT.claims.len() >= 12);
    let arithmetic = REPORT.claims.iter().filter(|claim| claim.place.starts_with("section IV"));
    assert!(arithmetic.clone().count() == 4 && arithmetic.clone().all(|claim| claim.holds == Some(true)));
    let names: std::collections::BTreeSet<String> = ubik::cases().into_iter().map(|case| case.name).collect();
    assert_eq!(names.len(), ubik::cases().len());
}
