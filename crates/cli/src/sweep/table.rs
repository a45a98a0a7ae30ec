//! A sweep as text: a row for each case.

use super::Row;
use super::keys::split;
use super::numbers::{self, EXPLAINED, Number, OTHERS, RATE, SENT_AGAIN, bound_by, counting};
use slowpath_scenario::{Case, Override, Scenario};
use slowpath_views::columns::align;
use std::io::{self, Write};

/// What a case puts in the place of the scenario's values, in words.
pub fn name(case: &Case) -> String {
    case.name.clone().unwrap_or_else(|| case.set.iter().map(Override::text).collect::<Vec<_>>().join(" "))
}

/// What it is a sweep of.
pub fn heading(base: &Scenario, rows: &[Row<'_>], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}\n{}, from seed {} on\n", base.heading(), place(rows), base.seed)
}

/// Where its runs were made.
pub fn place(rows: &[Row<'_>]) -> String {
    let release = rows.iter().flat_map(|row| &row.kernel).find_map(|run| run.release.as_deref());
    let simulated = rows.iter().any(|row| !row.model.is_empty());
    match release {
        Some(release) if simulated => format!("the simulator beside Linux {release}"),
        Some(release) => format!("on Linux {release}"),
        None => "simulated".to_owned(),
    }
}

/// The runs of one place.
pub fn print(rows: &[Row<'_>], out: &mut impl Write) -> io::Result<()> {
    let is_real = rows.iter().any(|row| !row.kernel.is_empty());
    let is_known = |number: &&Number| rows.iter().any(|row| number.median(row.of(is_real)).is_some());
    let shown: Vec<&Number> = [&RATE, &SENT_AGAIN].into_iter().chain(&OTHERS).filter(is_known).collect();
    let mut columns: Vec<&str> = shown.iter().map(|number| number.heading).collect();
    columns.push("bound by");
    if is_real {
        columns.push("runs that count");
    }
    let cells = |row: &Row<'_>| {
        let runs = row.of(is_real);
        let mut cells: Vec<String> = shown.iter().map(|number| number.text(runs)).collect();
        cells.push(bound_by(runs));
        if is_real {
            cells.push(counting(row.planned, runs));
        }
        cells
    };
    blocks(rows, &columns, cells, out)?;
    writeln!(out, "\n{EXPLAINED}")
}

/// The simulator's runs beside the kernel's.
pub fn compare(rows: &[Row<'_>], out: &mut impl Write) -> io::Result<()> {
    let columns = [
        "rate, model",
        "kernel",
        "error",
        "sent again, model",
        "kernel",
        "bound by, model",
        "kernel",
        "runs that count",
    ];
    let cells = |row: &Row<'_>| {
        let both = |number: &Number| [&row.model, &row.kernel].map(|runs| number.text(runs));
        let error = error(row).map_or_else(|| "-".to_owned(), |error| format!("{:+.1} %", error * 100.0));
        let mut cells = both(&RATE).to_vec();
        cells.push(error);
        cells.extend(both(&SENT_AGAIN));
        cells.extend([&row.model, &row.kernel].map(|runs| bound_by(runs)));
        cells.push(counting(row.planned, &row.kernel));
        cells
    };
    blocks(rows, &columns, cells, out)?;
    let errors: Vec<f64> = rows.iter().filter_map(error).map(f64::abs).collect();
    let within = |share| numbers::quantile(errors.clone(), share).map(|error| error * 100.0);
    if let (Some(half), Some(most), Some(worst)) = (within(0.5), within(0.95), within(1.0)) {
        writeln!(
            out,
            "\nThe simulator's rate less the kernel's, in percent of the kernel's: half of {} within {half:.1} %, 95 of 100 \
             within {most:.1} %, the worst {worst:.1} %.",
            errors.len()
        )?;
    }
    Ok(())
}

/// The simulator's rate less the kernel's, as a part of the kernel's.
fn error(row: &Row<'_>) -> Option<f64> {
    let [model, kernel] = [&row.model, &row.kernel].map(|runs| RATE.median(runs));
    let (model, kernel) = (model?, kernel?);
    (kernel > 0.0).then(|| model / kernel - 1.0)
}

/// The rows of the grid, with a column for each key, and those of what else was tried.
fn blocks(
    rows: &[Row<'_>],
    columns: &[&str],
    cells: impl Fn(&Row<'_>) -> Vec<String>,
    out: &mut impl Write,
) -> io::Result<()> {
    let (grid, tries): (Vec<&Row<'_>>, Vec<&Row<'_>>) =
        rows.iter().partition(|row| row.planned.case.name.is_none());
    let table = |before: Vec<String>, rows: &[&Row<'_>], begin: &dyn Fn(&Case) -> Vec<String>| {
        let mut heading = before;
        heading.extend(columns.iter().map(|column| (*column).to_owned()));
        let lines = rows.iter().map(|row| [begin(&row.planned.case), cells(row)].concat());
        std::iter::once(heading).chain(lines).collect::<Vec<_>>()
    };
    if let Some(first) = grid.first() {
        let keys: Vec<&str> = first.planned.case.set.iter().map(|one| split(one).0).collect();
        let before = keys.iter().map(|key| last_part(key, &keys)).collect();
        let values = |case: &Case| case.set.iter().map(|one| split(one).1.trim().to_owned()).collect();
        align(&table(before, &grid, &values), out)?;
    }
    if !tries.is_empty() {
        if !grid.is_empty() {
            writeln!(out)?;
        }
        let names = |case: &Case| vec![name(case)];
        align(&table(vec!["what else was tried".to_owned()], &tries, &names), out)?;
    }
    Ok(())
}

/// The last part of a key, if no other key ends so.
pub fn last_part(key: &str, keys: &[&str]) -> String {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let alike = keys.iter().filter(|other| last(other) == last(key)).count();
    if alike > 1 { key.to_owned() } else { last(key) }
}
