//! The results of leith's experiments.

use slowpath_papers::{FlowMeasures, Report, Trace, leith, measure};
use std::ops::{Range, RangeInclusive};
use std::sync::LazyLock;
use std::thread;

/// Cases that are not compared with one of the handbook's rates, and how long they run here. The drops and throttles of
/// figure 1's path are in its first 40 s, and those from Dublin to CERN in the first 30 s. The rates by then are further
/// from those of a sender with the other choice than [`VALUES`] tolerate.
const SHORT: [(&str, &str); 14] = [
    ("SACK by what repeats", "duration=40 s"),
    ("SACK by what repeats, ACKs lost", "duration=40 s"),
    ("SACK over holes, ACKs lost", "duration=40 s"),
    ("SACK over holes, no throttle", "duration=40 s"),
    ("Dublin to LBL", "duration=30 s"),
    ("Dublin to CERN", "duration=30 s"),
    ("Dublin to SLAC, throttle", "duration=30 s"),
    ("Dublin to CERN, throttle", "duration=30 s"),
    ("Reneging as timeout", "duration=30 s"),
    ("Reneging, cwnd kept", "duration=30 s"),
    ("Reneging as timeout, 64 MiB", "duration=30 s"),
    ("Reneging, cwnd kept, 64 MiB", "duration=30 s"),
    ("Dublin to SLAC, own NIC", "duration=30 s"),
    ("Dublin to SLAC, own NIC, undo once", "duration=30 s"),
];

/// One run of each experiment. The others are as long as in the paper's command: their timeouts are several losses
/// apart. Those with figures are traced.
static FOUND: LazyLock<(Vec<Vec<FlowMeasures>>, Vec<Trace>)> = LazyLock::new(|| {
    let mut cases = leith::cases();
    for (name, lasts) in SHORT {
        cases[case(name)].sets.push(lasts.to_owned());
    }
    let (with_figures, without) = cases.split_at(leith::TRACED);
    thread::scope(|scope| {
        let traced: Vec<_> =
            with_figures.iter().map(|case| scope.spawn(|| measure::traced(case, 1))).collect();
        let measured: Vec<_> = without.iter().map(|case| scope.spawn(|| measure::measure(case, 1))).collect();
        let (mut runs, traces): (Vec<_>, Vec<_>) = traced
            .into_iter()
            .map(|run| run.join().expect("no panic").expect("a scenario"))
            .map(|(run, trace)| (vec![run], trace))
            .unzip();
        runs.extend(measured.into_iter().map(|run| vec![run.join().expect("no panic").expect("a scenario")]));
        (runs, traces)
    })
});

static REPORT: LazyLock<Report> = LazyLock::new(|| leith::report(&FOUND.0, &FOUND.1));

