//! The text of `slowpath diff`.

use super::Diff;
use super::facts::{title, value};
use super::words::{self, NAMES, change, time};
use crate::quantity::{count, counted};
use crate::table::Table;
use crate::terminal::{Look, WARNING, colour, recording};
use crate::words::sentence;
use anstyle::Style;
use slowpath_analyses::Limit;
use slowpath_runs::diff::Pair;
use slowpath_runs::diff::side::Side;
use slowpath_runs::diff::time::{Difference, LimitParts};
use std::io::{self, Write};

/// The most services in the table.
const ROWS: usize = 10;
/// Times of a smaller part of a side's time are joined.
const WORTH_A_ROW: f64 = 0.01;

/// Prints the captures, a table of services if there are several, and `top` pairs in full.
///
/// # Errors
///
/// The errors of `out`.
pub fn print(diff: &Diff, top: usize, look: &Look, out: &mut impl Write) -> io::Result<()> {
    for (name, read) in NAMES.into_iter().zip(&diff.recordings) {
        write!(out, "{} ", look.strong(name))?;
        recording(read, &Look { width: look.width.saturating_sub(2), ..*look }, out)?;
    }
    for (name, flows) in NAMES.into_iter().zip(diff.not_kept).filter(|(_, flows)| *flows > 0) {
        let text = format!("{} of {name} were seen and not kept, to save memory.", counted(flows, "flow"));
        look.paragraph(out, "", &text)?;
    }
    let compared = &diff.compared;
    let pairs = &compared.pairs;
    let shown = top.min(pairs.len());
    if pairs.is_empty() {
        writeln!(out)?;
        look.strong_paragraph(out, words::nothing_compared(compared.flows))?;
        if !compared.flows.contains(&0) {
            look.paragraph(out, "", "To compare two flows by their numbers: --flow N,M.")?;
        }
    }
    if pairs.len() > 1 {
        writeln!(out)?;
        services(pairs, look, out)?;
    }
    for pair in &pairs[..shown] {
        writeln!(out)?;
        one(pair, pairs.len() > 1, look, out)?;
    }
    let mut rest: Vec<String> = Vec::new();
    for (name, only) in NAMES.into_iter().zip(&compared.only) {
        rest.extend(words::only(name, only));
    }
    rest.extend(words::left_out(compared.left_out));
    if pairs.len() > shown {
        rest.push("More services in full: --top N. Two flows by their numbers: --flow N,M.".to_owned());
    }
    if !rest.is_empty() {
        writeln!(out)?;
    }
    rest.iter().try_for_each(|text| look.paragraph(out, "", text))
}

/// A row for each service.
fn services(pairs: &[Pair], look: &Look, out: &mut impl Write) -> io::Result<()> {
    let mut table = Table::new(1, ["service", "rate in A", "in B", "B took", "mostly"]);
    for pair in pairs.iter().take(ROWS) {
        let [a, b] = pair.sides.each_ref().map(rate);
        let (took, mostly) = match &pair.difference {
            None => ("-".to_owned(), "not compared".to_owned()),
            Some(difference) if !difference.is_beyond_chance() => ("the same".to_owned(), "-".to_owned()),
            Some(difference) => {
                let most = difference.parts.iter().max_by_key(|part| difference.toward_total_ns(part));
                let mostly = most.map_or_else(String::new, |part| part.cause.limit().to_string());
                (change(pair.cost_ns() as i64), mostly)
            }
        };
        table.row(vec![pair.servers[1].to_string(), a, b, took, mostly]);
    }
    table.print(look, out)?;
    match pairs.len().saturating_sub(ROWS) {
        0 => Ok(()),
        more => writeln!(out, "and {} more, that differ less", count(more as u64)),
    }
}

fn rate(side: &Side) -> String {
    side.rate().map_or_else(|| "-".to_owned(), |rate| rate.to_string())
}

/// One pair in full.
fn one(pair: &Pair, is_one_of_several: bool, look: &Look, out: &mut impl Write) -> io::Result<()> {
    if is_one_of_several {
        let name = format!("── {} ", pair.servers[1]);
        let rest = look.text_width().saturating_sub(name.chars().count());
        writeln!(out, "{}", look.faint(&format!("{name}{}", "─".repeat(rest))))?;
    }
    for (side, name) in NAMES.into_iter().enumerate() {
        let captured =
            words::captured(&pair.sides[side]).map_or_else(String::new, |text| format!(", {text}"));
        look.paragraph(out, &format!("{name}  "), &format!("{}{captured}", words::flows(pair, side)))?;
    }
    if let Some(doubt) = words::doubt(pair) {
        look.styled_paragraph(out, "!  ", &doubt, WARNING)?;
    }
    writeln!(out)?;
    look.strong_paragraph(out, &words::headline(pair))?;
    let Some(difference) = &pair.difference else { return keep_in_mind(pair, look, out) };
    writeln!(out)?;
    measures(pair, look, out)?;
    writeln!(out)?;
    let heading = format!("Where the time went, for {}", words::amount(difference));
    writeln!(out, "{}", look.strong(&heading))?;
    times(difference, look, out)?;
    reasons(pair, look, out)?;
    others(pair, look, out)?;
    keep_in_mind(pair, look, out)
}

