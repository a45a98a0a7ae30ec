//! `slowpath papers`: published experiments compared with measurements made here, as text and as a page.

mod compared;
mod graphs;
mod help;
mod json;
mod page;

pub use help::{HELP, Named, PAPERS};
pub use json::PaperDocument;
pub use page::page;

use crate::quantity::{count, counted};
use crate::table::align;
use slowpath_papers::{Cell, Claim, Figure, Judged, Report, Table};
use std::io::{self, Write};

/// Prints tables, claims, figures and the experiments' commands.
///
/// # Errors
/// The errors of `out`.
pub fn print(report: &Report, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", report.title)?;
    if report.measured_on.is_empty() {
        writeln!(out, "simulated; the median of {}", counted(report.seeds, "seed"))?;
    }
    for line in &report.measured_on {
        writeln!(out, "{line}")?;
    }
    for table in &report.tables {
        print_table(table, !report.measured_on.is_empty(), out)?;
    }
    writeln!(out, "\nClaims")?;
    for claim in &report.claims {
        let Claim { place, says, seen, holds } = claim;
        let verdict = report.verdict(claim);
        // A difference is printed in capitals.
        let verdict = if *holds == Some(false) { verdict.to_uppercase() } else { verdict.to_owned() };
        writeln!(out, "  {verdict}: {says} ({place})")?;
        writeln!(out, "      here: {seen}")?;
    }
    writeln!(out, "\nFigures (--html draws them)")?;
    for Figure { name, about, says, seen, .. } in &report.figures {
        writeln!(out, "  {name}: {about}\n      in the paper: {says}\n      here: {seen}")?;
    }
    for graph in &report.graphs {
        writeln!(out, "  {}: {}\n      in the paper: {}", graph.name, graph.about, graph.says)?;
    }
    if let Some(comparison) = &report.comparison {
        compared::print(comparison, out)?;
    }
    writeln!(out, "\nCommands of the experiments")?;
    let width = report.runs.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, command) in &report.runs {
        writeln!(out, "  {name:width$}  {command}")?;
    }
    Ok(())
}

fn print_table(table: &Table, is_measured: bool, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n{}: {}", table.name, table.about)?;
    let beside = if is_measured { "95 %" } else { "our runs" };
    let heading = ["", "", "published", "ours", "error", beside, ""].map(str::to_owned).to_vec();
    let mut before = "";
    let mut rows = vec![heading];
    for cell in &table.cells {
        let name = if cell.row == before { String::new() } else { format!("  {}", cell.row) };
        before = &cell.row;
        rows.push(
            [name, cell.quantity.to_owned(), published(cell), number(cell.ours), error(cell)]
                .into_iter()
                .chain([spread(cell), verdict(cell).to_owned()])
                .collect(),
        );
    }
    align(&rows, out)
}

fn published(cell: &Cell) -> String {
    match (cell.published, cell.published_most) {
        (None, _) => "–".to_owned(),
        (Some(published), None) => number(published),
        (Some(published), Some(most)) => format!("{} to {}", number(published), number(most)),
    }
}

/// The lowest and the highest value; nothing for a number that was measured once.
fn spread(cell: &Cell) -> String {
    if cell.least == cell.most && cell.judged == Judged::Shown {
        return "–".to_owned();
    }
    format!("{} to {}", number(cell.least), number(cell.most))
}

fn number(value: f64) -> String {
    if value >= 1000.0 || value.fract() == 0.0 { count(value.round() as u64) } else { format!("{value:.1}") }
}

fn error(cell: &Cell) -> String {
    match (cell.judged, cell.error()) {
        (_, None) => "–".to_owned(),
        (Judged::Factor, Some(error)) => format!("× {:.2}", error + 1.0),
        (_, Some(error)) => format!("{:+.1} %", error * 100.0),
    }
}

fn verdict(cell: &Cell) -> &'static str {
    match cell.judged {
        Judged::Fitted => "fitted",
        _ if cell.is_near() => "",
        _ => "FAR",
    }
}
