//! Profiles that other tools recorded, as [`slowpath_cost`] has them.
//!
//! [`open`] looks at what a file is and reads it: stacks with their samples, of perf.data, of the text of `perf script`,
//! of folded stacks and of pprof; of `opreport --callgraph`, which has no stacks, functions and who calls whom.
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
//! - `perf`: perf.data; `symbols`: names of addresses in it.
//! - `text`: what is text; `pprof`: what is pprof's; `images`: what functions are part of, by the names it has there.
//! - `gather`: from named stacks to a profile, for all formats; `input`: which format a file has.
//! - `loaded`: one event of a profile, with its call graph and functions by name.
//! - [`error`] and [`notes`]: what to say about a file.
//! - [`record`]: makes a perf.data; [`work`]: what the host did meanwhile, in a file next to it.

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
pub use record::{RecordError, Recorded, Recorder, Recording, Unwinding, What};
pub use text::folded::{Measure, write as write_folded};

use slowpath_cost::{CallGraph, Profile};
use std::path::PathBuf;

/// Where names of addresses come from. All that is not given is looked for on this host.
#[derive(Clone, Debug, Default)]
pub struct SymbolSources {
    /// The `/proc/kallsyms` of the profiled host, as its root read it.
    pub kallsyms: Option<PathBuf>,
    /// The profiled kernel with its symbols, if `kallsyms` is not given.
    pub vmlinux: Option<PathBuf>,
    /// The folder under which the profiled host's programs and libraries are.
    pub root: Option<PathBuf>,
    /// Whether functions of programs that the compiler has inlined into their callers are shown, of perf.data and where there is debug
    /// information.
    pub inlined: bool,
}

/// What a profile is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// perf.data, to a file or a pipe.
    PerfData,
    /// The text of `perf script`.
    PerfScript,
    /// A stack a line.
    Folded,
    /// pprof's `profile.proto`.
    Pprof,
    /// The text of `opreport --callgraph`.
    Opreport,
}

/// What a profile has.
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
    /// Its file's name.
    pub name: String,
    /// What it was written in.
    pub format: Format,
    /// What was in it.
    pub contents: Contents,
    /// What was odd about it, or is missing next to it.
    pub notes: Vec<Note>,
    /// Where and why reading ended before the profile did.
    pub stopped: Option<Stop>,
}
