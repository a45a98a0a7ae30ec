//! The big kernel lock, which a system call on a socket holds until 2.2 (`lock_kernel`): a process that makes one on
//! another CPU spins until the first sleeps (`schedule` releases it) or returns. Softirqs do not take it.

use super::schedule::TaskId;
use slowpath_scenario::Cost;

/// The CPU that holds it.
#[derive(Clone, Debug, Default)]
pub struct KernelLock {
    holder: Option<TaskId>,
    /// The CPUs that spin for it.
    spinning: Vec<TaskId>,
}

/// A spinning CPU tries again when the lock is released, and after this time at the latest.
pub const LOOKS_AGAIN: Cost = Cost::nanos(1_000_000_000);

impl KernelLock {
    /// A task requests it; returns whether it has it now. If not, it spins.
    pub fn take(&mut self, task: TaskId) -> bool {
        let is_its_own = *self.holder.get_or_insert(task) == task;
        if !is_its_own && !self.spinning.contains(&task) {
            self.spinning.push(task);
        }
        is_its_own
    }

    /// A task releases it; `false` if it did not have it.
    pub fn give_up(&mut self, task: TaskId) -> bool {
        let had_it = self.holder == Some(task);
        if had_it {
            self.holder = None;
        }
        had_it
    }

    /// The next spinning task that is to try again: the last to arrive.
    pub fn next_to_look(&mut self) -> Option<TaskId> {
        self.spinning.pop()
    }
}
