//! The choices one by one: their names, what they mean, where they are in the kernel, and how to change one.
//!
//! A scheduler is a choice like any other. Setting a choice in a scenario, comparing kernels and the reference page all
//! use [`choices`]. A choice is declared once, with its subject: see `declare.rs`.

use crate::declare::Part;
use crate::profile::KernelProfile;
use crate::receive::ReceivePath;
use crate::sysctls::Sysctl;
use crate::transmit::TransmitPath;
use crate::value::FieldText;
use slowpath_tcp::Choices;
use slowpath_tcp::clock::Clock;
use slowpath_tcp::sysctl::Sysctls;

/// One choice.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// Its name, as a scenario's `kernel = { base = …, NAME = … }` takes it.
    pub name: &'static str,
    /// What it belongs to.
    pub subject: Subject,
    /// What is chosen.
    pub meaning: &'static str,
    /// Where the kernel has it, and since when.
    pub source: &'static str,
    /// The sysctl that sets it, if there is one.
    pub sysctl: Option<Sysctl>,
    pub(crate) text: FieldText,
}

/// Text that is not one of a choice's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAChoice {
    /// What to write instead.
    pub form: String,
}

impl Choice {
    /// What its values look like, to be put behind "write".
    pub fn form(&self) -> String {
        (self.text.form)()
    }

    /// What a kernel chose.
    pub fn of(&self, kernel: &KernelProfile) -> String {
        (self.text.get)(kernel)
    }

    /// Makes a kernel choose otherwise.
    ///
    /// # Errors
    ///
    /// Text that is not one of its values; the kernel is as it was.
    pub fn put(&self, kernel: &mut KernelProfile, text: &str) -> Result<(), NotAChoice> {
        self.text.put(kernel, text)
    }

    /// The choice of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        choices().find(|choice| choice.name == name)
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
    /// All subjects, in the order in which they are listed.
    const ALL: [Self; 5] = [Self::ReceivePath, Self::TransmitPath, Self::Tasks, Self::Sender, Self::Receiver];

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

/// What is declared of one part of a profile.
pub(crate) struct Group {
    pub(crate) choices: &'static [Choice],
    pub(crate) sysctls: &'static [Sysctl],
}

impl Group {
    const fn of<P: Part>() -> Self {
        Self { choices: P::CHOICES, sysctls: P::SYSCTLS }
    }
}

/// All parts of a profile.
pub(crate) static GROUPS: [Group; 6] = [
    Group::of::<Sysctls>(),
    Group::of::<ReceivePath>(),
    Group::of::<TransmitPath>(),
    Group::of::<KernelProfile>(),
    Group::of::<Clock>(),
    Group::of::<Choices>(),
];

/// All choices, by subject.
pub fn choices() -> impl Iterator<Item = &'static Choice> {
    Subject::ALL.into_iter().flat_map(|subject| {
        GROUPS.iter().flat_map(|group| group.choices).filter(move |choice| choice.subject == subject)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use std::collections::BTreeSet;

    #[test]
    fn every_choice_of_every_kernel_is_read_back() {
        for kernel in registry::all() {
            for choice in choices() {
                let mut changed = registry::named("2.6.14").unwrap();
                choice.put(&mut changed, &choice.of(&kernel)).unwrap();
                assert_eq!(choice.of(&changed), choice.of(&kernel), "{} of {}", choice.name, kernel.name);
            }
        }
    }

    #[test]
    fn what_is_not_a_value_changes_nothing_and_says_what_is() {
        for choice in choices() {
            let mut kernel = registry::named("6.18").unwrap();
            let error = choice.put(&mut kernel, "no such value").unwrap_err();
            assert!(!error.form.is_empty(), "{}", choice.name);
            assert_eq!(kernel, registry::named("6.18").unwrap());
        }
        let hz = Choice::named("hz").unwrap();
        assert!(hz.put(&mut registry::named("6.18").unwrap(), "0").is_err());
        assert_eq!(hz.form(), "a whole number from 10 to 10000");
    }

    #[test]
    fn names_are_written_once_and_sources_name_a_file() {
        let names: BTreeSet<&str> = choices().map(|choice| choice.name).collect();
        assert_eq!(names.len(), choices().count());
        for choice in choices() {
            assert!(choice.source.contains(':'), "{}", choice.name);
        }
    }
}
