//! How the threads of a process are scheduled.
//!
//! The system calls take the number of a thread. It is looked up right before, below the folder of a process whose start was
//! compared; the kernel gives numbers in rising order, so that no other thread gets it meanwhile.

use crate::error::AccessError;
use slowpath_remedies::setting::{Cpus, POLICIES, Policy, Process, Scheduling, Threads};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Passes over the threads: each finds those that were created by threads which the last one had not reached.
const MOST_PASSES: usize = 16;

fn folder(pid: u32) -> PathBuf {
    Path::new("/proc").join(pid.to_string())
}

/// State and start of a process or thread, from its `stat` (proc_pid_stat(5), fields 3 and 22).
fn state(folder: &Path) -> Option<(String, u64)> {
    let text = fs::read_to_string(folder.join("stat")).ok()?;
    // The name before them may have spaces and brackets.
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace();
    let state = fields.next()?.to_owned();
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// The process with its start.
pub(super) fn named(process: Process) -> Result<Process, AccessError> {
    let (_, start) = state(&folder(process.pid)).ok_or(AccessError::NoProcess(process.pid))?;
    if process.start.is_some_and(|expected| expected != start) {
        return Err(AccessError::OtherProcess(process.pid));
    }
    Ok(Process { start: Some(start), ..process })
}

/// The threads of a process that have not ended.
fn threads(process: Process) -> Result<Vec<u32>, AccessError> {
    named(process)?;
    let tasks = folder(process.pid).join("task");
    let list = fs::read_dir(&tasks).map_err(|_| AccessError::NoProcess(process.pid))?;
    let mut threads: Vec<u32> =
        list.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let is_alive = |thread: &u32| {
        state(&tasks.join(thread.to_string())).is_some_and(|(state, _)| !matches!(&*state, "Z" | "X" | "x"))
    };
    threads.retain(is_alive);
    // Unless the process is still there, they are another one's.
    named(process)?;
    if threads.is_empty() { Err(AccessError::NoProcess(process.pid)) } else { Ok(threads) }
}

/// The value of each thread.
pub(super) fn read(process: Process, what: Scheduling) -> Result<Threads, AccessError> {
    let mut each = BTreeMap::new();
    for thread in threads(process)? {
        match get(thread, what) {
            Ok(value) => drop(each.insert(thread, value?)),
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error) => return Err(AccessError::Kernel(error)),
        }
    }
    if each.is_empty() { Err(AccessError::NoProcess(process.pid)) } else { Ok(Threads::Each(each)) }
}

/// Gives each thread that has its value of `from` that of `to`.
pub(super) fn write(
    process: Process,
    what: Scheduling,
    from: &Threads,
    to: &Threads,
) -> Result<(), AccessError> {
    for _ in 0..MOST_PASSES {
        let Threads::Each(found) = read(process, what)? else { return Ok(()) };
        let mut has_changed = false;
        for (thread, value) in found {
            let [old, new] = [from, to].map(|values| values.of(process.pid, thread));
            if value == new || value != old {
                continue;
            }
            match set(thread, what, new) {
                Ok(()) => has_changed = true,
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => return Err(refused(what, error)),
            }
        }
        if !has_changed {
            return Ok(());
        }
    }
    Ok(())
}

fn refused(what: Scheduling, error: io::Error) -> AccessError {
    let why = match (what, error.raw_os_error()) {
        // sched_setscheduler() with RT_GROUP_SCHED (kernel/sched/syscalls.c).
        (Scheduling::Policy, Some(libc::EPERM)) => {
            "its control group may have no real-time budget (cpu.rt_runtime_us)"
        }
        (Scheduling::Affinity, Some(libc::EINVAL)) => {
            "its cpuset has none of these CPUs, or it is a thread of the kernel that is bound to one"
        }
        _ => return AccessError::Kernel(error),
    };
    AccessError::Absent(format!("the kernel refuses it ({error}): {why}"))
}

/// Calls by their numbers: not every libc has them, and some have them do nothing.
fn call(number: libc::c_long, arguments: [usize; 3]) -> io::Result<usize> {
    let [first, second, third] = arguments;
    // SAFETY: the arguments are numbers, or pointers to values of the caller. Those live until the call returns, and have the size
    // that the call is given.
    let returned = unsafe { libc::syscall(number, first, second, third) };
    usize::try_from(returned).map_err(|_| io::Error::last_os_error())
}