/// Rate, time and data.
fn measures(pair: &Pair, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let [a, b] = pair.sides.each_ref();
    let mut table = Table::new(1, ["", "A", "B", "B / A"]);
    let ratio = |a: f64, b: f64| if a > 0.0 { format!("{:.2}", b / a) } else { "-".to_owned() };
    let several = a.flows > 1 || b.flows > 1;
    let number = |side: &Side| side.rate().map_or(0.0, |rate| rate.get() as f64);
    let name = if several { "rate of a flow" } else { "rate" };
    table.row(vec![name.to_owned(), rate(a), rate(b), ratio(number(a), number(b))]);
    let seconds = |side: &Side| side.time.as_secs_f64();
    let lasted = |side: &Side| crate::quantity::duration(side.time);
    let name = if several { "time of all flows" } else { "time" };
    table.row(vec![name.to_owned(), lasted(a), lasted(b), ratio(seconds(a), seconds(b))]);
    let data = |side: &Side| side.bytes.get() as f64;
    table.row(vec!["data".to_owned(), a.bytes.to_string(), b.bytes.to_string(), ratio(data(a), data(b))]);
    if several {
        let flows = ratio(a.flows as f64, b.flows as f64);
        table.row(vec!["flows with data".to_owned(), count(a.flows), count(b.flows), flows]);
    }
    table.print(look, out)
}

/// The time by limit and by cause.
fn times(difference: &Difference, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let line = |cells: [&str; 3]| format!("{:>9}  {:>9}  {:>9}  ", cells[0], cells[1], cells[2]);
    writeln!(out, "{}", look.faint(&format!("{}limited by", line(["A", "B", "change"]))))?;
    let totals = difference.times_ns();
    let is_worth = |times: [i64; 2]| {
        let whole = |side: usize| times[side] as f64 >= WORTH_A_ROW * totals[side] as f64;
        whole(0) || whole(1)
    };
    let row = |times: [i64; 2], label: &str, style: Style, mut out: &mut dyn Write| -> io::Result<()> {
        let cell = |time_ns: i64| if time_ns == 0 { "–".to_owned() } else { time(time_ns) };
        let by = times[1].saturating_sub(times[0]);
        let lead = line([&cell(times[0]), &cell(times[1]), &change(by)]);
        look.styled_paragraph(&mut out, &lead, label, style)
    };
    let (mut joined, mut small) = ([0i64; 2], 0u64);
    for limit in difference.limits() {
        if !is_worth(limit.times_ns) {
            joined = [joined[0] + limit.times_ns[0], joined[1] + limit.times_ns[1]];
            small += limit.parts.len() as u64;
            continue;
        }
        limit_rows(&limit, &is_worth, &row, out)?;
    }
    if small > 0 {
        let text = format!("{} below 1 %", counted(small, "other cause"));
        row(joined, &text, Style::new(), out)?;
    }
    row(totals, "all", Style::new().bold(), out)
}

/// Writes one row.
type WriteRow<'a> = dyn Fn([i64; 2], &str, Style, &mut dyn Write) -> io::Result<()> + 'a;

fn limit_rows(
    of: &LimitParts<'_>,
    is_worth: &dyn Fn([i64; 2]) -> bool,
    row: &WriteRow<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let style = Style::new().fg_color(Some(colour(of.limit))).bold();
    if let [part] = of.parts.as_slice() {
        let label = format!("{}: {}", of.limit.title(), part.cause.title());
        return row(of.times_ns, &label, style, out);
    }
    row(of.times_ns, Limit::title(of.limit), style, out)?;
    of.parts
        .iter()
        .filter(|part| is_worth(part.times_ns))
        .try_for_each(|part| row(part.times_ns, &format!("- {}", part.cause.title()), Style::new(), out))
}

/// What explains the difference.
fn reasons(pair: &Pair, look: &Look, out: &mut impl Write) -> io::Result<()> {
    if let Some(text) = words::unexplained(pair) {
        writeln!(out)?;
        return look.paragraph(out, "", text);
    }
    if pair.reasons.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    writeln!(out, "{}", look.strong("What changed that explains it"))?;
    for reason in &pair.reasons {
        look.paragraph(out, "  • ", &format!("{}.", words::part(reason, pair)))?;
        if reason.mechanisms.is_empty() {
            look.paragraph(out, "    ", words::NOT_EXPLAINED)?;
        }
        for one in &reason.mechanisms {
            look.paragraph(out, "    ", &words::mechanism(one, pair))?;
        }
    }
    Ok(())
}

/// The facts that differ, those of the explanations too.
fn others(pair: &Pair, look: &Look, out: &mut impl Write) -> io::Result<()> {
    if pair.changed.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut table = Table::new(1, ["What differs", "A", "B", ""]);
    for changed in &pair.changed {
        let [a, b] = changed.values.map(|measured| value(changed.fact, measured));
        let note = if pair.explains(changed.fact) { "explains" } else { "" };
        table.row(vec![title(changed.fact).to_owned(), a, b, note.to_owned()]);
    }
    table.print(look, out)
}

fn keep_in_mind(pair: &Pair, look: &Look, out: &mut impl Write) -> io::Result<()> {
    if pair.cautions.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    writeln!(out, "{}", look.strong("Keep in mind"))?;
    pair.cautions.iter().try_for_each(|one| look.paragraph(out, "  • ", &sentence(&words::caution(one))))
}
