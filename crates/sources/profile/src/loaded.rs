//! A profile that was read: its functions, its call graph, its stacks if it has them, and what is missing in it.

use crate::{Contents, Input, Note, ProfileError, Stop, SymbolSources};
use slowpath_cost::{Calls, Edges, Event, Function, Functions, Lost, Operation, Profile, Roots, Run};
use std::path::Path;
use thiserror::Error;

/// A profile, and which of its events is looked at.
pub struct Loaded {
    input: Input,
    event: u16,
    /// Of its stacks what was called; `None` without them.
    calls: Option<Calls>,
    /// The call graph.
    pub edges: Edges,
    samples: u64,
    /// What was named and is not in it.
    missing: Vec<Missing>,
}

impl Loaded {
    /// Reads a profile, and picks the event of that name; without one, the event with the most samples.
    ///
    /// # Errors
    /// If the file cannot be read, has no such event, or no samples.
    pub fn open(file: &Path, options: &SymbolSources, event_name: Option<&str>) -> Result<Self, LoadError> {
        let input = crate::open(file, options)?;
        let event = match &input.contents {
            Contents::Stacks(profile) => event(&input.name, profile, event_name)?,
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
            return Err(LoadError::NoSamples { file: input.name });
        }
        Ok(Self { input, event, calls, edges, samples, missing: Vec::new() })
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

    /// What was called, and the event in it: costs are attributed from it. `None` without stacks.
    pub fn calls(&self) -> Option<(&Calls, u16)> {
        Some((self.calls.as_ref()?, self.event))
    }

    /// What was called, and the event in it.
    ///
    /// # Errors
    /// Without stacks.
    pub fn whole_calls(&self) -> Result<(&Calls, u16), LoadError> {
        self.calls().ok_or_else(|| self.has_no_stacks())
    }

    /// Its stacks as they were seen, and the event in them.
    pub fn stacks(&self) -> Option<(&Profile, u16)> {
        match &self.input.contents {
            Contents::Stacks(profile) => Some((profile, self.event)),
            Contents::Calls(_) => None,
        }
    }

    /// Its stacks as they were seen, and the event in them.
    ///
    /// # Errors
    /// Without stacks.
    pub fn whole_stacks(&self) -> Result<(&Profile, u16), LoadError> {
        self.stacks().ok_or_else(|| self.has_no_stacks())
    }

    fn has_no_stacks(&self) -> LoadError {
        LoadError::NoStacks { file: self.input.name.clone() }
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

    /// What the profiler says is missing.
    pub fn lost(&self) -> Lost {
        self.stacks().map(|(profile, _)| profile.lost).unwrap_or_default()
    }

    /// The event that is looked at.
    pub fn event(&self) -> Option<&Event> {
        match &self.input.contents {
            Contents::Stacks(profile) => profile.events.get(usize::from(self.event)),
            Contents::Calls(graph) => graph.event.as_ref(),
        }
    }

    /// The nanoseconds that one of its weight takes, on CPUs of so many cycles a second where it counts cycles.
    ///
    /// # Errors
    ///
    /// If its weights are not time, or cycles of an unknown length.
    pub fn nanos_of_weight(&self, hertz: Option<f64>) -> Result<f64, LoadError> {
        match self.event().map_or("samples", |event| event.unit) {
            "ns" => Ok(1.0),
            "cycles" => hertz.map(|hertz| 1e9 / hertz).ok_or(LoadError::NoFrequency),
            unit => Err(LoadError::NotTime { file: self.name().to_owned(), unit }),
        }
    }

    /// Whether a part of it could not be read, or something that was named is not in it.
    pub fn is_partial(&self) -> bool {
        self.stopped().is_some() || self.lost().unreadable > 0 || !self.missing.is_empty()
    }

    /// What was odd about it.
    pub fn notes(&self) -> &[Note] {
        &self.input.notes
    }

    /// Where and why reading ended before the profile did.
    pub fn stopped(&self) -> Option<&Stop> {
        self.input.stopped.as_ref()
    }

    /// What was named so far and is not in it.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Of functions' names, all functions of those names; of operations', all that do them. A name that is not there is
    /// noted ([`Self::missing`]), and the others go on.
    ///
    /// # Errors
    /// If none of them is there.
    pub fn named<'a>(&mut self, names: &'a [String]) -> Result<Vec<(&'a str, Vec<Function>)>, LoadError> {
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for name in names {
            match self.of_name(name) {
                functions if functions.is_empty() => missing.push(self.lacks(name)),
                functions => found.push((name.as_str(), functions)),
            }
        }
        if found.is_empty() && !missing.is_empty() {
            return Err(LoadError::Missing(missing));
        }
        self.missing.append(&mut missing);
        Ok(found)
    }

    /// The functions of all of these names, as [`Self::named`] has them.
    ///
    /// # Errors
    /// As [`Self::named`].
    pub fn all_named(&mut self, names: &[String]) -> Result<Vec<Function>, LoadError> {
        Ok(self.named(names)?.into_iter().flat_map(|(_, found)| found).collect())
    }

    fn of_name(&self, name: &str) -> Vec<Function> {
        match Operation::named(name) {
            Some(operation) => operation.found(self.functions()),
            None => self.functions().named(name).collect(),
        }
    }

    fn lacks(&self, name: &str) -> Missing {
        Missing { file: self.input.name.clone(), name: name.to_owned(), alike: self.alike(name) }
    }

    /// At most five names with this one in them, to go on with.
    fn alike(&self, name: &str) -> Vec<String> {
        let functions = self.functions();
        let mut alike: Vec<&str> = functions
            .iter()
            .map(|function| functions.name(function))
            .filter(|known| known.contains(name))
            .collect();
        alike.sort_unstable();
        alike.dedup();
        alike.into_iter().take(5).map(str::to_owned).collect()
    }

    /// The roots to divide among; without names, the paper's high-level operations that are in the profile.
    ///
    /// # Errors
    /// If none of the names is there, or without names nothing of TCP.
    pub fn roots(&mut self, names: &[String]) -> Result<Roots, LoadError> {
        if names.is_empty() {
            let roots = Roots::high_level(self.functions());
            if roots.is_empty() {
                return Err(LoadError::NoTcp { file: self.input.name.clone() });
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
}

/// A function, or an operation, that was named and is not in a profile.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}: no function {name} in this profile; {}", instead(.alike))]
pub struct Missing {
    file: String,
    name: String,
    /// Names that are in it, and have this one in them.
    alike: Vec<String>,
}

fn instead(alike: &[String]) -> String {
    match alike {
        [] => "`slowpath profile top` lists its functions".to_owned(),
        alike => format!("it has {}", alike.join(", ")),
    }
}

/// Why a profile cannot be looked at as asked.
#[derive(Debug, Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ProfileError),
    /// It is empty.
    #[error("{file}: no samples; record while the host is busy, and for longer")]
    NoSamples {
        /// The file.
        file: String,
    },
    /// It does not have the event.
    #[error("{file}: no event {event}; it has {}", .known.join(", "))]
    NoEvent {
        /// The file.
        file: String,
        /// The event's name.
        event: String,
        /// The events that it has.
        known: Vec<String>,
    },
    /// It has no stacks.
    #[error("{file}: it has no stacks, only who calls whom")]
    NoStacks {
        /// The file.
        file: String,
    },
    /// None of the functions named is in it.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Missing(Vec<Missing>),
    /// Its weights are cycles, and how long one takes is not known.
    #[error("the work file lacks the CPU's frequency; give --cpu-mhz")]
    NoFrequency,
    /// Its weights are neither time nor cycles.
    #[error("{file}: its unit is {unit}, which is not time; record cycles or cpu-clock")]
    NotTime {
        /// The file.
        file: String,
        /// The unit of its weights.
        unit: &'static str,
    },
    /// Nothing of TCP is in it.
    #[error("{file}: nothing of TCP is in this profile; name functions with --to")]
    NoTcp {
        /// The file.
        file: String,
    },
}

/// The event of that name; without one, the event with the most samples.
fn event(file: &str, profile: &Profile, name: Option<&str>) -> Result<u16, LoadError> {
    let number = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
    let Some(name) = name else {
        let most = (0..profile.events.len())
            .map(number)
            .max_by_key(|event| (samples(profile, *event), u16::MAX - event));
        return Ok(most.unwrap_or(0));
    };
    let found = profile.events.iter().position(|event| event.name == name);
    found.map(number).ok_or_else(|| LoadError::NoEvent {
        file: file.to_owned(),
        event: name.to_owned(),
        known: profile.events.iter().map(|event| event.name.clone()).collect(),
    })
}

fn samples(profile: &Profile, event: u16) -> u64 {
    profile.entries.iter().filter(|entry| entry.event == event).map(|entry| entry.samples).sum()
}
