//! The qualitative claims of the paper, and whether they hold here.

use super::{Experiment, QUEUES, Results, SPOILING_WINDOW, TABLE_I, TABLE_II};
use crate::measure::FlowMeasures;
use crate::report::{Claim, is_about};
use slowpath_kernels::buffers::Host;
use slowpath_kernels::registry;

/// All of them, in the paper's order.
pub fn of(results: &Results<'_>) -> Vec<Claim> {
    let mut claims = arithmetic();
    claims.extend(windows(results));
    claims.extend(queues(results));
    claims.extend(parameter_cache(results));
    claims
}

/// A size that a program may request in both kernels, in bytes: either's default limit.
const ASKED: i64 = 65_535;

fn arithmetic() -> Vec<Claim> {
    let host = |name| Host::new(&registry::named(name).expect("a kernel that is known"), 1448, None);
    let [old, newer] = ["2.2.20", "2.4.17"].map(|name| host(name).receive(Some(ASKED)));
    vec![
        Claim {
            place: "section IV-A",
            says: "what setsockopt is given is doubled, and getsockopt says so",
            seen: format!("{ASKED} bytes: {} in 2.2 and {} in 2.4", old.getsockopt, newer.getsockopt),
            holds: Some(old.getsockopt == 2 * ASKED && newer.getsockopt == 2 * ASKED),
        },
        Claim {
            place: "section IV-A",
            says: "2.2 divides it by two again before it is a window, 2.4 does not",
            seen: format!("windows of {} and {} bytes", old.first_space, newer.first_space),
            holds: Some(i64::from(old.first_space) == ASKED && i64::from(newer.first_space) > ASKED),
        },
        Claim {
            place: "section IV-B",
            says: "the window is 1 − 1/2^tcp_adv_win_scale of the buffer",
            seen: format!("{:.3} of it in 2.4", f64::from(newer.first_space) / f64::from(newer.first)),
            holds: Some(newer.first_space == newer.first - newer.first / 4),
        },
        Claim {
            place: "section IV-C",
            says: "the advertised window begins small and grows with what arrives",
            seen: format!(
                "{} bytes at first, {} after {} segments in 2.4",
                newer.first_window, newer.most_window, newer.segments
            ),
            holds: Some(newer.first_window < newer.most_window / 4),
        },
    ]
}

/// Rates of a table, in words.
fn listed(results: &Results<'_>, queue: u32, rows: &[(u32, f64)]) -> String {
    let rates = rows.iter().map(|(window, _)| format!("{:.0}", results.rate(queue, *window)[1]));
    format!("{} Mbit/s with {} MB", rates.collect::<Vec<_>>().join(", "), sizes(rows))
}

fn sizes(rows: &[(u32, f64)]) -> String {
    rows.iter().map(|(window, _)| window.to_string()).collect::<Vec<_>>().join(", ")
}

fn windows(results: &Results<'_>) -> Vec<Claim> {
    let [short, long, _] = QUEUES;
    let sent_again =
        |window| results.of(Experiment::Iperf { queue: long, window }, |run| f64::from(run.retransmits))[1];
    let of_large = |of: fn(&FlowMeasures) -> f64| {
        [8, 16].map(|window| results.of(Experiment::Iperf { queue: long, window }, of)[1])
    };
    let timeouts = of_large(|run| f64::from(run.timeouts));
    let rtts = of_large(|run| run.longest_rtt);
    let [small, large] = [[1, 2], [8, 16]].map(|windows| windows.map(sent_again));
    let capacity = 1000.0;
    let best = TABLE_I.map(|(window, _)| results.rate(short, window)[1]).into_iter().fold(0.0, f64::max);
    vec![
        Claim {
            place: "section V, table I",
            says: "throughput decreases as buffers grow beyond 2 MB",
            seen: listed(results, short, &TABLE_I),
            holds: Some(
                results.rate(short, 4)[1] < results.rate(short, 2)[1]
                    && results.rate(short, 8)[1] < results.rate(short, 2)[1],
            ),
        },
        Claim {
            place: "section V, table I",
            says: "the most is reached with 2 MB",
            seen: format!("with {} MB", results.best(short, &TABLE_I)),
            holds: Some(results.best(short, &TABLE_I) == 2),
        },
        Claim {
            place: "section V",
            says: "large buffers alone give about a quarter of the capacity",
            seen: format!("{:.0} % at best", 100.0 * best / capacity),
            holds: Some(is_about(best / capacity, [0.25; 2])),
        },
        Claim {
            place: "section V",
            says: "connections with windows of 8 and 16 MB lose significantly more than those with small ones",
            seen: format!(
                "retransmitted: {:.0} and {:.0} segments with 1 and 2 MB, {:.0} and {:.0} with 8 and 16 MB",
                small[0], small[1], large[0], large[1]
            ),
            holds: Some(large.iter().all(|many| small.iter().all(|few| *many > 1.5 * few))),
        },
        Claim {
            place: "section V",
            says: "these losses frequently result in repeated slow starts",
            seen: format!(
                "timeouts, each of which begins one: {:.0} with 8 MB, {:.0} with 16 MB",
                timeouts[0], timeouts[1]
            ),
            holds: Some(timeouts.iter().all(|timeouts| *timeouts >= 1.0)),
        },
        Claim {
            place: "section V",
            says: "these connections have RTTs of up to 120 ms",
            seen: format!("up to {:.0} ms with 8 MB, {:.0} ms with 16 MB", rtts[0] * 1e3, rtts[1] * 1e3),
            holds: Some(rtts.iter().all(|rtt| is_about(*rtt, [0.12; 2]))),
        },
    ]
}

