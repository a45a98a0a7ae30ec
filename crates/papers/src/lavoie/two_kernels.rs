//! Figures 20 to 22: what functions cost in two kernels, compared.
//!
//! The paper compares 2.4.16 and 2.6.14, and draws functions that are in the top ten of both. Here functions are
//! matched across renames, and each difference is tested for significance ([`slowpath_cost::compare`]). A function's
//! cost per request is its share of the server's CPU time per request.

use super::claims::{claim, each_size};
use super::judge::{Answer, grows, near_of_cpu};
use super::measured::ServerSamples;
use super::{FILES_KIB, Run, Runs, ServerCase};
use crate::comparison::{Compared, Comparison, Difference};
use crate::report::{Claim, Report};
use slowpath_cost::categories::Category;
use slowpath_cost::compare::{self, Part};
use slowpath_cost::functions::Image;
use slowpath_cost::names::Known;
use slowpath_cost::{Comparison as Matched, Share};
use std::cmp::Reverse;

/// Runs, and where they were made.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The runs.
    pub runs: &'a [Run<'a>],
    /// The kernel's release, as in uname(2).
    pub release: &'a str,
    /// The machine's CPUs, if recorded.
    pub machine: Option<&'a str>,
}

/// As in figures 8 to 10, on which these are based.
const TOP: usize = 10;
const FIGURES: [(&str, &str); FILES_KIB.len()] = [
    ("Figure 20", "what functions cost themselves for 1K files"),
    ("Figure 21", "what functions cost themselves for 8K files"),
    ("Figure 22", "what functions cost themselves for 64K files"),
];

/// The cases of these figures.
pub fn compared_cases() -> [ServerCase; FILES_KIB.len()] {
    FILES_KIB.map(super::plain)
}

/// Adds the comparison with the first runs to the report of the second, with the paper's claims about it.
pub fn add_comparison(report: &mut Report, before: Side<'_>, after: Side<'_>) {
    let measured = [before, after].map(|side| Runs::of(side.runs));
    let tables = FILES_KIB.into_iter().zip(FIGURES).filter_map(|(kib, named)| {
        let case = super::plain(kib);
        let first = as_run(before, &measured[0], case)?;
        Some(compared(named, &compare::functions(&first, &as_run(after, &measured[1], case)?)))
    });
    let tables: Vec<Compared> = tables.collect();
    let remarks = remarks(before, after);
    if order(before.release, after.release) == Order::OlderFirst {
        let saturated = measured.map(|runs| runs.saturated().0);
        report.claims.extend(claims(&saturated, &tables));
    }
    let of = [before, after].map(|side| format!("Linux {}", side.release));
    report.comparison = Some(Comparison { of, remarks, tables });
}

/// The server's functions by their own cost. The unit of work is chosen so that the cost per unit is in nanoseconds per
/// request.
fn as_run<'a>(side: Side<'a>, runs: &Runs, case: ServerCase) -> Option<slowpath_cost::Run<'a>> {
    let profile = side.runs.iter().find(|run| run.case == case)?.profile;
    let measured = runs.get(case)?;
    let mut own = vec![0; profile.functions.len()];
    for stack in &measured.stacks {
        if let Some((innermost, _)) = stack.places.first() {
            own[innermost.0 as usize] += stack.samples;
        }
    }
    let work = runs.ns_per_request(case).filter(|ns| *ns > 0.0).map(|ns| measured.total as f64 / ns);
    let run = slowpath_cost::Run::of_samples(&profile.functions, &own);
    Some(slowpath_cost::Run { event: profile.events.first(), work, ..run })
}

fn compared((name, about): (&'static str, &'static str), matched: &Matched<Known>) -> Compared {
    let (before, after) = (places(matched, false), places(matched, true));
    let in_top = |place: Option<usize>| place.is_some_and(|place| place <= TOP);
    let all: Vec<Difference> =
        (0..matched.parts.len()).map(|at| difference(&matched.parts[at], [before[at], after[at]])).collect();
    let in_both_top_tens = all.iter().filter(|of| of.places.into_iter().all(in_top)).count();
    // Sorted by difference.
    let mut shown = 0;
    let mut functions: Vec<Difference> = all
        .into_iter()
        .filter(|of| {
            let is_significant = of.is_significant() && shown < TOP;
            shown += usize::from(is_significant);
            is_significant || of.places.into_iter().any(in_top)
        })
        .collect();
    functions.sort_by_key(|of| {
        of.places.map(|place| place.unwrap_or(usize::MAX)).into_iter().rev().collect::<Vec<_>>()
    });
    let us = |ns: Option<f64>| ns.map(|ns| ns / 1000.0);
    let each = matched.each();
    Compared {
        name,
        about,
        samples: [matched.total.before.samples, matched.total.after.samples],
        us_a_request: [us(each.before), us(each.after)],
        in_both_top_tens,
        functions,
    }
}

/// The rank of each part by cost, from 1; `None` for parts that cost nothing.
fn places(matched: &Matched<Known>, is_after: bool) -> Vec<Option<usize>> {
    let samples =
        |part: &Part<Known>| if is_after { part.cost.after.samples } else { part.cost.before.samples };
    let mut order: Vec<usize> =
        (0..matched.parts.len()).filter(|at| samples(&matched.parts[*at]) > 0).collect();
    order.sort_by_key(|at| (Reverse(samples(&matched.parts[*at])), &matched.parts[*at].of));
    let mut places = vec![None; matched.parts.len()];
    for (place, at) in (1..).zip(order) {
        places[at] = Some(place);
    }
    places
}

