//! The kernel that a script runs against.

use crate::call::{Call, Fd, Returned};
use crate::counters::Counters;
use crate::packet::Datagram;
use crate::shell::Command;
use slowpath_model::Instant;

/// A kernel under test: a model in virtual time, or a real one.
///
/// Times are relative to the run's start. One call at a time may block, while packets are sent and received.
pub trait Kernel {
    /// The current time.
    fn now(&mut self) -> Instant;

    /// Starts the run's time: the first event is next. The settings before it may have taken time.
    fn begin(&mut self);

    /// Lets time pass until something happens, at most until `until`.
    ///
    /// # Errors
    /// If the kernel cannot be observed any more.
    fn wait(&mut self, until: Instant) -> Result<Happening, KernelError>;

    /// Makes a call. It returns, or blocks.
    ///
    /// # Errors
    /// If the call cannot be made at all, as opposed to failing.
    fn call(&mut self, call: Call) -> Result<Progress, KernelError>;

    /// Passes a packet from the network to the kernel.
    ///
    /// # Errors
    /// If it cannot be passed.
    fn inject(&mut self, packet: &Datagram) -> Result<(), KernelError>;

    /// Measurements of a socket, by their names in code.
    ///
    /// # Errors
    /// If it is not a TCP socket.
    fn measures(&mut self, fd: Fd) -> Result<Vec<(&'static str, i64)>, KernelError>;

    /// The counters since the namespace was created. `asked` are the names that a script queries.
    ///
    /// # Errors
    /// If one of these is not supported, or the counters cannot be read.
    fn counters(&mut self, asked: &[String]) -> Result<Counters, KernelError>;

    /// Applies a setting, as made by a shell command.
    ///
    /// # Errors
    /// If the setting is invalid; a setting without effect on this kernel is no error.
    fn command(&mut self, command: &Command) -> Result<Understood, KernelError>;
}

/// Whether a kernel supports a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Understood {
    /// It was applied, or has no visible effect.
    Yes,
    /// It was skipped.
    No,
}

/// What happened while time passed.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// Nothing, up to the requested time.
    Nothing,
    /// A packet was sent.
    Sent(Instant, Datagram),
    /// The blocked call has returned.
    Returned(Instant, Returned),
}

/// The state of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has returned.
    Returned(Returned),
    /// It blocks.
    Blocked,
}

/// Why a kernel could not do what was requested.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KernelError(pub String);

impl KernelError {
    /// An error with its reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}
