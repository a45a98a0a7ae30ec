//! How the threads of a process are scheduled.
//!
//! Each thread has its own nice value, policy and CPUs. A value is one for all threads, or `THREAD=VALUE` for each where they
//! differ: `4711=0 4712=5`. A thread that a value does not list was created later and inherited from one that it lists: the
//! value of the first thread stands for it.
//!
//! Reference: sched(7), setpriority(2); `SCHED_*` (include/uapi/linux/sched.h, 6.18).

use super::Unfit;
use super::cpus::{Cpus, number};
use std::collections::BTreeMap;
use std::fmt;

/// A process. Its number alone does not identify it, since the kernel gives numbers again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it was started, in clock ticks since the boot (`starttime` of proc_pid_stat(5)); `None` for whichever process has
    /// the number.
    pub start: Option<u64>,
}

/// An attribute that each thread has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheduling {
    /// The nice value, -20 to 19.
    Nice,
    /// Policy and priority: `SCHED_OTHER`, `SCHED_FIFO 10`.
    Policy,
    /// The CPUs that it may use.
    Affinity,
}

/// The kernel's policies that are set without further parameters, and whether they have a priority.
pub const POLICIES: [(&str, u32, bool); 5] = [
    ("SCHED_OTHER", 0, false),
    ("SCHED_FIFO", 1, true),
    ("SCHED_RR", 2, true),
    ("SCHED_BATCH", 3, false),
    ("SCHED_IDLE", 5, false),
];
/// Follows a policy whose children do not inherit it; chrt(1) prints it so.
const RESET_ON_FORK: &str = "|SCHED_RESET_ON_FORK";

/// A policy with its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The kernel's number of the policy: one of [`POLICIES`].
    pub number: u32,
    /// The priority, from 1 to 99; 0 for a policy without one.
    pub priority: u32,
    /// Whether children begin with `SCHED_OTHER`.
    pub is_reset_on_fork: bool,
}

impl Policy {
    /// The policy of a text with its priority after a space or a colon.
    pub fn from_text(text: &str) -> Option<Self> {
        let (name, priority) = match text.split_once([' ', ':']) {
            Some((name, priority)) => (name, Some(number(priority)?)),
            None => (text, None),
        };
        let plain = name.strip_suffix(RESET_ON_FORK);
        let (_, number, has_priority) =
            POLICIES.into_iter().find(|(known, ..)| *known == plain.unwrap_or(name))?;
        let fits = if has_priority { (1..=99).contains(&priority?) } else { priority.is_none() };
        let priority = priority.unwrap_or(0);
        fits.then_some(Self { number, priority, is_reset_on_fork: plain.is_some() })
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match POLICIES.into_iter().find(|(_, number, _)| *number == self.number) {
            Some((name, ..)) => out.write_str(name)?,
            None => write!(out, "policy {}", self.number)?,
        }
        if self.is_reset_on_fork {
            out.write_str(RESET_ON_FORK)?;
        }
        if self.priority > 0 { write!(out, " {}", self.priority) } else { Ok(()) }
    }
}

/// In place of a number, in advice that does not know it.
const UNKNOWN: &str = "PID";

impl Process {
    /// The process that owns the socket, in advice that does not know its number.
    pub const UNKNOWN: Self = Self { pid: 0, start: None };

    /// `4711`, or `4711@123456` with its start.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        if text == UNKNOWN {
            return Some(Self::UNKNOWN);
        }
        let (pid, start) = match text.split_once('@') {
            Some((pid, start)) if start.bytes().all(|byte| byte.is_ascii_digit()) => {
                (pid, Some(start.parse().ok()?))
            }
            Some(_) => return None,
            None => (text, None),
        };
        // PID_MAX_LIMIT of 64-bit kernels is 4 Mi.
        let pid = number(pid).filter(|pid| (1..=4 << 20).contains(pid))?;
        Some(Self { pid, start })
    }
}

impl fmt::Display for Process {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.start {
            _ if *self == Self::UNKNOWN => out.write_str(UNKNOWN),
            Some(start) => write!(out, "{}@{start}", self.pid),
            None => write!(out, "{}", self.pid),
        }
    }
}

