//! Another kernel on both hosts: all that it does otherwise, together and each alone.

use crate::remedy::Remedy;
use crate::scenario::{Setting, Subject, keys};
use slowpath_kernels::{Change, KernelProfile, Release, changes, choices, sysctls};
use std::fmt;

/// One choice or sysctl as another kernel has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The choice, or the sysctl with its full name.
    pub name: &'static str,
    /// The kernel that the hosts run.
    pub from: Release,
    /// The kernel that has it otherwise.
    pub to: Release,
}

impl Changed {
    /// The values of both kernels.
    pub fn values(&self) -> [String; 2] {
        [self.from, self.to].map(|release| value(self.name, &release.profile()))
    }

    /// What made it differ, oldest first.
    pub fn changes(&self) -> Vec<&'static Change> {
        changes::between(self.name, self.from, self.to)
    }

    /// Applies it to the settings of a scenario; what they have set otherwise stays.
    pub(crate) fn apply(&self, settings: &mut Vec<Setting>) {
        let [before, after] = self.values();
        for key in keys_of(self.name) {
            if let Some(set) = settings.iter_mut().find(|setting| setting.key == key) {
                if same(&set.value, &before) {
                    set.value = plain(&after);
                }
            } else {
                settings.push(Setting::new(Subject::Kernel, key, plain(&after)));
            }
        }
    }
}

impl fmt::Display for Changed {
    /// `window-reduction proportional`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.values()[1])
    }
}

/// The value of a choice or a sysctl.
pub(crate) fn value(name: &str, kernel: &KernelProfile) -> String {
    let choice = choices().find(|choice| choice.name == name).map(|choice| choice.of(kernel));
    let sysctl = || sysctls().find(|sysctl| sysctl.name == name).map(|sysctl| sysctl.of(kernel));
    choice.or_else(sysctl).unwrap_or_default()
}

/// The keys of a choice or sysctl, for both hosts.
fn keys_of(name: &str) -> [String; 2] {
    let short = name.strip_prefix("net.ipv4.").or_else(|| name.strip_prefix("net.core."));
    keys::HOSTS.map(|host| match short {
        Some(sysctl) => format!("{host}.sysctl.{sysctl}"),
        None => format!("{host}.kernel.{name}"),
    })
}

/// The same values, whatever separates them. A size that was adjusted to a capture is near its default.
fn same(one: &str, other: &str) -> bool {
    const NEAR: f64 = 0.05;
    let alike = |(one, other): (&str, &str)| match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => (one - other).abs() <= NEAR * other.abs(),
        _ => one == other,
    };
    let [one, other] = [one, other].map(|text| text.split_whitespace().collect::<Vec<_>>());
    one.len() == other.len() && one.into_iter().zip(other).all(alike)
}

/// A sysctl's values with a space between them, as a scenario has them.
fn plain(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All that differs between two kernels, but for the sysctls that only show a choice.
pub fn differences(from: Release, to: Release) -> Vec<Changed> {
    let [before, after] = [from, to].map(Release::profile);
    let of_choices =
        choices().filter(|choice| choice.of(&before) != choice.of(&after)).map(|choice| choice.name);
    let shown: Vec<&str> =
        choices().filter_map(|choice| choice.sysctl.as_ref()).map(|sysctl| sysctl.name).collect();
    let of_sysctls = sysctls().filter(|sysctl| !shown.contains(&sysctl.name));
    let of_sysctls =
        of_sysctls.filter(|sysctl| sysctl.of(&before) != sysctl.of(&after)).map(|sysctl| sysctl.name);
    of_choices.chain(of_sysctls).map(|name| Changed { name, from, to }).collect()
}

/// What to try for an upgrade: the new kernel, and each thing that it does otherwise.
pub fn tries(from: Release, to: Release) -> Vec<Remedy> {
    let each = differences(from, to).into_iter().map(Remedy::Changed);
    std::iter::once(Remedy::Kernel(to)).chain(each).collect()
}

/// Has both hosts run `to` in place of `from`. What the settings have of `from`'s defaults becomes the new kernel's.
pub(crate) fn upgrade(settings: &mut Vec<Setting>, from: Release, to: Release) {
    for changed in differences(from, to) {
        let before = &changed.values()[0];
        let keys = keys_of(changed.name);
        settings.retain(|setting| !keys.contains(&setting.key.to_string()) || !same(&setting.value, before));
    }
    for host in keys::HOSTS {
        let key = format!("{host}.kernel.base");
        settings.retain(|setting| setting.key != key);
        settings.push(Setting::new(Subject::Kernel, key, to.name().to_owned()));
    }
}

/// The kernel of the settings.
pub(crate) fn kernel_of(settings: &[Setting]) -> Release {
    let base = settings.iter().find(|setting| setting.key.ends_with(".kernel.base"));
    base.and_then(|setting| setting.value.parse().ok()).unwrap_or(Release::Linux6_18)
}
