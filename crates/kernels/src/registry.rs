//! The kernels that slowpath knows, by name.

use crate::profile::KernelProfile;
use crate::{linux_2_2_20, linux_2_4_17, linux_2_4_23, linux_2_6_14, linux_6_18};

/// The names of all kernels, oldest first.
pub const NAMES: &[&str] = &[
    "linux-2.2.20",
    "linux-2.4.17",
    "linux-2.4.17-drs",
    "linux-2.4.23",
    "linux-2.4.23-leith",
    "linux-2.6.14",
    "linux-2.6.14-wu",
    "linux-6.18",
];

/// All kernels, oldest first.
pub fn all() -> Vec<KernelProfile> {
    vec![
        linux_2_2_20::profile(),
        linux_2_4_17::profile(),
        linux_2_4_17::drs(),
        linux_2_4_23::profile(),
        linux_2_4_23::leith(),
        linux_2_6_14::profile(),
        linux_2_6_14::wu(),
        linux_6_18::profile(),
    ]
}

/// The kernel of that name, with or without `linux-` before it; `None` if there is none.
pub fn named(name: &str) -> Option<KernelProfile> {
    let release = name.strip_prefix("linux-").unwrap_or(name);
    all().into_iter().find(|kernel| kernel.name.strip_prefix("linux-") == Some(release))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_its_kernel() {
        let names: Vec<String> = all().into_iter().map(|kernel| kernel.name).collect();
        assert_eq!(names, NAMES);
        for name in NAMES {
            assert_eq!(named(name).unwrap().name, *name);
        }
        assert_eq!(named("6.18"), named("linux-6.18"));
        assert_eq!(named("linux-9.9"), None);
        assert_eq!(named(""), None);
    }
}
