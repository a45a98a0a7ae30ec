//! pprof's `profile.proto`, gzipped or not, as Go's and many other profilers write it.
//!
//! Each value of a sample is an event of its own, except the one that counts samples.

mod wire;
mod write;

pub use write::write;

use crate::error::{At, Stop};
use crate::gather::{DEEPEST, Gather};
use crate::images::{image, is_whole};
use crate::notes::{Notes, Oddity};
use slowpath_cost::{Frame, Image};
use std::collections::HashMap;
use wire::{Message, Value};

/// Field numbers of `message Profile`.
mod field {
    pub(super) const SAMPLE_TYPE: u64 = 1;
    pub(super) const SAMPLE: u64 = 2;
    pub(super) const MAPPING: u64 = 3;
    pub(super) const LOCATION: u64 = 4;
    pub(super) const FUNCTION: u64 = 5;
    pub(super) const STRING_TABLE: u64 = 6;
    pub(super) const PERIOD: u64 = 12;
}

/// Limit of mappings, locations, functions and strings, for any profile and per byte of it on disk. A string takes at
/// least two bytes, and compresses to less only if there are many equal ones.
const FREE_THINGS: u64 = 256 * 1024;
const BYTES_OF_THING: u64 = 2;

/// Kept bytes of a name: every sample and function can refer to the same long one.
const LONGEST_NAME: usize = 4096;

/// Labels by which profilers name a sample's thread or process.
const TASK_LABELS: &[&str] = &["thread", "thread_name", "comm", "task", "process", "process_name"];

/// Tables of a profile, by their entries' ids.
#[derive(Default)]
struct Tables<'a> {
    strings: Vec<&'a [u8]>,
    /// Type and unit, as strings.
    values: Vec<(u64, u64)>,
    mappings: HashMap<u64, u64>,
    locations: HashMap<u64, Location>,
    functions: HashMap<u64, u64>,
    period: u64,
    /// The remaining budget of things, and how many did not fit.
    left: u64,
    dropped: u64,
}

#[derive(Default)]
struct Location {
    mapping: u64,
    address: u64,
    /// Functions, the innermost first; all but the last are inlined.
    functions: Vec<u64>,
}

/// Whether the bytes could be a profile: the first field is one of `Profile`, with the right type.
pub(crate) fn is_profile(bytes: &[u8]) -> bool {
    let first = Message { rest: bytes }.next();
    matches!(first, Ok(Some((1..=6, Value::Bytes(_)) | (7..=14, _))))
}

/// Reads the whole profile; `on_disk` is the file's size. Returns why reading ended early, if it did.
///
/// Samples come before the tables that they refer to, so there are two passes.
pub(crate) fn read(bytes: &[u8], on_disk: u64, gather: &mut Gather, notes: &mut Notes) -> Option<Stop> {
    let mut tables = Tables { left: FREE_THINGS + on_disk / BYTES_OF_THING, ..Tables::default() };
    let stopped = each_field(bytes, |number, value, at| {
        if tables.take(number, value).is_none() {
            notes.at(Oddity::Malformed, field_name(number), At::Offset(at));
        }
    });
    if tables.dropped > 0 {
        notes.of(Oddity::TooMany, "strings, functions and locations", tables.dropped);
    }
    let mut reading = Reading::new(&tables, gather);
    each_field(bytes, |number, value, at| {
        let Some(sample) = value.bytes().filter(|_| number == field::SAMPLE) else { return };
        if reading.sample(sample).is_none() {
            reading.gather.profile.lost.unreadable += 1;
            notes.at(Oddity::Malformed, field_name(number), At::Offset(at));
        }
    });
    stopped
}

/// Calls `each` with the number, value and offset of each field, until one cannot be read.
fn each_field<'a>(bytes: &'a [u8], mut each: impl FnMut(u64, Value<'a>, u64)) -> Option<Stop> {
    let mut message = Message { rest: bytes };
    loop {
        let at = (bytes.len() - message.rest.len()) as u64;
        match message.next() {
            Ok(Some((number, value))) => each(number, value, at),
            Ok(None) => return None,
            Err(()) => {
                let reason = "a field of the message is cut off, or is none,".to_owned();
                return Some(Stop { at: At::Offset(at), reason });
            }
        }
    }
}

