//! Sentences about recordings.

use crate::diagnosis::Diagnosis;
use crate::quantity::{count, counted, duration};
use crate::recording::{Recording, Skipped};
use slowpath_analyses::report::FlowReport;
use slowpath_model::{FlowId, shown};
use std::time::Duration;

/// The name of a recording.
pub fn recording_name(recording: &Recording) -> &str {
    if recording.name == "-" { "standard input" } else { &recording.name }
}

/// Format, duration and number of frames: `pcapng, 12.3 s, 56,220 frames, 56,203 of TCP`.
pub fn recording_facts(recording: &Recording) -> String {
    // A recording of events has its host and source as its format.
    let mut facts = vec![shown::line(&recording.kind()).into_owned()];
    if let Some(time) = recording.span.and_then(|(first, last)| last.since(first)) {
        facts.push(duration(time));
    }
    facts.push(counted(recording.frames, "frame"));
    facts.push(format!("{} of TCP", count(recording.segments)));
    facts.retain(|fact| !fact.is_empty());
    facts.join(", ")
}

/// The message for a recording without TCP segments; other protocols are listed among what was skipped.
pub fn without_tcp(recording: &Recording) -> &'static str {
    if recording.frames == 0 { "there are no packets in it" } else { "nothing in it could be read as TCP" }
}

/// The problems of a recording, one per line, for commands whose output has no place for them.
pub fn warnings(recording: &Recording) -> Vec<String> {
    let name = &recording.name;
    let empty = (recording.segments == 0)
        .then(|| format!("{name}: {}; was the right interface recorded?", without_tcp(recording)));
    let damage = recording.damage.iter().map(|damage| format!("{name}: {damage}"));
    let matters = recording.skipped.iter().filter(|skipped| skipped.matters);
    let unused = matters.map(|skipped| {
        format!("{name}: not used: {}: {}", counted(skipped.count, skipped.unit), skipped.what)
    });
    let clock = clock_set(recording).map(|text| format!("{name}: {text}"));
    empty.into_iter().chain(damage).chain(unused).chain(clock).collect()
}

/// The steps of the capture's clock: when, by how much, and whether times are corrected.
fn clock_set(recording: &Recording) -> Option<String> {
    let (first, more) = recording.clock_steps.split_first()?;
    let direction = if first.by < 0 { "back" } else { "forward" };
    let [by, at] =
        [first.by, first.at.nanos()].map(|nanos| duration(Duration::from_nanos(nanos.unsigned_abs())));
    let times = match more.len() {
        0 => String::new(),
        n => format!("{} times while recording, first ", count(n as u64 + 1)),
    };
    let then = match (recording.is_clock_corrected, more.is_empty()) {
        (false, _) => "times are as recorded",
        (true, true) => "later times are corrected",
        (true, false) => "times are corrected",
    };
    let frame = count(first.frame);
    Some(format!("the capture's clock was set {times}{direction} by {by} at {at} (frame {frame}); {then}"))
}

/// Why a recording with `flows` flows has no flow of this number, or did not keep it.
pub fn no_such_flow(recording: &Recording, flow: FlowId, flows: u64) -> String {
    let hint = match flows {
        0 => without_tcp(recording).to_owned(),
        1 => "its only flow is 1".to_owned(),
        n if u64::from(flow.0) <= n => "it came after too many others to be kept".to_owned(),
        n => format!("its flows are 1 to {n}"),
    };
    format!("{}: there is no flow {flow}; {hint}", recording.name)
}

/// The problems of a recording, and what was skipped without harm.
pub fn skipped(recording: &Recording) -> (Vec<String>, Vec<String>) {
    let list = |matters: bool| -> Option<String> {
        let some = |skipped: &Skipped| format!("{} ({})", counted(skipped.count, skipped.unit), skipped.what);
        let parts: Vec<_> =
            recording.skipped.iter().filter(|skipped| skipped.matters == matters).map(some).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    };
    let mut warnings: Vec<String> = recording.damage.iter().map(|damage| super::sentence(damage)).collect();
    warnings.extend(list(true).map(|text| format!("Not used: {text}.")));
    let mut notes = Vec::new();
    let clock = clock_set(recording).map(|text| super::sentence(&text));
    if recording.is_clock_corrected { &mut notes } else { &mut warnings }.extend(clock);
    notes.extend(list(false).map(|text| format!("Skipped or unusual: {text}.")));
    (warnings, notes)
}

/// The command that diagnoses the recordings again; `None` if one came from a stream or no longer exists.
pub fn diagnose_command(diagnosis: &Diagnosis<'_>) -> Option<String> {
    let mut command = "slowpath diagnose".to_owned();
    for recording in &diagnosis.recordings {
        command.push(' ');
        command.push_str(&shown::word(readable(recording)?));
    }
    Some(command)
}

/// The command that shows a flow's packets; `None` if they came from a stream or no longer exist.
pub fn show_command(diagnosis: &Diagnosis<'_>, flow: &FlowReport) -> Option<String> {
    show(diagnosis.reported()?, flow.id)
}

/// The command that shows a flow's packets as the other of two recordings has them.
pub fn show_other_command(diagnosis: &Diagnosis<'_>, flow: &FlowReport) -> Option<String> {
    let (paired, pair) = super::pair(diagnosis, flow)?;
    let other = 1 - paired.base;
    show(diagnosis.recordings.get(other)?, pair.flows[other])
}

fn show(recording: &Recording, flow: FlowId) -> Option<String> {
    readable(recording).map(|name| format!("slowpath show {} --flow {flow}", shown::word(name)))
}

/// The recording's name, if there is something to read under it.
fn readable(recording: &Recording) -> Option<&str> {
    (recording.name != "-" && !recording.gone).then_some(recording.name.as_str())
}
