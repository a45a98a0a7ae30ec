//! The known kernels by name, and all declarations.

use crate::choice::{self, Subject};
use crate::declare::{HasPart, Part};
use crate::profile::KernelProfile;
use crate::receive::ReceivePath;
use crate::release::Release;
use crate::transmit::TransmitPath;
use slowpath_tcp::Choices;
use slowpath_tcp::clock::Clock;
use slowpath_tcp::sysctl::Sysctls;
use std::str::FromStr;

/// A choice of a [`KernelProfile`].
pub type Choice = choice::Choice<KernelProfile>;

/// A sysctl of a [`KernelProfile`].
pub type Sysctl = choice::Sysctl<KernelProfile>;

impl Release {
    /// All its choices and sysctls.
    pub fn profile(self) -> KernelProfile {
        Part::of_release(self)
    }

    /// The choices of its TCP.
    pub fn tcp(self) -> Choices {
        Part::of_release(self)
    }

    /// The sysctls that its TCP reads, with their values after boot.
    pub fn sysctls(self) -> Sysctls {
        Part::of_release(self)
    }
}

/// The names of all kernels, oldest first.
pub const NAMES: [&str; Release::ALL.len()] = {
    let mut names = [""; Release::ALL.len()];
    let mut next = 0;
    while next < names.len() {
        names[next] = Release::ALL[next].name();
        next += 1;
    }
    names
};

/// All kernels, oldest first.
pub fn all() -> Vec<KernelProfile> {
    Release::ALL.into_iter().map(Release::profile).collect()
}

/// The kernel with this name, with or without `linux-`; `None` if there is none.
pub fn named(name: &str) -> Option<KernelProfile> {
    name.parse::<Release>().ok().map(Release::profile)
}

/// There is no kernel with this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kernel {name:?}; known are {}", NAMES.join(", "))]
pub struct UnknownKernel {
    /// The name.
    pub name: String,
}

/// With or without `linux-`.
impl FromStr for Release {
    type Err = UnknownKernel;

    fn from_str(name: &str) -> Result<Self, UnknownKernel> {
        let release = name.strip_prefix("linux-").unwrap_or(name);
        let found =
            Self::ALL.into_iter().find(|kernel| kernel.name().strip_prefix("linux-") == Some(release));
        found.ok_or_else(|| UnknownKernel { name: name.to_owned() })
    }
}

/// The kernel with this name, as [`named`] finds it.
///
/// # Errors
///
/// If there is none.
pub fn find(name: &str) -> Result<KernelProfile, UnknownKernel> {
    name.parse().map(Release::profile)
}

/// The declarations of one part of a profile.
struct Group {
    choices: &'static [Choice],
    sysctls: &'static [Sysctl],
}

impl Group {
    fn of<P: Part>() -> Self
    where
        KernelProfile: HasPart<P>,
    {
        Self { choices: P::choices(), sysctls: P::sysctls() }
    }
}

/// All parts of a profile.
fn groups() -> [Group; 6] {
    [
        Group::of::<Sysctls>(),
        Group::of::<ReceivePath>(),
        Group::of::<TransmitPath>(),
        Group::of::<KernelProfile>(),
        Group::of::<Clock>(),
        Group::of::<Choices>(),
    ]
}

/// All choices, by subject.
pub fn choices() -> impl Iterator<Item = &'static Choice> {
    Subject::ALL.into_iter().flat_map(|subject| {
        let of_all = groups().into_iter().flat_map(|group| group.choices);
        of_all.filter(move |choice| choice.subject == subject)
    })
}

/// All supported sysctls: TCP's, then those of a choice or of the receive path.
pub fn sysctls() -> impl Iterator<Item = &'static Sysctl> {
    groups().into_iter().flat_map(|group| {
        let of_choices = group.choices.iter().filter_map(|choice| choice.sysctl.as_ref());
        of_choices.chain(group.sysctls)
    })
}

impl Choice {
    /// The choice with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        choices().find(|choice| choice.name == name)
    }
}