fn case(name: &str) -> usize {
    leith::cases().iter().position(|case| case.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// A case, its rate in Mbit/s, ACKs that its sender's backlog dropped, throttles, and timeouts.
type Values = (&'static str, Range<f64>, RangeInclusive<u64>, RangeInclusive<u64>, RangeInclusive<u16>);

/// What was measured with the first seed, and somewhat more on both sides: 358, 40,422, 24, 4 in the first row. The
/// rates of [`SHORT`] cases are those of that time.
const VALUES: [Values; 25] = [
    ("SACK of 2.4.23", 320.0..395.0, 30_000..=50_000, 18..=30, 3..=6),
    ("SACK by what repeats", 320.0..332.0, 600..=1300, 1..=4, 0..=0),
    ("SACK over holes", 515.0..532.0, 0..=0, 0..=0, 0..=0),
    ("SACK of 2.4.23, no throttle", 205.0..275.0, 14_000..=25_000, 0..=0, 3..=5),
    ("SACK of 2.4.23, a longer backlog", 205.0..285.0, 6000..=11_000, 3..=8, 7..=13),
    ("CERN to SLAC", 320.0..355.0, 8000..=12_500, 7..=12, 1..=1),
    ("CERN to SLAC, changed", 185.0..210.0, 800..=1400, 0..=0, 1..=1),
    ("Dublin to SLAC", 485.0..515.0, 0..=1000, 0..=0, 0..=0),
    ("Dublin to SLAC, htcp_undo=0", 435.0..465.0, 0..=1000, 0..=0, 0..=0),
    ("Dublin to SLAC, htcp_cap=0", 280.0..350.0, 10_000..=20_000, 0..=0, 0..=0),
    ("Dublin to SLAC, htcp_moderation=0", 425.0..460.0, 0..=1000, 0..=0, 0..=0),
    ("Dublin to LBL", 436.0..457.0, 0..=1000, 0..=0, 0..=0),
    ("Dublin to CERN", 715.0..750.0, 3000..=6000, 0..=0, 0..=0),
    ("SACK by what repeats, ACKs lost", 322.0..353.0, 500..=1100, 1..=2, 0..=2),
    ("SACK over holes, ACKs lost", 326.0..340.0, 0..=0, 0..=0, 0..=2),
    ("SACK over holes, no throttle", 320.0..332.0, 0..=0, 0..=0, 0..=0),
    ("Dublin to SLAC, throttle", 434.0..454.0, 300..=1000, 1..=4, 0..=0),
    ("Dublin to CERN, throttle", 715.0..750.0, 2500..=5000, 5..=11, 0..=0),
    ("Reneging as timeout", 103.0..132.0, 600..=2000, 0..=0, 0..=0),
    ("Reneging, cwnd kept", 277.0..337.0, 100_000..=180_000, 0..=0, 0..=2),
    ("Reneging as timeout, 64 MiB", 367.0..405.0, 200..=1000, 0..=0, 0..=0),
    ("Reneging, cwnd kept, 64 MiB", 301.0..345.0, 200..=1200, 0..=0, 0..=2),
    ("Dublin to SLAC, undo once", 485.0..515.0, 0..=1000, 0..=0, 0..=0),
    ("Dublin to SLAC, own NIC", 244.0..281.0, 0..=0, 0..=0, 0..=0),
    ("Dublin to SLAC, own NIC, undo once", 235.0..271.0, 0..=0, 0..=0, 0..=0),
];

/// A case, how often its sender found reneging, undos, and drops of the local queue.
type Apart = (&'static str, RangeInclusive<u64>, RangeInclusive<u64>, RangeInclusive<u64>);

/// What only the experiments of sections 1.3 and 1.4 have, with the first seed.
const APART: [Apart; 6] = [
    ("Reneging as timeout", 2..=3, 62..=87, 0..=0),
    ("Reneging, cwnd kept", 15..=35, 95..=130, 0..=0),
    ("Dublin to SLAC", 0..=0, 310..=350, 0..=0),
    ("Dublin to SLAC, undo once", 0..=0, 310..=350, 0..=0),
    ("Dublin to SLAC, own NIC", 0..=0, 137..=164, 1..=300),
    ("Dublin to SLAC, own NIC, undo once", 0..=0, 138..=166, 1..=50),
];

#[test]
fn reneging_and_undos_have_the_values_of_the_handbook() {
    for (name, renegings, undos, local_drops) in &APART {
        let run = &FOUND.0[case(name)][0];
        assert!(renegings.contains(&run.sack_renegings), "{name}: {} renegings", run.sack_renegings);
        assert!(undos.contains(&run.undos), "{name}: {} undos", run.undos);
        assert!(local_drops.contains(&run.local_drops), "{name}: {} local drops", run.local_drops);
        // The sender finds out only what the receiver did.
        assert!(run.sack_renegings <= run.ofo_pruned, "{name}: {} pruned", run.ofo_pruned);
    }
    // Without a reduction before the recovery, the change does nothing at all.
    let [once, again] = ["Dublin to SLAC, undo once", "Dublin to SLAC"].map(|name| FOUND.0[case(name)][0]);
    assert_eq!((once.read, once.retransmits, once.undos), (again.read, again.retransmits, again.undos));
}

#[test]
fn leith_values_are_those_of_the_handbook() {
    for (name, rate, dropped, throttled, timeouts) in &VALUES {
        let run = &FOUND.0[case(name)][0];
        assert!(rate.contains(&run.rate()), "{name}: {} Mbit/s", run.rate());
        assert!(dropped.contains(&run.sender_backlog.dropped), "{name}: {:?}", run.sender_backlog);
        assert!(throttled.contains(&run.sender_backlog.throttled), "{name}: {:?}", run.sender_backlog);
        assert!(timeouts.contains(&run.timeouts), "{name}: {} timeouts", run.timeouts);
    }
}

/// The handbook has the rates of the first seed, where they are the medians of three as well.
#[test]
fn leith_handbook_states_the_results() {
    let handbook = include_str!("../../../docs/src/leith.md");
    for (name, row) in [
        ("SACK of 2.4.23", "2.4.23"),
        ("SACK of 2.4.23, no throttle", "without the throttle"),
        ("SACK over holes", "Leith's walk"),
        ("Dublin to SLAC, htcp_cap=0", "the cap on the window"),
    ] {
        let text = format!("| {row} | {:.0} |", FOUND.0[case(name)][0].rate());
        assert!(handbook.contains(&text), "{text}");
    }
    assert!(handbook.contains(&format!("11 of {} claims hold", REPORT.claims.len())));
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
    assert_eq!(leith::cases()[leith::TRACED - 1].name, "Dublin to CERN");
}

/// Figures 3 to 8, repeated reordering: without one of the changes, the mean cwnd is less and the rate by a factor. An
/// undo that restores three quarters of cwnd costs a quarter each time; a cwnd cut to what is in flight must be regrown
/// after a loss and after an undo.
#[test]
fn each_leith_change_keeps_more_cwnd() {
    let mean = |name: &str| FOUND.1[case(name)].window.mean();
    let rate = |name: &str| FOUND.0[case(name)][0].rate();
    let all = "Dublin to SLAC";
    for (setting, factor) in [("undo", 1.1), ("cap", 1.3), ("moderation", 1.1)] {
        let without = format!("{all}, htcp_{setting}=0");
        assert!(mean(&without) < mean(all), "{without}: {} and {}", mean(&without), mean(all));
        assert!(
            rate(all) > factor * rate(&without),
            "{without}: {} and {} Mbit/s",
            rate(&without),
            rate(all)
        );
    }
    assert!(mean("SACK of 2.4.23") < 0.75 * mean("SACK over holes"));
}
