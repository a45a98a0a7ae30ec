//! What was read, before what was found.

use super::look::Look;
use crate::diagnosis::{Diagnosis, Recording};
use crate::quantity::{count, counted, duration};
use anstyle::{AnsiColor, Style};
use std::io;

/// A warning's colour.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Writes one block per recording.
pub(crate) fn write(diagnosis: &Diagnosis<'_>, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    for recording in &diagnosis.recordings {
        one(recording, look, out)?;
    }
    let flows = diagnosis.flows.len() as u64;
    if flows == 0 {
        let text = "There is no TCP in it, so there is nothing to say. Was the right interface recorded?";
        look.paragraph(out, "", text)?;
    } else {
        look.paragraph(out, "", &format!("{}, slowest first.", counted(flows, "TCP flow")))?;
    }
    if diagnosis.flows_not_kept > 0 {
        let text = format!(
            "{} more were seen and not kept, to save memory.",
            counted(diagnosis.flows_not_kept, "flow")
        );
        look.styled_paragraph(out, "", &text, WARNING)?;
    }
    Ok(())
}

fn one(recording: &Recording, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    let name = if recording.name == "-" { "standard input" } else { &recording.name };
    let mut facts = vec![recording.format.clone()];
    if let Some(time) = recording.span.and_then(|(first, last)| last.since(first)) {
        facts.push(duration(time));
    }
    facts.push(counted(recording.frames, "frame"));
    facts.push(format!("{} of TCP", count(recording.segments)));
    facts.retain(|fact| !fact.is_empty());
    writeln!(out, "{}: {}", look.strong(name), facts.join(", "))?;
    if let Some(damage) = &recording.damage {
        look.styled_paragraph(out, "  ! ", damage, WARNING)?;
    }
    let skipped = |matters: bool| -> String {
        let parts = recording.skipped.iter().filter(|skipped| skipped.matters == matters);
        parts
            .map(|skipped| format!("{} ({})", counted(skipped.count, skipped.unit), skipped.what))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (harmful, harmless) = (skipped(true), skipped(false));
    if !harmful.is_empty() {
        look.styled_paragraph(out, "  ! ", &format!("Not used: {harmful}."), WARNING)?;
    }
    if !harmless.is_empty() {
        look.styled_paragraph(out, "  ", &format!("Left aside: {harmless}."), Style::new().dimmed())?;
    }
    Ok(())
}
