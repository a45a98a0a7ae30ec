//! The changes that made one known kernel differ from another: since which version, which commit, where, what and why.
//!
//! A choice's declaration says which kernels have another value than the one that they derive from. For each of these
//! there is a [`Change`] here, and a test compares the two. Only commits that were looked up by their id are named.

mod papers;
mod since_4_18;
mod to_4_18;

use crate::release::Release;

/// One change of a choice or a sysctl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The choice, or the sysctl with its full name.
    pub of: &'static str,
    /// The first known kernel that has it.
    pub release: Release,
    /// Where it comes from.
    pub origin: Origin,
    /// The first twelve digits of its commit in Linus Torvalds' tree, if it was looked up.
    pub commit: Option<&'static str>,
    /// The function and its file.
    pub function: &'static str,
    /// What it changed, and why.
    pub what: &'static str,
}

/// Where a change comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The first version of Linux with it.
    Linux(&'static str),
    /// A patch that no version of Linux has: a paper's, or LANL's.
    Patch(&'static str),
    /// How distributions configure the kernel.
    Configuration,
}

impl Origin {
    /// As text, such as `Linux 6.6`.
    pub fn text(self) -> String {
        match self {
            Self::Linux(version) => format!("Linux {version}"),
            Self::Patch(whose) => format!("patch of {whose}"),
            Self::Configuration => "configuration".to_owned(),
        }
    }
}

impl Change {
    /// A change of Linux.
    const fn linux(
        of: &'static str,
        release: Release,
        version: &'static str,
        commit: &'static str,
        function: &'static str,
        what: &'static str,
    ) -> Self {
        let commit = if commit.is_empty() { None } else { Some(commit) };
        Self { of, release, origin: Origin::Linux(version), commit, function, what }
    }

    /// A change by a patch.
    const fn patch(
        of: &'static str,
        release: Release,
        whose: &'static str,
        function: &'static str,
        what: &'static str,
    ) -> Self {
        Self { of, release, origin: Origin::Patch(whose), commit: None, function, what }
    }

    /// A change of configuration.
    const fn configuration(
        of: &'static str,
        release: Release,
        function: &'static str,
        what: &'static str,
    ) -> Self {
        Self { of, release, origin: Origin::Configuration, commit: None, function, what }
    }

    /// The address of its commit.
    pub fn url(&self) -> Option<String> {
        self.commit.map(|commit| format!("https://git.kernel.org/linus/{commit}"))
    }
}

/// All changes, those of the oldest kernels first.
pub fn all() -> impl Iterator<Item = &'static Change> {
    [papers::CHANGES, to_4_18::CHANGES, since_4_18::CHANGES].into_iter().flatten()
}

/// The changes of a choice or sysctl on the way from one known kernel to another, oldest first: those of either that
/// the other does not derive from.
pub fn between(of: &str, from: Release, to: Release) -> Vec<&'static Change> {
    let (before, after) = (from.lineage(), to.lineage());
    let is_between = |release| before.contains(&release) != after.contains(&release);
    all().filter(|change| change.of == of && is_between(change.release)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{choices, sysctls};
    use std::collections::BTreeSet;

    /// Every kernel that declares another value than its base has a change that says why, and no change is left over.
    #[test]
    fn every_difference_has_a_change_with_a_source() {
        let declared: BTreeSet<(&str, &str)> = choices()
            .map(|choice| (choice.name, choice.changed))
            .chain(sysctls().map(|sysctl| (sysctl.name, sysctl.changed)))
            .flat_map(|(name, releases)| releases.iter().map(move |release| (name, release.name())))
            .collect();
        let explained: BTreeSet<(&str, &str)> =
            all().map(|change| (change.of, change.release.name())).collect();
        let missing: Vec<_> = declared.difference(&explained).collect();
        assert!(missing.is_empty(), "without a change: {missing:?}");
        let left_over: Vec<_> = explained.difference(&declared).collect();
        assert!(left_over.is_empty(), "changes of nothing: {left_over:?}");
    }

    #[test]
    fn values_of_neighbours_differ_exactly_where_a_change_is_between() {
        for pair in Release::ALL.windows(2) {
            let (from, to) = (pair[0].profile(), pair[1].profile());
            for choice in choices() {
                let changes = between(choice.name, pair[0], pair[1]);
                let differ = choice.of(&from) != choice.of(&to);
                assert!(!differ || !changes.is_empty(), "{} from {} to {}", choice.name, from.name, to.name);
            }
        }
    }

    #[test]
    fn changes_are_one_line_with_a_place_and_a_plausible_commit() {
        for change in all() {
            let text = format!("{} of {}", change.of, change.release.name());
            assert!(!change.what.is_empty() && !change.what.contains('\n'), "{text}");
            assert!(change.what.ends_with(|last: char| last != '.'), "{text}");
            assert!(change.function.contains(": "), "{text}: {}", change.function);
            if let Some(commit) = change.commit {
                assert_eq!(commit.len(), 12, "{text}");
                assert!(commit.bytes().all(|byte| b"0123456789abcdef".contains(&byte)), "{text}");
                assert!(matches!(change.origin, Origin::Linux(_)), "{text}");
            }
        }
    }

    /// A version is older than, or the same as, that of the kernel that first has it, or a stable release of that; and
    /// younger than its base.
    #[test]
    fn versions_lie_between_a_kernel_and_its_base() {
        let numbers = |version: &str| -> Vec<u32> {
            let version = version.strip_prefix("linux-").unwrap_or(version);
            let release = version.split('-').next().unwrap_or_default();
            release.split('.').filter_map(|number| number.parse().ok()).collect()
        };
        for change in all() {
            let Origin::Linux(version) = change.origin else { continue };
            let (version, of) = (numbers(version), numbers(change.release.name()));
            let stable = version.starts_with(&of);
            assert!(stable || version <= of, "{} of {}", change.of, change.release.name());
            if let Some(base) = change.release.base() {
                assert!(version > numbers(base.name()), "{} of {}", change.of, change.release.name());
            }
        }
    }

    #[test]
    fn changes_between_two_kernels_leave_out_what_both_have() {
        let names = |from, to| {
            between("receive-tuning", from, to).iter().map(|c| c.release.name()).collect::<Vec<_>>()
        };
        assert_eq!(names(Release::Linux2_6_14, Release::Linux6_18), ["linux-4.18", "linux-6.18"]);
        assert_eq!(names(Release::Linux5_14El9, Release::Linux6_12), [""; 0]);
        assert_eq!(
            names(Release::Linux2_4_17Drs, Release::Linux2_6_14),
            ["linux-2.4.17-drs", "linux-2.6.14"]
        );
    }
}
