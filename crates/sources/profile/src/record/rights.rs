//! Permissions that sampling needs, and those that this host grants.
//!
//! Whether sampling is permitted is asked of the kernel (`event`); this module explains a refusal. `perf_allow_kernel`
//! and `perf_allow_cpu` (linux/perf_event.h) check `kernel.perf_event_paranoid`: above 0, sampling all CPUs needs
//! CAP_PERFMON, or CAP_SYS_ADMIN, the only one before 5.8; above 1, so does the kernel's part of a task. Both count in
//! the initial user namespace only. The kernels of Debian and Ubuntu also have 3 and 4, which permit nothing without a
//! capability.

use super::What;
use slowpath_uapi::Capabilities;
use slowpath_uapi::capabilities::{CAP_PERFMON, CAP_SYS_ADMIN};
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};

/// What is to be sampled, as far as permissions matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    AllCpus,
    Task,
    /// User code only.
    TaskWithoutKernel,
}

impl Scope {
    pub fn of(what: &What) -> Self {
        match what {
            What::System { .. } => Self::AllCpus,
            What::Process(_) | What::Command(_) => Self::Task,
        }
    }

    pub fn without_kernel(self) -> Self {
        if self == Self::AllCpus { self } else { Self::TaskWithoutKernel }
    }

    /// The highest value of the sysctl that permits it to everybody.
    const fn open_to_all_until(self) -> i64 {
        match self {
            Self::AllCpus => 0,
            Self::Task => 1,
            Self::TaskWithoutKernel => 2,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AllCpus => "all that runs on a CPU",
            Self::Task => "a process with what the kernel does for it",
            Self::TaskWithoutKernel => "a process",
        })
    }
}

/// This host's permissions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rights {
    /// `kernel.perf_event_paranoid`.
    pub paranoid: Option<i64>,
    /// Whether this thread has CAP_PERFMON or CAP_SYS_ADMIN in its own user namespace.
    pub has_capability: Option<bool>,
}

impl Rights {
    pub fn here() -> Self {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
        let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok();
        Self {
            paranoid: paranoid.and_then(|text| text.trim().parse().ok()),
            has_capability: has_capability(&status),
        }
    }
}

fn has_capability(status: &str) -> Option<bool> {
    let effective = Capabilities::effective(status)?;
    Some(effective.has(CAP_SYS_ADMIN) || effective.has(CAP_PERFMON))
}

/// Whether an error of perf_event_open(2) is a refusal of permission.
pub(super) const fn is_refusal(errno: i32) -> bool {
    matches!(errno, libc::EACCES | libc::EPERM | libc::ENOSYS)
}

/// What was refused, by which setting, and what is needed.
pub(super) fn needs(scope: Scope, errno: i32, rights: &Rights) -> String {
    let most = scope.open_to_all_until();
    let refused = format!("the kernel does not let us sample {scope}");
    let is_by_level = rights.paranoid.is_some_and(|level| level > most);
    let Some(level) = rights.paranoid.filter(|_| errno == libc::EACCES && is_by_level) else {
        let denies = match (errno, scope) {
            (libc::EACCES, Scope::Task | Scope::TaskWithoutKernel) => {
                "it may be another user's; as root, or with CAP_PERFMON, it is allowed"
            }
            _ => {
                "perf_event_open(2) is refused, as containers do (seccomp); record on the host, or allow it there"
            }
        };
        return format!("{refused}: {denies}");
    };
    let namespace = match rights.has_capability {
        Some(true) => "; the capabilities of a user namespace do not count",
        _ => "",
    };
    let programs = match scope {
        Scope::Task => "; what programs do alone, without the kernel in which TCP is: --event cpu-clock:u",
        _ => "",
    };
    format!(
        "{refused}: kernel.perf_event_paranoid is {level}, so that it takes CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8){namespace}; \
         run as root, or let everybody with `sysctl kernel.perf_event_paranoid={most}`{}",
        if level <= 2 { programs } else { "" }
    )
}

/// What a permitted recording will lack, and its samples per second.
pub(super) fn warnings(frequency: u32) -> (Vec<String>, u32) {
    let mut warnings = Vec::new();
    if fs::File::open("/proc/kallsyms").is_ok_and(|file| are_hidden(BufReader::new(file))) {
        let level = fs::read_to_string("/proc/sys/kernel/kptr_restrict").unwrap_or_default();
        warnings.push(hidden(level.trim()));
    }
    let most = fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").ok();
    let most = most.and_then(|text| text.trim().parse().ok()).filter(|most| *most > 0 && *most < frequency);
    if let Some(most) = most {
        warnings.push(format!(
            "the kernel takes {most} samples a second at most (kernel.perf_event_max_sample_rate), not {frequency}"
        ));
    }
    (warnings, most.unwrap_or(frequency))
}

