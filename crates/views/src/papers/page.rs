//! The comparison of a paper with measurements made here, as a self-contained page.

use super::{compared, error, graphs, number, published, spread, verdict};
use crate::chart::{self, Axis, Chart, Line, Look, PAGE_STYLE, Point, escaped};
use crate::layers;
use crate::page::STYLE;
use crate::quantity::{count, counted};
use slowpath_papers::{Cell, Claim, Drawn, Figure, Judged, Report, Series, Table, figure};
use std::fmt::{self, Write};

/// Which program made the page.
const GENERATOR: &str = "<meta name=\"generator\" content=\"slowpath papers\">";
/// CSS in addition to the report's style.
const OWN_STYLE: &str = include_str!("page.css");

/// The page.
pub fn page(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(report, &mut out);
    out
}

fn write(report: &Report, out: &mut String) -> fmt::Result {
    let title = escaped(report.title);
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n{GENERATOR}\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>{STYLE}{PAGE_STYLE}{}{OWN_STYLE}</style>\n</head>\n<body>\n<div id=\"page\">\n\
         <header class=\"top\"><h1>slowpath</h1>\n<h2>{title}</h2>\n<p class=\"faint\">{}</p></header>",
        layers::PAGE_STYLE,
        escaped(&made(report))
    )?;
    contents(report, out)?;
    claims(report, out)?;
    writeln!(out, "<h3 id=\"tables\">Tables</h3>\n<div class=\"tables\">")?;
    let beside = if report.measured_on.is_empty() { "our runs" } else { "95 %" };
    report.tables.iter().try_for_each(|table| write_table(table, beside, out))?;
    let how = if report.measured_on.is_empty() { HOW_TABLES_ARE_READ } else { HOW_SAMPLES_ARE_READ };
    writeln!(out, "</div>\n<p class=\"faint\">{}</p>", escaped(how))?;
    writeln!(out, "<h3 id=\"figures\">Figures</h3>\n<div class=\"figures\">")?;
    report.figures.iter().try_for_each(|figure| write_figure(figure, out))?;
    writeln!(out, "</div>")?;
    graphs::write(&report.graphs, out)?;
    if let Some(comparison) = &report.comparison {
        compared::write(comparison, out)?;
    }
    runs(&report.runs, out)?;
    writeln!(out, "</div>\n</body>\n</html>")
}

const HOW_TABLES_ARE_READ: &str = "Ours is the median of the seeds, next to their minimum and maximum. A fitted \
                                   cell was used to determine the cost of a packet on the paper's machine, and \
                                   proves nothing. A cell is far if it differs by more than a quarter, or, where \
                                   factors are shown, by more than a factor of two.";

const HOW_SAMPLES_ARE_READ: &str = "Ours are parts of the samples, next to their 95 % confidence interval. The \
                                    paper's figures have no numbers: where nothing is published, its text has none.";

fn made(report: &Report) -> String {
    if !report.measured_on.is_empty() {
        let on = report.measured_on.join("; ");
        return format!("Reproduced by slowpath {} on a real kernel: {on}.", env!("CARGO_PKG_VERSION"));
    }
    format!(
        "Reproduced by slowpath {} in the simulator; the median of {}. Figures over time are of the first seed.",
        env!("CARGO_PKG_VERSION"),
        counted(report.seeds, "seed")
    )
}

/// Writes how much agrees with the paper, and a table of contents.
fn contents(report: &Report, out: &mut String) -> fmt::Result {
    let judged = || {
        let cells = report.tables.iter().flat_map(|table| &table.cells);
        cells.filter(|cell| matches!(cell.judged, Judged::Share | Judged::Factor))
    };
    let (near, cells) = (judged().filter(|cell| cell.is_near()).count(), judged().count());
    let hold = report.claims.iter().filter(|claim| claim.holds == Some(true)).count();
    let untold = report.claims.iter().filter(|claim| claim.holds.is_none()).count();
    let untold = if untold == 0 { String::new() } else { format!(", and {untold} undecided") };
    let cells = if cells == 0 {
        String::new()
    } else {
        format!("; {near} of {cells} cells of the <a href=\"#tables\">tables</a> are near the published ones")
    };
    let claims = report.claims.len();
    let drawn = if report.graphs.is_empty() { "" } else { ", <a href=\"#graphs\">call graphs</a>" };
    let beside = match &report.comparison {
        Some(_) => ", <a href=\"#compared\">two measurements compared</a>",
        None => "",
    };
    writeln!(
        out,
        "<p class=\"verdict\">{hold} of {claims} <a href=\"#claims\">claims</a> hold here{untold}{cells}. Below are \
         <a href=\"#tables\">tables</a>, <a href=\"#figures\">figures</a>{drawn}{beside} and <a href=\"#runs\">the commands</a> that run \
         each experiment by itself.</p>"
    )
}

