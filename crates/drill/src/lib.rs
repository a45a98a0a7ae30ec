//! Scripts in packetdrill's language, run against a TCP endpoint.
//!
//! A script states, at exact times, which packets arrive from the network, which system calls an application makes, and
//! which packets the kernel must send in response. [`Script::parse`] reads it ([`lexer`], `parser`); [`run`] runs it
//! against a [`Kernel`]: the model in virtual time, or a real one, for which [`wire`] encodes packets as bytes. Shell
//! commands in scripts are interpreted as settings ([`shell`]), code over `tcp_info` is interpreted too ([`python`]).
//!
//! Nothing here does I/O, reads a clock or starts a thread; the [`Kernel`] for a real kernel is in another crate.
//!
//! The language is packetdrill's: Cardwell et al., *packetdrill: Scriptable Network Stack Testing, from Sockets to
//! Packets*, USENIX ATC 2013, and <https://github.com/google/packetdrill>.
//!
//! # Decisions
//!
//! A script is first run on the real kernel. Every script in `scripts/` passes on Linux 6.18 (the lab's test, as root);
//! then the model must pass it. `scripts/not-yet.txt` lists those that the model does not pass yet, and a test keeps
//! that list exact. Timers depend on the tick rate: the scripts were validated at 250 Hz.

pub mod call;
pub mod config;
pub mod counters;
pub mod kernel;
pub mod lexer;
pub mod modelled;
pub mod packet;
mod parser;
pub mod python;
mod runner;
pub mod script;
pub mod shell;
pub mod source;
pub mod symbols;
pub mod wire;

pub use config::Config;
pub use kernel::{Happening, Kernel, KernelError, Progress, Understood};
pub use modelled::Modelled;
pub use runner::{Failure, Note, Outcome, ReadFile, ScriptReport, TraceLine, run};
pub use script::Script;
pub use source::{ScriptError, Source};
