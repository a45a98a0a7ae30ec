//! Figures 1 to 8: the sender's window over time, before and after a change.

use super::{
    ALL, CAPPED, CERN, CERN_CHANGED, CERN_FROM_DUBLIN, HOLES, LBL, MODERATED, THREE_QUARTERS, WALKED,
};
use crate::figure::{Axis, Drawn, Figure, Series};
use crate::measure::{FlowMeasures, spread};
use crate::report::Claim;
use crate::trace::{CongestionWindow, Trace};

const TIME: Axis = Axis::linear("time since the transfer began", "s");
const SEGMENTS: Axis = Axis::linear("congestion window", "segments");

/// A figure: its name, subject, cases with their names, and what the paper says about it.
struct FigureText {
    name: &'static str,
    about: &'static str,
    cases: &'static [(usize, &'static str)],
    says: &'static str,
}

const FIGURES: [FigureText; 7] = [
    FigureText {
        name: "Figure 1",
        about: "cwnd of a sender that walks its write queue, and of one that walks holes",
        cases: &[(WALKED, "2.4.23"), (HOLES, "over holes")],
        says: "repeated timeouts in recovery with the walk, none over holes",
    },
    FigureText {
        name: "Figure 2",
        about: "cwnd from CERN to Stanford",
        cases: &[(CERN, "2.4.23"), (CERN_CHANGED, "over holes, no throttle")],
        says: "slow recovery from timeouts that the throttle induced",
    },
    FigureText {
        name: "Figure 3",
        about: "cwnd from Dublin to Stanford, with an undo to three quarters",
        cases: &[(THREE_QUARTERS, "three quarters"), (ALL, "exact")],
        says: "the inaccuracy of the undo is evident",
    },
    FigureText {
        name: "Figures 4 and 5",
        about: "the same with the cap on cwnd",
        cases: &[(CAPPED, "capped"), (ALL, "not capped")],
        says: "cwnd falls far in recovery, and comes back to ssthresh by slow start",
    },
    FigureText {
        name: "Figures 6 and 7",
        about: "the same with bursts moderated by what is in flight",
        cases: &[(MODERATED, "by what is in flight"), (ALL, "by ACK")],
        says: "undo and recovery leave cwnd low",
    },
    FigureText {
        name: "Figure 8",
        about: "the same with all changes",
        cases: &[(ALL, "all changes")],
        says: "what the others are compared with",
    },
    FigureText {
        name: "Section 2",
        about: "the other paths, with all changes",
        cases: &[(LBL, "Dublin to LBL"), (CERN_FROM_DUBLIN, "Dublin to CERN")],
        says: "some 2000 packets in an RTT to CERN, and a queue of 4096 there",
    },
];

/// All figures whose cases were traced.
pub fn figures(traces: &[Trace]) -> Vec<Figure> {
    FIGURES.iter().filter_map(|text| figure(text, traces)).collect()
}

fn figure(text: &FigureText, traces: &[Trace]) -> Option<Figure> {
    let mut series = Vec::new();
    let mut seen = Vec::new();
    for (case, name) in text.cases {
        let window = &traces.get(*case)?.window;
        series.push(window.cwnd.series(format!("cwnd, {name}"), Drawn::Course));
        let threshold: Series = window.ssthresh.series(format!("ssthresh, {name}"), Drawn::Steps);
        series.push(threshold);
        seen.push(format!("{name}: {}", summary(window)));
    }
    let (x, y) = (TIME, SEGMENTS);
    Some(Figure { name: text.name, about: text.about, x, y, series, says: text.says, seen: seen.join("; ") })
}

fn summary(window: &CongestionWindow) -> String {
    let least =
        window.least_left.map(|left| format!("down to {:.0} % of itself in a recovery", left * 100.0));
    let least = least.unwrap_or_else(|| "never in recovery".to_owned());
    format!(
        "{:.0} segments in the mean, {:.0} at most, {least}; below ssthresh for {:.1} s",
        window.mean(),
        window.most,
        window.recovering
    )
}

/// The paper's claims about these figures, as far as they can be counted: the runs have the rest of figure 2 (its
/// throttles and timeouts, and both rates).
pub fn claims(runs: &[Vec<FlowMeasures>], traces: &[Trace]) -> Vec<Claim> {
    let window = |case: usize| traces.get(case).map(|trace| &trace.window);
    let (Some(walked), Some(changed)) = (window(CERN), window(CERN_CHANGED)) else { return Vec::new() };
    let (Some(capped), Some(free)) = (window(CAPPED), window(ALL)) else { return Vec::new() };
    // Without a recovery cwnd is not reduced.
    let [left, left_free] = [capped, free].map(|window| window.least_left.unwrap_or(1.0));
    let median = |case: usize, of: &dyn Fn(&FlowMeasures) -> f64| spread(&runs[case], of)[1];
    let throttled = median(CERN, &|run| run.sender_backlog.throttled as f64);
    let timeouts = median(CERN, &|run| f64::from(run.timeouts));
    vec![
        Claim {
            place: "figure 2",
            says: "from CERN to Stanford, slow recovery from timeouts that the throttle induced",
            seen: format!(
                "throttled: {throttled:.0}; timeouts: {timeouts:.0}; cwnd below ssthresh for {:.1} s, {:.1} s without throttle \
                 and walk; {:.1} and {:.1} Mbit/s",
                walked.recovering,
                changed.recovering,
                median(CERN, &FlowMeasures::rate),
                median(CERN_CHANGED, &FlowMeasures::rate)
            ),
            holds: Some(throttled > 0.0 && timeouts > 0.0 && walked.recovering > changed.recovering),
        },
        Claim {
            place: "section 1.5, figure 5",
            says: "capping cwnd leads to a large reduction of it in recovery, and back to ssthresh by slow start",
            seen: format!(
                "down to {:.0} % of itself in a recovery, below ssthresh for {:.1} s; {:.0} % and {:.1} s without the cap",
                left * 100.0,
                capped.recovering,
                left_free * 100.0,
                free.recovering
            ),
            // A single loss at most halves cwnd (H-TCP's beta).
            holds: Some(left < 0.5 && left_free >= 0.5 && capped.recovering > free.recovering),
        },
    ]
}
