//! Scheduling of a task, and its CPU time.
//!
//! To Linux, a thread is a task like a process. Tasks of one session, and of one control group, share the CPU equally
//! (`sched_autogroup`, sched(7)): everything that the lab starts stays in its session, so that a reader has ten hogs
//! next to it as on a host of its own. All other sessions of the machine together are one more competitor.

use crate::error::LabError;
use serde::{Deserialize, Serialize};

/// A scheduling class (sched(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// `SCHED_OTHER`.
    Other,
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_FIFO`, at the lowest priority: below all of the lab's own threads.
    Fifo,
}

impl Class {
    const ALL: [(Self, libc::c_int); 3] =
        [(Self::Other, libc::SCHED_OTHER), (Self::Idle, libc::SCHED_IDLE), (Self::Fifo, libc::SCHED_FIFO)];

    fn policy(self) -> libc::c_int {
        Self::ALL[self as usize].1
    }
}

/// How a task is scheduled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduling {
    /// Its class.
    pub class: Class,
    /// Its nice value, −20…19.
    pub nice: i8,
    /// The machine's CPUs that it may run on; empty for all of its creator's.
    pub cpus: Vec<u32>,
}

impl Scheduling {
    /// Applies it to a task by its id; 0 is the calling thread.
    ///
    /// # Errors
    /// If the kernel refuses, as it does a negative nice value and a real-time class without the privilege
    /// (`CAP_SYS_NICE`), and CPUs that do not exist.
    pub fn apply(&self, task: libc::pid_t) -> Result<(), LabError> {
        set_cpus(task, &self.cpus)?;
        let id = task.cast_unsigned();
        // SAFETY: plain values, of which the kernel checks all.
        if unsafe { libc::setpriority(libc::PRIO_PROCESS, id, self.nice.into()) } != 0 {
            return Err(LabError::last_os(format!("set the nice value {}", self.nice)));
        }
        let parameter = libc::sched_param { sched_priority: i32::from(self.class == Class::Fifo) };
        // SAFETY: the parameter is live, and the kernel checks the rest.
        if unsafe { libc::sched_setscheduler(task, self.class.policy(), &raw const parameter) } != 0 {
            return Err(LabError::last_os(format!("set the scheduling class {:?}", self.class)));
        }
        Ok(())
    }
}

const MOST_CPUS: u32 = libc::CPU_SETSIZE.cast_unsigned();

/// Binds a task to CPUs; 0 is the calling thread, and an empty list changes nothing.
///
/// # Errors
/// If the machine has none of them.
pub fn set_cpus(task: libc::pid_t, cpus: &[u32]) -> Result<(), LabError> {
    if cpus.is_empty() {
        return Ok(());
    }
    // No kernel has CPUs that do not fit in the set.
    let known = cpus.iter().filter(|cpu| **cpu < MOST_CPUS);
    // SAFETY: all-zero is the empty set, and no number is beyond its end.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        known.for_each(|cpu| libc::CPU_SET(*cpu as usize, &mut set));
        set
    };
    // SAFETY: the set is live and its true size is passed with it.
    if unsafe { libc::sched_setaffinity(task, size_of::<libc::cpu_set_t>(), &raw const set) } != 0 {
        return Err(LabError::last_os(format!("bind a task to CPUs {cpus:?}")));
    }
    Ok(())
}

/// The machine's CPUs that the calling thread may run on, in order.
pub fn own_cpus() -> Vec<u32> {
    // SAFETY: all-zero is a set, which the call fills; its true size is passed with it.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        set
    };
    // SAFETY: the set is live, and no number is beyond its end.
    (0..MOST_CPUS).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu as usize, &set) }).collect()
}

/// A task's scheduling and CPU time as the kernel reports them: settings are read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// How it was scheduled.
    pub scheduling: Scheduling,
    /// Time on a CPU.
    pub ran_ns: u64,
    /// Time runnable and waiting for a CPU.
    pub waited_ns: u64,
}

impl TaskRecord {
    /// The record of the calling thread; `None` if the kernel does not count this (`CONFIG_SCHED_INFO`).
    pub fn of_this_thread() -> Option<Self> {
        // Time on a CPU and time waiting for one, in nanoseconds (Documentation/scheduler/sched-stats.rst).
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        let mut numbers = text.split_ascii_whitespace().map_while(|word| word.parse().ok());
        let (ran_ns, waited_ns) = (numbers.next()?, numbers.next()?);
        // SAFETY: plain values; −1 is a nice value as well as an error, which this cannot have.
        let (policy, nice) =
            unsafe { (libc::sched_getscheduler(0), libc::getpriority(libc::PRIO_PROCESS, 0)) };
        let (class, _) = Class::ALL.into_iter().find(|(_, known)| *known == policy)?;
        let nice = i8::try_from(nice).ok()?;
        Some(Self { scheduling: Scheduling { class, nice, cpus: own_cpus() }, ran_ns, waited_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings that need no privilege are applied, and another thread's are unchanged.
    #[test]
    fn thread_scheduling_reads_back_as_set() {
        let before = own_cpus();
        let asked = Scheduling { class: Class::Idle, nice: 7, cpus: vec![before[before.len() - 1]] };
        let record = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                asked.apply(0).expect("everybody may lower their priority");
                TaskRecord::of_this_thread().expect("this kernel accounts for tasks")
            });
            thread.join().expect("no panic")
        });
        assert_eq!(record.scheduling, asked);
        assert!(record.ran_ns > 0);
        assert_eq!(own_cpus(), before);
        let nobody = Scheduling { cpus: vec![u32::MAX], ..asked };
        assert!(nobody.apply(0).is_err());
    }
}
