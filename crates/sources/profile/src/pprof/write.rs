//! Writes a profile in pprof's format.

use super::wire::Writer;
use super::{TASK_LABELS, field};
use crate::images::image_name;
use flate2::Compression;
use flate2::write::GzEncoder;
use slowpath_cost::{Entry, Frame, Function, Profile};
use std::collections::HashMap;
use std::io::{self, Write};

/// The tables under construction, in the order of first use.
struct Writing<'a> {
    profile: &'a Profile,
    out: Writer,
    strings: HashMap<String, u64>,
    /// Mapping ids by image name.
    mappings: HashMap<String, u64>,
    functions: HashMap<Function, u64>,
    /// A function with the functions inlined into it is one location.
    locations: HashMap<Vec<Function>, u64>,
}

/// Writes the stacks of one event, gzipped, with the task's name as the label `thread`. Truncation of stacks is not
/// recorded.
///
/// # Errors
///
/// The errors of `out`.
pub fn write(profile: &Profile, event: u16, out: &mut impl Write) -> io::Result<()> {
    let mut writing = Writing {
        profile,
        out: Writer::default(),
        strings: HashMap::new(),
        mappings: HashMap::new(),
        functions: HashMap::new(),
        locations: HashMap::new(),
    };
    writing.string("");
    let (name, unit) = profile
        .events
        .get(usize::from(event))
        .map_or(("samples", "samples"), |event| (event.name.as_str(), event.unit));
    writing.sample_type("samples", "count");
    writing.sample_type(name, if unit == "ns" { "nanoseconds" } else { unit });
    for entry in profile.entries.iter().filter(|entry| entry.event == event) {
        writing.sample(entry);
    }
    let mut packed = GzEncoder::new(out, Compression::default());
    packed.write_all(&writing.out.0)?;
    packed.finish().map(drop)
}

impl Writing<'_> {
    fn string(&mut self, text: &str) -> u64 {
        if let Some(at) = self.strings.get(text) {
            return *at;
        }
        let at = self.strings.len() as u64;
        self.strings.insert(text.to_owned(), at);
        self.out.bytes(field::STRING_TABLE, text.as_bytes());
        at
    }

    fn sample_type(&mut self, kind: &str, unit: &str) {
        let mut message = Writer::default();
        message.number(1, self.string(kind));
        message.number(2, self.string(unit));
        self.out.bytes(field::SAMPLE_TYPE, &message.0);
    }

    fn sample(&mut self, entry: &Entry) {
        let frames = self.profile.stacks.frames(entry.stack);
        let mut locations = Vec::new();
        // Inlined functions precede the function that contains them.
        for place in frames.split_inclusive(|frame| !frame.inlined) {
            locations.push(self.location(place));
        }
        let mut label = Writer::default();
        label.number(1, self.string(TASK_LABELS[0]));
        let task = self.profile.tasks.get(entry.task as usize).map_or("", String::as_str);
        label.number(2, self.string(task));
        let mut message = Writer::default();
        message.numbers(1, locations);
        // Values are signed.
        message.numbers(2, [entry.samples, entry.weight].map(|value| value.min(i64::MAX as u64)));
        message.bytes(3, &label.0);
        self.out.bytes(field::SAMPLE, &message.0);
    }

    fn location(&mut self, place: &[Frame]) -> u64 {
        let key: Vec<Function> = place.iter().map(|frame| frame.function).collect();
        if let Some(id) = self.locations.get(&key) {
            return *id;
        }
        let id = self.locations.len() as u64 + 1;
        let outermost = key.last().copied().unwrap_or(Function(0));
        let mut message = Writer::default();
        message.number(1, id);
        let mapping = self.mapping(outermost);
        message.number(2, mapping);
        for function in &key {
            let mut line = Writer::default();
            line.number(1, self.function(*function));
            message.bytes(4, &line.0);
        }
        self.out.bytes(field::LOCATION, &message.0);
        self.locations.insert(key, id);
        id
    }

    fn mapping(&mut self, of: Function) -> u64 {
        let name = image_name(self.profile.functions.image(of));
        if let Some(id) = self.mappings.get(&name) {
            return *id;
        }
        let id = self.mappings.len() as u64 + 1;
        let mut message = Writer::default();
        message.number(1, id);
        message.number(5, self.string(&name));
        // Tells pprof that functions, files and lines need no lookup: they are named here.
        message.number(7, 1);
        self.out.bytes(field::MAPPING, &message.0);
        self.mappings.insert(name, id);
        id
    }

    fn function(&mut self, of: Function) -> u64 {
        if let Some(id) = self.functions.get(&of) {
            return *id;
        }
        let id = self.functions.len() as u64 + 1;
        let mut message = Writer::default();
        message.number(1, id);
        message.number(2, self.string(self.profile.functions.name(of)));
        self.out.bytes(field::FUNCTION, &message.0);
        self.functions.insert(of, id);
        id
    }
}
