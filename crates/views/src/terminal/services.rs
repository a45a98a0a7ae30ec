//! The table of services: flows that have something in common, a row each.

use super::bar;
use super::look::{Look, columns};
use super::palette::{colour, letter};
use crate::quantity::{count, duration, share};
use crate::services::{By, Listed, Rows, Totals};
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
/// The longest name, in characters: longer than any but a hostile one.
const LONGEST: usize = 256;
/// The column that a narrow terminal omits.
const RATE: usize = 2;
/// The column after the bar.
const WORST: usize = 4;
/// The heading of the limit with most of the time, in words.
const WORDS: &str = "most of the time";

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
            name: shown::shortened(&shown::line(name), LONGEST).into_owned(),
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
    let Rows { own, others } = listed.rows(rows);
    // The place of the file is said unless there is one, or each row is one.
    let worst = |totals: &Totals| match (files.len(), listed.by) {
        (0 | 1, _) | (_, By::File) => totals.worst.flow.to_string(),
        _ => format!("{}:{}", totals.worst.file + 1, totals.worst.flow),
    };
    let of_several = |totals: &Totals| match listed.by {
        By::File => String::new(),
        _ => worst(totals),
    };
    let mut table: Vec<Row<'_>> =
        own.iter().map(|(name, totals)| Row::new(&name.text(files), totals, worst(totals))).collect();
    if let Some((number, totals)) = &others {
        table.push(Row::new(&format!("{number} others"), totals, of_several(totals)));
    }
    if table.len() > 1 {
        table.push(Row::new("all", all, of_several(all)));
    }
    print(listed.by, &table, look, out)?;
    bar::legend(all.limits().into_iter().map(|(limit, _, part)| (limit, part)), look, out)
}

fn print(by: By, table: &[Row<'_>], look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    let widest = |head: &str, cells: &mut dyn Iterator<Item = usize>| cells.fold(columns(head), usize::max);
    let numbers: [usize; 5] = std::array::from_fn(|place| {
        widest(NUMBERS[place], &mut table.iter().map(|row| columns(&row.numbers[place])))
    });
    let words = widest(WORDS, &mut table.iter().map(|row| columns(&row.mostly)));
    let all = numbers.iter().map(|width| width + GAP).sum::<usize>() + BAR;
    let has_rate = all <= look.width;
    let all = if has_rate { all } else { all - numbers[RATE] - GAP };
    // A name that is too long is on a line of its own above the numbers.
    let room = look.width.saturating_sub(all + GAP);
    let names = table.iter().map(|row| columns(&row.name)).filter(|name| *name <= room);
    let name = names.chain([columns(by.name())].into_iter().filter(|head| *head <= room)).max().unwrap_or(0);
    let has_words = name + all + 2 * GAP + words <= look.width;
    let line = |label: &str, cells: [&str; 5], bar: &str, words: &str| {
        let mut text = if name > 0 { format!("{label:<name$}{:GAP$}", "") } else { String::new() };
        for (place, cell) in cells.iter().enumerate().filter(|(place, _)| has_rate || *place != RATE) {
            if place == WORST {
                text += &format!("{bar}{:GAP$}", "");
            }
            text += &format!("{cell:>width$}{:GAP$}", "", width = numbers[place]);
        }
        if has_words { text + words } else { text }
    };
    let heading = if columns(by.name()) <= name { by.name() } else { "" };
    let head = line(heading, NUMBERS, &format!("{:<BAR$}", "limits"), WORDS);
    writeln!(out, "{}", look.strong(head.trim_end()))?;
    for row in table {
        let mut label = row.name.as_str();
        if columns(label) > name {
            writeln!(out, "{label}")?;
            label = "";
        }
        let text =
            line(label, row.numbers.each_ref().map(String::as_str), &bar_of(row.totals, look), &row.mostly);
        writeln!(out, "{}", text.trim_end())?;
    }
    Ok(())
}

/// Tenths of the time, by limit: the longest first.
fn tenths(totals: &Totals) -> Vec<Limit> {
    bar::parts(totals.limits().into_iter().map(|(limit, _, part)| (limit, part)), BAR)
}

fn bar_of(totals: &Totals, look: &Look) -> String {
    let tenths = tenths(totals);
    let rest = " ".repeat(BAR - tenths.len());
    if !look.colour {
        return tenths.into_iter().map(letter).collect::<String>() + &rest;
    }
    let paint = |limits: &[Limit]| {
        look.paint(Style::new().fg_color(Some(colour(limits[0]))), &"█".repeat(limits.len()))
    };
    tenths.chunk_by(|one, next| one == next).map(paint).collect::<String>() + &rest
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
