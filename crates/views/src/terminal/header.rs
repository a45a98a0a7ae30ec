//! The recordings, printed before the findings.

use super::look::Look;
use crate::diagnosis::Diagnosis;
use crate::quantity::{count, counted};
use crate::recording::Recording;
use crate::words;
use anstyle::{AnsiColor, Style};
use slowpath_model::shown;
use std::io;

/// The colour of warnings.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Writes one block per recording.
pub(crate) fn write(diagnosis: &Diagnosis<'_>, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    for recording in &diagnosis.recordings {
        one(recording, look, out)?;
    }
    if let Some(clocks) = words::clocks(diagnosis) {
        look.paragraph(out, "", &clocks)?;
    }
    if let Some(paired) = &diagnosis.paired {
        let [first, second] = paired.pairing.alone.each_ref().map(|alone| alone.len() as u64);
        let text = format!(
            "{} in both; {} only in the first and {} only in the second.",
            counted(paired.pairing.flows.len() as u64, "flow"),
            count(first),
            count(second)
        );
        look.paragraph(out, "", &text)?;
    }
    flows(diagnosis.ranking.flows, &diagnosis.recordings, diagnosis.flows_not_kept, look, out)
}

/// Writes how many flows there are.
pub(crate) fn flows(
    flows: u64,
    recordings: &[Recording],
    not_kept: u64,
    look: &Look,
    out: &mut impl io::Write,
) -> io::Result<()> {
    if flows == 0 {
        let fullest = recordings.iter().max_by_key(|recording| recording.frames);
        let reason = words::sentence(fullest.map_or("there are no packets", words::without_tcp));
        look.paragraph(out, "", &format!("{reason} Was the right interface recorded?"))?;
    } else {
        look.paragraph(out, "", &format!("{}, slowest first.", counted(flows, "TCP flow")))?;
    }
    if not_kept > 0 {
        let text = format!("{} more were seen and not kept, to save memory.", counted(not_kept, "flow"));
        look.styled_paragraph(out, "", &text, WARNING)?;
    }
    Ok(())
}

/// Writes a recording's name, what it is, and what is wrong with it.
pub(crate) fn one(recording: &Recording, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    let name = shown::line(words::recording_name(recording));
    let facts = words::recording_facts(recording);
    if name.chars().count() + 2 + facts.chars().count() <= look.width {
        writeln!(out, "{}: {facts}", look.strong(&name))?;
    } else {
        writeln!(out, "{}:", look.strong(&name))?;
        look.paragraph(out, "  ", &facts)?;
    }
    let (warnings, notes) = words::skipped(recording);
    for warning in warnings {
        look.styled_paragraph(out, "  ! ", &warning, WARNING)?;
    }
    for note in notes {
        look.styled_paragraph(out, "  ", &note, Style::new().dimmed())?;
    }
    Ok(())
}
