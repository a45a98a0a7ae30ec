//! The results of leith's experiments.

use slowpath_papers::{FlowMeasures, Report, Trace, leith, measure};
use std::sync::LazyLock;
use std::thread;

/// One run of each experiment, as long as in the paper's command: its timeouts are several losses apart.
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
fn leith_claims_in_the_handbook_hold() {
    let handbook = include_str!("../../../docs/src/leith.md");
    let failing: Vec<&str> =
        REPORT.claims.iter().filter(|claim| claim.holds != Some(true)).map(|claim| claim.place).collect();
    assert_eq!(failing, [""; 0]);
    assert!(handbook.contains(&format!("All {} claims of the paper hold", REPORT.claims.len())));
}

#[test]
fn leith_report_has_all_figures() {
    let names: Vec<&str> = REPORT.figures.iter().map(|figure| figure.name).collect();
    assert_eq!(
        names,
        ["Figure 1", "Figure 2", "Figure 3", "Figures 4 and 5", "Figures 6 and 7", "Figure 8", "Section 2"]
    );
    for figure in &REPORT.figures {
        // cwnd and ssthresh of each; a sender without a loss has no ssthresh.
        assert!(
            figure.series.len() >= 2 && figure.series.iter().any(|series| series.x.len() > 50),
            "{figure:?}"
        );
    }
    assert!(REPORT.claims.len() >= 12);
    assert_eq!(leith::cases().len(), leith::TRACED);
}

/// Undo to three quarters, the cap, and moderation by in-flight data: each lowers the mean cwnd.
#[test]
fn each_leith_change_keeps_more_cwnd() {
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
