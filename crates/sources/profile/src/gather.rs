//! Builds a profile from named stacks; equal stacks are merged.

use crate::Contents;
use crate::notes::{Notes, Oddity};
use slowpath_cost::{Entry, Event, Frame, Functions, Profile, Stack};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// Distinct task names. Tasks beyond are counted under one name. A host has at most this many threads (`PID_MAX_LIMIT`,
/// `include/linux/threads.h`).
const MOST_TASKS: usize = 4 * 1024 * 1024;

/// Tasks past [`MOST_TASKS`].
const OTHERS: &str = "[others]";

/// Frames of one stack. A deeper stack keeps its innermost frames; the kernel's default limit is 127.
pub(crate) const DEEPEST: usize = 4096;

/// Frames of all stacks that are always allowed.
const FREE_FRAMES: u64 = 4 * 1024 * 1024;
/// Additional frames for each byte on disk: a sample can name a location with many inlined functions in two bytes.
const FRAMES_PER_BYTE: u64 = 8;
/// The upper limit: 1 GiB.
const MOST_FRAMES: u64 = 128 * 1024 * 1024;

/// Distinct stacks and functions that are always allowed, and one more of each for so many bytes on disk: a new name or
/// sample takes at least that many, compressed or not.
const FREE_STACKS: u64 = 128 * 1024;
const BYTES_OF_STACK: u64 = 8;

/// A profile as it grows.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    pub(crate) profile: Profile,
    /// By the hash of the frames. If two stacks share a hash, the second is stored again each time it is seen.
    stacks: HashMap<u64, Stack>,
    /// Random in each run, so that no file can be crafted to have hash collisions.
    seed: RandomState,
    /// Frames of all stacks, and their limit.
    frames: u64,
    most_frames: u64,
    most_stacks: u64,
    /// Stacks that did not fit.
    too_many: u64,
    events: HashMap<String, u16>,
    tasks: HashMap<String, u32>,
    entries: HashMap<(Stack, u16, u32), usize>,
}

impl Gather {
    /// For a file of `bytes` bytes.
    pub(crate) fn of(bytes: u64) -> Self {
        let most_frames = FREE_FRAMES.saturating_add(FRAMES_PER_BYTE.saturating_mul(bytes)).min(MOST_FRAMES);
        let most_stacks = FREE_STACKS + bytes / BYTES_OF_STACK;
        let functions = Functions::at_most(usize::try_from(most_stacks).unwrap_or(usize::MAX));
        let profile = Profile { functions, ..Profile::default() };
        Self { profile, most_frames, most_stacks, ..Self::default() }
    }

    /// The event of this name.
    pub(crate) fn event(&mut self, name: &str, unit: &'static str) -> u16 {
        if let Some(event) = self.events.get(name) {
            return *event;
        }
        let events = &mut self.profile.events;
        // Beyond the last number, all events share it.
        if events.len() < usize::from(u16::MAX) {
            events.push(Event { name: name.to_owned(), unit });
            self.events.insert(name.to_owned(), u16::try_from(events.len() - 1).unwrap_or(u16::MAX));
        }
        u16::try_from(events.len() - 1).unwrap_or(u16::MAX)
    }

    /// The task of this name.
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
        let is_deeper = frames.len() > DEEPEST;
        let mut kept = (&frames[..frames.len().min(DEEPEST)], is_truncated || is_deeper);
        let stacks = &mut self.profile.stacks;
        let is_it =
            |stack: Stack, kept: (&[Frame], bool)| (stacks.frames(stack), stacks.is_truncated(stack)) == kept;
        let mut hash = self.seed.hash_one(kept);
        if let Some(known) = self.stacks.get(&hash).filter(|known| is_it(**known, kept)) {
            return *known;
        }
        let is_full = stacks.len() as u64 >= self.most_stacks;
        if is_full || self.frames + kept.0.len() as u64 > self.most_frames {
            self.too_many += 1;
            // The location matters more than the callers.
            kept = (&kept.0[..kept.0.len().min(1)], true);
            hash = self.seed.hash_one(kept);
            if let Some(known) = self.stacks.get(&hash).filter(|known| is_it(**known, kept)) {
                return *known;
            }
        }
        self.frames += kept.0.len() as u64;
        *self.stacks.entry(hash).insert_entry(stacks.push(kept.0.iter().copied(), kept.1)).get()
    }

    /// The finished profile.
    pub(crate) fn finish(self, notes: &mut Notes) -> Contents {
        if self.too_many > 0 {
            notes.of(Oddity::TooMany, "stacks", self.too_many);
        }
        let others = self.profile.functions.others();
        if others > 0 {
            notes.of(Oddity::TooMany, "functions", others);
        }
        Contents::Stacks(self.profile)
    }

    /// Adds `samples` samples of a stack.
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
