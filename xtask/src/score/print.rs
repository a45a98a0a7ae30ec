//! The score as text.

use super::Measured;
use super::limits::Verdict;
use super::right::COLUMNS;
use std::fmt::Write;

/// Below this share a capture's verdict is printed though not all are asked for.
const WORTH_A_LOOK: f64 = 0.95;

/// Everything, for people.
pub fn text(measured: &Measured, verbose: bool) -> String {
    let mut text = format!("{}: {} runs, each captured at both ends\n", measured.set, measured.runs);
    matrix(&mut text, measured);
    verdicts(&mut text, measured, verbose);
    labels(&mut text, measured, verbose);
    counts(&mut text, measured, verbose);
    text
}

fn percent(share: f64) -> f64 {
    share * 100.0
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 100.0 } else { percent(part as f64 / whole as f64) }
}

fn matrix(text: &mut String, measured: &Measured) {
    let _ = writeln!(
        text,
        "\nLimits by time. Right: share of the time with the right limit, of what the kernel says there is.\n\
         Columns: where the time went, % (a row may differ from 100 by rounding).\n"
    );
    let _ = write!(
        text,
        "{:15} {:>4} {:>6} {:>6} {:>6} {:>6} {:>6} |",
        "caused", "n", "right", "least", "sender", "recvr", "cause"
    );
    for column in COLUMNS {
        let _ = write!(text, " {column:>7}");
    }
    text.push('\n');
    for row in &measured.limits.groups {
        let at = |end| percent(row.by_limit_at[end]);
        let _ = write!(
            text,
            "{:15} {:4} {:6.1} {:6.1} {:6.1} {:6.1} {:6.1} |",
            row.group.title(),
            row.captures,
            percent(row.by_limit),
            percent(row.by_limit_least),
            at("sender"),
            at("receiver"),
            percent(row.by_cause),
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

fn verdicts(text: &mut String, measured: &Measured, verbose: bool) {
    let shown: Vec<&Verdict> =
        measured.limits.runs.iter().filter(|run| verbose || run.by_limit < WORTH_A_LOOK).collect();
    let which = if verbose { "All captures" } else { "Captures with less than 95 % right" };
    let _ = writeln!(text, "\n{which}; k: the kernel's own share, as far as it counts one.");
    for run in shown {
        let ours = run.ours();
        let kernel = [run.kernel.idle, run.kernel.rwnd_limited, run.kernel.sndbuf_limited];
        let _ = write!(text, "{:5.1} {:58} {:8}", percent(run.by_limit), run.run, run.end);
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

fn labels(text: &mut String, measured: &Measured, verbose: bool) {
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
        "sent again {:8.3} % of the {arrived} retransmissions that arrived in order were counted: {counted}, \
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

fn counts(text: &mut String, measured: &Measured, verbose: bool) {
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
