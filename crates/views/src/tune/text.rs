//! The text of `slowpath tune`.

use super::gain::gained;
use super::predicted::{held_against, said_of};
use crate::terminal::Look;
use slowpath_model::shown;
use slowpath_model::units::counted;
use slowpath_remedies::Setting;
use slowpath_sockops::Running;
use slowpath_tune::journal::{Begun, Changed, Timer};
use slowpath_tune::{Applied, Entry, Error, Fate, Force, Reverted, State, utc_text};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Plans that are reverted or undone; further ones are counted.
const MOST_CLOSED: usize = 5;

pub(super) fn change_line(changed: &Changed) -> String {
    format!("{}: {} → {}", changed.setting, brief(&changed.setting, &changed.old), changed.new)
}

/// A value as a person reads it: not of each thread, where all have the same.
fn brief(setting: &str, value: &str) -> String {
    setting.parse::<Setting>().map_or_else(|_| value.to_owned(), |setting| setting.brief(value))
}

/// Prints what was applied, and how it is taken back.
///
/// # Errors
/// The errors of `out`.
pub fn applied(applied: &Applied, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let number = counted(applied.changes.len() as u64, "setting");
    look.strong_paragraph(out, &format!("Plan {} is applied: {number} changed and verified.", applied.id))?;
    in_force(applied, look, out)
}

/// Prints the changes that are in force, for how long, and how they are taken back.
pub(super) fn in_force(applied: &Applied, look: &Look, out: &mut impl Write) -> io::Result<()> {
    for changed in &applied.changes {
        writeln!(out, "  {}", change_line(changed))?;
    }
    if let (Some(ends), Some(timer)) = (applied.ends, &applied.timer) {
        look.paragraph(out, "", &ending(ends, timer))?;
    }
    if let Some(files) = kept_by(applied.persisted.iter().map(PathBuf::as_path)) {
        look.paragraph(out, "", &format!("Kept over a reboot by {files}."))?;
    }
    if !applied.not_persisted.is_empty() {
        look.paragraph(
            out,
            "",
            &format!("These do not last over a reboot: {}.", applied.not_persisted.join(", ")),
        )?;
    }
    writeln!(out, "To take it back: slowpath tune revert {}", applied.id)
}

/// The files that keep settings over a reboot; `None` if there are none.
pub(super) fn kept_by<'a>(files: impl Iterator<Item = &'a Path>) -> Option<String> {
    let files: Vec<String> = files.map(|file| file.display().to_string()).collect();
    (!files.is_empty()).then(|| files.join(", "))
}

fn ending(ends: u64, timer: &Timer) -> String {
    let by = match timer {
        Timer::Systemd { unit } => format!("systemd's timer {unit}"),
        Timer::Watcher { pid } => format!("process {pid} of slowpath"),
    };
    format!("It reverts by itself at {}, by {by}.", utc_text(ends))
}

/// Prints what became of each setting.
///
/// # Errors
/// The errors of `out`.
pub fn reverted(reverted: &Reverted, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let left = reverted.taken.iter().filter(|taken| taken.fate.is_left()).count();
    let verdict = match (reverted.is_whole(), left) {
        (true, _) => format!("Plan {} is reverted.", reverted.id),
        (false, 0) => format!("Plan {} is reverted, except for a file.", reverted.id),
        (false, _) => {
            format!("Plan {} is reverted, except for {}.", reverted.id, counted(left as u64, "setting"))
        }
    };
    look.strong_paragraph(out, &verdict)?;
    fates(reverted, look, out)
}

/// Prints what became of each setting, without a verdict.
pub(super) fn fates(reverted: &Reverted, look: &Look, out: &mut impl Write) -> io::Result<()> {
    for taken in &reverted.taken {
        let Changed { setting, old, .. } = &taken.change;
        let old = brief(setting, old);
        let text = match &taken.fate {
            Fate::Restored => format!("{setting}: {old} again"),
            Fate::WasBack => format!("{setting}: was {old} already"),
            Fate::Foreign { value } => {
                format!("{setting}: changed by somebody else since, to {value}: left alone (it was {old})")
            }
            Fate::Gone(why) => format!("{setting}: {why}"),
            Fate::Failed { why } => format!("{setting}: not restored to {old}: {why}"),
        };
        writeln!(out, "  {}", shown::line(&text))?;
    }
    for (file, left) in &reverted.files {
        writeln!(out, "  {}: {}", file.display(), left.as_deref().unwrap_or("removed"))?;
    }
    if let Some(why) = &reverted.unwritten {
        look.paragraph(out, "", &format!("The journal does not have this revert: {why}."))?;
    }
    Ok(())
}

/// Prints the plans of a journal.
///
/// # Errors
/// The errors of `out`.
pub fn status(
    status: &[Result<Entry, Error>],
    tuned: &[Running],
    look: &Look,
    out: &mut impl Write,
) -> io::Result<()> {
    for running in tuned {
        look.strong_paragraph(out, "Connections are tuned one by one.")?;
        look.paragraph(out, "  ", &tuned_line(running))?;
    }
    if !tuned.is_empty() {
        writeln!(out)?;
    }
    if status.is_empty() {
        return writeln!(out, "Nothing was applied.");
    }
    let mut closed = 0;
    for (index, entry) in status.iter().enumerate() {
        if entry.as_ref().is_ok_and(|entry| entry.written.is_closed()) {
            closed += 1;
            if closed > MOST_CLOSED {
                continue;
            }
        }
        if index > 0 {
            writeln!(out)?;
        }
        match entry {
            Ok(entry) => print_entry(entry, look, out)?,
            Err(error) => look.paragraph(out, "", &error.to_string())?,
        }
    }
    if closed <= MOST_CLOSED {
        return Ok(());
    }
    let more = counted((closed - MOST_CLOSED) as u64, "older plan");
    writeln!(out, "\n{more} reverted or undone; --json lists all.")
}