fn claims(report: &Report, out: &mut String) -> fmt::Result {
    writeln!(out, "<h3 id=\"claims\">What the paper says</h3>\n<table class=\"claims\">")?;
    for claim in &report.claims {
        let Claim { place, says, seen, holds } = claim;
        let class = match holds {
            Some(true) => "holds",
            Some(false) => "fails",
            None => "faint",
        };
        let holds = report.verdict(claim);
        writeln!(
            out,
            "<tr><td class=\"{class}\">{holds}</td><td>{} <span class=\"faint\">({})</span><br>\
             <span class=\"faint\">Here:</span> {}</td></tr>",
            escaped(says),
            escaped(place),
            escaped(seen)
        )?;
    }
    writeln!(out, "</table>")
}

fn write_table(table: &Table, beside: &str, out: &mut String) -> fmt::Result {
    writeln!(
        out,
        "<table>\n<caption><b>{}</b> {}</caption>\n<thead><tr><th></th><th></th><th>published</th><th>ours</th>\
         <th>error</th><th>{beside}</th><th></th></tr></thead>\n<tbody>",
        escaped(table.name),
        escaped(table.about)
    )?;
    let mut before = "";
    for cell in &table.cells {
        write_cell(cell, before, out)?;
        before = &cell.row;
    }
    writeln!(out, "</tbody>\n</table>")
}

fn write_cell(cell: &Cell, before: &str, out: &mut String) -> fmt::Result {
    let name = if cell.row == before { "" } else { &cell.row };
    let is_first = if name.is_empty() { "" } else { " class=\"first\"" };
    let class = match (cell.judged, cell.is_near()) {
        (Judged::Fitted | Judged::Shown, _) => "faint",
        (_, true) => "holds",
        (_, false) => "fails",
    };
    writeln!(
        out,
        "<tr{is_first}><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"faint\">{}</td>\
         <td class=\"{class}\">{}</td></tr>",
        escaped(name),
        escaped(cell.quantity),
        published(cell),
        number(cell.ours),
        error(cell),
        spread(cell),
        verdict(cell).to_lowercase()
    )
}

fn write_figure(figure: &Figure, out: &mut String) -> fmt::Result {
    let thinned = figure.series.iter().any(|series| series.of > series.x.len() as u64);
    let note = if thinned {
        " Where a line has more values than it can show, the minimum and maximum of each stretch are drawn."
    } else {
        ""
    };
    writeln!(
        out,
        "<figure>\n<figcaption><b>{}</b> {}</figcaption>\n{}<p><span class=\"faint\">In the paper:</span> {}.<br>\
         <span class=\"faint\">Here:</span> {}.{}</p>\n</figure>",
        escaped(figure.name),
        escaped(figure.about),
        chart::inline(&drawing(figure)),
        escaped(figure.says),
        escaped(&figure.seen),
        escaped(note)
    )
}

/// A figure as a chart. Series with the same name have the same colour; the published one is dashed.
fn drawing(figure: &Figure) -> Chart {
    let is_over_time = figure.series.iter().any(|series| series.drawn != Drawn::Line);
    let mut names: Vec<&str> = Vec::new();
    let lines = figure.series.iter().map(|series| {
        let colour = names.iter().position(|name| *name == series.name).unwrap_or_else(|| {
            names.push(&series.name);
            names.len() - 1
        });
        line(series, colour)
    });
    Chart {
        title: format!("{}: {}", figure.name, figure.about),
        remarks: Vec::new(),
        lines: lines.collect(),
        x: axis(figure.x, is_over_time),
        y: axis(figure.y, true),
    }
}

fn line(series: &Series, colour: usize) -> Line {
    let look = match (series.drawn, series.letter) {
        (Drawn::Line, _) => Look::Marked,
        (Drawn::Course, _) => Look::Plain,
        (Drawn::Steps, _) => Look::Steps,
        (Drawn::Marks, letter) => Look::Letters(letter.unwrap_or('×')),
    };
    let name = match (series.published, series.drawn) {
        (true, _) => format!("{}, published", series.name),
        (false, Drawn::Marks) => format!("{} ({})", series.name, count(series.of)),
        _ => series.name.clone(),
    };
    let each = |place: usize| {
        let ends = [series.least.get(place), series.most.get(place)];
        ends.into_iter().flatten().copied().filter(|value| value.is_finite()).collect()
    };
    let points = series.points().enumerate().filter(|(_, (x, y))| x.is_finite() && y.is_finite());
    let points = points.map(|(place, (x, y))| Point { x, y, each: each(place) });
    Line { name, points: points.collect(), look, stroke: Some((colour, series.published)) }
}

fn axis(axis: figure::Axis, round: bool) -> Axis {
    let title =
        if axis.unit.is_empty() { axis.title.to_owned() } else { format!("{}, {}", axis.title, axis.unit) };
    Axis { title, write: plain, binary: false, logarithmic: Some(axis.logarithmic), round }
}

/// A number without a unit, which is in the axis title.
fn plain(value: f64) -> String {
    if value.abs() >= 10_000.0 && value.fract() == 0.0 {
        return count(value as u64);
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn runs(runs: &[(String, String)], out: &mut String) -> fmt::Result {
    writeln!(out, "<h3 id=\"runs\">The experiments</h3>\n<table class=\"runs\">")?;
    for (name, command) in runs {
        writeln!(out, "<tr><th>{}</th><td><code>{}</code></td></tr>", escaped(name), escaped(command))?;
    }
    writeln!(out, "</table>")
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
