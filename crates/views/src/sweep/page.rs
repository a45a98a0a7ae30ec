//! The page of `slowpath sweep --html`: a plot of each number, and the table.

use super::plot::Axes;
use super::text::{EXPLAINED, comparison_tables, missing_text, place, tables_of_runs};
use crate::chart::{self, PAGE_STYLE, escaped};
use crate::page::STYLE;
use crate::table::Table;
use slowpath_runs::sweep::{Plan, Row, of_tables};
use std::fmt::{self, Write};

/// CSS in addition to the report's style.
const OWN_STYLE: &str = "\
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; margin: 8px 0 16px; }
th, td { text-align: right; padding: 3px 0 3px 18px; border-bottom: 1px solid var(--grid); white-space: nowrap; }
th { color: var(--faint); font-weight: 500; border-bottom-color: var(--edge); }
th.label, td.label { text-align: left; padding: 3px 18px 3px 0; }
td.title { text-align: left; padding-left: 0; font-weight: 600; }
.scroll { overflow-x: auto; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 560px), 1fr)); gap: 18px; }
.charts figure { margin: 0; background: var(--raised); border: 1px solid var(--edge); border-radius: 8px; padding: 12px 16px; min-width: 0; }
.charts figcaption { font-weight: 600; font-size: 14px; padding-bottom: 6px; }";

/// The page of a sweep, whose runs are `all` if each was made; `x` is the key of the plots, by default the first whose
/// values are numbers. Numbers that cannot be plotted are in the table only.
pub fn page(
    plan: &Plan,
    rows: &[Row<'_>],
    x: Option<&str>,
    (is_compared, are_stored): (bool, bool),
) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(plan, rows, x, (is_compared, are_stored), &mut out);
    out
}

fn write(
    plan: &Plan,
    rows: &[Row<'_>],
    x: Option<&str>,
    (is_compared, are_stored): (bool, bool),
    out: &mut String,
) -> fmt::Result {
    let (title, place) = (escaped(&plan.base.heading()), place(rows));
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title} – slowpath</title>\n<style>{STYLE}{PAGE_STYLE}{OWN_STYLE}</style>\n</head>\n<body>\n\
         <div id=\"page\">\n<header class=\"top\"><p class=\"eyebrow\">slowpath {} · a sweep</p>\n<h1>{title}</h1>\n\
         <p class=\"faint\">{}, from seed {} on</p></header>",
        env!("CARGO_PKG_VERSION"),
        escaped(&place),
        plan.base.seed
    )?;
    if let Some(text) = missing_text(rows, plan.jobs.len(), are_stored) {
        writeln!(out, "<p class=\"caution\">{}</p>", escaped(&text))?;
    }
    writeln!(out, "<div class=\"charts\">")?;
    for number in of_tables() {
        let axes = Axes::choose(plan, x, number.column, is_compared).ok();
        let Some(chart) = axes.and_then(|axes| axes.chart(plan, rows, &place)) else { continue };
        // For a number that is zero everywhere, the table is enough.
        if chart.lines.iter().flat_map(|line| &line.points).all(|point| point.y == 0.0) {
            continue;
        }
        let picture = chart::inline(&chart);
        writeln!(out, "<figure>\n<figcaption>{}</figcaption>\n{picture}</figure>", escaped(number.meaning))?;
    }
    writeln!(out, "</div>\n<h3>Runs</h3>")?;
    let tables = if is_compared { comparison_tables(rows) } else { tables_of_runs(rows) };
    tables.iter().try_for_each(|table| html(table, out))?;
    for (what, text) in EXPLAINED.iter().filter(|_| !is_compared) {
        writeln!(out, "<p class=\"faint\"><b>{}</b>{}</p>", escaped(what), escaped(text))?;
    }
    writeln!(out, "</div>\n</body>\n</html>")
}

fn html(table: &Table, out: &mut String) -> fmt::Result {
    let class = |column: usize| if column < table.labels() { " class=\"label\"" } else { "" };
    writeln!(out, "<div class=\"scroll\"><table>\n<thead><tr>")?;
    for (column, text) in table.heading().iter().enumerate() {
        write!(out, "<th{}>{}</th>", class(column), escaped(text))?;
    }
    writeln!(out, "</tr></thead>\n<tbody>")?;
    for cells in table.cells() {
        write!(out, "<tr>")?;
        for (column, text) in cells.iter().enumerate() {
            write!(out, "<td{}>{}</td>", class(column), escaped(text))?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody>\n</table></div>")
}
