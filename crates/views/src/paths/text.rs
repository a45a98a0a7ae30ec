//! The text of `slowpath paths`.

use crate::quantity::duration;
use crate::table::align;
use crate::terminal::Look;
use slowpath_model::units::counted;
use slowpath_model::{Bytes, Rate, shown};
use slowpath_paths::answer::{Answer, Buffers};
use slowpath_paths::entry::{Entry, Measure, PARTS, Pair};
use slowpath_probe::real::ProbeError;
use slowpath_runs::paths::{Imported, MeasuredPath, PathHistory};
use slowpath_tune::utc_text;
use std::io::{self, Write};
use std::time::Duration;

const fn name(measure: Measure) -> &'static str {
    match measure {
        Measure::RttMin => "minimum RTT",
        Measure::Rtt => "typical RTT",
        Measure::Capacity => "capacity",
        Measure::Available => "available",
        Measure::Delivered => "delivered",
        Measure::Loss => "loss",
        Measure::Mtu => "MTU",
    }
}

fn value(measure: Measure, value: u64) -> String {
    match measure {
        Measure::RttMin | Measure::Rtt => duration(Duration::from_nanos(value)),
        Measure::Capacity | Measure::Available | Measure::Delivered => {
            Rate::bits_per_second(value).to_string()
        }
        Measure::Loss => loss(value),
        Measure::Mtu => format!("{value} B"),
    }
}

