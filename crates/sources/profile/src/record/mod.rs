//! Records a profile with perf, after checking permissions and choosing the event, and stores next to it what the host
//! did meanwhile.
//!
//! ```no_run
//! # fn run() -> Result<(), slowpath_profile::RecordError> {
//! use slowpath_profile::{Recorder, What};
//! use std::time::Duration;
//!
//! let recorder = Recorder { longest: Duration::from_secs(30), ..Recorder::new(What::System { cpus: None }, "perf.data") };
//! let mut recording = recorder.start()?;
//! recording.wait(&|| false, &|so_far| println!("{so_far:?}"));
//! let recorded = recording.stop()?;
//! println!("{} bytes, sampled by {}", recorded.bytes, recorded.event.name);
//! # Ok(())
//! # }
//! ```
//!
//! A pipe tells perf when to start and stop sampling (`perf record --control`, since 5.9), so that samples begin where
//! [`Recorder::start`] returns and end where [`Recording::stop`] is called. perf completes its file with
//! [`Recording::stop`], when the [`Recording`] is dropped, and when the thread that started it ends
//! (`PR_SET_PDEATHSIG`): the same thread must start and stop a recording. As a last resort the kernel ends perf
//! (alarm(2)).
//!
//! Whether the host permits sampling is asked of `perf_event_open`, with the call that perf makes; the sysctl and the
//! capabilities are read only to explain a refusal. A profiled command is our own child process, which waits before
//! execve(2) until perf has opened its events, so its exit code is its own. Counters are read in the thread's network
//! namespace, since `/proc/net` is that of the process's first thread.

mod child;
mod command;
mod error;
mod event;
mod perf;
mod rights;

pub use error::RecordError;
pub use event::{CACHE_MISSES, CacheMisses, Chosen, Why};
pub use perf::program;

use crate::work::{self, Begun};
use crate::{Contents, ProfileError, SymbolSources};
use command::{Held, Running};
use perf::Perf;
use slowpath_cost::Work;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

/// Default samples per second: not a divisor of any kernel's tick rate, so that samples do not coincide with ticks.
pub const FREQUENCY: u32 = 999;
/// How often a recording is checked for its end.
const CHECK_EVERY: Duration = Duration::from_millis(10);

/// Settings of a recording.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// What to sample.
    pub what: What,
    /// The output file. perf renames an existing file to the same name with `.old`, as it always does; its work file is
    /// renamed with it.
    pub out: PathBuf,
    /// The event to sample by, as perf names it; by default cycles if the CPU counts them, else the clock.
    pub event: Option<String>,
    /// Whether to sample cache misses as well, where the machine counts them. They are the second event of the file.
    pub cache_misses: bool,
    /// Samples per second and CPU, of each event.
    pub frequency: u32,
    /// How callers are found.
    pub unwinding: Unwinding,
    /// The recording ends after this time at the latest.
    pub longest: Duration,
    /// Sends the command's output to standard error, so that standard output has only slowpath's own.
    pub output_to_stderr: bool,
}

/// What is sampled.
#[derive(Clone, Debug)]
pub enum What {
    /// Everything that runs on these CPUs, or on all.
    System {
        /// The CPUs' numbers.
        cpus: Option<Vec<u32>>,
    },
    /// An existing process, its threads and its future children.
    Process(u32),
    /// A program and its arguments, started once perf is ready. The recording ends with it.
    Command(Vec<OsString>),
}

/// How callers are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unwinding {
    /// With frame pointers, or with ORC in a kernel that has it.
    #[default]
    FramePointers,
    /// From dumps of user stacks, for `perf script`; slowpath does not unwind them.
    Dwarf,
}

impl Unwinding {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::FramePointers, Self::Dwarf];

    /// Its name, as perf has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FramePointers => "fp",
            Self::Dwarf => "dwarf",
        }
    }
}

/// A recording in progress.
#[derive(Debug)]
pub struct Recording {
    // Dropped in this order: sampling ends before what is sampled.
    perf: Perf,
    running: Option<Running>,
    begun: Instant,
    work: Begun,
    event: Chosen,
    cache_misses: CacheMisses,
    out: PathBuf,
    longest: Duration,
    is_timed: bool,
    is_whole_host: bool,
    warnings: Vec<String>,
}

