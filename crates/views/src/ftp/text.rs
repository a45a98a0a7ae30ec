//! The text of `slowpath ftp`: what was transferred, how fast, who set which buffers, and what limited it.

use crate::terminal::Look;
use slowpath_copy::account::Bound;
use slowpath_ftp::report::{Direction, Report, ServerBuffer};
use slowpath_ftp::{Basis, Tuning};
use slowpath_model::units::{counted, duration_text};
use slowpath_model::{Bytes, shown};
use std::io::{self, Write};

/// Shares below this are not shown, in thousandths.
const LEAST_SHARE: u32 = 10;
/// What limited a transfer, and its rate, are shown from this amount on: less does not last long enough to tell.
const LEAST_MOVED: Bytes = Bytes::kib(1024);

/// Prints the headline, the buffers, and what limited the transfer.
///
/// # Errors
/// The errors of `out`.
pub fn print(report: &Report, look: &Look, out: &mut impl Write) -> io::Result<()> {
    look.strong_paragraph(out, &headline(report))?;
    writeln!(out)?;
    for line in lines(report) {
        look.paragraph(out, "  ", &line)?;
    }
    Ok(())
}

fn headline(report: &Report) -> String {
    let (amount, lasted) = (report.amount, duration_text(report.lasted));
    let destination = shown::line(&report.destination);
    let rate = report.rate.filter(|_| report.moved >= LEAST_MOVED);
    let rate = rate.map_or_else(String::new, |rate| format!(", {rate} while it moved"));
    format!("Transferred {amount} to {destination} in {lasted}{rate}.")
}

fn lines(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    let kept = report.amount.saturating_sub(report.moved);
    if kept.get() > 0 {
        lines.push(format!("{kept} had arrived before and were kept."));
    }
    if let Some(path) = report.path {
        let how = match path.basis {
            Basis::Measured => "Measured before the transfer",
            Basis::Store => "Known of the path",
        };
        let (rtt, rate) = (duration_text(path.rtt), path.rate);
        lines.push(format!("{how}: RTT {rtt}, {rate}; the bandwidth-delay product is {}.", path.product()));
    } else if report.tuning == Tuning::Auto {
        lines.push(
            "The path was not measured: too little was to be transferred, or it moved unevenly.".to_owned(),
        );
    }
    lines.push(own_buffer(report));
    lines.extend(server_buffer(report));
    if report.moved < LEAST_MOVED {
        return lines;
    }
    let limits: Vec<String> = report
        .bound
        .iter()
        .filter(|(_, share)| *share >= LEAST_SHARE)
        .map(|(bound, share)| {
            let title =
                bound.map_or("the server or the path, which a receiver cannot tell apart", Bound::title);
            format!("{title} {} %", (share + 5) / 10)
        })
        .collect();
    if !limits.is_empty() {
        lines.push(format!("Limited by: {}.", limits.join(", ")));
    }
    let rtt = report.min_rtt.map(|rtt| format!("RTT {}", duration_text(rtt)));
    let retransmitted = (report.direction == Direction::Put).then(|| match report.retransmitted {
        0 => "nothing retransmitted".to_owned(),
        count => format!("{} retransmitted", counted(count, "segment")),
    });
    let facts: Vec<String> = rtt.into_iter().chain(retransmitted).collect();
    if !facts.is_empty() {
        lines.push(format!("{}.", facts.join(", ")));
    }
    lines
}

fn own_buffer(report: &Report) -> String {
    let name = if report.direction == Direction::Get { "receive" } else { "send" };
    let has = report.own.has;
    match report.own.asked {
        None => format!("This host's {name} buffer was sized by its kernel: {has} at the end."),
        Some(asked) => {
            // The kernel doubles what it is given (socket(7)).
            let limit = if name == "receive" { "net.core.rmem_max" } else { "net.core.wmem_max" };
            let less = match has < asked {
                true => format!(" {limit} allows no more: see `slowpath doctor`."),
                false => String::new(),
            };
            format!(
                "This host's {name} buffer was set by slowpath: {asked} asked for, {has} with the kernel's own part.{less}"
            )
        }
    }
}

fn server_buffer(report: &Report) -> Option<String> {
    Some(match report.server {
        ServerBuffer::Unasked => return None,
        ServerBuffer::NotOffered => {
            "The server has no command for its own buffer (SBUF, SITE BUFSIZE): its kernel sized it."
                .to_owned()
        }
        ServerBuffer::Set { command, bytes } => {
            format!("The server's buffer was set to {bytes} ({command}).")
        }
        ServerBuffer::Refused { command } => {
            format!("The server refused to set its buffer ({command}): its kernel sized it.")
        }
    })
}
