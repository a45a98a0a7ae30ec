//! The score as text.

use super::Scores;
use super::by_time::{ByTime, Wrong};
use super::limits::{Limits, Verdict};
use super::right::COLUMNS;
use super::run::Place;
use std::fmt::Write;

/// A capture's verdict below this share is printed even if not all are asked for.
const WORTH_A_LOOK: f64 = 0.95;

/// Everything, for people.
pub fn text(measured: &Scores, verbose: bool) -> String {
    let mut text =
        format!("{}: {} runs, each captured at both ends ({})\n", measured.set, measured.runs, measured.role);
    matrix(&mut text, &measured.limits);
    verdicts(&mut text, &measured.limits, verbose);
    times(&mut text, &measured.by_time, verbose);
    stalls(&mut text, measured);
    labels(&mut text, measured, verbose);
    counts(&mut text, measured, verbose);
    let live = &measured.live;
    if live.runs > 0 {
        let _ = writeln!(
            text,
            "\n\nWhat the probe reported live of {} runs, at either end and of both.",
            live.runs
        );
        matrix(&mut text, &live.limits);
        verdicts(&mut text, &live.limits, verbose);
        times(&mut text, &live.by_time, verbose);
    }
    text
}

/// When a verdict was wrong, and what held then, for people.
pub fn wrong(by_time: &ByTime) -> String {
    let mut text = String::from(
        "From, to (s since the recording's start), what held, what was said; *: with high confidence.\n",
    );
    for timed in by_time.runs.iter().filter(|timed| !timed.stretches.is_empty()) {
        let _ = writeln!(text, "\n{} at the {}", timed.run, timed.place.title());
        for Wrong { from_s, to_s, held, said, is_high } in &timed.stretches {
            let held = format!("{held:?}");
            let mark = if *is_high { "*" } else { "" };
            let _ = writeln!(text, "{from_s:10.3} {to_s:10.3} {held:17} {said}{mark}");
        }
    }
    text
}

fn percent(share: f64) -> f64 {
    share * 100.0
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 100.0 } else { percent(part as f64 / whole as f64) }
}

fn matrix(text: &mut String, limits: &Limits) {
    let _ = writeln!(
        text,
        "\nLimits by label. Right: share of the time with the right limit, of what the kernel says there is; both: one \
         verdict of both recordings; cause: with a right cause; label: with the one that was put there.\n\
         Columns: where the time went, % (a row may differ from 100 by rounding).\n"
    );
    let _ = write!(
        text,
        "{:15} {:>4} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} |",
        "caused", "n", "right", "least", "sender", "recvr", "both", "cause", "label"
    );
    for column in COLUMNS {
        let _ = write!(text, " {column:>7}");
    }
    text.push('\n');
    for row in &limits.groups {
        let at = |place| row.by_limit_at.get(&place).map_or(f64::NAN, |share| percent(*share));
        let _ = write!(
            text,
            "{:15} {:4} {:6.1} {:6.1} {:6.1} {:6.1} {:6.1} {:6.1} {:6.1} |",
            row.group.title(),
            row.captures,
            percent(row.by_limit),
            percent(row.by_limit_least),
            at(Place::Sender),
            at(Place::Receiver),
            at(Place::Both),
            percent(row.by_cause),
            percent(row.by_label),
        );
        for column in COLUMNS {
            match percent(row.columns[column]) {
                share if share < 0.05 => text.push_str("       ·"),
                share => {
                    let _ = write!(text, " {share:7.1}");
                }
            }
        }
        text.push('\n');
    }
}

fn verdicts(text: &mut String, limits: &Limits, verbose: bool) {
    let shown: Vec<&Verdict> =
        limits.runs.iter().filter(|run| verbose || run.by_limit < WORTH_A_LOOK).collect();
    let which = if verbose { "All captures" } else { "Captures with less than 95 % right" };
    let _ = writeln!(text, "\n{which}; k: the kernel's own share, as far as it counts one.");
    for run in shown {
        let ours = run.ours();
        let kernel = [run.kernel.idle, run.kernel.rwnd_limited, run.kernel.sndbuf_limited];
        let _ = write!(text, "{:5.1} {:58} {:8}", percent(run.by_limit), run.run, run.place.title());
        for (name, (ours, kernel)) in ["app", "rwnd", "sndbuf"].iter().zip(ours.iter().zip(kernel)) {
            let _ = write!(text, " {name} {:.0} k{:.0}", percent(*ours), percent(kernel));
        }
        let most: Vec<String> = run
            .shares
            .iter()
            .take(4)
            .map(|(cause, share)| format!("{cause} {:.1}", percent(*share)))
            .collect();
        let _ = writeln!(text, "  {}", most.join(", "));
    }
}

