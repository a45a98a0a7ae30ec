//! A profile that was read: its functions, its call graph, its stacks if it has them, and what is missing in it.

use super::Names;
use crate::Outcome;
use crate::console::{Console, warn};
use anyhow::{Context, bail};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_cost::{Calls, Edges, Function, Functions, Image, Lost, Operation, Profile, Roots, Run, Work};
use slowpath_profile::{Contents, Input, Options, work};
use slowpath_views::quantity::{count, counted};
use std::io::{self, Write};
use std::path::Path;

/// A profile, and which of its events is looked at.
pub struct Loaded {
    input: Input,
    event: u16,
    /// Of its stacks what was called; `None` without them.
    calls: Option<Calls>,
    /// Who called whom.
    pub edges: Edges,
    samples: u64,
    /// Whether something that was named is not in it.
    is_missing: bool,
}

/// The profile that a document is about.
#[derive(Serialize, JsonSchema)]
pub struct About<'a> {
    /// Its file.
    file: &'a str,
    /// The event that was looked at; null where the profile does not say.
    event: Option<&'a str>,
    /// What weights count.
    unit: &'a str,
    /// Samples of this event.
    samples: u64,
    /// The sum of their weights.
    weight: u64,
    /// Whether it has whole stacks; otherwise only who calls whom.
    has_stacks: bool,
    /// Samples that the profiler says it lost.
    lost_samples: u64,
    /// Samples of which only the function is known.
    without_stack: u64,
    /// Samples whose stack ends before its beginning is reached.
    truncated: u64,
    /// Records that could not be read.
    unreadable: u64,
    /// What else was odd, and what mends it.
    notes: Vec<String>,
}

/// A function as documents have it.
#[derive(Serialize, JsonSchema)]
pub struct Named<'a> {
    /// Its name; an address in brackets where it has none.
    name: &'a str,
    /// What it is part of: `kernel`, a module, a program or a library; null where the profiler does not say.
    image: Option<&'a str>,
}

impl Loaded {
    /// Reads a profile, and picks one of its events.
    pub fn open(file: &Path, names: &Names, console: &Console) -> anyhow::Result<Self> {
        let options = Options {
            kallsyms: names.kallsyms.clone(),
            vmlinux: names.vmlinux.clone(),
            root: names.root.clone(),
            inlined: names.inline,
        };
        let working = console.working("reading the profile");
        let input = slowpath_profile::open(file, &options)?;
        drop(working);
        let event = match &input.contents {
            Contents::Stacks(profile) => {
                event(profile, names.event.as_deref()).with_context(|| input.name.clone())?
            }
            Contents::Calls(_) => 0,
        };
        let (calls, edges, samples) = match &input.contents {
            Contents::Stacks(profile) => {
                let calls = profile.calls();
                let edges = calls.profile().edges(event);
                (Some(calls), edges, samples(profile, event))
            }
            Contents::Calls(graph) => {
                let own = graph.self_samples.clone();
                let edges = Edges::new(own, graph.edges.iter().copied());
                (None, edges, graph.self_samples.iter().sum())
            }
        };
        if samples == 0 {
            bail!("{}: no samples; record while the host is busy, and for longer", input.name);
        }
        Ok(Self { input, event, calls, edges, samples, is_missing: false })
    }

    /// Its file's name.
    pub fn name(&self) -> &str {
        &self.input.name
    }

    /// How many samples the event has.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Its functions, with those that were put back on stacks.
    pub fn functions(&self) -> &Functions {
        match (&self.calls, &self.input.contents) {
            (Some(calls), _) => &calls.profile().functions,
            (None, Contents::Stacks(profile)) => &profile.functions,
            (None, Contents::Calls(graph)) => &graph.functions,
        }
    }

    /// What was called, and the event in it: of this, to whom a cost belongs is told. `None` without stacks.
    pub fn calls(&self) -> Option<(&Calls, u16)> {
        Some((self.calls.as_ref()?, self.event))
    }

    /// The same; without stacks, an error.
    pub fn whole_calls(&self) -> anyhow::Result<(&Calls, u16)> {
        self.calls().with_context(|| self.has_no_stacks())
    }

    /// Its stacks as they were seen, and the event in them.
    pub fn stacks(&self) -> Option<(&Profile, u16)> {
        match &self.input.contents {
            Contents::Stacks(profile) => Some((profile, self.event)),
            Contents::Calls(_) => None,
        }
    }

