//! The kernel that a script is run against.

use crate::call::{Call, Fd, Returned};
use crate::counters::Counters;
use crate::packet::Datagram;
use crate::shell::Command;
use slowpath_model::Instant;

/// A kernel under test: a model in virtual time, or a real one.
///
/// Time is counted from the run's start. A call that blocks does so while packets come and go; one at a time.
pub trait Kernel {
    /// The time now.
    fn now(&mut self) -> Instant;

    /// Lets time pass until something happens, at most until `until`.
    ///
    /// # Errors
    /// If the kernel cannot be watched any longer.
    fn wait(&mut self, until: Instant) -> Result<Happening, KernelError>;

    /// Makes a call. It has returned, or blocks.
    ///
    /// # Errors
    /// If the call cannot be made at all, which is not the same as that it fails.
    fn call(&mut self, call: Call) -> Result<Progress, KernelError>;

    /// Gives the kernel a packet from the network.
    ///
    /// # Errors
    /// If it cannot be given.
    fn inject(&mut self, packet: &Datagram) -> Result<(), KernelError>;

    /// What a socket measures, by the names that code uses.
    ///
    /// # Errors
    /// If it is no socket of TCP.
    fn measures(&mut self, fd: Fd) -> Result<Vec<(&'static str, i64)>, KernelError>;

    /// What it has counted since its namespace was made. `asked` are names that a script wants to know of.
    ///
    /// # Errors
    /// If one of these is not counted, or the counters cannot be read.
    fn counters(&mut self, asked: &[String]) -> Result<Counters, KernelError>;

    /// Takes over a setting, as a shell command makes it.
    ///
    /// # Errors
    /// If the setting is wrong; what merely means nothing to this kernel is no error.
    fn command(&mut self, command: &Command) -> Result<Understood, KernelError>;
}

/// Whether a command means something to a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Understood {
    /// It was taken over, or changes nothing that could be seen.
    Yes,
    /// It was left out.
    No,
}

/// What happened while time passed.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// Nothing, up to the time that was asked for.
    Nothing,
    /// A packet was sent.
    Sent(Instant, Datagram),
    /// The call that blocked has returned.
    Returned(Instant, Returned),
}

/// How far a call has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has returned.
    Returned(Returned),
    /// It blocks.
    Blocked,
}

/// Why a kernel could not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KernelError(pub String);

impl KernelError {
    /// An error with its reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}