fn queues(results: &Results<'_>) -> Vec<Claim> {
    let [short, long, longest] = QUEUES;
    let median = |queue, window| results.rate(queue, window)[1];
    let gains = [4, 8].map(|window| median(long, window) / median(short, window) - 1.0);
    let further = TABLE_II.map(|(window, _)| median(longest, window) / median(long, window));
    vec![
        Claim {
            place: "section V, table II",
            says: "a txqueuelen of 1000 makes large windows faster (by 133 and 128 % with 4 and 8 MB)",
            seen: format!("by {:.0} and {:.0} %", 100.0 * gains[0], 100.0 * gains[1]),
            holds: Some(is_about(gains[0], [1.33; 2]) && is_about(gains[1], [1.28; 2])),
        },
        Claim {
            place: "section V, table II",
            says: "throughput then increases until 4 MB",
            seen: listed(results, long, &TABLE_II),
            holds: Some(results.best(long, &TABLE_II) == 4),
        },
        Claim {
            place: "section V, table II",
            says: "and decreases with 8 or 16 MB",
            seen: format!("{:.0} and {:.0} Mbit/s", median(long, 8), median(long, 16)),
            holds: Some(median(long, 8).max(median(long, 16)) < median(long, results.best(long, &TABLE_II))),
        },
        Claim {
            place: "section V",
            says: "a txqueuelen beyond 1000 changes nothing further",
            seen: format!(
                "× {:.2} to × {:.2} with {longest}",
                further.into_iter().fold(f64::INFINITY, f64::min),
                further.into_iter().fold(0.0, f64::max)
            ),
            holds: Some(further.iter().all(|ratio| (0.9..=1.1).contains(ratio))),
        },
    ]
}

/// A run after one with losses.
fn parameter_cache(results: &Results<'_>) -> Vec<Claim> {
    let first = results.rate(QUEUES[1], SPOILING_WINDOW)[1];
    let of = |flushed, of: fn(&FlowMeasures) -> f64| results.of(Experiment::SecondRun { flushed }, of)[1];
    let [kept, flushed] = [false, true].map(|flushed| of(flushed, FlowMeasures::rate));
    let again = of(false, |run| f64::from(run.retransmits));
    vec![
        Claim {
            place: "sections IV-E and V",
            says: "ssthresh is cached, and a transfer after one with losses leaves slow start early and stays slow",
            seen: format!(
                "{first:.0} Mbit/s, and {kept:.0} in the run after it, which retransmits {again:.0} segments"
            ),
            holds: Some(kept < 0.5 * first && again == 0.0),
        },
        Claim {
            place: "section V",
            says: "flushing the cache before a connection is opened prevents that",
            seen: format!("{flushed:.0} Mbit/s after a flush, {kept:.0} without"),
            holds: Some(flushed > 0.9 * first && flushed > 2.0 * kept),
        },
    ]
}
