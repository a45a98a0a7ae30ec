//! The text of `slowpath compare-tunings`.

use crate::quantity::counted;
use crate::table::Table;
use crate::terminal::Look;
use slowpath_model::units::duration_text;
use slowpath_model::{Bytes, Rate};
use slowpath_papers::tunings::Path;
use std::io::{self, Write};

/// Prints a row for each technique, its CPU time, the fastest one and the one with least memory, and a description of
/// each.
///
/// # Errors
///
/// The errors of `out`.
pub fn print(path: &Path, results: &[super::Result], look: &Look, out: &mut impl Write) -> io::Result<()> {
    let text = format!(
        "{} with an RTT of {}, {}, {} in all; the bandwidth-delay product is {}",
        path.rate,
        duration_text(path.delay),
        counted(path.streams.into(), "connection"),
        path.amount,
        path.bdp()
    );
    look.paragraph(out, "", &text)?;
    if let Some(memory) = path.memory {
        writeln!(out, "at most {memory} of memory for buffers on each host")?;
    }
    writeln!(out)?;
    let mut table =
        Table::new(1, ["technique", "rate", "share", "window", "snd mem", "rcv mem", "retrans", "RTOs"]);
    for (technique, outcome) in results {
        let share = outcome.rate as f64 / path.rate.get() as f64 * 100.0;
        table.row(vec![
            technique.name().to_owned(),
            Rate::bits_per_second(outcome.rate).to_string(),
            format!("{share:.0} %"),
            Bytes::new(outcome.window).to_string(),
            Bytes::new(outcome.sender_memory).to_string(),
            Bytes::new(outcome.receiver_memory).to_string(),
            outcome.retransmits.to_string(),
            outcome.timeouts.to_string(),
        ]);
    }
    table.print(look, out)?;
    writeln!(out, "\nCPU time, as a share of one CPU and per byte read")?;
    print_cpu(results, look, out)?;
    writeln!(out)?;
    conclude(results, look, out)?;
    writeln!(out, "\nWhat they do (weigle, table I)")?;
    for (technique, _) in results {
        look.paragraph(out, &format!("  {:12}", technique.name()), technique.does())?;
        if let Some(kind) = technique.kind() {
            let kind = format!("{}, {}, {}, {}", kind.level, kind.changes, kind.band, kind.visibility);
            look.paragraph(out, &format!("{:14}", ""), &kind)?;
        }
    }
    writeln!(out, "\n--json has the command that runs each by itself.")
}

/// A row for each technique: the CPU time of both hosts.
fn print_cpu(results: &[super::Result], look: &Look, out: &mut impl Write) -> io::Result<()> {
    let mut table = Table::new(1, ["technique", "sender", "per byte", "receiver", "per byte"]);
    for (technique, outcome) in results {
        let share = |cpu| outcome.busy(cpu).map(share);
        let each = |cpu| outcome.cpu_ns_per_byte(cpu).map(|nanos| format!("{nanos:.2} ns"));
        let hosts = [outcome.sender_cpu_ns, outcome.receiver_cpu_ns];
        let cells = hosts.into_iter().flat_map(|cpu| [share(cpu), each(cpu)]);
        let cells = cells.map(|cell| cell.unwrap_or_else(|| "–".to_owned()));
        table.row([technique.name().to_owned()].into_iter().chain(cells).collect());
    }
    table.print(look, out)
}

/// A share with a decimal, as far as that shows it.
fn share(of_one: f64) -> String {
    if of_one < 0.0005 { "< 0.1 %".to_owned() } else { format!("{:.1} %", of_one * 100.0) }
}

/// The fastest technique, and the one with least memory within 5 % of it.
fn conclude(results: &[super::Result], look: &Look, out: &mut impl Write) -> io::Result<()> {
    let Some(fastest) = results.iter().max_by_key(|(_, outcome)| outcome.rate) else { return Ok(()) };
    let memory = |(_, outcome): &super::Result| outcome.sender_memory + outcome.receiver_memory;
    let near = results.iter().filter(|(_, outcome)| outcome.rate as f64 >= 0.95 * fastest.1.rate as f64);
    let Some(lightest) = near.min_by_key(|one| memory(one)) else { return Ok(()) };
    let rate = Rate::bits_per_second(fastest.1.rate);
    let (most, least) = (Bytes::new(memory(fastest)), Bytes::new(memory(lightest)));
    let name = fastest.0.name();
    let text = if lightest.0 == fastest.0 {
        format!(
            "{name} is the fastest, {rate}. Nothing within 5 % of it takes less memory ({most} on both hosts)."
        )
    } else {
        format!(
            "{name} is the fastest: {rate} with {most} of memory on both hosts. Within 5 % of it, {} takes the least \
             memory: {} with {least}.",
            lightest.0.name(),
            Rate::bits_per_second(lightest.1.rate)
        )
    };
    look.paragraph(out, "", &text)
}
