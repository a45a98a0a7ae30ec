//! The text of `slowpath sweep`: a row for each case.

use super::numbers::median;
use crate::quantity::share;
use crate::table::Table;
use crate::terminal::Look;
use slowpath_model::statistics;
use slowpath_runs::Measured;
use slowpath_runs::sweep::{Number, RATE, RETRANSMITS, Row, case_name, of_tables, split};
use slowpath_scenario::{Scenario, SweepCase};
use std::io::{self, Write};

/// Prints a sweep of `all` runs: in one place, or compared.
///
/// # Errors
///
/// The errors of `out`.
pub fn print_sweep(
    base: &Scenario,
    rows: &[Row<'_>],
    (is_compared, all, are_stored): (bool, usize, bool),
    look: &Look,
    out: &mut impl Write,
) -> io::Result<()> {
    heading(base, rows, out)?;
    if is_compared {
        comparison(rows, look, out)?
    } else {
        print(rows, look, out)?
    }
    missing(rows, all, are_stored, out)
}

/// Prints the scenario, and where its runs were done.
///
/// # Errors
///
/// The errors of `out`.
fn heading(base: &Scenario, rows: &[Row<'_>], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}\n{}, from seed {} on\n", base.heading(), place(rows), base.seed)
}

/// Prints how many of `all` runs were not done, if any; if they are stored, the sweep can be resumed.
///
/// # Errors
///
/// The errors of `out`.
fn missing(rows: &[Row<'_>], all: usize, are_stored: bool, out: &mut impl Write) -> io::Result<()> {
    missing_text(rows, all, are_stored).map_or(Ok(()), |text| writeln!(out, "\n{text}"))
}

/// How many of `all` runs were not done; `None` if all were.
pub fn missing_text(rows: &[Row<'_>], all: usize, are_stored: bool) -> Option<String> {
    let done = rows.iter().flat_map(Row::runs).count();
    let then = if are_stored { "\nThe same command continues with them." } else { "" };
    (done < all).then(|| format!("{} of {all} runs were not made.{then}", all - done))
}

/// Where the runs were done, in words.
pub fn place(rows: &[Row<'_>]) -> String {
    let release = rows.iter().flat_map(|row| &row.kernel).find_map(|run| run.release.as_deref());
    let simulated = rows.iter().any(|row| !row.model.is_empty());
    match release {
        Some(release) if simulated => format!("the simulator compared with Linux {release}"),
        Some(release) => format!("on Linux {release}"),
        None => "simulated".to_owned(),
    }
}

/// Prints the runs in the simulator or on the kernel.
///
/// # Errors
///
/// The errors of `out`.
fn print(rows: &[Row<'_>], look: &Look, out: &mut impl Write) -> io::Result<()> {
    print_tables(&tables_of_runs(rows), look, out)?;
    writeln!(out)?;
    EXPLAINED.iter().try_for_each(|(what, text)| look.paragraph(out, what, text))
}

/// The runs in the simulator or on the kernel.
pub fn tables_of_runs(rows: &[Row<'_>]) -> Vec<Table> {
    let is_real = rows.iter().any(|row| !row.kernel.is_empty());
    let is_known = |number: &&Number| rows.iter().any(|row| number.median(row.of(is_real)).is_some());
    let shown: Vec<&Number> = of_tables().filter(is_known).collect();
    let mut columns: Vec<&str> = shown.iter().map(|number| number.heading).collect();
    columns.push("limited by");
    if is_real {
        columns.push("valid runs");
    }
    let cells = |row: &Row<'_>| {
        let runs = row.of(is_real);
        let mut cells: Vec<String> = shown.iter().map(|number| median(number, runs)).collect();
        cells.push(bound_by(runs));
        if is_real {
            cells.push(valid(row, runs));
        }
        cells
    };
    tables(rows, &columns, cells)
}

/// Prints runs in the simulator next to those on the kernel.
///
/// # Errors
///
/// The errors of `out`.
fn comparison(rows: &[Row<'_>], look: &Look, out: &mut impl Write) -> io::Result<()> {
    print_tables(&comparison_tables(rows), look, out)?;
    let errors: Vec<f64> = rows.iter().filter_map(error).map(|error| error.abs() * 100.0).collect();
    let within = |permille| statistics::quantile(errors.iter().copied(), permille);
    let half = statistics::median(errors.iter().copied());
    if let (Some(half), Some(most), Some(worst)) = (half, within(950), within(1000)) {
        writeln!(out)?;
        let text = format!(
            "Error of the simulator's rate, relative to the kernel's, of {} cases: median {half:.1} %, 95th percentile \
             {most:.1} %, worst {worst:.1} %.",
            errors.len()
        );
        look.paragraph(out, "", &text)?;
    }
    Ok(())
}

/// Runs in the simulator next to those on the kernel.
pub fn comparison_tables(rows: &[Row<'_>]) -> Vec<Table> {
    let columns = [
        "rate, model",
        "kernel",
        "error",
        "retrans, model",
        "kernel",
        "limited by, model",
        "limited by, kernel",
        "valid runs",
    ];
    let cells = |row: &Row<'_>| {
        let both = |number: &Number| [&row.model, &row.kernel].map(|runs| median(number, runs));
        let error = error(row).map_or_else(|| "-".to_owned(), |error| format!("{:+.1} %", error * 100.0));
        let mut cells = both(RATE).to_vec();
        cells.push(error);
        cells.extend(both(RETRANSMITS));
        cells.extend([&row.model, &row.kernel].map(|runs| bound_by(runs)));
        cells.push(valid(row, &row.kernel));
        cells
    };
    tables(rows, &columns, cells)
}

/// The relative error of the simulator's rate.
fn error(row: &Row<'_>) -> Option<f64> {
    let [model, kernel] = [&row.model, &row.kernel].map(|runs| RATE.median(runs));
    let (model, kernel) = (model?, kernel?);
    (kernel > 0.0).then(|| model / kernel - 1.0)
}

/// The rows of the grid, with a column for each key, and those of named cases.
fn tables(rows: &[Row<'_>], columns: &[&str], cells: impl Fn(&Row<'_>) -> Vec<String>) -> Vec<Table> {
    let (grid, tries): (Vec<&Row<'_>>, Vec<&Row<'_>>) =
        rows.iter().partition(|row| row.planned.case.name.is_none());
    let table = |labels: Vec<String>, rows: &[&Row<'_>], of: &dyn Fn(&SweepCase) -> Vec<String>| {
        let columns = columns.iter().map(|column| (*column).to_owned());
        let mut table = Table::new(labels.len(), labels.into_iter().chain(columns));
        rows.iter().for_each(|row| table.row([of(&row.planned.case), cells(row)].concat()));
        table
    };
    let mut all = Vec::new();
    if let Some(first) = grid.first() {
        let keys: Vec<&str> = first.planned.case.set.iter().map(|one| split(one).0).collect();
        let labels = keys.iter().map(|key| last_part(key, &keys)).collect();
        let values = |case: &SweepCase| case.set.iter().map(|one| split(one).1.trim().to_owned()).collect();
        all.push(table(labels, &grid, &values));
    }
    if !tries.is_empty() {
        all.push(table(vec!["also tried".to_owned()], &tries, &|case| vec![case_name(case)]));
    }
    all
}

/// Prints tables with a blank line between them.
fn print_tables(tables: &[Table], look: &Look, out: &mut impl Write) -> io::Result<()> {
    for (place, table) in tables.iter().enumerate() {
        if place > 0 {
            writeln!(out)?;
        }
        table.print(look, out)?;
    }
    Ok(())
}

/// The longest cause in the first of some runs.
fn bound_by(runs: &[Measured]) -> String {
    let most = runs.first().and_then(|run| run.shares.most());
    most.map_or_else(|| "-".to_owned(), |(cause, part)| format!("{cause} {}", share(part)))
}

/// The number of valid runs of a case.
fn valid(row: &Row<'_>, runs: &[Measured]) -> String {
    let count = runs.iter().filter(|run| run.invalid.is_empty()).count();
    format!("{count} of {}", row.planned.scenarios.len())
}

/// Columns that need an explanation.
pub const EXPLAINED: [(&str, &str); 2] = [
    (
        "> 10 ms, > 200 ms: ",
        "packets that took longer from the receiving host's NIC to TCP, of all that arrived",
    ),
    ("CPU wait, longest: ", "how long a runnable receiving process waited for a CPU; median, and longest"),
];

/// The last part of a key, if it is unique among `keys`.
pub fn last_part(key: &str, keys: &[&str]) -> String {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let alike = keys.iter().filter(|other| last(other) == last(key)).count();
    if alike > 1 { key.to_owned() } else { last(key) }
}
