//! Stacks with their samples, from any profiler.
//!
//! A profile has each distinct stack once, with its count. Lost samples and truncated stacks are counted separately.

use crate::functions::{Function, Functions};

/// What was sampled, and how often.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The events counted: `cycles`, `cpu-clock`. An entry refers to one by index.
    pub events: Vec<Event>,
    /// The functions on the stacks.
    pub functions: Functions,
    /// The distinct stacks.
    pub stacks: Stacks,
    /// Names of processes and threads; an entry refers to one by index.
    pub tasks: Vec<String>,
    /// The count of each stack, by event and task. These three are unique.
    pub entries: Vec<Entry>,
    /// What is missing.
    pub lost: Lost,
}

/// An event that a profiler counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its name in the profiler.
    pub name: String,
    /// The unit of weights, if known: `ns` for `cpu-clock`, `cycles`; otherwise samples.
    pub unit: &'static str,
}

/// The count of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The stack.
    pub stack: Stack,
    /// The event, by its index in [`Profile::events`].
    pub event: u16,
    /// The task, by its index in [`Profile::tasks`].
    pub task: u32,
    /// The number of samples.
    pub samples: u64,
    /// The sum of their periods: how much of the event each sample stands for.
    pub weight: u64,
}

/// What a profile lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Samples that the profiler reports as lost (`PERF_RECORD_LOST`, `LOST_SAMPLES`).
    pub samples: u64,
    /// Samples without a stack, where only the function is known.
    pub without_stack: u64,
    /// Samples whose stack is cut off.
    pub truncated: u64,
    /// Unreadable records.
    pub unreadable: u64,
}

/// A function on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The function.
    pub function: Function,
    /// Whether the compiler inlined it, so that no call was made.
    pub inlined: bool,
}

/// A stack of a [`Stacks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stack(pub u32);

/// Distinct stacks, stored consecutively.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    frames: Vec<Frame>,
    ends: Vec<u32>,
    truncated: Vec<bool>,
}

impl Stacks {
    /// Adds a stack, innermost function first. The caller ensures that it is new.
    pub fn push(&mut self, frames: impl IntoIterator<Item = Frame>, is_truncated: bool) -> Stack {
        let stack = Stack(u32::try_from(self.ends.len()).unwrap_or(u32::MAX));
        self.frames.extend(frames);
        self.ends.push(u32::try_from(self.frames.len()).unwrap_or(u32::MAX));
        self.truncated.push(is_truncated);
        stack
    }

    /// Its functions, innermost first.
    pub fn frames(&self, stack: Stack) -> &[Frame] {
        let at = stack.0 as usize;
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.frames[begin as usize..self.ends[at] as usize]
    }

    /// Whether any function on it satisfies `is`.
    pub(crate) fn has(&self, stack: Stack, is: impl Fn(Function) -> bool) -> bool {
        self.frames(stack).iter().rev().any(|frame| is(frame.function))
    }

    /// Whether it is cut off before its outermost function.
    pub fn is_truncated(&self, stack: Stack) -> bool {
        self.truncated[stack.0 as usize]
    }

    /// All of them, in the order of adding.
    pub fn all(&self) -> impl Iterator<Item = Stack> + use<> {
        (0..u32::try_from(self.ends.len()).unwrap_or(u32::MAX)).map(Stack)
    }

    /// The number of stacks.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}