fn difference(part: &Part<Known>, places: [Option<usize>; 2]) -> Difference {
    let name = match &part.of.image {
        Image::User(image) => format!("{} ({image})", part.of.name),
        _ => part.of.name.clone(),
    };
    Difference {
        name,
        places,
        shares: [part.share.before, part.share.after].map(|share| share.map(|share| share * 100.0)),
        us_a_request: [part.each.before, part.each.after].map(|ns| ns.map(|ns| ns / 1000.0)),
        by_chance: part.by_chance,
        among_all: part.among_all,
    }
}

/// Which of two kernels is older.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Same,
    OlderFirst,
    NewerFirst,
}

/// By all numbers in the release: distributions append their own to the kernel's.
fn order(before: &str, after: &str) -> Order {
    let numbers = |release: &str| -> Vec<u64> {
        release.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    };
    if before == after {
        Order::Same
    } else if numbers(before) > numbers(after) {
        Order::NewerFirst
    } else {
        Order::OlderFirst
    }
}

/// Remarks to read before comparing numbers.
fn remarks(before: Side<'_>, after: Side<'_>) -> Vec<String> {
    let mut remarks = Vec::new();
    match order(before.release, after.release) {
        Order::OlderFirst => {}
        Order::Same => remarks.push(format!(
            "one kernel compared with itself, Linux {}: what the paper says of two is not asked",
            after.release
        )),
        Order::NewerFirst => remarks.push(format!(
            "Linux {}, which stands before, is the newer one: how costs grew from 2.4 to 2.6 is not asked; give the folders the other \
             way round",
            before.release
        )),
    }
    match (before.machine, after.machine) {
        (Some(before), Some(after)) if before == after => {}
        (Some(before), Some(after)) => remarks.push(format!(
            "measured on different machines, {before} and {after}: what differs may be theirs"
        )),
        _ => remarks.push("whether both were measured on one machine was not kept".to_owned()),
    }
    let events = [before, after].map(|side| {
        let events = side.runs.iter().filter_map(|run| Some(run.profile.events.first()?.name.as_str()));
        let mut events: Vec<&str> = events.collect();
        events.sort_unstable();
        events.dedup();
        events.join(" and ")
    });
    if events[0] != events[1] {
        remarks.push(format!(
            "sampled by different events, {} before and {} after: both stand for time, but a clock that waits while interrupts are off \
             puts their cost elsewhere",
            events[0], events[1]
        ));
    }
    remarks
}

fn claims(measured: &[Runs; 2], tables: &[Compared]) -> Vec<Claim> {
    let asked = [
        ("TCP receive costs more than in the kernel before, for all sizes", receive_grew(measured)),
        ("for large files TCP send pages costs more than before", pages_grew(measured)),
        ("the costs of memory management remain high: as before, for all sizes", memory_remains(measured)),
        ("the larger the file, the more functions are in the top ten of both", top_tens_converge(tables)),
    ];
    asked.into_iter().map(|(says, answer)| claim("section 4, figures 20 to 22", says, answer)).collect()
}

/// Evaluates a claim for each size, before and after.
fn each(
    [before, after]: &[Runs; 2],
    ask: impl Fn(&ServerSamples, &ServerSamples) -> Answer,
) -> Option<Answer> {
    each_size(|kib| Some(ask(before.plain(kib)?, after.plain(kib)?)))
}

fn grew(before: &ServerSamples, after: &ServerSamples, share: impl Fn(&ServerSamples) -> Share) -> Answer {
    let (first, second) = (share(before), share(after));
    (format!("{first} before, {second} after"), grows((before, first), (after, second)))
}

fn receive_grew(measured: &[Runs; 2]) -> Option<Answer> {
    each(measured, |before, after| grew(before, after, |measured| measured.own("TCP receive")))
}

/// The function itself is small since 6.5, so everything it calls counts.
fn pages_grew([before, after]: &[Runs; 2]) -> Option<Answer> {
    let (seen, holds) =
        grew(before.plain(64)?, after.plain(64)?, |measured| measured.with_callees("TCP send pages"));
    Some((format!("64K, with what it calls: {seen}"), holds))
}

fn memory_remains(measured: &[Runs; 2]) -> Option<Answer> {
    each(measured, |before, after| {
        let (first, second) = (before.category(Category::Memory), after.category(Category::Memory));
        let published = first.value().unwrap_or(0.0);
        (format!("{first} before, {second} after"), near_of_cpu(after, second, published))
    })
}

fn top_tens_converge(tables: &[Compared]) -> Option<Answer> {
    let [small, middle, large] = tables else { return None };
    let counts = [small, middle, large].map(|table| table.in_both_top_tens);
    let seen = format!("{} for 1K, {} for 8K, {} for 64K", counts[0], counts[1], counts[2]);
    let holds = match counts[0].cmp(&counts[2]) {
        std::cmp::Ordering::Less => Some(counts.is_sorted()),
        // Equal: the samples of ten functions do not disprove it.
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some(false),
    };
    Some((seen, holds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_releases_are_ordered() {
        for (before, after, expected) in [
            ("6.18.44-fc-v595", "6.18.44-fc-v595", Order::Same),
            ("6.1.0-18-amd64", "6.1.0-28-amd64", Order::OlderFirst),
            ("6.12.9", "6.5.0", Order::NewerFirst),
            ("2.6.14", "6.18", Order::OlderFirst),
        ] {
            assert_eq!(order(before, after), expected, "{before} {after}");
        }
    }
}
