//! The lock of the whole kernel, which a system call on a socket holds until 2.2 (`lock_kernel`): a process on another CPU
//! that makes one spins until the first sleeps (`schedule` gives it up) or returns. Softirqs do not ask for it.

use super::cpus::Cpus;
use super::schedule::TaskId;
use slowpath_scenario::Cost;

/// Who has it.
#[derive(Clone, Debug, Default)]
pub struct KernelLock {
    holder: Option<TaskId>,
    /// Who spins for it.
    spinning: Vec<TaskId>,
}

/// Who spins looks again when the lock is given up, and after this at the latest.
pub const LOOKS_AGAIN: Cost = Cost::nanos(1_000_000_000);

impl Cpus {
    /// Whether a task can go on: it has the lock, gets it, or does not need it.
    pub(super) fn has_kernel(&mut self, task: TaskId) -> bool {
        let Some(lock) = &mut self.kernel_lock else { return true };
        if !self.tasks[task.index()].is_in_call() {
            self.leave_kernel(task);
            return true;
        }
        let is_its_own = *lock.holder.get_or_insert(task) == task;
        if !is_its_own && !lock.spinning.contains(&task) {
            lock.spinning.push(task);
        }
        is_its_own
    }

    /// A task gives the lock up, if it has it: whoever spins looks again.
    pub(super) fn leave_kernel(&mut self, task: TaskId) {
        let Some(lock) = self.kernel_lock.as_mut().filter(|lock| lock.holder == Some(task)) else { return };
        lock.holder = None;
        while let Some(spinner) = lock.spinning.pop() {
            let waits = &mut self.tasks[spinner.index()];
            let cpu = &mut self.all[waits.cpu];
            if cpu.current == Some(spinner) {
                cpu.drop_task_piece();
                self.kicked |= 1 << waits.cpu;
            } else {
                waits.left = None;
            }
        }
    }
}