/// The name of a field in messages.
fn field_name(number: u64) -> &'static str {
    match number {
        field::SAMPLE_TYPE => "sample types",
        field::SAMPLE => "samples",
        field::MAPPING => "mappings",
        field::LOCATION => "locations",
        field::FUNCTION => "functions",
        field::STRING_TABLE => "strings",
        field::PERIOD => "the period",
        _ => "other fields",
    }
}

impl<'a> Tables<'a> {
    fn take(&mut self, number: u64, value: Value<'a>) -> Option<()> {
        let takes_room = matches!(
            number,
            field::SAMPLE_TYPE | field::MAPPING | field::LOCATION | field::FUNCTION | field::STRING_TABLE
        );
        if takes_room && self.left == 0 {
            self.dropped += 1;
            return Some(());
        }
        self.left -= u64::from(takes_room);
        match number {
            field::SAMPLE_TYPE => {
                let [kind, unit] = fields(value.bytes()?, [1, 2])?;
                self.values.push((kind, unit));
            }
            field::SAMPLE => drop(value.bytes()?),
            field::MAPPING => {
                let [id, file] = fields(value.bytes()?, [1, 5])?;
                self.mappings.insert(id, file);
            }
            field::LOCATION => self.location(value.bytes()?)?,
            field::FUNCTION => {
                let [id, name, system_name] = fields(value.bytes()?, [1, 2, 3])?;
                self.functions.insert(id, if name == 0 { system_name } else { name });
            }
            field::STRING_TABLE => self.strings.push(value.bytes()?),
            field::PERIOD => self.period = value.number()?,
            _ => {}
        }
        Some(())
    }

    fn location(&mut self, bytes: &[u8]) -> Option<()> {
        let (mut id, mut location) = (0, Location::default());
        let mut message = Message { rest: bytes };
        while let Some((number, value)) = message.next().ok()? {
            match number {
                1 => id = value.number()?,
                2 => location.mapping = value.number()?,
                3 => location.address = value.number()?,
                4 => {
                    let [function] = fields(value.bytes()?, [1])?;
                    if location.functions.len() < DEEPEST && self.left > 0 {
                        self.left -= 1;
                        location.functions.push(function);
                    }
                }
                _ => {}
            }
        }
        self.locations.insert(id, location);
        Some(())
    }

    fn bytes(&self, at: u64) -> &'a [u8] {
        usize::try_from(at).ok().and_then(|at| self.strings.get(at)).copied().unwrap_or_default()
    }

    fn string(&self, at: u64) -> String {
        let bytes = self.bytes(at);
        String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST_NAME)]).into_owned()
    }
}

/// The numbers in these fields of a message; 0 for a missing field.
fn fields<const N: usize>(bytes: &[u8], wanted: [u64; N]) -> Option<[u64; N]> {
    let mut found = [0; N];
    let mut message = Message { rest: bytes };
    while let Some((number, value)) = message.next().ok()? {
        if let Some(at) = wanted.iter().position(|wanted| *wanted == number) {
            found[at] = value.number()?;
        }
    }
    Some(found)
}

/// Turns tables into stacks.
struct Reading<'a> {
    tables: &'a Tables<'a>,
    gather: &'a mut Gather,
    /// Which value counts samples.
    counts: Option<usize>,
    /// The events, with the places of their values.
    events: Vec<(usize, u16)>,
    /// The frames of each known location.
    known: HashMap<u64, Vec<Frame>>,
}