impl Scheduling {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Nice, "nice"), (Self::Policy, "scheduler"), (Self::Affinity, "affinity")];

    /// Its name in a setting: `nice`.
    pub const fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| *known == name).map(|(scheduling, _)| scheduling)
    }

    /// The value of one thread in its one form; an error says what to write.
    fn one(self, text: &str) -> Result<String, Unfit> {
        let value = match self {
            Self::Nice => text
                .parse::<i32>()
                .ok()
                .filter(|nice| (-20..=19).contains(nice) && !text.starts_with('+'))
                .map(|nice| nice.to_string()),
            Self::Policy => Policy::from_text(text).map(|policy| policy.to_string()),
            Self::Affinity => {
                text.parse::<Cpus>().ok().filter(|cpus| !cpus.is_empty()).map(|cpus| cpus.to_string())
            }
        };
        let form = match self {
            Self::Nice => "a nice value; write a number from -20 to 19",
            Self::Policy => {
                "a policy; write SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, or SCHED_FIFO or SCHED_RR with a priority from 1 to 99"
            }
            Self::Affinity => "a list of CPUs; write one such as 0-3,8",
        };
        value.ok_or_else(|| Unfit(format!("\"{text}\" is not {form}")))
    }

    /// The shell line that gives the threads of a process a value.
    pub(super) fn line(self, process: Process, value: &str) -> String {
        let pid = Process { start: None, ..process };
        let Ok(threads) = Threads::parse(self, value) else { return String::new() };
        let policy = |value: &str| {
            let policy = Policy::from_text(value);
            let policy = policy.unwrap_or(Policy { number: 0, priority: 0, is_reset_on_fork: false });
            let option = ["-o", "-f", "-r", "-b", "-o", "-i"].get(policy.number as usize).unwrap_or(&"-o");
            let reset = if policy.is_reset_on_fork { " -R" } else { "" };
            format!("{option}{reset} -p {}", policy.priority)
        };
        match threads {
            Threads::All(value) => match self {
                Self::Nice => format!("renice -n {value} -p $(ls /proc/{pid}/task)"),
                Self::Policy => format!("chrt -a {} {pid}", policy(&value)),
                Self::Affinity => format!("taskset -a -c -p {value} {pid}"),
            },
            Threads::Each(each) => {
                let line = |(thread, value): (u32, String)| match self {
                    Self::Nice => format!("renice -n {value} -p {thread}"),
                    Self::Policy => format!("chrt {} {thread}", policy(&value)),
                    Self::Affinity => format!("taskset -c -p {value} {thread}"),
                };
                each.into_iter().map(line).collect::<Vec<_>>().join("; ")
            }
        }
    }
}

/// The values of the threads of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One for all.
    All(String),
    /// Each thread's, by its number. At least one.
    Each(BTreeMap<u32, String>),
}

impl Threads {
    /// The values of a text.
    ///
    /// # Errors
    /// What to write instead.
    pub fn parse(attribute: Scheduling, text: &str) -> Result<Self, Unfit> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if !text.contains('=') {
            return attribute.one(&words.join(" ")).map(Self::All);
        }
        let pair = |word: &&str| {
            let unfit = || Unfit(format!("\"{word}\" is not a thread with its value; write THREAD=VALUE"));
            let (thread, value) = word.split_once('=').ok_or_else(unfit)?;
            let thread = number(thread).filter(|thread| *thread > 0).ok_or_else(unfit)?;
            Ok((thread, attribute.one(value)?))
        };
        words.iter().map(pair).collect::<Result<_, _>>().map(Self::Each)
    }

    /// The value that a thread of the process `pid` has.
    pub fn of(&self, pid: u32, thread: u32) -> &str {
        match self {
            Self::All(value) => value,
            Self::Each(each) => each
                .get(&thread)
                .or_else(|| each.get(&pid))
                .or_else(|| each.values().next())
                .map_or("", String::as_str),
        }
    }

    /// One value where all threads have it.
    #[must_use]
    pub fn brief(self) -> Self {
        match self {
            Self::Each(each) => {
                let mut values = each.values();
                match values.next() {
                    Some(first) if values.all(|value| value == first) => Self::All(first.clone()),
                    _ => Self::Each(each),
                }
            }
            all @ Self::All(_) => all,
        }
    }

    /// Whether all threads that were `found` are among those with one of the values.
    pub(super) fn are(&self, pid: u32, values: &[&Self]) -> bool {
        let is_one = |thread: u32, value: &str| values.iter().any(|one| one.of(pid, thread) == value);
        match self {
            Self::All(value) => is_one(pid, value),
            Self::Each(each) => each.iter().all(|(thread, value)| is_one(*thread, value)),
        }
    }
}

impl fmt::Display for Threads {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(value) => out.write_str(value),
            Self::Each(each) => {
                let words: Vec<String> = each
                    .iter()
                    .map(|(thread, value)| format!("{thread}={}", value.replace(' ', ":")))
                    .collect();
                out.write_str(&words.join(" "))
            }
        }
    }
}
