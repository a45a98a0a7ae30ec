//! Reads profiles that other tools recorded, into the types of [`slowpath_cost`].
//!
//! [`open`] detects the format and reads it. perf.data, the text of `perf script`, folded stacks and pprof give stacks
//! with their samples; `opreport --callgraph`, which has no stacks, gives functions and their callers.
//!
//! ```no_run
//! # fn run() -> Result<(), slowpath_profile::ProfileError> {
//! let input = slowpath_profile::open("perf.data", &slowpath_profile::SymbolSources::default())?;
//! if let slowpath_profile::Contents::Stacks(profile) = &input.contents {
//!     println!("{} distinct stacks", profile.stacks.len());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What is where
//!
//! - `perf`: perf.data; `symbols`: the names of its addresses.
//! - `text`: text formats; `pprof`: pprof; `images`: images by the names that profilers use.
//! - `gather`: builds a profile from named stacks, for all formats; `input`: detects the format.
//! - `loaded`: one event of a profile, with its call graph and functions by name.
//! - [`error`] and [`notes`]: errors and notes about a file.
//! - [`record`]: records a perf.data; [`work`]: what the host did meanwhile, in a file next to it.

pub mod error;
mod gather;
mod images;
mod input;
mod loaded;
pub mod notes;
mod origin;
mod perf;
mod pprof;
pub mod record;
mod symbols;
mod text;
pub mod work;

pub use error::{At, ProfileError, Stop};
pub use input::{open, read};
pub use loaded::{LoadError, Loaded, Missing};
pub use notes::{Note, Oddity};
pub use pprof::write as write_pprof;
pub use record::{CACHE_MISSES, CacheMisses, RecordError, Recorded, Recorder, Recording, Unwinding, What};
pub use text::folded::{Measure, write as write_folded};

use slowpath_cost::{CallGraph, Profile};
use std::path::PathBuf;

/// Sources of symbols. Those not given are looked up on this host.
#[derive(Clone, Debug, Default)]
pub struct SymbolSources {
    /// The `/proc/kallsyms` of the profiled host, read as root.
    pub kallsyms: Option<PathBuf>,
    /// The profiled kernel's `vmlinux` with symbols, used if `kallsyms` is not given.
    pub vmlinux: Option<PathBuf>,
    /// The folder that holds the profiled host's programs and libraries.
    pub root: Option<PathBuf>,
    /// Whether inlined functions of programs are shown, for perf.data and where there is debug information.
    pub inlined: bool,
}

/// The format of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// perf.data, as a file or from a pipe.
    PerfData,
    /// The text of `perf script`.
    PerfScript,
    /// Folded stacks, one per line.
    Folded,
    /// pprof's `profile.proto`.
    Pprof,
    /// The text of `opreport --callgraph`.
    Opreport,
}

/// The contents of a profile.
#[derive(Clone, Debug)]
pub enum Contents {
    /// Stacks with their samples.
    Stacks(Profile),
    /// The call graph.
    Calls(CallGraph),
}

/// A profile that was read.
#[derive(Clone, Debug)]
pub struct Input {
    /// The name of its file.
    pub name: String,
    /// Its format.
    pub format: Format,
    /// Its contents.
    pub contents: Contents,
    /// What was odd about it, or is missing next to it.
    pub notes: Vec<Note>,
    /// Where and why reading ended before the profile did.
    pub stopped: Option<Stop>,
}
