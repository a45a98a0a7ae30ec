//! A choice and a sysctl of a kernel, as data: name, meaning, source, and how to read and change the value.
//!
//! A scheduler is a choice like any other. Setting a choice in a scenario, comparing kernels and the reference page all
//! use [`choices`](crate::registry::choices). A choice is declared once, with its subject: see `declare.rs`. `K` is the
//! kernel's profile, which this file knows nothing about.

use crate::release::Release;

/// One choice.
#[derive(Debug)]
pub struct Choice<K: 'static> {
    /// Its name, as in a scenario's `kernel = { base = …, NAME = … }`.
    pub name: &'static str,
    /// What it belongs to.
    pub subject: Subject,
    /// What is chosen.
    pub meaning: &'static str,
    /// Its place in the kernel, and since when.
    pub source: &'static str,
    /// The sysctl that sets it, if there is one.
    pub sysctl: Option<Sysctl<K>>,
    /// The known kernels that differ from the one that they derive from.
    pub changed: &'static [Release],
    pub(crate) text: FieldText<K>,
}

/// Text that is not one of a choice's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAChoice {
    /// What to write instead.
    pub form: String,
}

impl<K> Choice<K> {
    /// The form of its values, to follow "write".
    pub fn form(&self) -> String {
        (self.text.form)()
    }

    /// A kernel's value.
    pub fn of(&self, kernel: &K) -> String {
        (self.text.get)(kernel)
    }

    /// Changes a kernel's value.
    ///
    /// # Errors
    ///
    /// Text that is not a valid value; the kernel is unchanged.
    pub fn put(&self, kernel: &mut K, text: &str) -> Result<(), NotAChoice> {
        self.text.put(kernel, text)
    }
}

/// One sysctl; its values are written as in the kernel.
#[derive(Debug)]
pub struct Sysctl<K: 'static> {
    /// Its full name, such as `net.ipv4.tcp_sack`.
    pub name: &'static str,
    /// The known kernels that differ from the one that they derive from; none if it belongs to a choice.
    pub changed: &'static [Release],
    pub(crate) text: FieldText<K>,
}

impl<K> Sysctl<K> {
    /// The form of its values, to follow "write".
    pub fn form(&self) -> String {
        (self.text.form)()
    }

    /// Its value, as `sysctl -n` shows it.
    pub fn of(&self, kernel: &K) -> String {
        (self.text.get)(kernel)
    }

    /// Sets it, as `sysctl -w` does.
    ///
    /// # Errors
    ///
    /// Text that is not a valid value; the kernel is unchanged.
    pub fn put(&self, kernel: &mut K, text: &str) -> Result<(), NotAChoice> {
        self.text.put(kernel, text)
    }

    /// Its name without `net.ipv4.` or `net.core.`.
    pub fn short_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }
}

/// A field of a kernel's profile, as text.
#[derive(Debug)]
pub(crate) struct FieldText<K: 'static> {
    pub(crate) form: fn() -> String,
    pub(crate) get: fn(&K) -> String,
    pub(crate) set: fn(&mut K, &str) -> bool,
}

impl<K> FieldText<K> {
    /// Changes a kernel; invalid text changes nothing.
    fn put(&self, kernel: &mut K, text: &str) -> Result<(), NotAChoice> {
        if (self.set)(kernel, text) { Ok(()) } else { Err(NotAChoice { form: (self.form)() }) }
    }
}

/// What a choice belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// From the device to TCP.
    ReceivePath,
    /// From TCP to the device.
    TransmitPath,
    /// Scheduling, locks and timers.
    Tasks,
    /// TCP's sending side.
    Sender,
    /// TCP's receiving side.
    Receiver,
}

impl Subject {
    /// All subjects, in listing order.
    pub(crate) const ALL: [Self; 5] =
        [Self::ReceivePath, Self::TransmitPath, Self::Tasks, Self::Sender, Self::Receiver];

    /// The heading of its choices.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReceivePath => "receive path",
            Self::TransmitPath => "transmit path",
            Self::Tasks => "tasks and time",
            Self::Sender => "TCP, sender",
            Self::Receiver => "TCP, receiver",
        }
    }
}
