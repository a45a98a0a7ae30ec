//! Two measurements of a paper's experiments side by side: as text, and on its page.

use crate::chart::escaped;
use crate::profile::percent;
use crate::quantity::share;
use crate::table::align;
use slowpath_papers::comparison::{Compared, Comparison, Difference};
use std::fmt::{self, Write as _};
use std::io::{self, Write};

const HEAD: [&str; 6] = ["function", "before", "after", "µs a request before", "after", "by chance"];

const HOW_IT_IS_READ: &str = "Parts of the server's CPU time, what each function took of it for a request, and \
                              how likely chance alone makes such a difference of parts somewhere among all \
                              functions (Fisher's exact test, Holm's correction). No count of samples shows \
                              whether another run of the same would differ as much.";

pub fn print(comparison: &Comparison, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n{} compared with {}", comparison.of[1], comparison.of[0])?;
    for remark in &comparison.remarks {
        writeln!(out, "  {remark}")?;
    }
    for table in &comparison.tables {
        writeln!(out, "\n{}: {}; {}", table.name, table.about, both(table))?;
        let head = std::iter::once(HEAD.map(str::to_owned));
        let rows: Vec<Vec<String>> = head.chain(rows_of(table)).map(Vec::from).collect();
        align(&rows, out)?;
    }
    writeln!(out, "\n{HOW_IT_IS_READ}")
}

/// Writes the comparison for a page.
pub fn write(comparison: &Comparison, out: &mut String) -> fmt::Result {
    let [before, after] = &comparison.of;
    writeln!(out, "<h3 id=\"compared\">{} compared with {}</h3>\n<ul>", escaped(after), escaped(before))?;
    for remark in &comparison.remarks {
        writeln!(out, "<li>{}</li>", escaped(remark))?;
    }
    writeln!(out, "</ul>\n<div class=\"tables\">")?;
    comparison.tables.iter().try_for_each(|table| write_table(table, out))?;
    writeln!(out, "</div>\n<p class=\"faint\">{}</p>", escaped(HOW_IT_IS_READ))
}

fn write_table(table: &Compared, out: &mut String) -> fmt::Result {
    let [name, before, after, us_before, us_after, chance] = HEAD;
    writeln!(
        out,
        "<table class=\"compared\">\n<caption><b>{}</b> {}; {}</caption>\n<thead><tr><th>{name}</th><th>{before}</th><th>{after}</th>\
         <th>{us_before}</th><th>{us_after}</th><th>{chance}</th></tr></thead>\n<tbody>",
        escaped(table.name),
        escaped(table.about),
        escaped(&both(table))
    )?;
    for (row, is_significant) in rows_of(table).zip(is_significant(table)) {
        let [name, cells @ ..] = row;
        write!(out, "<tr><th>{}</th>", escaped(&name))?;
        for (at, cell) in cells.iter().enumerate() {
            // Significant differences are highlighted.
            let class = if at == cells.len() - 1 && is_significant { " class=\"told\"" } else { "" };
            write!(out, "<td{class}>{}</td>", escaped(cell))?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody>\n</table>")
}

fn is_significant(table: &Compared) -> impl Iterator<Item = bool> {
    let whole = std::iter::once(false);
    whole.chain(table.functions.iter().map(Difference::is_significant))
}

fn both(table: &Compared) -> String {
    format!("{} of the ten most expensive are the same", table.in_both_top_tens)
}

/// The rows of a table, the total first.
fn rows_of(table: &Compared) -> impl Iterator<Item = [String; HEAD.len()]> {
    let row = |name: &str, shares: [Option<f64>; 2], us: [Option<f64>; 2], chance: String| {
        let [before, after] = shares.map(|part| part.map_or_else(dash, |part| percent(part / 100.0)));
        let [us_before, us_after] = us.map(|us| us.map_or_else(dash, |us| format!("{us:.2}")));
        [name.to_owned(), before, after, us_before, us_after, chance]
    };
    let whole = row("all of it", [Some(100.0); 2], table.us_a_request, String::new());
    let functions = table
        .functions
        .iter()
        .map(move |of| row(&of.name, of.shares, of.us_a_request, of.among_all.map_or_else(dash, share)));
    std::iter::once(whole).chain(functions)
}

fn dash() -> String {
    "–".to_owned()
}
