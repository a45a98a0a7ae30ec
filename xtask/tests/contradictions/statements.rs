//! Compares the statements of one report with each other.

use regex_lite::Regex;
use slowpath_analyses::report::{Finding, FlowReport, Measures, RttMeasures};
use slowpath_analyses::{Cause, Evidence};
use slowpath_model::{Bytes, Rate};
use slowpath_views::rank::{Ranker, Selection};
use slowpath_views::terminal::{self, Look};
use slowpath_views::{Diagnosis, Recording, words};
use std::sync::LazyLock;

/// No host sends faster: a rate above it comes from times below the clock's resolution.
const FASTEST: Rate = Rate::mbit(1_000_000);

/// A meaningless number: less than its own resolution, or of the wrong kind for its noun.
static EMPTY_NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?:^|[^\d.,:])(?:",
        r"-0(?:\.0+)?\b",
        r"|0(?:\.0+)? (?:s|ms|µs|ns|[kMGT]?bit/s|B|[KMGT]iB|%)(?:\W|$)",
        r"|0 (?:segments?|packets?|times?|timeouts?|episodes?|recoveries|RTTs)\b",
        r"|1 (?:segments|packets|times|timeouts|episodes|recoveries|RTTs|connections|flows)\b",
        r")"
    ))
    .expect("a regular expression")
});

/// Everything in `report` that contradicts something else in it.
pub fn contradictions(report: &FlowReport) -> Vec<String> {
    let mut wrong = Vec::new();
    for direction in &report.directions {
        measures(&direction.measures, &mut wrong);
        for finding in &direction.findings {
            let mut add = |what: String| wrong.push(format!("{}: {what}", finding.cause));
            of_finding(report, finding, &mut add);
        }
    }
    text(report, &mut wrong);
    wrong
}

fn measures(measures: &Measures, wrong: &mut Vec<String>) {
    let mut hold = |ok: bool, what: &str| {
        if !ok {
            wrong.push(what.to_owned());
        }
    };
    for (name, rtt) in [("by ACK", &measures.rtt_by_ack), ("by timestamp", &measures.rtt_by_timestamp)] {
        hold(in_order(rtt), &format!("RTTs {name}: not shortest ≤ mean ≤ longest: {rtt:?}"));
    }
    let window = &measures.window;
    let ordered =
        |less: Option<Bytes>, more: Option<Bytes>| less.zip(more).is_none_or(|(less, more)| less <= more);
    hold(
        ordered(window.min, window.max) && ordered(window.mean, window.max),
        &format!("windows: {window:?}"),
    );
    hold(window.zero_count > 0 || window.zero_time.is_zero(), "zero-window time without a zero window");
    hold(measures.flight_mean <= measures.flight_max, "the mean flight is above the largest");
    hold(measures.unique_bytes <= measures.bytes, "unique bytes above all bytes");
    hold(measures.goodput <= measures.throughput, "goodput above throughput");
    hold(measures.timeouts == 0 || measures.recoveries > 0, "a timeout outside any recovery");
}

fn in_order(rtt: &RttMeasures) -> bool {
    match (rtt.min, rtt.mean, rtt.max) {
        (Some(min), Some(mean), Some(max)) => rtt.count > 0 && min <= mean && mean <= max,
        (None, None, None) => rtt.count == 0,
        _ => false,
    }
}

fn of_finding(report: &FlowReport, finding: &Finding, add: &mut impl FnMut(String)) {
    let sent = &report.directions[finding.from.index()].measures;
    let answered = &report.directions[(!finding.from).index()].measures;
    if finding.cause == Cause::Timeout && sent.timeouts == 0 {
        add("timeouts are the cause, and none was counted".to_owned());
    }
    if finding.cause == Cause::SpuriousTimeout && sent.labels.spurious == 0 {
        add("spurious retransmissions are the cause, and none was counted".to_owned());
    }
    for evidence in &finding.evidence {
        let fits = match *evidence {
            Evidence::WindowClosed { times, total } => {
                times == answered.window.zero_count && total == answered.window.zero_time && times > 0
            }
            Evidence::WindowFilled { segments, largest } => {
                segments == sent.window_full && Some(largest) == answered.window.max
            }
            Evidence::WindowShrank { largest, smallest } => smallest < largest,
            Evidence::FlightBound { flight_max } | Evidence::FlightPlateau { flight_max } => {
                answered.window.max.is_none_or(|window| flight_max <= window)
            }
            Evidence::RttSpread { shortest, mean } => shortest <= mean,
            Evidence::Retransmitted { segments, spurious, timeouts, recoveries, lost_share } => {
                spurious <= segments
                    && (timeouts, recoveries) == (sent.timeouts, sent.recoveries)
                    && lost_share == sent.lost_share().unwrap_or(0.0)
            }
            Evidence::WindowAllows { rate, .. } | Evidence::SameRateAtLoss { rate } => rate < FASTEST,
            Evidence::DeliveryRate { peak } => peak.get() > 0 && peak < FASTEST,
            _ => true,
        };
        if !fits {
            add(format!("{evidence:?} does not fit the measures {sent:#?} and {answered:#?}"));
        }
    }
    lost_shares(report, finding, add);
}

/// Evidence and advice name the same share of lost segments.
fn lost_shares(report: &FlowReport, finding: &Finding, add: &mut impl FnMut(String)) {
    static LOST: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"([\d.]+ %) of (?:all )?segments").expect("a regular expression"));
    let advice = slowpath_remedies::advise(finding, report).into_iter().map(|advice| advice.text);
    let sentences: Vec<String> = finding.evidence.iter().map(words::evidence).chain(advice).collect();
    let mut shares: Vec<&str> = sentences
        .iter()
        .flat_map(|sentence| LOST.captures_iter(sentence))
        .filter_map(|found| found.get(1).map(|share| share.as_str()))
        .collect();
    shares.sort_unstable();
    shares.dedup();
    if shares.len() > 1 {
        add(format!("different shares of lost segments {shares:?} in {sentences:?}"));
    }
}

/// The text as printed has no number below its own resolution.
fn text(report: &FlowReport, wrong: &mut Vec<String>) {
    let look = Look::new(false, 10_000);
    let mut printed = Vec::new();
    let mut ranker = Ranker::new(Selection::default());
    ranker.add(report.clone());
    let diagnosis = Diagnosis {
        recordings: vec![Recording { name: "capture".to_owned(), ..Recording::default() }],
        ranking: ranker.finish(),
        flows_not_kept: 0,
        paired: None,
        advise: &slowpath_remedies::advise,
    };
    terminal::diagnosis(&diagnosis, &look, &mut printed).expect("writing to a vector never fails");
    let printed = String::from_utf8(printed).expect("text");
    for line in printed.lines().map(str::trim) {
        // The picture's axis begins at 0 s.
        let is_axis = line.starts_with("0 s ");
        if !is_axis && EMPTY_NUMBER.is_match(line) {
            wrong.push(format!("a meaningless number: {line}"));
        }
    }
}