impl<'a> Reading<'a> {
    fn new(tables: &'a Tables<'a>, gather: &'a mut Gather) -> Self {
        let is_count =
            |(kind, unit): &(u64, u64)| tables.string(*kind) == "samples" && tables.string(*unit) == "count";
        let counts = tables.values.iter().position(is_count);
        let others = tables.values.len() > 1;
        let mut events = Vec::new();
        for (at, (kind, unit)) in tables.values.iter().enumerate() {
            if counts != Some(at) || !others {
                let unit = if counts == Some(at) { "samples" } else { unit_of(&tables.string(*unit)) };
                events.push((at, gather.event(&tables.string(*kind), unit)));
            }
        }
        Self { tables, gather, counts, events, known: HashMap::new() }
    }

    fn sample(&mut self, bytes: &[u8]) -> Option<()> {
        let (mut locations, mut values, mut task) = (Vec::new(), Vec::new(), None);
        let mut message = Message { rest: bytes };
        while let Some((number, value)) = message.next().ok()? {
            match number {
                1 => value.numbers(&mut locations, DEEPEST + 1)?,
                2 => value.numbers(&mut values, self.tables.values.len())?,
                3 => {
                    let [key, text] = fields(value.bytes()?, [1, 2])?;
                    if text != 0 && TASK_LABELS.iter().any(|label| self.tables.bytes(key) == label.as_bytes())
                    {
                        task = Some(self.tables.string(text));
                    }
                }
                _ => {}
            }
        }
        let mut frames = Vec::new();
        for location in locations {
            frames.extend_from_slice(self.frames(location)?);
            if frames.len() > DEEPEST {
                break;
            }
        }
        let functions = &self.gather.profile.functions;
        let last = frames.last().map(|frame| frame.function);
        // Most profilers unwind completely. Only a profile that names images can be checked for it.
        let says_images = last.is_some_and(|last| *functions.image(last) != Image::Unknown);
        let is_truncated =
            says_images && last.is_some_and(|last| !is_whole(functions.name(last), functions.image(last)));
        let stack = self.gather.stack(&frames, is_truncated);
        let task = self.gather.task(task.as_deref().unwrap_or("[unknown]"));
        let mut most = 0;
        for &(at, event) in &self.events {
            // A difference profile has negative values, which have no share.
            let weight = *values.get(at).filter(|value| **value <= i64::MAX as u64)?;
            let samples = match self.counts {
                Some(counts) => *values.get(counts).filter(|value| **value <= i64::MAX as u64)?,
                None => weight.checked_div(self.tables.period).unwrap_or(1).max(1),
            };
            if weight > 0 || samples > 0 {
                self.gather.add(stack, event, task, samples, weight);
                most = most.max(samples);
            }
        }
        let lost = &mut self.gather.profile.lost;
        let count = if frames.is_empty() { &mut lost.without_stack } else { &mut lost.truncated };
        *count = count.saturating_add(if frames.is_empty() || is_truncated { most } else { 0 });
        Some(())
    }

    fn frames(&mut self, id: u64) -> Option<&[Frame]> {
        if !self.known.contains_key(&id) {
            let location = self.tables.locations.get(&id)?;
            let file = self.tables.mappings.get(&location.mapping).map(|file| self.tables.string(*file));
            let image = image(file.as_deref().unwrap_or_default());
            let functions = &mut self.gather.profile.functions;
            let mut frames: Vec<Frame> = Vec::new();
            for (at, function) in location.functions.iter().enumerate() {
                let name = self.tables.functions.get(function).map_or(0, |name| *name);
                let function = functions.of(&self.tables.string(name), &image);
                frames.push(Frame { function, inlined: at + 1 < location.functions.len() });
            }
            if frames.is_empty() {
                let function = functions.of(&format!("[{:#x}]", location.address), &image);
                frames.push(Frame { function, inlined: false });
            }
            self.known.insert(id, frames);
        }
        self.known.get(&id).map(Vec::as_slice)
    }
}

fn unit_of(unit: &str) -> &'static str {
    match unit {
        "nanoseconds" => "ns",
        "cycles" => "cycles",
        "instructions" => "instructions",
        "bytes" => "bytes",
        _ => "events",
    }
}
