//! The table of services: flows that have something in common, a row each.

use super::bar;
use super::look::{Look, columns};
use super::palette::{colour, letter};
use crate::quantity::{count, duration, share};
use crate::services::{By, Listed, Totals};
use anstyle::Style;
use slowpath_analyses::Limit;
use slowpath_model::{Bytes, shown};
use std::io;
use std::time::Duration;

/// The rows that fit a screen, with what is written around them.
pub const ROWS: usize = 10;
/// Letters of a bar, each a tenth of the time.
const BAR: usize = 10;
/// Spaces between columns.
const GAP: usize = 2;
/// The columns of numbers: flows, bytes, rate and lost time before the bar, the worst flow after it.
const NUMBERS: [&str; 5] = ["flows", "bytes", "rate", "lost", "worst"];
/// The column that a narrow terminal omits.
const RATE: usize = 2;

struct Row<'a> {
    name: String,
    numbers: [String; 5],
    totals: &'a Totals,
    /// The limit with most of the time, in words: for wide terminals.
    mostly: String,
}

impl<'a> Row<'a> {
    /// `worst` is the flow that lost most.
    fn new(name: &str, totals: &'a Totals, worst: String) -> Self {
        let lost = if totals.lost == Duration::ZERO { "-".to_owned() } else { duration(totals.lost) };
        let rate = totals.rate().map_or_else(|| "-".to_owned(), |rate| rate.to_string());
        let bytes = if totals.bytes == Bytes::ZERO { "-".to_owned() } else { totals.bytes.to_string() };
        let mostly = totals.limits().first().map(|(limit, _, part)| format!("{} {limit}", share(*part)));
        Self {
            name: shown::line(name).into_owned(),
            numbers: [count(totals.flows), bytes, rate, lost, worst],
            totals,
            mostly: mostly.unwrap_or_default(),
        }
    }
}

/// Writes the table: at most `rows` services, the others together, and everything together, with the meaning of the
/// bars' letters. `files` are the names of the files that were read.
///
/// # Errors
///
/// The errors of `out`.
pub fn services(
    listed: &Listed,
    files: &[&str],
    rows: usize,
    look: &Look,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let Some(all) = &listed.all else { return Ok(()) };
    let (own, joined) = listed.rows(rows);
    let worst = |totals: &Totals| match files.len() {
        0 | 1 => totals.worst.flow.to_string(),
        _ if listed.by == By::File => totals.worst.flow.to_string(),
        _ => format!("{}:{}", totals.worst.file + 1, totals.worst.flow),
    };
    let mut table: Vec<Row<'_>> =
        own.iter().map(|(name, totals)| Row::new(&name.text(files), totals, worst(totals))).collect();
    if let Some((number, totals)) = &joined {
        table.push(Row::new(&format!("{number} others"), totals, worst(totals)));
    }
    if table.len() > 1 {
        table.push(Row::new("all", all, worst(all)));
    }
    print(listed.by, &table, look, out)?;
    bar::legend(all.limits().into_iter().map(|(limit, _, part)| (limit, part)), look, out)
}