/// Words of a mask of 8,192 CPUs, more than any kernel has.
type Mask = [usize; 8192 / usize::BITS as usize];
const NO_CPU: Mask = [0; 8192 / usize::BITS as usize];
const PROCESS: usize = libc::PRIO_PROCESS as usize;

/// The value of a thread; the inner error is of a policy that cannot be restored.
fn get(thread: u32, what: Scheduling) -> io::Result<Result<String, AccessError>> {
    let thread = thread as usize;
    Ok(Ok(match what {
        // The call returns 20 minus the value (getpriority(2), C library/kernel differences).
        Scheduling::Nice => {
            let returned = call(libc::SYS_getpriority, [PROCESS, thread, 0])?;
            (20 - i64::try_from(returned).unwrap_or(20)).to_string()
        }
        Scheduling::Policy => {
            let found = call(libc::SYS_sched_getscheduler, [thread, 0, 0])?;
            let mut priority: libc::c_int = 0;
            call(libc::SYS_sched_getparam, [thread, &raw mut priority as usize, 0])?;
            let reset = libc::SCHED_RESET_ON_FORK as usize;
            let number = u32::try_from(found & !reset).unwrap_or(u32::MAX);
            if !POLICIES.iter().any(|(_, known, _)| *known == number) {
                let why = format!("thread {thread} has a policy that slowpath could not restore ({number})");
                return Ok(Err(AccessError::Absent(why)));
            }
            let priority = u32::try_from(priority).unwrap_or(0);
            Policy { number, priority, is_reset_on_fork: found & reset != 0 }.to_string()
        }
        Scheduling::Affinity => {
            let mut mask = NO_CPU;
            let size = size_of::<Mask>();
            call(libc::SYS_sched_getaffinity, [thread, size, &raw mut mask as usize])?;
            cpus(&mask)
        }
    }))
}

fn set(thread: u32, what: Scheduling, value: &str) -> io::Result<()> {
    let thread = thread as usize;
    let unfit = || io::Error::from(io::ErrorKind::InvalidInput);
    match what {
        Scheduling::Nice => {
            let nice: i32 = value.parse().map_err(|_| unfit())?;
            call(libc::SYS_setpriority, [PROCESS, thread, nice as usize])
        }
        Scheduling::Policy => {
            let policy = Policy::from_text(value).ok_or_else(unfit)?;
            let reset = if policy.is_reset_on_fork { libc::SCHED_RESET_ON_FORK as usize } else { 0 };
            let priority = policy.priority as libc::c_int;
            // Unlike sched_setattr(2), this keeps the nice value and all else.
            call(
                libc::SYS_sched_setscheduler,
                [thread, policy.number as usize | reset, &raw const priority as usize],
            )
        }
        Scheduling::Affinity => {
            let cpus: Cpus = value.parse().map_err(|_| unfit())?;
            let mut mask = NO_CPU;
            for cpu in cpus.iter().map(|cpu| cpu as usize) {
                let bits = usize::BITS as usize;
                *mask.get_mut(cpu / bits).ok_or_else(unfit)? |= 1 << (cpu % bits);
            }
            call(libc::SYS_sched_setaffinity, [thread, size_of::<Mask>(), &raw const mask as usize])
        }
    }
    .map(drop)
}

fn cpus(mask: &Mask) -> String {
    let bits = usize::BITS as usize;
    // The kernel's list: words of the machine, the first with the lowest CPUs.
    let has = |cpu: &usize| mask[cpu / bits] >> (cpu % bits) & 1 != 0;
    let list: Vec<String> = (0..mask.len() * bits).filter(has).map(|cpu| cpu.to_string()).collect();
    list.join(",").parse::<Cpus>().map_or_else(|_| list.join(","), |cpus| cpus.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Process {
        named(Process { pid: std::process::id(), start: None }).expect("this process")
    }

    #[test]
    fn own_threads_are_read_with_their_values() {
        for what in [Scheduling::Nice, Scheduling::Policy, Scheduling::Affinity] {
            let Threads::Each(each) = read(own(), what).expect("values") else { panic!("a list") };
            assert!(each.contains_key(&own().pid), "{each:?}");
            assert!(each.values().all(|value| Threads::parse(what, value).is_ok()), "{each:?}");
        }
    }

    #[test]
    fn a_process_is_known_by_its_start() {
        let other = Process { start: own().start.map(|start| start + 1), ..own() };
        assert!(matches!(read(other, Scheduling::Nice), Err(AccessError::OtherProcess(_))));
        let none = Process { pid: 4 << 20, start: None };
        assert!(matches!(read(none, Scheduling::Nice), Err(AccessError::NoProcess(_))));
    }
}
