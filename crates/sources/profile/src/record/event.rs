//! Chooses the event to sample, by asking the kernel with the system call that perf makes.

use super::What;
use super::error::RecordError;
use super::rights::{self, Rights, Scope};
use std::fmt;
use std::fs;
use std::io;

/// The event of a recording, and the reason for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The event's name in perf.
    pub name: String,
    /// The reason.
    pub why: Why,
}

/// Why an event was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The user asked for it.
    Asked,
    /// The CPU counts cycles, and the kernel permits sampling by them.
    Cycles,
    /// There is no usable hardware counter; the kernel's clock always exists.
    NoCycles {
        /// Whether the CPU reports a hypervisor.
        is_virtual: bool,
    },
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why {
            Why::Asked => write!(f, "sampled by {}, as asked for", self.name),
            Why::Cycles => write!(f, "sampled by the CPU's cycles"),
            Why::NoCycles { is_virtual } => {
                let machine = if is_virtual { " (a virtual machine)" } else { "" };
                write!(
                    f,
                    "this machine's CPU has no cycle counter for us{machine}; sampled by the clock, whose interrupt waits \
                     while interrupts are off, so that locks seem to cost more than they do"
                )
            }
        }
    }
}

/// Whether cache misses are sampled next to the event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheMisses {
    /// They were not asked for.
    NotAsked,
    /// The CPU counts them.
    Sampled,
    /// The kernel refuses the event, for this reason.
    Refused(String),
}

/// perf's name of the event that counts cache misses.
pub const CACHE_MISSES: &str = "cache-misses";

impl CacheMisses {
    /// Asks the kernel.
    pub(super) fn of(what: &What) -> Self {
        match open(Asked::CacheMisses, true, what) {
            Ok(()) => Self::Sampled,
            Err(error) => Self::Refused(error.to_string()),
        }
    }
}

impl fmt::Display for CacheMisses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked => f.write_str("cache misses are not sampled"),
            Self::Sampled => write!(f, "cache misses are sampled as well (perf's event {CACHE_MISSES})"),
            Self::Refused(why) => write!(
                f,
                "this machine does not count cache misses: the kernel refuses perf's event {CACHE_MISSES} ({why})"
            ),
        }
    }
}

/// Events to ask the kernel for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Cycles,
    CacheMisses,
    Clock,
}

/// The event to sample by.
pub(super) fn choose(what: &What, wanted: Option<&str>) -> Result<Chosen, RecordError> {
    let scope = Scope::of(what);
    let chosen = pick(wanted, is_virtual(), |asked, has_kernel| open(asked, has_kernel, what));
    chosen.map_err(|(source, has_kernel)| match source.raw_os_error() {
        Some(errno) if rights::is_refusal(errno) => {
            let scope = if has_kernel { scope } else { scope.without_kernel() };
            RecordError::NoRight { needs: rights::needs(scope, errno, &Rights::here()) }
        }
        Some(libc::ESRCH) => {
            RecordError::NoEvent { what: format!("{scope}: there is no such process"), source }
        }
        _ => RecordError::NoEvent { what: scope.to_string(), source },
    })
}

/// Chooses by the kernel's answers to whether an event can be opened, with or without the kernel's part. A refused
/// event is returned with whether the kernel was to be sampled.
fn pick(
    wanted: Option<&str>,
    is_virtual: bool,
    open: impl Fn(Asked, bool) -> io::Result<()>,
) -> Result<Chosen, (io::Error, bool)> {
    if let Some(name) = wanted {
        // perf parses the event itself; it needs the same permission as the clock, like every event.
        let has_kernel = !is_of_programs(name);
        open(Asked::Clock, has_kernel).map_err(|error| (error, has_kernel))?;
        return Ok(Chosen { name: name.to_owned(), why: Why::Asked });
    }
    match open(Asked::Cycles, true) {
        Ok(()) => return Ok(Chosen { name: "cycles".to_owned(), why: Why::Cycles }),
        Err(error) if error.raw_os_error().is_some_and(rights::is_refusal) => return Err((error, true)),
        // No such counter (ENOENT, ENODEV), or one without an interrupt (EOPNOTSUPP), as in perf_init_event().
        Err(_) => {}
    }
    open(Asked::Clock, true).map_err(|error| (error, true))?;
    Ok(Chosen { name: "cpu-clock".to_owned(), why: Why::NoCycles { is_virtual } })
}

/// Whether an event's modifiers exclude the kernel: `cycles:u`, `cycles:up`.
fn is_of_programs(name: &str) -> bool {
    name.rsplit_once(':')
        .is_some_and(|(_, modifiers)| modifiers.contains('u') && !modifiers.contains(['k', '/']))
}

/// The first version of `struct perf_event_attr` in linux/perf_event.h (`PERF_ATTR_SIZE_VER0`).
#[repr(C)]
#[derive(Default)]
struct Attr {
    kind: u32,
    size: u32,
    config: u64,
    sample_freq: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    config1: u64,
}