    /// The same; without stacks, an error.
    pub fn whole_stacks(&self) -> anyhow::Result<(&Profile, u16)> {
        self.stacks().with_context(|| self.has_no_stacks())
    }

    fn has_no_stacks(&self) -> String {
        format!("{}: it has no stacks, only who calls whom", self.input.name)
    }

    /// What its functions cost themselves, to compare.
    pub fn run(&self, work: Option<f64>) -> Run<'_> {
        let run = match &self.input.contents {
            Contents::Stacks(profile) => Run::of(profile, self.event),
            Contents::Calls(graph) => Run::of_samples(&graph.functions, &graph.self_samples),
        };
        Run { work, ..run }
    }

    /// All of the event's weight.
    pub fn weight(&self) -> u64 {
        self.edges.total().max(1)
    }

    fn lost(&self) -> Lost {
        self.stacks().map(|(profile, _)| profile.lost).unwrap_or_default()
    }

    /// The event that is looked at.
    pub fn event(&self) -> Option<&slowpath_cost::Event> {
        match &self.input.contents {
            Contents::Stacks(profile) => profile.events.get(usize::from(self.event)),
            Contents::Calls(graph) => graph.event.as_ref(),
        }
    }

    /// Of functions' names, all functions of those names; of operations', all that do them. A name that is not there is told, and
    /// the others go on; it is an error if none is.
    pub fn named<'a>(&mut self, names: &'a [String]) -> anyhow::Result<Vec<(&'a str, Vec<Function>)>> {
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for name in names {
            match self.of_name(name) {
                functions if functions.is_empty() => missing.push(self.lacks(name)),
                functions => found.push((name.as_str(), functions)),
            }
        }
        if found.is_empty() && !missing.is_empty() {
            bail!(missing.join("\n"));
        }
        missing.iter().for_each(|name| warn(name));
        self.is_missing |= !missing.is_empty();
        Ok(found)
    }

    /// The functions of all of these names, as [`Self::named`] has them.
    pub fn all_named(&mut self, names: &[String]) -> anyhow::Result<Vec<Function>> {
        Ok(self.named(names)?.into_iter().flat_map(|(_, found)| found).collect())
    }

    fn of_name(&self, name: &str) -> Vec<Function> {
        match Operation::named(name) {
            Some(operation) => operation.found(self.functions()),
            None => self.functions().named(name).collect(),
        }
    }

    fn lacks(&self, name: &str) -> String {
        format!("{}: no function {name} in this profile{}", self.input.name, self.alike(name))
    }

    /// Names with this one in them, to go on with.
    fn alike(&self, name: &str) -> String {
        let functions = self.functions();
        let mut alike: Vec<&str> = functions
            .iter()
            .map(|function| functions.name(function))
            .filter(|known| known.contains(name))
            .collect();
        alike.sort_unstable();
        alike.dedup();
        alike.truncate(5);
        match alike.as_slice() {
            [] => "; `slowpath profile top` lists its functions".to_owned(),
            alike => format!("; it has {}", alike.join(", ")),
        }
    }

    /// The roots to divide among; without names, the paper's high-level operations that are in the profile.
    pub fn roots(&mut self, names: &[String]) -> anyhow::Result<Roots> {
        if names.is_empty() {
            let roots = Roots::high_level(self.functions());
            if roots.is_empty() {
                bail!("{}: nothing of TCP is in this profile; name functions with --to", self.input.name);
            }
            return Ok(roots);
        }
        let mut roots = Roots::new();
        for (name, functions) in self.named(names)? {
            roots.add(name, functions);
        }
        roots.complete(self.functions());
        Ok(roots)
    }

    /// What a document says of it.
    pub fn about(&self) -> About<'_> {
        let lost = self.lost();
        About {
            file: &self.input.name,
            event: self.event().map(|event| event.name.as_str()),
            unit: self.event().map_or("samples", |event| event.unit),
            samples: self.samples,
            weight: self.edges.total(),
            has_stacks: self.stacks().is_some(),
            lost_samples: lost.samples,
            without_stack: lost.without_stack,
            truncated: lost.truncated,
            unreadable: lost.unreadable,
            notes: self.input.notes.iter().map(ToString::to_string).collect(),
        }
    }

    /// A function, in a document.
    pub fn function(&self, function: Function) -> Named<'_> {
        let image = match self.functions().image(function) {
            Image::Kernel(None) => Some("kernel"),
            Image::Kernel(Some(name)) | Image::User(name) => Some(name.as_str()),
            Image::Unknown => None,
        };
        Named { name: self.functions().name(function), image }
    }

    /// A function, in a table: a name that would fill a screen loses its middle, and is whole in JSON.
    pub fn in_table(&self, function: Function) -> String {
        shortened(self.spelt(function))
    }

    /// A function, in text.
    pub fn spelt(&self, function: Function) -> String {
        spelt(self.functions().name(function), self.functions().image(function))
    }

    /// Heads a text: what was read, and what is missing in it.
    pub fn head(&self, out: &mut impl Write) -> io::Result<()> {
        // Formats without events have samples of samples.
        let event = self.event().map(|event| event.name.as_str()).filter(|name| *name != "samples");
        let of = event.map_or_else(String::new, |event| format!(" of {event}"));
        writeln!(out, "{}: {}{of}", self.input.name, counted(self.samples, "sample"))?;
        let lost = self.lost();
        let part = |samples: u64| percent(samples as f64 / (self.samples as f64).max(1.0));
        if lost.samples > 0 {
            let all = (self.samples + lost.samples) as f64;
            writeln!(
                out,
                "  {} more were lost, {}",
                count(lost.samples),
                percent(lost.samples as f64 / all)
            )?;
        }
        if lost.without_stack > 0 {
            writeln!(out, "  {} of them have no stack", part(lost.without_stack))?;
        }
        if lost.truncated > 0 {
            writeln!(out, "  {} of them have a stack that was cut off", part(lost.truncated))?;
        }
        writeln!(out)
    }

    /// Says what is odd, and how it went.
    pub fn outcome(&self) -> Outcome {
        for note in &self.input.notes {
            warn(&note.to_string());
        }
        if let Some(stop) = &self.input.stopped {
            warn(&format!("{}: {stop}; what came before was read", self.input.name));
        }
        if self.input.stopped.is_some() || self.lost().unreadable > 0 || self.is_missing {
            Outcome::Partial
        } else {
            Outcome::Whole
        }
    }
}

