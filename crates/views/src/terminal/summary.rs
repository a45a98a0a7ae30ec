//! Many flows on a screen.

use super::look::Look;
use super::services::{ROWS, services};
use super::{COLUMNS, header, left_out};
use crate::quantity::{count, counted, duration};
use crate::services::{By, Listed};
use crate::summary::Summary;
use crate::words;
use slowpath_model::shown;
use std::collections::BTreeSet;
use std::io;

/// The most recordings that are described one by one.
const MOST_RECORDINGS: usize = 3;

/// Writes a summary with at most `rows` services.
///
/// # Errors
///
/// The errors of `out`.
pub fn summary(
    summary: &Summary,
    rows: Option<usize>,
    look: &Look,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let listed = summary.listed();
    let rows = rows.unwrap_or(ROWS);
    match summary.watched {
        Some(lasted) => {
            writeln!(out, "This host, {}: {}", duration(lasted), counted(summary.flows, "connection"))?;
        }
        None => {
            recordings(summary, look, out)?;
            header::flows(summary.flows, &summary.recordings, summary.not_kept, look, out)?;
        }
    }
    if !listed.services.is_empty() {
        writeln!(out)?;
        services(&listed, &summary.files(), rows, look, out)?;
        worst_files(summary, &listed, rows, look, out)?;
        writeln!(out)?;
        look.paragraph(out, "", &more(summary))?;
    }
    left_out(summary.left_out, look, out)
}

/// How to see more, and where the columns are defined.
fn more(summary: &Summary) -> String {
    let one = match summary.watched {
        Some(_) => "Each connection with its waits and drops: without --summary.",
        None => "The worst flow in full: --flow N instead of --summary.",
    };
    format!("{one} More rows: --top N. {COLUMNS}")
}

/// Describes a few recordings, and names what is wrong with each of many.
fn recordings(summary: &Summary, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    let all = &summary.recordings;
    if all.len() <= MOST_RECORDINGS {
        return all.iter().try_for_each(|recording| header::one(recording, look, out));
    }
    let segments = all.iter().map(|recording| recording.segments).sum();
    writeln!(
        out,
        "{}: {} of TCP",
        look.strong(&counted(all.len() as u64, "recording")),
        counted(segments, "frame")
    )?;
    for warning in all.iter().flat_map(words::warnings) {
        look.styled_paragraph(out, "  ! ", &warning, header::WARNING)?;
    }
    Ok(())
}

/// Names the files of the worst flows, which the table gives by their places.
fn worst_files(
    summary: &Summary,
    listed: &Listed,
    rows: usize,
    look: &Look,
    out: &mut impl io::Write,
) -> io::Result<()> {
    if summary.recordings.len() < 2 || listed.by == By::File {
        return Ok(());
    }
    let places: BTreeSet<usize> = listed.rows(rows).totals().map(|totals| totals.worst.file).collect();
    writeln!(out)?;
    for place in places {
        let name = summary.recordings.get(place).map_or("", words::recording_name);
        look.paragraph(out, &format!("  {}: ", count(place as u64 + 1)), &shown::line(name))?;
    }
    Ok(())
}
