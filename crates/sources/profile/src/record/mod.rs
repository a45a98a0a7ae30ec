//! Makes a profile: perf underneath, what it may and what it samples by found out first, and what the host did meanwhile next to it.
//!
//! ```no_run
//! # fn run() -> Result<(), slowpath_profile::RecordError> {
//! use slowpath_profile::{Recorder, What};
//! use std::time::Duration;
//!
//! let recorder = Recorder { longest: Duration::from_secs(30), ..Recorder::new(What::System { cpus: None }, "perf.data") };
//! let mut recording = recorder.start()?;
//! // Here the host does what is to be profiled.
//! while !recording.is_over() {
//!     std::thread::sleep(Duration::from_millis(10));
//! }
//! let recorded = recording.stop()?;
//! println!("{} bytes, sampled by {}", recorded.bytes, recorded.event.name);
//! # Ok(())
//! # }
//! ```
//!
//! A pipe tells perf when to begin and when to stop sampling (`perf record --control`, since 5.9), so that what it samples
//! begins where [`Recorder::start`] returns and ends where [`Recording::stop`] is called. perf ends in order with [`Recording::stop`], when the [`Recording`] is dropped, and when the thread that started it ends
//! (`PR_SET_PDEATHSIG`): a recording is started and stopped by the same thread. If all that fails the kernel ends it (alarm(2)).
//!
//! What the host allows to be sampled is asked of `perf_event_open`, with the call that perf makes; the sysctl and
//! the capabilities are read only to explain a refusal. A command that is profiled is a process of ours that waits
//! before execve(2) until perf has opened its events, so that its exit code is its own. Counters are read in the
//! network namespace of the thread, since `/proc/net` is that of the process's first thread.

mod child;
mod command;
mod error;
mod event;
mod perf;
mod rights;

pub use error::RecordError;
pub use event::{Chosen, Why};
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
use std::time::{Duration, Instant};

/// Samples a second if nothing else is said: no divisor of the ticks of any kernel, so that it does not always see the same.
pub const FREQUENCY: u32 = 999;

/// A recording to make.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// What to sample.
    pub what: What,
    /// The file to write. perf moves one that is there to the same name with `.old`, as it always does, and its work goes with it.
    pub out: PathBuf,
    /// The event to sample by, as perf names it; without one the CPU's cycles where they are to be had, else the clock.
    pub event: Option<String>,
    /// Samples a second, of each CPU.
    pub frequency: u32,
    /// How callers are found.
    pub unwinding: Unwinding,
    /// It ends after this time if nobody ends it before.
    pub longest: Duration,
    /// What the command prints goes to standard error, so that standard output has nothing but ours.
    pub output_to_stderr: bool,
}

/// What is sampled.
#[derive(Clone, Debug)]
pub enum What {
    /// All that runs on these CPUs, or on all of them.
    System {
        /// By their numbers.
        cpus: Option<Vec<u32>>,
    },
    /// A process that is there, its threads and the children that it will have.
    Process(u32),
    /// A program and its arguments, which is started once perf is ready. The recording is over when it ends.
    Command(Vec<OsString>),
}

/// How callers are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unwinding {
    /// By frame pointers, or by ORC in a kernel that has it.
    #[default]
    FramePointers,
    /// From a dump of the stack of programs, which slowpath does not unwind: for `perf script`.
    Dwarf,
}

/// A recording that is being made.
#[derive(Debug)]
pub struct Recording {
    // Dropped in this order: what is sampled ends after the sampling.
    perf: Perf,
    running: Option<Running>,
    begun: Instant,
    work: Begun,
    event: Chosen,
    out: PathBuf,
    longest: Duration,
    is_whole_host: bool,
    warnings: Vec<String>,
}

/// A recording that was made.
#[derive(Debug)]
pub struct Recorded {
    /// The file.
    pub out: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// From when sampling began until it ended.
    pub lasted: Duration,
    /// What it was sampled by, and why.
    pub event: Chosen,
    /// How the command ended; `None` if there is none.
    pub command: Option<ExitStatus>,
    /// Whether the command was ended before it would have ended by itself.
    pub cut_short: bool,
    /// What the host did meanwhile, in the network namespace of the thread that recorded, or of the process.
    pub work: Work,
    /// What is missing in it, and how to fix that.
    pub warnings: Vec<String>,
}

/// What a recording has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Samples.
    pub samples: u64,
    /// Samples that were lost.
    pub lost: u64,
}

impl Recorded {
    /// Reads the file, and counts its samples; `None` if it has no stacks.
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

    /// How the command failed, such as `exit code 7`; `None` if it did not, or there is none.
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
    /// The usual settings: event and callers chosen automatically, [`FREQUENCY`], at most an hour.
    pub fn new(what: What, out: impl Into<PathBuf>) -> Self {
        Self {
            what,
            out: out.into(),
            event: None,
            frequency: FREQUENCY,
            unwinding: Unwinding::FramePointers,
            longest: Duration::from_secs(3600),
            output_to_stderr: false,
        }
    }

    /// Finds out whether it may, and begins. Sampling has begun when this returns.
    pub fn start(&self) -> Result<Recording, RecordError> {
        let perf = program()?;
        let event = event::choose(&self.what, self.event.as_deref())?;
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
        let mut perf = Perf::start(&perf, &self.arguments(&event, frequency, pid), self.longest)?;
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
            out: self.out.clone(),
            longest: self.longest,
            is_whole_host: matches!(self.what, What::System { cpus: None }),
            warnings,
        })
    }

    fn arguments(&self, event: &Chosen, frequency: u32, pid: Option<u32>) -> Vec<OsString> {
        // What the file names is not copied to a folder of the user's: it is read here, where it is.
        let mut arguments: Vec<OsString> =
            ["record", "--quiet", "--no-buildid-cache", "--delay=-1"].map(OsString::from).to_vec();
        arguments.push("--output".into());
        arguments.push(self.out.clone().into());
        arguments.extend(["--event".into(), OsString::from(&event.name)]);
        arguments.extend(["--freq".into(), frequency.to_string().into()]);
        let unwinding = match self.unwinding {
            Unwinding::FramePointers => "fp",
            Unwinding::Dwarf => "dwarf",
        };
        arguments.extend(["--call-graph".into(), unwinding.into()]);
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

/// What identifies a file as unchanged.
fn place(file: &Path) -> Option<(u64, u64)> {
    file.metadata().ok().map(|found| (found.dev(), found.ino()))
}

impl Recording {
    /// What it is sampled by, and why.
    pub fn event(&self) -> &Chosen {
        &self.event
    }

    /// What will be missing in it, and how to fix that.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// For how long it has been sampling.
    pub fn lasts(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Whether there is nothing more to record: its time is over, its command or perf has ended.
    pub fn is_over(&mut self) -> bool {
        self.begun.elapsed() >= self.longest
            || self.running.as_mut().is_some_and(Running::has_ended)
            || self.perf.has_ended()
    }

    /// Ends it in order: perf, which completes its file, and then the command if it still runs.
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
    fn command_status_is_exit_code_or_signal() {
        assert_eq!(how(ExitStatus::from_raw(7 << 8)), "exit code 7");
        assert_eq!(how(ExitStatus::from_raw(11)), "ended by signal 11");
    }
}