impl Sysctl {
    /// The sysctl with this name, with or without `net.ipv4.` or `net.core.`.
    pub fn named(name: &str) -> Option<&'static Self> {
        sysctls().find(|sysctl| sysctl.name == name || sysctl.short_name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_kernel_is_found_by_name() {
        for name in NAMES {
            assert_eq!(named(name).unwrap().name, name);
        }
        assert_eq!(named("6.18"), named("linux-6.18"));
        assert_eq!(named("linux-9.9"), None);
        assert_eq!(named(""), None);
    }

    /// A value without a name would be an empty text.
    #[test]
    fn every_kernel_answers_every_choice_and_sysctl() {
        for kernel in all() {
            for choice in choices() {
                assert!(!choice.of(&kernel).is_empty(), "{} of {}", choice.name, kernel.name);
            }
            for sysctl in sysctls() {
                assert!(!sysctl.of(&kernel).is_empty(), "{} of {}", sysctl.name, kernel.name);
            }
        }
    }

    #[test]
    fn choices_of_every_kernel_round_trip() {
        for kernel in all() {
            for choice in choices() {
                let mut changed = named("2.6.14").unwrap();
                choice.put(&mut changed, &choice.of(&kernel)).unwrap();
                assert_eq!(choice.of(&changed), choice.of(&kernel), "{} of {}", choice.name, kernel.name);
            }
        }
    }

    #[test]
    fn invalid_choice_changes_nothing_and_lists_the_values() {
        for choice in choices() {
            let mut kernel = named("6.18").unwrap();
            let error = choice.put(&mut kernel, "no such value").unwrap_err();
            assert!(!error.form.is_empty(), "{}", choice.name);
            assert_eq!(kernel, named("6.18").unwrap());
        }
        let hz = Choice::named("hz").unwrap();
        assert!(hz.put(&mut named("6.18").unwrap(), "0").is_err());
        assert_eq!(hz.form(), "a whole number from 10 to 10000");
    }

    #[test]
    fn choice_names_are_unique_and_sources_name_a_file() {
        let names: BTreeSet<&str> = choices().map(|choice| choice.name).collect();
        assert_eq!(names.len(), choices().count());
        for choice in choices() {
            assert!(choice.source.contains(':'), "{}", choice.name);
        }
    }

    fn linux_6_18() -> KernelProfile {
        named("6.18").unwrap()
    }

    #[test]
    fn sysctls_of_every_kernel_round_trip() {
        for kernel in all() {
            let mut changed = linux_6_18();
            for sysctl in sysctls() {
                sysctl.put(&mut changed, &sysctl.of(&kernel)).unwrap();
            }
            // A field missing from the table would still have 6.18's value.
            assert_eq!(changed.sysctls, kernel.sysctls, "{}", kernel.name);
        }
    }

    #[test]
    fn sysctl_values_are_written_as_in_the_kernel() {
        let of = |name: &str| Sysctl::named(name).unwrap().of(&linux_6_18());
        assert_eq!(of("net.ipv4.tcp_rmem"), "4096 131072 33554432");
        assert_eq!(of("tcp_sack"), "1");
        assert_eq!(of("tcp_fin_timeout"), "60");
        assert_eq!(of("tcp_rto_min_us"), "200000");
        assert_eq!(of("net.ipv4.tcp_comp_sack_delay_ns"), "1000000");
        assert_eq!(of("net.ipv4.tcp_congestion_control"), "cubic");
    }

    /// `2 * USEC_PER_SEC / HZ` (net/core/hotdata.c).
    #[test]
    fn netdev_budget_usecs_is_two_ticks() {
        let sysctl = Sysctl::named("net.core.netdev_budget_usecs").unwrap();
        for (hz, text) in [(100, "20000"), (250, "8000"), (1000, "2000")] {
            let mut kernel = linux_6_18();
            kernel.tcp.clock.hz = hz;
            assert_eq!(sysctl.of(&kernel), text, "HZ {hz}");
            sysctl.put(&mut kernel, "3500").unwrap();
            assert_eq!(sysctl.of(&kernel), "3500", "HZ {hz}");
        }
    }

    #[test]
    fn invalid_sysctl_changes_nothing_and_states_the_form() {
        let mut kernel = linux_6_18();
        for (name, text, form) in [
            ("tcp_sack", "yes", "0 or 1"),
            ("tcp_fin_timeout", "60 s", "a whole number of seconds"),
            ("tcp_keepalive_time", "18446744073709551615", "a whole number of seconds"),
            ("tcp_frto", "256", "a whole number from 0 to 255"),
            ("netdev_budget", "0", "a whole number from 1 to 10000000"),
        ] {
            let error = Sysctl::named(name).unwrap().put(&mut kernel, text).unwrap_err();
            assert_eq!(error.form, form);
        }
        assert_eq!(kernel, linux_6_18());
        assert!(Sysctl::named("net.ipv4.tcp_sakc").is_none());
    }
}
