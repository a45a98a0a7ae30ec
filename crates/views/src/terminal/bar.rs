//! A flow's limits over time, in one line.

use super::look::{Look, columns};
use super::palette::{colour, letter};
use crate::quantity::{duration, share};
use anstyle::Style;
use slowpath_analyses::Limit;
use slowpath_analyses::report::{FlowReport, Spell};
use slowpath_model::Instant;
use std::io;
use std::time::Duration;

/// Writes the bar, its time axis and its legend.
pub(crate) fn write(flow: &FlowReport, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    let spells = &flow.main().spells;
    if spells.is_empty() || flow.lasted() == Duration::ZERO {
        return Ok(());
    }
    let width = look.text_width() - 4;
    write!(out, "  ")?;
    if look.colour {
        // A half block shows two cells, one in the foreground colour and one in the background colour.
        let cells = cells(spells, flow.first, flow.last, width * 2);
        for pair in cells.chunks(2) {
            let style =
                Style::new().fg_color(Some(colour(pair[0]))).bg_color(pair.get(1).map(|l| colour(*l)));
            write!(out, "{}", look.paint(style, "▌"))?;
        }
        writeln!(out)?;
    } else {
        let cells = cells(spells, flow.first, flow.last, width);
        writeln!(out, "{}", cells.iter().map(|limit| letter(*limit)).collect::<String>())?;
    }
    let (from, to) = (moment(flow.first), moment(flow.last));
    let between = width.saturating_sub(columns(&from) + columns(&to));
    writeln!(out, "  {}", look.faint(&format!("{from}{:between$}{to}", "")))?;
    legend(shares(flow), look, out)
}

/// An instant on the axis, as for `--from`, with its unit.
fn moment(at: Instant) -> String {
    match at.since(Instant::START) {
        Some(time) if time < Duration::from_secs(60) => duration(time),
        _ => format!("{:.1} s", at.seconds()),
    }
}

/// The longest limit in each of `count` equal parts of the time.
fn cells(spells: &[Spell], first: Instant, last: Instant, count: usize) -> Vec<Limit> {
    let whole = i128::from(last.nanos_since(first));
    let edge = |number: usize| (whole * number as i128 / count as i128) as i64 + first.nanos();
    let mut start = 0;
    (0..count)
        .map(|number| {
            let (from, to) = (edge(number), edge(number + 1));
            while spells.get(start).is_some_and(|spell| spell.to.nanos() <= from) {
                start += 1;
            }
            let mut times = [0i64; Limit::ALL.len()];
            for spell in spells[start..].iter().take_while(|spell| spell.from.nanos() < to) {
                let overlap = spell.to.nanos().min(to) - spell.from.nanos().max(from);
                times[place(spell.cause.limit())] += overlap.max(0);
            }
            let longest = (0..times.len()).max_by_key(|limit| times[*limit]).unwrap_or(0);
            if times[longest] == 0 { Limit::Unknown } else { Limit::ALL[longest] }
        })
        .collect()
}

fn place(limit: Limit) -> usize {
    Limit::ALL.iter().position(|other| *other == limit).unwrap_or(Limit::ALL.len() - 1)
}

/// The time under each limit, as shares, longest first.
fn shares(flow: &FlowReport) -> Vec<(Limit, f64)> {
    let mut shares = [0.0; Limit::ALL.len()];
    for spell in &flow.main().spells {
        shares[place(spell.cause.limit())] += spell.lasted().as_secs_f64() / flow.lasted().as_secs_f64();
    }
    let mut limits: Vec<_> = Limit::ALL.into_iter().zip(shares).filter(|(_, part)| *part > 0.0).collect();
    limits.sort_by(|a, b| b.1.total_cmp(&a.1));
    limits
}

/// The limit of each of `count` equal parts of the time, of limits with their shares of it. Each has the parts that its share
/// rounds to best.
pub fn parts(limits: impl IntoIterator<Item = (Limit, f64)>, count: usize) -> Vec<Limit> {
    let (mut parts, mut end) = (Vec::with_capacity(count), 0.0);
    for (limit, share) in limits {
        end += share * count as f64;
        parts.resize((end.round() as usize).min(count), limit);
    }
    parts
}

/// Writes what the letters and colours mean, with shares of the time: `R receive window 91 %   C congestion window 6 %`.
pub(crate) fn legend(
    limits: impl IntoIterator<Item = (Limit, f64)>,
    look: &Look,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let (indent, gap, mut used) = ("  ", "   ", 0);
    for (limit, part) in limits {
        let text = format!("{} {} {}", letter(limit), limit.title(), share(part));
        let needed = columns(&text);
        if used > 0 && used + gap.len() + needed > look.text_width() {
            writeln!(out)?;
            used = 0;
        }
        let space = if used == 0 { indent } else { gap };
        let key = if look.colour { "■".to_owned() } else { letter(limit).to_string() };
        let key = look.paint(Style::new().fg_color(Some(colour(limit))), &key);
        write!(out, "{space}{key} {} {}", limit.title(), share(part))?;
        used += space.len() + needed;
    }
    if used > 0 { writeln!(out) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_analyses::Cause;

    #[test]
    fn cell_shows_the_longest_limit_within_it() {
        let spell = |from: i64, to: i64, cause| Spell {
            from: Instant::from_nanos(from),
            to: Instant::from_nanos(to),
            cause,
        };
        let spells = [
            spell(0, 26, Cause::SlowStart),
            spell(26, 40, Cause::SlowReader),
            spell(40, 100, Cause::BottleneckFull),
        ];
        let cells = cells(&spells, Instant::START, Instant::from_nanos(100), 5);
        assert_eq!(cells.iter().map(|limit| letter(*limit)).collect::<String>(), "CR===");
    }
}
