//! `slowpath tune status --report`: what was changed on a host, as Markdown for a ticket or for who takes over.

use super::gain::gained;
use super::predicted::{held_against, said_of};
use super::text::{change_line, goal, kept_by, tuned_line, who};
use crate::quantity::counted;
use slowpath_model::shown;
use slowpath_sockops::Running;
use slowpath_tune::{Entry, Error, State, utc_text};
use std::io::{self, Write};

/// Prints each plan that is not taken back: what was changed and why, the prediction and the measurement, until when, and how it is
/// undone.
///
/// # Errors
/// The errors of `out`.
pub fn report(
    status: &[Result<Entry, Error>],
    tuned: &[Running],
    host: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "# TCP settings changed on {}", code(host))?;
    let mut is_empty = tuned.is_empty();
    for entry in status {
        match entry {
            Ok(entry) if matches!(entry.state, State::Reverted | State::Undone | State::Gone) => {}
            Ok(entry) => {
                is_empty = false;
                print_plan(entry, out)?;
            }
            Err(error) => {
                is_empty = false;
                writeln!(out, "\nNot known: {}", code(&error.to_string()))?;
            }
        }
    }
    if !tuned.is_empty() {
        writeln!(out, "\n## Connections tuned one by one\n")?;
        for running in tuned {
            writeln!(out, "- {}", code(&tuned_line(running)))?;
        }
        writeln!(out, "\nIt ends with its process; connections keep their settings until they are closed.")?;
    }
    if is_empty {
        writeln!(out, "\nNothing that `slowpath tune` has applied is in force.")?;
    }
    Ok(())
}

fn print_plan(entry: &Entry, out: &mut impl Write) -> io::Result<()> {
    let (written, begun) = (&entry.written, &entry.written.begun);
    let state = match entry.state {
        State::Applied => "",
        State::Interrupted => " (interrupted: perhaps not all of it)",
        _ => " (not finished)",
    };
    writeln!(out, "\n## Plan {}{state}\n", written.id)?;
    writeln!(out, "- Plan: {}", code(&format!("{}{}", begun.plan, goal(begun))))?;
    writeln!(out, "- Applied: {}, by {}", utc_text(begun.at), code(&who(begun)))?;
    match begun.ends {
        Some(ends) if !entry.has_lost_timer => writeln!(out, "- Reverts by itself: {}", utc_text(ends))?,
        Some(_) => writeln!(out, "- Reverts by itself: no longer, what would do so is gone")?,
        None => writeln!(out, "- Reverts by itself: no")?,
    }
    if let Some(files) = kept_by(written.persisted().map(|(file, _)| file)) {
        writeln!(out, "- After a reboot: kept by {}", code(&files))?;
    }
    let said = begun.predicted.as_ref();
    match (said, written.measured()) {
        (said, Some(measured)) => {
            let runs = counted(u64::from(measured.runs), "pair");
            let command = code(written.verifier().unwrap_or_default());
            let fallback = Err("the plan has no prediction".to_owned());
            let text = held_against(said.unwrap_or(&fallback), measured);
            writeln!(out, "- Measured in {runs} of runs of {command}: {}", gained(measured))?;
            writeln!(out, "- {text}")?;
        }
        (Some(said), None) => writeln!(out, "- {}\n- Not measured", capital(&said_of(said)))?,
        (None, None) => {}
    }
    writeln!(out, "- Undo: `slowpath tune revert {}`\n", written.id)?;
    writeln!(out, "| setting | from which finding |\n| --- | --- |")?;
    for (changed, _) in &entry.changes {
        let reason = begun.reasons.iter().find(|reason| reason.setting == changed.setting);
        let finding = reason.map_or("-", |reason| reason.finding.as_str());
        writeln!(out, "| {} | {} |", cell(&change_line(changed)), cell(finding))?;
    }
    for reason in &begun.reasons {
        if !reason.why.is_empty() {
            writeln!(out, "\n{}: {}", code(&reason.setting), plain(&reason.why))?;
        }
    }
    Ok(())
}

/// Foreign text as code, which Markdown does not interpret.
fn code(text: &str) -> String {
    format!("`{}`", shown::line(text).replace('`', "'"))
}

/// Foreign text as code in a table, where a bar would end the cell.
fn cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// Foreign text as text: what Markdown or HTML would interpret is escaped.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for character in shown::line(text).chars() {
        if "\\`*_{}[]<>#|!".contains(character) {
            plain.push('\\');
        }
        plain.push(character);
    }
    plain
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_not_interpreted() {
        assert_eq!(code("a`b\n"), "`a'b\\u{a}`");
        assert_eq!(cell("a|b"), "`a\\|b`");
        assert_eq!(plain("<b>[x](y)*z*"), "\\<b\\>\\[x\\](y)\\*z\\*");
    }
}
