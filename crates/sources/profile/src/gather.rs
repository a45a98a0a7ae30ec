//! From named stacks to a profile: what is the same is put together.

use slowpath_cost::{Entry, Event, Frame, Profile, Stack};
use std::collections::HashMap;
use std::collections::hash_map;

/// Distinct names of tasks; what comes past it is counted under one name. A host numbers as many threads at most
/// (`PID_MAX_LIMIT`, `include/linux/threads.h`).
const MOST_TASKS: usize = 4 * 1024 * 1024;

/// Tasks past [`MOST_TASKS`].
const OTHERS: &str = "[others]";

/// A profile as it grows.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    pub(crate) profile: Profile,
    stacks: HashMap<(Vec<Frame>, bool), Stack>,
    tasks: HashMap<String, u32>,
    entries: HashMap<(Stack, u16, u32), usize>,
}

impl Gather {
    /// The event of that name.
    pub(crate) fn event(&mut self, name: &str, unit: &'static str) -> u16 {
        let events = &mut self.profile.events;
        let at = events.iter().position(|event| event.name == name).unwrap_or_else(|| {
            if events.len() < usize::from(u16::MAX) {
                events.push(Event { name: name.to_owned(), unit });
            }
            events.len() - 1
        });
        u16::try_from(at).unwrap_or(u16::MAX)
    }

    /// The task of that name.
    pub(crate) fn task(&mut self, name: &str) -> u32 {
        if let Some(task) = self.tasks.get(name) {
            return *task;
        }
        let name = if self.tasks.len() < MOST_TASKS { name } else { OTHERS };
        let tasks = &mut self.profile.tasks;
        *self.tasks.entry(name.to_owned()).or_insert_with(|| {
            tasks.push(name.to_owned());
            u32::try_from(tasks.len() - 1).unwrap_or(u32::MAX)
        })
    }

    /// The stack of these functions, the innermost first.
    pub(crate) fn stack(&mut self, frames: &[Frame], is_truncated: bool) -> Stack {
        let stacks = &mut self.profile.stacks;
        match self.stacks.entry((frames.to_vec(), is_truncated)) {
            hash_map::Entry::Occupied(known) => *known.get(),
            hash_map::Entry::Vacant(new) => *new.insert(stacks.push(frames.iter().copied(), is_truncated)),
        }
    }

    /// So many samples of a stack.
    pub(crate) fn add(&mut self, stack: Stack, event: u16, task: u32, samples: u64, weight: u64) {
        let entries = &mut self.profile.entries;
        let at = *self.entries.entry((stack, event, task)).or_insert_with(|| {
            entries.push(Entry { stack, event, task, samples: 0, weight: 0 });
            entries.len() - 1
        });
        let entry = &mut entries[at];
        entry.samples = entry.samples.saturating_add(samples);
        entry.weight = entry.weight.saturating_add(weight);
    }
}