/// A command that tunes connections: `slowpath tune connections --for 1h; process 7, user 0, since 2026-03-01 12:00:00 UTC`.
pub(super) fn tuned_line(running: &Running) -> String {
    let Running { pid, uid, since, arguments, is_attached } = running;
    let words: Vec<String> = ["slowpath", "tune", "connections"]
        .into_iter()
        .map(str::to_owned)
        .chain(arguments.iter().map(|word| shown::word(word).to_string()))
        .collect();
    let since = since.map_or_else(String::new, |since| format!(", since {}", utc_text(since)));
    let state = if *is_attached == Some(false) { ", not attached" } else { "" };
    format!("{}; process {pid}, user {uid}{since}{state}", words.join(" "))
}

/// Who applied a plan, and where.
pub(super) fn who(begun: &Begun) -> String {
    let by = begun
        .sudo_user
        .as_ref()
        .map_or_else(|| format!("user {}", begun.uid), |name| format!("{name} (sudo)"));
    let at =
        begun.netns.as_ref().map_or_else(String::new, |name| format!(", in the network namespace {name}"));
    by + &at
}

/// What a plan is for.
pub(super) fn goal(begun: &Begun) -> String {
    if begun.goal.is_empty() { String::new() } else { format!(" for {}", begun.goal) }
}

/// What was predicted of a plan, and measured.
fn print_gain(entry: &Entry, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let said = entry.written.begun.predicted.as_ref();
    match (said, entry.written.measured()) {
        (Some(said), Some(measured)) => look.paragraph(out, "  ", &held_against(said, measured)),
        (None, Some(measured)) => look.paragraph(out, "  ", &format!("measured: {}", gained(measured))),
        (Some(said), None) => look.paragraph(out, "  ", &said_of(said)),
        (None, None) => Ok(()),
    }
}

fn print_entry(entry: &Entry, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let (written, begun) = (&entry.written, &entry.written.begun);
    let at = utc_text(begun.at);
    let state = match &entry.state {
        State::Applied => format!("is applied since {at}"),
        State::Busy { holder } => format!("is in use: {holder}"),
        State::Verifying { command } => format!("is being verified since {at}, by: {command}"),
        State::Interrupted => {
            format!(
                "was interrupted at {at}; slowpath tune revert {} takes back what was changed",
                written.id
            )
        }
        State::Undone => format!("failed at {at}, and is undone: {}", written.undone().unwrap_or_default()),
        State::Reverted => match written.reverted() {
            Some((at, [])) => format!("was reverted at {}", utc_text(at)),
            Some((at, left)) => format!("was reverted at {}, except for {}", utc_text(at), left.join(", ")),
            None => "was reverted".to_owned(),
        },
        State::Gone => {
            format!(
                "was applied at {at}, and did not last: the host was restarted, or the network namespace is gone"
            )
        }
    };
    look.strong_paragraph(out, &format!("Plan {} {state}.", written.id))?;
    look.faint_paragraph(out, "  ", &format!("{}{}, by {}", begun.plan, goal(begun), who(begun)))?;
    if matches!(entry.state, State::Reverted | State::Undone) {
        return Ok(());
    }
    if let (Some(ends), Some(timer)) = (begun.ends, written.timer()) {
        let text = if entry.has_lost_timer {
            let id = written.id;
            format!("It was to revert by itself, but what would do so is gone: slowpath tune revert {id}")
        } else {
            ending(ends, timer)
        };
        look.paragraph(out, "  ", &text)?;
    }
    if let Some(files) = kept_by(written.persisted().map(|(file, _)| file)) {
        look.paragraph(out, "  ", &format!("Kept over a reboot by {files}"))?;
    }
    print_gain(entry, look, out)?;
    for (changed, force) in &entry.changes {
        let force = match force {
            _ if matches!(entry.state, State::Verifying { .. }) => "in turn with the old value".to_owned(),
            Force::InForce => "in force".to_owned(),
            Force::Back => "has its old value again".to_owned(),
            Force::Gone(why) => (*why).to_owned(),
            Force::Closed => continue,
            Force::Drifted { value } => format!("changed by somebody else since, to {value}"),
            Force::Unknown { why } => format!("not known: {why}"),
        };
        writeln!(out, "  {}; {}", shown::line(&change_line(changed)), shown::line(&force))?;
    }
    Ok(())
}

/// Whether all that is applied is in force.
pub fn is_in_order(status: &[Result<Entry, Error>]) -> bool {
    status.iter().all(|entry| match entry {
        Ok(entry) => match entry.state {
            _ if entry.has_lost_timer => false,
            State::Applied => {
                entry.changes.iter().all(|(_, force)| matches!(force, Force::InForce | Force::Gone(_)))
            }
            State::Interrupted => false,
            State::Busy { .. } | State::Verifying { .. } | State::Undone | State::Reverted | State::Gone => {
                true
            }
        },
        Err(_) => false,
    })
}
