//! Another kernel on both hosts: all that it does otherwise, together and each alone.

use crate::remedy::Remedy;
use crate::scenario::{Setting, Subject, keys};
use slowpath_kernels::{Change, Choice, KernelProfile, Release, Sysctl, changes, choices, sysctls};

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
                if is_default(&set.value, &before) {
                    set.value.clone_from(&after);
                }
            } else {
                settings.push(Setting::new(Subject::Kernel, key, after.clone()));
            }
        }
    }
}

/// The value of a choice or a sysctl.
fn value(name: &str, kernel: &KernelProfile) -> String {
    let sysctl = || Sysctl::named(name).map(|sysctl| sysctl.of(kernel));
    Choice::named(name).map(|choice| choice.of(kernel)).or_else(sysctl).unwrap_or_default()
}

/// The keys of a choice or sysctl, for both hosts.
fn keys_of(name: &str) -> [String; 2] {
    keys::HOSTS.map(|host| match Sysctl::named(name) {
        Some(sysctl) => format!("{host}.sysctl.{}", sysctl.short_name()),
        None => format!("{host}.kernel.{name}"),
    })
}

/// Whether a setting is a kernel's default. One that was adjusted to a capture may be a little off.
fn is_default(set: &str, default: &str) -> bool {
    const NEAR: f64 = 0.05;
    let is_near = |(set, default): (&str, &str)| match (set.parse::<f64>(), default.parse::<f64>()) {
        (Ok(set), Ok(default)) => (set - default).abs() <= NEAR * default.abs(),
        _ => set == default,
    };
    let [set, default] = [set, default].map(|text| text.split(' '));
    set.clone().count() == default.clone().count() && set.zip(default).all(is_near)
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
        settings.retain(|setting| {
            !keys.iter().any(|key| *key == setting.key) || !is_default(&setting.value, before)
        });
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