/// A function's name; of what is not the kernel's own, with what it is part of.
pub fn spelt(name: &str, image: &Image) -> String {
    match image {
        Image::Kernel(Some(part)) | Image::User(part) => format!("{name} ({part})"),
        Image::Kernel(None) | Image::Unknown => name.to_owned(),
    }
}

/// As many columns as leave room for numbers beside them.
const NAME_COLUMNS: usize = 64;

/// A name, without its middle if it is too long: both what it begins with and what it is part of tell it from others.
pub fn shortened(name: String) -> String {
    let length = name.chars().count();
    if length <= NAME_COLUMNS {
        return name;
    }
    let end = NAME_COLUMNS / 2;
    let begin = NAME_COLUMNS - 1 - end;
    name.chars().take(begin).chain(['…']).chain(name.chars().skip(length - end)).collect()
}

/// A part of 1 in tenths of a per cent: of a profile, small parts matter.
pub fn percent(part: f64) -> String {
    if part > 0.0 && part < 0.0005 { "< 0.1 %".to_owned() } else { format!("{:.1} %", part * 100.0) }
}

/// What the host did while a profile was recorded, if that is in a file beside it.
pub fn work_beside(profile: &Path) -> Option<Work> {
    let file = work::beside(profile);
    if !file.exists() {
        return None;
    }
    work_in(&file).inspect_err(|error| warn(&format!("{error:#}"))).ok()
}

/// What a host did, of a file; says what of it was skipped.
pub fn work_in(file: &Path) -> anyhow::Result<Work> {
    let read = work::open(file)?;
    if !read.skipped.is_empty() {
        warn(&format!("{}: makes no sense and was skipped: {}", file.display(), read.skipped.join(", ")));
    }
    Ok(read.work)
}

/// The event of that name; without one, the event with the most samples.
fn event(profile: &Profile, name: Option<&str>) -> anyhow::Result<u16> {
    let number = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
    let Some(name) = name else {
        let most = (0..profile.events.len())
            .map(number)
            .max_by_key(|event| (samples(profile, *event), u16::MAX - event));
        return Ok(most.unwrap_or(0));
    };
    let found = profile.events.iter().position(|event| event.name == name);
    found.map(number).with_context(|| {
        let names: Vec<&str> = profile.events.iter().map(|event| event.name.as_str()).collect();
        format!("no event {name}; it has {}", names.join(", "))
    })
}

fn samples(profile: &Profile, event: u16) -> u64 {
    profile.entries.iter().filter(|entry| entry.event == event).map(|entry| entry.samples).sum()
}
