//! What wu's experiments come to here.

use slowpath_papers::{Judged, Measured, Report, measure, wu};
use std::sync::LazyLock;

/// One run of each experiment.
static RUNS: LazyLock<Vec<Vec<Measured>>> = LazyLock::new(|| {
    let run = |case| measure::measure(&case, 1).unwrap_or_else(|error| panic!("{error}"));
    wu::cases().into_iter().map(|case| vec![run(case)]).collect()
});

static REPORT: LazyLock<Report> = LazyLock::new(|| wu::report(&RUNS));

/// Whoever changes the machine's costs, or what a packet costs, has to fit the one factor again
/// (`slowpath_scenario::machines::WU_RECEIVER_PERCENT`).
#[test]
fn the_machine_is_fitted_to_the_cell_that_says_so() {
    let fitted: Vec<_> = REPORT
        .tables
        .iter()
        .flat_map(|table| &table.cells)
        .filter(|cell| cell.judged == Judged::Fitted)
        .collect();
    assert!(fitted.len() >= 4, "BL0 of tables III and V");
    for cell in fitted {
        // The paper gives the data as 1.17 GB, within half a percent.
        let error = cell.error().expect("it is published");
        assert!(
            error.abs() < 0.012,
            "{}, {}: {} instead of {}",
            cell.row,
            cell.quantity,
            cell.ours,
            cell.published
        );
    }
}

#[test]
fn what_table_vii_has_comes_out_of_the_mechanism() {
    let table = REPORT.tables.iter().find(|table| table.name == "Table VII").expect("a table");
    assert_eq!(table.cells.len(), 8);
    for cell in &table.cells {
        assert_eq!(cell.judged, Judged::Share);
        let error = cell.error().expect("it is published");
        // What is shared of the CPU follows from slices, a rate also from what a packet costs.
        let most = if cell.quantity.contains("CPU") { 0.05 } else { 0.25 };
        assert!(
            error.abs() < most,
            "{}, {}: {} instead of {}",
            cell.row,
            cell.quantity,
            cell.ours,
            cell.published
        );
    }
}

#[test]
fn every_packet_is_in_a_class_and_none_is_lost() {
    for (case, runs) in wu::cases().iter().zip(&*RUNS) {
        for run in runs {
            assert_eq!(run.lost, 0, "{}", case.name);
            // What was read has been processed, and what was processed had been written, nearly all of it in full segments.
            let processed = run.waited.iter().sum::<u64>() * 1448;
            assert!(
                (run.read..=run.written / 50 * 51 + 1_000_000).contains(&processed),
                "{}: {run:?}",
                case.name
            );
            assert!(run.cpu[1] > 10.0 * run.cpu[0], "{}: it is the kernel that works: {run:?}", case.name);
        }
    }
}

#[test]
fn what_the_paper_is_about_is_seen() {
    let holds = |place: &str| {
        let claim = REPORT.claims.iter().find(|claim| claim.place == place).expect("a claim");
        assert!(claim.holds, "{}: {}", claim.says, claim.seen);
    };
    holds("section 4, table IV");
    holds("section 4, figure 8");
    holds("section 4, plate 1 and table IV");
    holds("section 5, table VII");
}