const PERF_TYPE_HARDWARE: u32 = 0;
const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_HW_CPU_CYCLES: u64 = 0;
const PERF_COUNT_HW_CACHE_MISSES: u64 = 3;
const PERF_COUNT_SW_CPU_CLOCK: u64 = 0;
const PERF_SAMPLE_IP: u64 = 1;
/// Bits of `flags`, in their order.
const DISABLED: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HV: u64 = 1 << 6;
const FREQ: u64 = 1 << 10;
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;

/// Tries to open an event; an error says that it cannot be sampled.
fn open(asked: Asked, has_kernel: bool, what: &What) -> io::Result<()> {
    let (kind, config) = match asked {
        Asked::Cycles => (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES),
        Asked::CacheMisses => (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES),
        Asked::Clock => (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK),
    };
    let mut attr = Attr { kind, config, sample_freq: 100, sample_type: PERF_SAMPLE_IP, ..Attr::default() };
    attr.size = u32::try_from(size_of::<Attr>()).unwrap_or_default();
    attr.flags = DISABLED | FREQ | if has_kernel { 0 } else { EXCLUDE_KERNEL | EXCLUDE_HV };
    let (pid, cpu) = match what {
        // Any online CPU, such as the current one.
        // SAFETY: it has no arguments.
        What::System { cpus: None } => (-1, unsafe { libc::sched_getcpu() }),
        What::System { cpus: Some(cpus) } => {
            (-1, cpus.first().map_or(0, |cpu| i32::try_from(*cpu).unwrap_or(i32::MAX)))
        }
        What::Process(pid) => (libc::pid_t::try_from(*pid).unwrap_or(libc::pid_t::MAX), -1),
        What::Command(_) => (0, -1),
    };
    // SAFETY: `attr` is live and has the stated size.
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC)
    };
    let Ok(fd) = libc::c_int::try_from(fd) else { return Err(io::ErrorKind::InvalidData.into()) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just opened, and nothing else uses it.
    unsafe { libc::close(fd) };
    Ok(())
}

/// Whether the CPU reports a hypervisor (CPUID leaf 1, ECX bit 31); CPUs other than x86 do not report it.
fn is_virtual() -> bool {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

#[cfg(test)]
mod tests {
    use super::{Asked, CacheMisses, Chosen, Why, is_of_programs, pick};
    use std::io;

    fn errno(code: i32) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(code))
    }

    #[test]
    fn cycles_are_sampled_where_the_cpu_counts_them() {
        let chosen = pick(None, false, |_, _| Ok(())).unwrap();
        assert_eq!(chosen, Chosen { name: "cycles".to_owned(), why: Why::Cycles });
    }

    #[test]
    fn cpu_clock_is_used_and_explained_without_hardware_counters() {
        for code in [libc::ENOENT, libc::EOPNOTSUPP, libc::ENODEV] {
            let open = |asked, _| if asked == Asked::Cycles { errno(code) } else { Ok(()) };
            let chosen = pick(None, true, open).unwrap();
            assert_eq!(
                chosen,
                Chosen { name: "cpu-clock".to_owned(), why: Why::NoCycles { is_virtual: true } }
            );
            assert!(
                chosen
                    .to_string()
                    .contains("no cycle counter for us (a virtual machine); sampled by the clock")
            );
        }
    }

    #[test]
    fn refused_cache_misses_are_reported_by_name() {
        let refused = CacheMisses::Refused(io::Error::from_raw_os_error(libc::ENOENT).to_string());
        assert!(refused.to_string().contains("refuses perf's event cache-misses (No such file or directory"));
    }

    #[test]
    fn permission_error_is_not_taken_for_missing_counters() {
        for code in [libc::EACCES, libc::EPERM] {
            let (error, has_kernel) = pick(None, false, |_, _| errno(code)).unwrap_err();
            assert_eq!((error.raw_os_error(), has_kernel), (Some(code), true));
        }
        // The counters do not exist in this virtual machine, and the clock is refused.
        let open = |asked, _| if asked == Asked::Cycles { errno(libc::ENOENT) } else { errno(libc::EACCES) };
        assert_eq!(pick(None, true, open).unwrap_err().0.raw_os_error(), Some(libc::EACCES));
    }

    #[test]
    fn user_mode_sampling_needs_no_kernel_permission() {
        let open = |_, has_kernel| if has_kernel { errno(libc::EACCES) } else { Ok(()) };
        assert!(pick(Some("cpu-clock"), false, open).is_err());
        assert_eq!(pick(Some("cpu-clock:u"), false, open).unwrap().why, Why::Asked);
    }

    #[test]
    fn u_modifier_restricts_sampling_to_user_mode() {
        for (name, expected) in [
            ("cycles", false),
            ("cycles:u", true),
            ("cycles:upp", true),
            ("cycles:ku", false),
            ("cycles:pp", false),
            ("sched:sched_u/k/", false),
        ] {
            assert_eq!(is_of_programs(name), expected, "{name}");
        }
    }
}