/// A finished recording.
#[derive(Debug)]
pub struct Recorded {
    /// The file.
    pub out: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// The time from the start to the end of sampling.
    pub lasted: Duration,
    /// The event, and the reason for it.
    pub event: Chosen,
    /// Whether cache misses were sampled as well.
    pub cache_misses: CacheMisses,
    /// The command's status; `None` without a command.
    pub command: Option<ExitStatus>,
    /// Whether the command was ended before it exited by itself.
    pub cut_short: bool,
    /// What the host did meanwhile, in the network namespace of the recording thread or of the process.
    pub work: Work,
    /// What the recording lacks, and how to fix that.
    pub warnings: Vec<String>,
}

/// Counts of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Samples.
    pub samples: u64,
    /// Lost samples.
    pub lost: u64,
}

impl Recorded {
    /// Reads the file and counts its samples; `None` if it has no stacks.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn count(&self) -> Result<Option<Counted>, ProfileError> {
        let Contents::Stacks(profile) = crate::open(&self.out, &SymbolSources::default())?.contents else {
            return Ok(None);
        };
        let samples = profile.entries.iter().map(|entry| entry.samples).sum();
        Ok(Some(Counted { samples, lost: profile.lost.samples }))
    }

    /// How the command failed, such as `exit code 7`; `None` if it succeeded or there is none.
    pub fn failure(&self) -> Option<String> {
        self.command.filter(|status| !status.success()).map(how)
    }
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

impl Recorder {
    /// Default settings: event and unwinding chosen automatically, [`FREQUENCY`], at most an hour.
    pub fn new(what: What, out: impl Into<PathBuf>) -> Self {
        Self {
            what,
            out: out.into(),
            event: None,
            cache_misses: false,
            frequency: FREQUENCY,
            unwinding: Unwinding::FramePointers,
            longest: Duration::from_secs(3600),
            output_to_stderr: false,
        }
    }

    /// Checks permissions and starts. Sampling has begun when this returns.
    pub fn start(&self) -> Result<Recording, RecordError> {
        let perf = program()?;
        fs::metadata("/proc/self").map_err(RecordError::system("see what runs; mount /proc"))?;
        let event = event::choose(&self.what, self.event.as_deref())?;
        let cache_misses =
            if self.cache_misses { CacheMisses::of(&self.what) } else { CacheMisses::NotAsked };
        let (warnings, frequency) = rights::warnings(self.frequency);
        let held = match &self.what {
            What::Command(command) => Some(Held::new(command, self.output_to_stderr)?),
            What::System { .. } | What::Process(_) => None,
        };
        let pid = match (&held, &self.what) {
            (Some(held), _) => Some(held.pid()),
            (None, What::Process(pid)) => Some(*pid),
            (None, _) => None,
        };
        let older = place(&self.out);
        let mut perf =
            Perf::start(&perf, &self.arguments(&event, &cache_misses, frequency, pid), self.longest)?;
        let enabled = perf.enable();
        if older.is_some() && place(&self.out) != older {
            work::move_aside(&self.out);
        }
        enabled?;
        let work = match self.what {
            What::Process(pid) => Begun::of(pid),
            What::System { .. } | What::Command(_) => Begun::here(),
        };
        let begun = Instant::now();
        let running = held.map(Held::release).transpose()?;
        Ok(Recording {
            perf,
            running,
            begun,
            work,
            event,
            cache_misses,
            out: self.out.clone(),
            longest: self.longest,
            is_timed: matches!(self.what, What::System { .. }),
            is_whole_host: matches!(self.what, What::System { cpus: None }),
            warnings,
        })
    }