fn times(text: &mut String, by_time: &ByTime, verbose: bool) {
    let _ = writeln!(
        text,
        "\nLimits at each time, held against the kernel's samples, the path's books and the applications' own.\n\
         Right: share of the time in which what held is known (known: how much that is).\n\n\
         {:15} {:>4} {:>6} {:>6} {:>6} {:>6}",
        "caused", "runs", "sender", "recvr", "both", "known"
    );
    for row in &by_time.groups {
        let at = |place| row.right_at.get(&place).map_or(f64::NAN, |share| percent(*share));
        let _ = writeln!(
            text,
            "{:15} {:4} {:6.1} {:6.1} {:6.1} {:6.1}",
            row.group.title(),
            row.runs,
            at(Place::Sender),
            at(Place::Receiver),
            at(Place::Both),
            percent(row.known)
        );
    }
    text.push_str("\nSaid with high confidence, share of that time; of it, wrong:\n");
    for (place, sure) in &by_time.sure {
        let _ =
            writeln!(text, "{:15} {:6.1} {:6.2}", place.title(), percent(sure.share), percent(sure.wrong));
    }
    let _ = write!(text, "\n{:18} {:>7} |", "held, % said", "s");
    for column in COLUMNS {
        let _ = write!(text, " {column:>7}");
    }
    text.push('\n');
    for said in &by_time.said {
        let _ = write!(text, "{:18} {:7.1} |", format!("{:?}", said.held), said.seconds);
        for column in COLUMNS {
            match percent(said.columns[column] / said.seconds.max(f64::MIN_POSITIVE)) {
                share if share < 0.05 => text.push_str("       ·"),
                share => {
                    let _ = write!(text, " {share:7.1}");
                }
            }
        }
        text.push('\n');
    }
    for run in by_time.runs.iter().filter(|run| verbose || run.right_s < WORTH_A_LOOK * run.known_s) {
        let mut wrong: Vec<_> = run.wrong.iter().collect();
        wrong.sort_by(|a, b| b.1.total_cmp(a.1));
        let wrong: Vec<String> = wrong.iter().take(4).map(|(what, s)| format!("{what} {s:.2} s")).collect();
        let _ = writeln!(
            text,
            "{:5.1} {:58} {:8} of {:.1} s  {}",
            percent(run.right_s / run.known_s.max(f64::MIN_POSITIVE)),
            run.run,
            run.place.title(),
            run.known_s,
            wrong.join(", ")
        );
    }
}

fn stalls(text: &mut String, measured: &Scores) {
    let stalls = &measured.stalls;
    let _ = writeln!(
        text,
        "\nStalls at the sender (TAPO): {:.1} % of {} named right; of {} more nobody knows the cause.",
        ratio(stalls.right, stalls.known),
        stalls.known,
        stalls.unknown
    );
    for (what, count) in &stalls.said {
        let _ = writeln!(text, "  {what:58} {count:5}");
    }
    for (run, wrong) in &stalls.wrong {
        let wrong: Vec<String> = wrong.iter().map(|(what, count)| format!("{what}: {count}")).collect();
        let _ = writeln!(text, "  {run:58} {}", wrong.join(", "));
    }
}

fn labels(text: &mut String, measured: &Scores, verbose: bool) {
    let labels = &measured.labels;
    let _ =
        writeln!(text, "\nLabels at the receiver, held against the sender's capture of the same packets.");
    for (name, reordered) in [("in order", false), ("reordered", true)] {
        let (right, all) = labels.right(reordered);
        let runs = labels.runs.iter().filter(|run| run.reordered == reordered).count();
        let _ = writeln!(text, "{name:10} {:8.3} % of {all} segments in {runs} runs", ratio(right, all));
    }
    let (arrived, counted, off) = labels.again();
    let _ = writeln!(
        text,
        "retransmitted {:8.3} % of the {arrived} retransmissions that arrived in order were counted: {counted}, \
         off by {off} in single runs",
        ratio(arrived.saturating_sub(off), arrived)
    );
    let _ = writeln!(
        text,
        "left out   {} runs with super-packets or without IP identification",
        labels.left_out.len()
    );
    for run in labels.runs.iter().filter(|run| verbose || !run.wrong.is_empty()) {
        let wrong: Vec<String> = run.wrong.iter().map(|(what, count)| format!("{what}: {count}")).collect();
        let _ = writeln!(
            text,
            "{:8.3} {:58} {:6} segments, {:4} arrived again, {:4} counted  {}",
            ratio(run.right, run.segments),
            run.run,
            run.segments,
            run.arrived_again,
            run.counted,
            wrong.join(", ")
        );
    }
}

fn counts(text: &mut String, measured: &Scores, verbose: bool) {
    let runs = &measured.counts.runs;
    let exact = runs.iter().filter(|run| run.ours == run.wire).count();
    let per_packet: Vec<_> = runs.iter().filter(|run| !run.super_packets).collect();
    let as_kernel = per_packet.iter().filter(|run| run.ours + run.syns == run.kernel).count();
    let sum = |of: fn(&super::counts::Counted) -> u64| runs.iter().map(of).sum::<u64>();
    let _ = writeln!(
        text,
        "\nRetransmissions at the sender: {} counted, {} on the wire; the same in {exact} of {} runs. The kernel's \
         TcpRetransSegs agrees in {as_kernel} of {} runs without super-packets.",
        sum(|run| run.ours),
        sum(|run| run.wire),
        runs.len(),
        per_packet.len(),
    );
    for run in runs {
        let differs = run.ours != run.wire || (!run.super_packets && run.ours + run.syns != run.kernel);
        if verbose || differs {
            let _ = writeln!(
                text,
                "  {:58} ours {:4}  wire {:4}  SYNs {}  kernel {:4}{}",
                run.run,
                run.ours,
                run.wire,
                run.syns,
                run.kernel,
                if run.super_packets { "  super-packets" } else { "" }
            );
        }
    }
}
