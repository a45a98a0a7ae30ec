//! The text of `slowpath copy`: what was copied, how fast, and where the time went.

use crate::terminal::Look;
use slowpath_analyses::Limit;
use slowpath_copy::account::Bound;
use slowpath_copy::report::Report;
use slowpath_model::units::{counted, duration_text};
use slowpath_model::{Bytes, shown};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// Shares below this are not shown, in thousandths.
const LEAST_SHARE: u32 = 10;
/// Names that are listed; further ones are counted.
const MOST_NAMES: usize = 20;
/// What limited a copy, and its rate, are shown from this amount on: less does not last long enough to tell.
const LEAST_MOVED: Bytes = Bytes::kib(1024);
/// Times below this are not shown.
const LEAST_TIME: Duration = Duration::from_millis(1);

/// Prints the headline, where the time went, and what was not copied.
///
/// # Errors
/// The errors of `out`.
pub fn print(report: &Report, look: &Look, out: &mut impl Write) -> io::Result<()> {
    look.strong_paragraph(out, &headline(report))?;
    writeln!(out)?;
    for line in lines(report) {
        look.paragraph(out, "  ", &line)?;
    }
    let skipped: Vec<String> =
        report.skipped.iter().map(|(path, why)| format!("{}: {}", name(path), shown::line(why))).collect();
    let changed: Vec<String> = report.changed.iter().map(|path| name(path)).collect();
    list(out, look, "Not copied", &skipped)?;
    list(out, look, "Changed while it was read, so that the copy may be a mixture", &changed)
}

/// A path in the source; the source itself has none.
fn name(path: &Path) -> String {
    if path.as_os_str().is_empty() {
        return "the source itself".to_owned();
    }
    shown::line(&path.to_string_lossy()).into_owned()
}

fn list(out: &mut impl Write, look: &Look, title: &str, names: &[String]) -> io::Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", look.strong(title))?;
    for name in names.iter().take(MOST_NAMES) {
        look.paragraph(out, "  ", name)?;
    }
    let more = names.len().saturating_sub(MOST_NAMES);
    if more > 0 { writeln!(out, "  … and {}", counted(more as u64, "more name")) } else { Ok(()) }
}

fn headline(report: &Report) -> String {
    let files = counted(report.files, "file");
    let (amount, lasted) = (report.amount, duration_text(report.lasted));
    let destination = shown::line(&report.destination);
    let rate = report.rate.filter(|_| report.moved >= LEAST_MOVED);
    let rate = rate.map_or_else(String::new, |rate| format!(", {rate} while it moved"));
    format!("Copied {files}, {amount}, to {destination} in {lasted}{rate}.")
}

fn lines(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    let parts = [("begin", report.began), ("move", report.moving), ("write to disk (fsync)", report.synced)];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(_, time)| *time >= LEAST_TIME)
        .map(|(what, time)| format!("{} to {what}", duration_text(time)))
        .collect();
    if !parts.is_empty() {
        lines.push(format!("Time: {}.", parts.join(", ")));
    }
    if report.kept.get() > 0 {
        lines.push(format!("{} had arrived before and were kept.", report.kept));
    }
    if report.moved < LEAST_MOVED {
        return lines;
    }
    let limits: Vec<String> = report
        .bound
        .iter()
        .filter(|(_, share)| *share >= LEAST_SHARE)
        .map(|(bound, share)| format!("{} {} %", bound.title(), (share + 5) / 10))
        .collect();
    if !limits.is_empty() {
        lines.push(format!("Limited by: {}.", limits.join(", ")));
    }
    let rtt = report.min_rtt.map_or_else(String::new, |rtt| format!(", RTT {}", duration_text(rtt)));
    let retransmitted = match report.retransmitted {
        0 => "nothing retransmitted".to_owned(),
        count => format!("{} retransmitted", counted(count, "segment")),
    };
    let streams = counted(u64::from(report.streams), "stream");
    lines.push(format!(
        "{streams}, buffers up to {} to send and {} to receive{rtt}, {retransmitted}.",
        report.send_buffer, report.receive_buffer
    ));
    let spent = report.source_spent;
    let [whole, source, destination] =
        [spent.disk + spent.cpu + spent.socket, spent.disk, report.destination_spent.disk].map(duration_text);
    lines.push(format!(
        "Of {whole} of all streams, the source's disk took {source} and the destination's {destination}."
    ));
    lines.extend(report.bound.first().and_then(|(bound, _)| advice(*bound)).map(str::to_owned));
    lines
}

/// What would make the next copy faster.
fn advice(bound: Bound) -> Option<&'static str> {
    Some(match bound {
        Bound::Limit(Limit::SendBuffer) => {
            "Larger send buffers would help: `slowpath doctor` on the source's host shows its limits."
        }
        Bound::Limit(Limit::ReceiveWindow) => {
            "Larger receive buffers would help: `slowpath doctor` on the destination's host shows its limits."
        }
        Bound::Limit(Limit::LossRecovery | Limit::CongestionWindow) => {
            "More streams (--streams) or --congestion bbr may help on a path with losses."
        }
        _ => return None,
    })
}