/// Whether all addresses are shown as 0 (`kallsyms_show_value`).
fn are_hidden(kallsyms: impl BufRead) -> bool {
    // The first lines suffice: either all addresses are hidden or none.
    let mut lines = kallsyms.lines().take(1000).map_while(Result::ok).peekable();
    let is_zero = |line: String| {
        line.split_whitespace().next().is_some_and(|address| address.bytes().all(|byte| byte == b'0'))
    };
    lines.peek().is_some() && lines.all(is_zero)
}

fn hidden(level: &str) -> String {
    // At 0, addresses are shown to whoever may sample the kernel (`kallsyms_for_perf`), at 1 to CAP_SYSLOG, at 2 to
    // nobody.
    let by = match level {
        "" => String::new(),
        "0" => " (kernel.perf_event_paranoid is above 1)".to_owned(),
        level => format!(" (kernel.kptr_restrict is {level})"),
    };
    format!(
        "the kernel hides its symbols from us{by}, so that its functions have no names; after `sysctl kernel.kptr_restrict=0 \
         kernel.perf_event_paranoid=1` they have"
    )
}

#[cfg(test)]
mod tests {
    use super::{Rights, Scope, are_hidden, has_capability, needs};

    fn refusal(scope: Scope, errno: i32, paranoid: i64, has_capability: bool) -> String {
        needs(scope, errno, &Rights { paranoid: Some(paranoid), has_capability: Some(has_capability) })
    }

    #[test]
    fn refusal_names_setting_value_and_capability() {
        let all = refusal(Scope::AllCpus, libc::EACCES, 2, false);
        assert!(all.contains("kernel.perf_event_paranoid is 2") && all.contains("CAP_PERFMON"), "{all}");
        assert!(all.contains("`sysctl kernel.perf_event_paranoid=0`") && !all.contains(":u"), "{all}");
        let task = refusal(Scope::Task, libc::EACCES, 2, false);
        assert!(
            task.contains("`sysctl kernel.perf_event_paranoid=1`") && task.ends_with("--event cpu-clock:u"),
            "{task}"
        );
        // Debian's level 3 applies to user code too.
        let task = refusal(Scope::Task, libc::EACCES, 3, false);
        assert!(!task.contains("cpu-clock:u"), "{task}");
        let program = refusal(Scope::TaskWithoutKernel, libc::EACCES, 3, false);
        assert!(program.contains("`sysctl kernel.perf_event_paranoid=2`"), "{program}");
    }

    #[test]
    fn refusal_explains_capabilities_of_user_namespaces() {
        assert!(refusal(Scope::AllCpus, libc::EACCES, 2, true).contains("of a user namespace do not count"));
        assert!(!refusal(Scope::AllCpus, libc::EACCES, 2, false).contains("namespace"));
    }

    #[test]
    fn refusal_by_seccomp_or_ptrace_does_not_blame_perf_event_paranoid() {
        assert!(refusal(Scope::AllCpus, libc::EPERM, 2, true).contains("seccomp"));
        assert!(refusal(Scope::AllCpus, libc::ENOSYS, -1, true).contains("seccomp"));
        // The setting permits it, so the process must be another user's (ptrace_may_access).
        assert!(refusal(Scope::Task, libc::EACCES, 1, false).contains("another user's"));
    }

    #[test]
    fn capabilities_are_read_from_the_effective_set() {
        let status = |hex: &str| format!("CapPrm:\t000001ffffffffff\nCapEff:\t{hex}\n");
        assert_eq!(has_capability(&status("000001ffffffffff")), Some(true));
        assert_eq!(has_capability(&status("0000004000000000")), Some(true));
        assert_eq!(has_capability(&status("0000000000200000")), Some(true));
        assert_eq!(has_capability(&status("0000000000003000")), Some(false));
        assert_eq!(has_capability("Name:\tx\n"), None);
    }

    #[test]
    fn all_zero_kallsyms_addresses_count_as_hidden() {
        assert!(are_hidden(&b"0000000000000000 T _text\n0000000000000000 T start\n"[..]));
        // The per-CPU area begins at 0.
        assert!(!are_hidden(&b"0000000000000000 A fixed_percpu_data\nffffffff81000000 T _text\n"[..]));
        assert!(!are_hidden(&b""[..]));
    }
}