fn print(by: By, table: &[Row<'_>], look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    let heading = by.name();
    let widest = |head: &str, cell: &dyn Fn(&Row<'_>) -> usize| {
        table.iter().map(cell).max().unwrap_or(0).max(columns(head))
    };
    let name = widest(heading, &|row| columns(&row.name));
    let numbers: [usize; 5] =
        std::array::from_fn(|place| widest(NUMBERS[place], &|row| columns(&row.numbers[place])));
    let mostly = widest("most of the time", &|row| columns(&row.mostly));
    let of_numbers = |without: usize| -> usize {
        let kept = (0..numbers.len()).filter(|place| *place != without);
        kept.map(|place| numbers[place] + GAP).sum::<usize>() + BAR
    };
    let has_rate = of_numbers(usize::MAX) <= look.width;
    let of_numbers = of_numbers(if has_rate { usize::MAX } else { RATE });
    // If a line is too short for both, the name is on a line of its own above the numbers.
    let above = name + GAP + of_numbers > look.width;
    let has_words = !above && name + 2 * GAP + of_numbers + mostly <= look.width;
    let line = |label: &str, cells: [&str; 5], bar: &str, words: &str| {
        let mut text = String::new();
        if !above {
            text += &format!("{label:<name$}{:GAP$}", "");
        }
        for (place, cell) in cells.iter().enumerate().filter(|(place, _)| has_rate || *place != RATE) {
            // The bar comes before the worst flow.
            if place == NUMBERS.len() - 1 {
                text += &format!("{bar}{:GAP$}", "");
            }
            text += &format!("{cell:>width$}{:GAP$}", "", width = numbers[place]);
        }
        if has_words { text + words } else { text }
    };
    let head = line(heading, NUMBERS, &format!("{:<BAR$}", "limits"), "most of the time");
    writeln!(out, "{}", look.strong(head.trim_end()))?;
    for row in table {
        if above {
            writeln!(out, "{}", row.name)?;
        }
        let bar = tenths_bar(row.totals, look);
        let text = line(&row.name, row.numbers.each_ref().map(String::as_str), &bar, &row.mostly);
        writeln!(out, "{}", text.trim_end())?;
    }
    Ok(())
}

/// Tenths of the time, by limit: the longest first. Each limit has the tenths that its share rounds to best.
fn tenths(totals: &Totals) -> Vec<Limit> {
    let mut limits = totals.limits().into_iter();
    let mut tenths = Vec::with_capacity(BAR);
    let mut end = 0.0;
    for (limit, _, part) in &mut limits {
        end += part * BAR as f64;
        tenths.resize((end.round() as usize).min(BAR), limit);
    }
    tenths
}

fn tenths_bar(totals: &Totals, look: &Look) -> String {
    let tenths = tenths(totals);
    let rest = " ".repeat(BAR - tenths.len());
    if !look.colour {
        return tenths.into_iter().map(letter).collect::<String>() + &rest;
    }
    let paint = |limit: &Limit| look.paint(Style::new().fg_color(Some(colour(*limit))), "█");
    tenths.iter().map(paint).collect::<String>() + &rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::{Member, Services};
    use slowpath_analyses::Cause;
    use slowpath_model::{Endpoint, FlowId, FlowKey, Instant};

    fn listed(causes: &[(Cause, u64)]) -> Listed {
        let end = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
        let key = FlowKey { a: end(1, 40_000), b: end(2, 443), occurrence: 0 };
        let causes = causes.iter().map(|(cause, ms)| (*cause, Duration::from_millis(*ms))).collect();
        let mut services = Services::new(By::Service);
        services.add(&Member {
            file: 0,
            id: FlowId(7),
            key: &key,
            near: None,
            process: None,
            bytes: Bytes::kib(64),
            first: Instant::START,
            last: Instant::from_nanos(1_000_000_000),
            causes,
            main_cause: None,
        });
        services.listed()
    }

    #[test]
    fn bar_has_a_letter_for_each_tenth() {
        for (causes, bar) in [
            (&[(Cause::SlowReader, 1000)][..], "RRRRRRRRRR"),
            (&[(Cause::SlowReader, 640), (Cause::SlowStart, 360)], "RRRRRRCCCC"),
            (&[(Cause::SlowReader, 34), (Cause::SlowStart, 33), (Cause::SenderIdle, 33)], "RRRCCCCaaa"),
            (&[(Cause::SlowReader, 990), (Cause::SlowStart, 10)], "RRRRRRRRRR"),
            (&[], ""),
        ] {
            let all = listed(causes).all.expect("a flow");
            let letters: String = tenths(&all).into_iter().map(letter).collect();
            assert_eq!(letters.len(), if causes.is_empty() { 0 } else { BAR }, "{letters}");
            if causes.len() != 3 {
                assert_eq!(letters, bar);
            }
        }
    }
}
