//! Stacks with their samples, whatever profiler they are from.
//!
//! A profile has each distinct stack once, and how often it was seen. What a profiler lost, and which stacks it could not follow
//! to their end, is kept next to it.

use crate::functions::{Function, Functions};

/// What was sampled, and how often it was seen.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// What the profiler counted: `cycles`, `cpu-clock`. An entry names one by its place here.
    pub events: Vec<Event>,
    /// The functions on the stacks.
    pub functions: Functions,
    /// The distinct stacks.
    pub stacks: Stacks,
    /// Names of processes and threads; an entry names one by its place here.
    pub tasks: Vec<String>,
    /// How often each stack was seen, by event and task. No two have the same three.
    pub entries: Vec<Entry>,
    /// What is not in it.
    pub lost: Lost,
}

/// Something that a profiler counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its name, as the profiler has it.
    pub name: String,
    /// What weights count, where that is known: `ns` of `cpu-clock`, `cycles`; else samples.
    pub unit: &'static str,
}

/// How often a stack was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The stack.
    pub stack: Stack,
    /// The event, by its place in [`Profile::events`].
    pub event: u16,
    /// The task, by its place in [`Profile::tasks`].
    pub task: u32,
    /// How many samples.
    pub samples: u64,
    /// The sum of their periods: of each sample, how much of the event it stands for.
    pub weight: u64,
}

/// What a profile does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Samples that the profiler says it lost (`PERF_RECORD_LOST`, `LOST_SAMPLES`).
    pub samples: u64,
    /// Samples without a stack, of which only the function is known.
    pub without_stack: u64,
    /// Samples whose stack ends before its beginning is reached.
    pub truncated: u64,
    /// Records that could not be read.
    pub unreadable: u64,
}

/// A function on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The function.
    pub function: Function,
    /// Whether the compiler has put it into its caller, so that no call was made.
    pub inlined: bool,
}

/// A stack of a [`Stacks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stack(pub u32);

/// Distinct stacks, one behind the other.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    frames: Vec<Frame>,
    ends: Vec<u32>,
    truncated: Vec<bool>,
}

impl Stacks {
    /// Adds a stack, the innermost function first. That it is a new one is the caller's affair.
    pub fn push(&mut self, frames: impl IntoIterator<Item = Frame>, is_truncated: bool) -> Stack {
        let stack = Stack(u32::try_from(self.ends.len()).unwrap_or(u32::MAX));
        self.frames.extend(frames);
        self.ends.push(u32::try_from(self.frames.len()).unwrap_or(u32::MAX));
        self.truncated.push(is_truncated);
        stack
    }

    /// Its functions, the innermost first.
    pub fn frames(&self, stack: Stack) -> &[Frame] {
        let at = stack.0 as usize;
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.frames[begin as usize..self.ends[at] as usize]
    }

    /// Whether a function is on it that `is` such a one.
    pub(crate) fn has(&self, stack: Stack, is: impl Fn(Function) -> bool) -> bool {
        self.frames(stack).iter().rev().any(|frame| is(frame.function))
    }

    /// Whether its outermost function is not where it began.
    pub fn is_truncated(&self, stack: Stack) -> bool {
        self.truncated[stack.0 as usize]
    }

    /// All of them, in the order in which they were added.
    pub fn all(&self) -> impl Iterator<Item = Stack> + use<> {
        (0..u32::try_from(self.ends.len()).unwrap_or(u32::MAX)).map(Stack)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}