    fn arguments(
        &self,
        event: &Chosen,
        cache_misses: &CacheMisses,
        frequency: u32,
        pid: Option<u32>,
    ) -> Vec<OsString> {
        // perf shall not copy the mapped files to the user's cache: the file is read here, where they are.
        let mut arguments: Vec<OsString> =
            ["record", "--quiet", "--no-buildid-cache", "--delay=-1"].map(OsString::from).to_vec();
        arguments.push("--output".into());
        arguments.push(self.out.clone().into());
        arguments.extend(["--event".into(), OsString::from(&event.name)]);
        if *cache_misses == CacheMisses::Sampled {
            arguments.extend(["--event".into(), CACHE_MISSES.into()]);
        }
        arguments.extend(["--freq".into(), frequency.to_string().into()]);
        arguments.extend(["--call-graph".into(), self.unwinding.name().into()]);
        match (pid, &self.what) {
            (Some(pid), _) => arguments.extend(["--pid".into(), pid.to_string().into()]),
            (None, What::System { cpus: Some(cpus) }) => {
                let list: Vec<String> = cpus.iter().map(u32::to_string).collect();
                arguments.extend(["--all-cpus".into(), "--cpu".into(), list.join(",").into()]);
            }
            (None, _) => arguments.push("--all-cpus".into()),
        }
        arguments
    }
}

/// Device and inode of a file, which show whether it was replaced.
fn place(file: &Path) -> Option<(u64, u64)> {
    file.metadata().ok().map(|found| (found.dev(), found.ino()))
}

impl Recording {
    /// The event, and the reason for it.
    pub fn event(&self) -> &Chosen {
        &self.event
    }

    /// What the recording will lack, and how to fix that.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// How long it has been sampling.
    pub fn lasts(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Whether the recording is over: its time is up, or its command or perf has ended.
    pub fn is_over(&mut self) -> bool {
        self.begun.elapsed() >= self.longest
            || self.running.as_mut().is_some_and(Running::has_ended)
            || self.perf.has_ended()
    }

    /// Waits until there is nothing more to record, or `stop` returns true. Calls `each` with the time so far, every
    /// 10 ms. Returns whether the recording was ended early: by `stop`, or by whoever ended perf.
    pub fn wait(&mut self, stop: &dyn Fn() -> bool, each: &dyn Fn(Duration)) -> bool {
        while !self.is_over() {
            if stop() {
                return true;
            }
            each(self.lasts());
            thread::sleep(CHECK_EVERY.min(self.longest.saturating_sub(self.lasts())));
        }
        // Ctrl-C reaches a command as well, which then ends first.
        stop() || self.is_timed && self.lasts() < self.longest
    }

    /// Ends the recording: first perf, which completes its file, then the command if it still runs.
    pub fn stop(mut self) -> Result<Recorded, RecordError> {
        self.perf.disable();
        let lasted = self.begun.elapsed();
        let work = Work { is_whole_host: Some(self.is_whole_host), ..self.work.end() };
        let said = self.perf.end();
        let cut_short = self.running.as_mut().is_some_and(|running| !running.has_ended());
        let command = self.running.take().map(Running::end).transpose()?;
        said?;
        let bytes = fs::metadata(&self.out)
            .map_err(|source| RecordError::System { doing: format!("read {}", self.out.display()), source })?
            .len();
        Ok(Recorded {
            out: self.out,
            bytes,
            lasted,
            event: self.event,
            cache_misses: self.cache_misses,
            command,
            cut_short,
            work,
            warnings: self.warnings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_misses_are_the_second_event() {
        let recorder = Recorder::new(What::System { cpus: Some(vec![3]) }, "out");
        let event = Chosen { name: "cycles".to_owned(), why: Why::Cycles };
        let events = |cache_misses: CacheMisses| {
            let arguments = recorder.arguments(&event, &cache_misses, 999, None);
            let after = |pair: &[OsString]| (pair[0] == "--event").then(|| pair[1].clone());
            arguments.windows(2).filter_map(after).collect::<Vec<_>>()
        };
        assert_eq!(events(CacheMisses::Sampled), ["cycles", "cache-misses"]);
        assert_eq!(events(CacheMisses::Refused(String::new())), ["cycles"]);
    }

    #[test]
    fn command_status_is_exit_code_or_signal() {
        assert_eq!(how(ExitStatus::from_raw(7 << 8)), "exit code 7");
        assert_eq!(how(ExitStatus::from_raw(11)), "ended by signal 11");
    }
}
