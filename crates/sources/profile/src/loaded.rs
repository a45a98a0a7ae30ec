//! A profile that was read: its functions, call graph, stacks if it has any, and what is missing in it.

use crate::{Contents, Input, Note, ProfileError, Stop, SymbolSources};
use slowpath_cost::{Calls, Edges, Event, Function, Functions, Lost, Operation, Profile, Roots, Run};
use std::path::Path;
use thiserror::Error;

/// A profile, and the event that is analysed.
pub struct Loaded {
    input: Input,
    event: u16,
    /// The calls derived from its stacks; `None` without stacks.
    calls: Option<Calls>,
    /// The call graph.
    pub edges: Edges,
    samples: u64,
    /// Requested names that are not in it.
    missing: Vec<Missing>,
}

impl Loaded {
    /// Reads a profile and selects the event of that name, or the event with the most samples.
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

    /// Its functions, including those that were put back on stacks.
    pub fn functions(&self) -> &Functions {
        match (&self.calls, &self.input.contents) {
            (Some(calls), _) => &calls.profile().functions,
            (None, Contents::Stacks(profile)) => &profile.functions,
            (None, Contents::Calls(graph)) => &graph.functions,
        }
    }

    /// The calls, and the event in them, from which costs are attributed. `None` without stacks.
    pub fn calls(&self) -> Option<(&Calls, u16)> {
        Some((self.calls.as_ref()?, self.event))
    }

    /// The calls, and the event in them.
    ///
    /// # Errors
    /// If the profile has no stacks.
    pub fn whole_calls(&self) -> Result<(&Calls, u16), LoadError> {
        self.calls().ok_or_else(|| self.has_no_stacks())
    }

    /// Its stacks as they were sampled, and the event in them.
    pub fn stacks(&self) -> Option<(&Profile, u16)> {
        match &self.input.contents {
            Contents::Stacks(profile) => Some((profile, self.event)),
            Contents::Calls(_) => None,
        }
    }

    /// Its stacks as they were sampled, and the event in them.
    ///
    /// # Errors
    /// If the profile has no stacks.
    pub fn whole_stacks(&self) -> Result<(&Profile, u16), LoadError> {
        self.stacks().ok_or_else(|| self.has_no_stacks())
    }

    fn has_no_stacks(&self) -> LoadError {
        LoadError::NoStacks { file: self.input.name.clone() }
    }

    /// Its functions' own costs, for a comparison.
    pub fn run(&self, work: Option<f64>) -> Run<'_> {
        let run = match &self.input.contents {
            Contents::Stacks(profile) => Run::of(profile, self.event),
            Contents::Calls(graph) => Run::of_samples(&graph.functions, &graph.self_samples),
        };
        Run { work, ..run }
    }

    /// The total weight of the event.
    pub fn weight(&self) -> u64 {
        self.edges.total().max(1)
    }

    /// What the profiler reports as missing.
    pub fn lost(&self) -> Lost {
        self.stacks().map(|(profile, _)| profile.lost).unwrap_or_default()
    }

    /// The selected event.
    pub fn event(&self) -> Option<&Event> {
        match &self.input.contents {
            Contents::Stacks(profile) => profile.events.get(usize::from(self.event)),
            Contents::Calls(graph) => graph.event.as_ref(),
        }
    }

    /// Nanoseconds per unit of weight. For weights in cycles, `hertz` is the CPU frequency.
    ///
    /// # Errors
    ///
    /// If the weights are neither time nor cycles of a known frequency.
    pub fn nanos_of_weight(&self, hertz: Option<f64>) -> Result<f64, LoadError> {
        match self.event().map_or("samples", |event| event.unit) {
            "ns" => Ok(1.0),
            "cycles" => hertz.map(|hertz| 1e9 / hertz).ok_or(LoadError::NoFrequency),
            unit => Err(LoadError::NotTime { file: self.name().to_owned(), unit }),
        }
    }

    /// What is missing or odd, in a line each.
    pub fn warnings(&self) -> Vec<String> {
        let missing = self.missing().iter().map(ToString::to_string);
        let notes = self.notes().iter().map(ToString::to_string);
        let stopped =
            self.stopped().map(|stop| format!("{}: {stop}; only what precedes it was read", self.name()));
        missing.chain(notes).chain(stopped).collect()
    }

    /// Whether a part of it could not be read, or a requested name is not in it.
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

    /// Requested names that were not found so far.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// For a function's name, all functions of that name; for an operation's, all functions that do it. A name that is
    /// not found is noted in [`Self::missing`] and skipped.
    ///
    /// # Errors
    /// If none of the names is found.
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

    /// The functions of all these names, as in [`Self::named`].
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

    /// At most five names that contain this one, as suggestions.
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

    /// The roots that costs are attributed to; without names, the paper's high-level operations that are in the
    /// profile.
    ///
    /// # Errors
    /// If none of the names is found, or, without names, the profile has no TCP function.
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

/// A requested function or operation that is not in a profile.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}: no function {name} in this profile; {}", instead(.alike))]
pub struct Missing {
    file: String,
    name: String,
    /// Names in the profile that contain this one.
    alike: Vec<String>,
}

fn instead(alike: &[String]) -> String {
    match alike {
        [] => "`slowpath profile top` lists its functions".to_owned(),
        alike => format!("it has {}", alike.join(", ")),
    }
}

/// Why a profile cannot be analysed as requested.
#[derive(Debug, Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ProfileError),
    /// It has no samples.
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
    /// None of the requested functions is in it.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Missing(Vec<Missing>),
    /// Its weights are cycles, and the CPU frequency is not known.
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
    /// It has no TCP function.
    #[error("{file}: nothing of TCP is in this profile; name functions with --to")]
    NoTcp {
        /// The file.
        file: String,
    },
}

/// The event of that name; without a name, the event with the most samples.
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
