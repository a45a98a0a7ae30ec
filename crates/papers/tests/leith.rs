//! The results of leith's experiments.

use slowpath_papers::{FlowMeasures, Report, Trace, leith, measure};
use std::sync::LazyLock;
use std::thread;

/// One run of each experiment, as long as the paper's command has it: its timeouts are several losses apart.
static FOUND: LazyLock<(Vec<Vec<FlowMeasures>>, Vec<Trace>)> = LazyLock::new(|| {
    let cases = leith::cases();
    let (runs, traces): (Vec<_>, Vec<_>) = thread::scope(|scope| {
        let runs: Vec<_> = cases.iter().map(|case| scope.spawn(|| measure::traced(case, 1))).collect();
        runs.into_iter().map(|run| run.join().expect("no panic").expect("a scenario")).unzip()
    });
    (runs.into_iter().map(|run| vec![run]).collect(), traces)
});

static REPORT: LazyLock<Report> = LazyLock::new(|| leith::report(&FOUND.0, &FOUND.1));

#[test]
fn what_the_handbook_says_to_hold_holds() {
    let handbook = include_str!("../../../docs/src/leith.md");
    let failing: Vec<&str> =
        REPORT.claims.iter().filter(|claim| claim.holds != Some(true)).map(|claim| claim.place).collect();
    assert_eq!(failing, [""; 0]);
    assert!(handbook.contains(&format!("All {} claims of the paper hold", REPORT.claims.len())));
}

#[test]
fn the_report_has_all_figures_of_the_paper() {
    let names: Vec<&str> = REPORT.figures.iter().map(|figure| figure.name).collect();
    assert_eq!(
        names,
        ["Figure 1", "Figure 2", "Figure 3", "Figures 4 and 5", "Figures 6 and 7", "Figure 8", "Section 2"]
    );
    for figure in &REPORT.figures {
        // cwnd and ssthresh of each; a sender that never lost anything has no ssthresh.
        assert!(
            figure.series.len() >= 2 && figure.series.iter().any(|series| series.x.len() > 50),
            "{figure:?}"
        );
    }
    assert!(REPORT.claims.len() >= 12);
    assert_eq!(leith::cases().len(), leith::TRACED);
}

/// An undo to three quarters, the cap, the moderation by what is in flight: the window is the smaller for each, in the mean.
#[test]
fn each_change_leaves_more_window() {
    let mean = |name: &str| {
        let at = leith::cases().iter().position(|case| case.name == name).expect("a case");
        FOUND.1[at].window.mean()
    };
    let all = mean("Dublin to SLAC");
    for setting in ["undo", "cap", "moderation"] {
        let without = format!("Dublin to SLAC, htcp_{setting}=0");
        assert!(mean(&without) < all, "{without}: {} and {all}", mean(&without));
    }
    assert!(mean("SACK of 2.4.23") < 0.75 * mean("SACK over holes"));
}
