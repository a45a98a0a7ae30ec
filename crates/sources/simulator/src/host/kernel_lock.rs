//! The lock of the whole kernel, which a system call on a socket holds until 2.2 (`lock_kernel`): a process on another CPU
//! that makes one spins until the first sleeps (`schedule` gives it up) or returns. Softirqs do not ask for it.

use super::schedule::TaskId;
use slowpath_scenario::Cost;

/// The CPU that holds it.
#[derive(Clone, Debug, Default)]
pub struct KernelLock {
    holder: Option<TaskId>,
    /// The CPUs that spin for it.
    spinning: Vec<TaskId>,
}

/// A spinning CPU looks again when the lock is released, and after this time at the latest.
pub const LOOKS_AGAIN: Cost = Cost::nanos(1_000_000_000);

impl KernelLock {
    /// A task wants it: whether it has it now. If not, it spins.
    pub fn take(&mut self, task: TaskId) -> bool {
        let is_its_own = *self.holder.get_or_insert(task) == task;
        if !is_its_own && !self.spinning.contains(&task) {
            self.spinning.push(task);
        }
        is_its_own
    }

    /// A task gives it up; `false` if it did not have it.
    pub fn give_up(&mut self, task: TaskId) -> bool {
        let had_it = self.holder == Some(task);
        if had_it {
            self.holder = None;
        }
        had_it
    }

    /// The next that spins for it no more and is to look again: the last to have come.
    pub fn next_to_look(&mut self) -> Option<TaskId> {
        self.spinning.pop()
    }
}
