//! A kernel as a table of choices.

use crate::receive::ReceivePath;
use crate::schedule::{Preemption, Scheduler};
use crate::transmit::TransmitPath;
use slowpath_tcp::choices::Choices;
use slowpath_tcp::sysctl::Sysctls;

/// Everything about a kernel that a simulated host needs to know. Plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelProfile {
    /// Its name, such as `linux-6.18`; a profile of one's own keeps its base's name with a plus sign behind it.
    pub name: String,
    /// From the device to TCP.
    pub receive: ReceivePath,
    /// From TCP to the device.
    pub transmit: TransmitPath,
    /// Who runs when.
    pub scheduler: Scheduler,
    /// Where a task inside the kernel can lose the CPU.
    pub preemption: Preemption,
    /// Whether one process at a time is in a system call on a socket (`lock_kernel`, until 2.2).
    pub big_kernel_lock: bool,
    /// TCP itself; ticks (`HZ`) and the prequeue are among these.
    pub tcp: Choices,
    /// The sysctls that TCP reads, as they are after boot.
    pub sysctls: Sysctls,
}

impl KernelProfile {
    /// Ticks in a second.
    pub fn hz(&self) -> u32 {
        self.tcp.clock.hz
    }
}
