//! Folded stacks: `outermost;…;innermost 12`, the input of flame graphs.
//!
//! The first name of a line is that of the process if `stackcollapse-perf` wrote it. It looks like a function, and is
//! read as one. The suffix `_[k]` marks a kernel function, `_[i]` an inlined one, and `_[j]` JIT-compiled code.

use super::lines::Lines;
use crate::error::Stop;
use crate::gather::{DEEPEST, Gather};
use crate::notes::{Notes, Oddity};
use slowpath_cost::{Frame, Functions, Image, Profile};
use std::io::{self, BufRead, Write};

/// The image of JIT-compiled code.
const COMPILED: &str = "[jit]";

/// Reads all lines; returns why reading ended early, if it did.
pub(crate) fn read(source: impl BufRead, gather: &mut Gather, notes: &mut Notes) -> Option<Stop> {
    let event = gather.event("samples", "samples");
    let task = gather.task("[unknown]");
    let mut lines = Lines::new(source);
    let mut frames = Vec::new();
    loop {
        let at = lines.number + 1;
        match lines.next() {
            Ok(None) => break,
            Err(stop) => return Some(stop),
            Ok(Some(line)) if line.is_empty() || line.starts_with('#') => {}
            Ok(Some(line)) => {
                let Some((names, count)) = parse(&line) else {
                    gather.profile.lost.unreadable += 1;
                    notes.at(Oddity::Malformed, "", crate::At::Line(at));
                    continue;
                };
                stack(names, &mut gather.profile.functions, &mut frames);
                let stack = gather.stack(&frames, false);
                gather.add(stack, event, task, count, count);
            }
        }
    }
    if let Some((_, at)) = lines.cut {
        notes.at(Oddity::Malformed, "lines that are too long", at);
    }
    None
}

/// The names and the count of a line. Tools that scale counts write decimals.
pub(crate) fn parse(line: &str) -> Option<(&str, u64)> {
    let (names, count) = line.rsplit_once([' ', '\t'])?;
    let (whole, part) = count.split_once('.').unwrap_or((count, ""));
    let is_number = whole.bytes().chain(part.bytes()).all(|byte| byte.is_ascii_digit());
    let names = names.trim_end();
    if !is_number || names.is_empty() {
        return None;
    }
    let rounded = u64::from(part.as_bytes().first().is_some_and(|digit| *digit >= b'5'));
    Some((names, whole.parse::<u64>().ok()?.saturating_add(rounded)))
}

fn stack(names: &str, functions: &mut Functions, frames: &mut Vec<Frame>) {
    frames.clear();
    for name in names.rsplit(';').filter(|name| !name.is_empty()).take(DEEPEST + 1) {
        let (mut name, mut image, mut inlined) = (name, Image::Unknown, false);
        while let Some((before, mark)) = mark(name) {
            match mark {
                'k' => image = Image::Kernel(None),
                'j' => image = Image::User(COMPILED.to_owned()),
                _ => inlined = true,
            }
            name = before;
        }
        frames.push(Frame { function: functions.of(name, &image), inlined });
    }
}

fn mark(name: &str) -> Option<(&str, char)> {
    ['k', 'i', 'j'].into_iter().find_map(|mark| {
        let before = name.strip_suffix(']')?.strip_suffix(mark)?.strip_suffix("_[")?;
        (!before.is_empty()).then_some((before, mark))
    })
}

/// The count that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The number of samples.
    Samples,
    /// The weight, in the event's unit.
    Weight,
}

/// Writes the stacks of one event, a line for each stack and task, in the order of the profile.
///
/// Characters that names must not contain here (`;`, line ends) become `:`. Truncation of stacks is not recorded.
///
/// # Errors
///
/// The errors of `out`.
pub fn write(profile: &Profile, event: u16, measure: Measure, out: &mut impl Write) -> io::Result<()> {
    for entry in profile.entries.iter().filter(|entry| entry.event == event) {
        let frames = profile.stacks.frames(entry.stack);
        for (at, frame) in frames.iter().rev().enumerate() {
            let name = profile.functions.name(frame.function).replace([';', '\n', '\r'], ":");
            let kind = match profile.functions.image(frame.function) {
                Image::Kernel(_) => "_[k]",
                Image::User(name) if name == COMPILED => "_[j]",
                _ => "",
            };
            let separator = if at == 0 { "" } else { ";" };
            write!(out, "{separator}{name}{kind}{}", if frame.inlined { "_[i]" } else { "" })?;
        }
        let count = match measure {
            Measure::Samples => entry.samples,
            Measure::Weight => entry.weight,
        };
        let empty = if frames.is_empty() { "[unknown]" } else { "" };
        writeln!(out, "{empty} {count}")?;
    }
    Ok(())
}