/// A loss in percent, to two significant figures.
fn loss(parts: u64) -> String {
    if parts == 0 {
        return "none seen".to_owned();
    }
    let percent = parts as f64 * 100.0 / PARTS as f64;
    let digits = (1.0 - percent.log10().floor()).clamp(0.0, 7.0) as usize;
    let text = format!("{percent:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// How long ago, in whole units: nobody needs more of an age.
fn age(at: u64, now: u64) -> String {
    let seconds = now.saturating_sub(at);
    match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// Prints what is known of each path.
///
/// # Errors
/// The errors of `out`.
pub fn show(answers: &[Answer], look: &Look, out: &mut impl Write) -> io::Result<()> {
    if answers.is_empty() {
        return writeln!(out, "No path is known.");
    }
    for (number, answer) in answers.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        print_answer(answer, look, out)?;
    }
    Ok(())
}

fn print_answer(answer: &Answer, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let rate = answer.rate.map(|rate| {
        let least = if rate.basis == Measure::Delivered { "at least " } else { "" };
        format!("{least}{}", Rate::bits_per_second(rate.bit_per_s))
    });
    let expects = match (rate, answer.rtt()) {
        (Some(rate), Some(rtt)) => format!("expect {rate} over {}", duration(rtt)),
        (Some(rate), None) => format!("expect {rate}; no RTT is known"),
        (None, Some(rtt)) => format!("RTT {}; no rate is known", duration(rtt)),
        (None, None) if answer.values.iter().any(|value| value.measure < Measure::Loss) => {
            "neither rate nor RTT is trusted any more".to_owned()
        }
        (None, None) => "neither rate nor RTT is known".to_owned(),
    };
    look.strong_paragraph(out, &format!("{}: {expects}.", answer.pair()))?;
    for one in &answer.values {
        let (name, value, source) = (name(one.measure), value(one.measure, one.value), one.source.slug());
        let old = if one.trusted { "" } else { ", no longer trusted" };
        writeln!(out, "  {name:<11}  {value:>11}  {source}, {}{old}", age(one.at, answer.at))?;
    }
    if let Some(buffers) = &answer.buffers {
        print_buffers(buffers, answer.streams, look, out)?;
    }
    match &answer.no_buffers {
        Some(why) => look.paragraph(out, "", &format!("No buffers: {why}.")),
        None => Ok(()),
    }
}

fn print_buffers(buffers: &Buffers, streams: u32, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let each = match streams {
        1 => "A connection needs".to_owned(),
        streams => format!("Each of {} needs", counted(streams.into(), "connection")),
    };
    look.paragraph(out, "", &format!("{each} a window of {}.", Bytes::new(buffers.window_bytes)))?;
    let text = format!(
        "On {}: tcp_rmem up to {} at the receiver, tcp_wmem up to {} at the sender.",
        shown::line(&buffers.kernel),
        Bytes::new(buffers.receive_bytes),
        Bytes::new(buffers.send_bytes),
    );
    look.paragraph(out, "", &text)?;
    let asks = buffers.ask_receive_bytes.zip(buffers.ask_send_bytes);
    if let Some((receive, send)) = asks.filter(|(receive, send)| receive.min(send) > &0) {
        let text = format!(
            "A program that sets its buffers itself asks for SO_RCVBUF {receive} and SO_SNDBUF {send}."
        );
        look.paragraph(out, "", &text)?;
    }
    Ok(())
}

/// Prints all values of paths, at a time in seconds since 1970.
///
/// # Errors
/// The errors of `out`.
pub fn history(paths: &[PathHistory], now: u64, look: &Look, out: &mut impl Write) -> io::Result<()> {
    for (number, (pair, entries)) in paths.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        look.strong_paragraph(out, &format!("{pair}: {}.", counted(entries.len() as u64, "value")))?;
        let row = |entry: &Entry| {
            let until = entry.at.saturating_add(entry.trusted_s.into());
            let trust = if entry.is_trusted(now) { "trusted until" } else { "was trusted until" };
            vec![
                format!("  {}", name(entry.measure)),
                value(entry.measure, entry.value),
                utc_text(entry.at),
                entry.source.slug().to_owned(),
                format!("{trust} {}", utc_text(until)),
            ]
        };
        align(&entries.iter().map(row).collect::<Vec<_>>(), out)?;
    }
    Ok(())
}

/// Why a measurement ended early.
pub(super) fn ended(error: &ProbeError) -> String {
    match error {
        ProbeError::Spent => "today's budget ended it".to_owned(),
        error => error.to_string(),
    }
}

/// Prints what a measurement found, and what it cost.
///
/// # Errors
/// The errors of `out`.
pub fn measured(measured: &MeasuredPath, look: &Look, out: &mut impl Write) -> io::Result<()> {
    if let Some(error) = &measured.ended_by {
        look.paragraph(out, "", &format!("Measured in part: {}.", ended(error)))?;
    }
    print_answer(&measured.answer, look, out)?;
    let (cost, left) = (measured.cost, measured.left);
    let text = format!(
        "Measuring took {} and {}. Left for this path today: {} and {}.",
        cost.bytes,
        duration(cost.time),
        left.bytes,
        duration(left.time)
    );
    look.faint_paragraph(out, "", &text)
}

/// What `import --live` does, with the probe or without the privilege to load it.
pub fn learning(has_probe: bool) -> String {
    let how = match has_probe {
        true => "",
        false => ", by TCP_INFO ten times a second (the probe needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN)",
    };
    format!("learning from this host's connections{how}")
}

/// Prints what was learned from each file, or from this host's connections.
///
/// # Errors
/// The errors of `out`.
pub fn imported(imported: &[Imported], out: &mut impl Write) -> io::Result<()> {
    for one in imported {
        let (values, flows) = (counted(one.values as u64, "value"), counted(one.flows, "flow"));
        let left = match one.values - one.kept {
            0 => String::new(),
            left => format!("; {left} not kept: older than 90 days, or there are newer ones enough"),
        };
        let from = one.file.as_ref().map(|file| file.to_string_lossy());
        let from = from.as_deref().map_or("this host's connections".into(), shown::line);
        writeln!(out, "{from}: {values} from {flows}{left}")?;
    }
    Ok(())
}

/// Prints the paths that were forgotten.
///
/// # Errors
/// The errors of `out`.
pub fn forgotten(gone: &[Pair], out: &mut impl Write) -> io::Result<()> {
    for pair in gone {
        writeln!(out, "{pair}: forgotten")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_has_two_figures_and_no_noise() {
        let shown = [0, 1, 1000, 123_456, 100_000, 10_000_000, 333_000_000, PARTS].map(loss);
        let wanted = ["none seen", "0.0000001 %", "0.0001 %", "0.012 %", "0.01 %", "1 %", "33 %", "100 %"];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn age_is_in_whole_units() {
        let shown = [0, 59, 60, 7199, 172_799, 172_800].map(|seconds| age(1_000_000, 1_000_000 + seconds));
        assert_eq!(shown, ["0 s ago", "59 s ago", "1 min ago", "1 h ago", "47 h ago", "2 days ago"]);
        assert_eq!(age(10, 5), "0 s ago");
    }
}
