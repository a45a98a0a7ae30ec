//! A kernel as a table of choices.

use crate::choice::Subject;
use crate::declare::{HasPart, HasTicks, Part};
use crate::receive::ReceivePath;
use crate::schedule::{ExtraRun, Preemption, Scheduler};
use crate::transmit::TransmitPath;
use slowpath_tcp::choices::Choices;
use slowpath_tcp::clock::Clock;
use slowpath_tcp::sysctl::Sysctls;
use std::time::Duration;

declare! {
    /// Everything that a simulated host needs to know of a kernel. Plain data.
    own KernelProfile of release;
    parts {
        /// Its name, such as `linux-6.18`; a custom profile has its base's name followed by a plus sign.
        name: String = release.name().to_owned();
        /// From the device to TCP.
        receive: ReceivePath = Part::of_release(release);
        /// From TCP to the device.
        transmit: TransmitPath = Part::of_release(release);
        /// TCP itself, including ticks (`HZ`) and the prequeue.
        tcp: Choices = Part::of_release(release);
        /// The sysctls that TCP reads, with their values after boot.
        sysctls: Sysctls = Part::of_release(release);
    }
    choices {
        scheduler: Scheduler = {
            name: "scheduler", subject: Subject::Tasks,
            meaning: "how the next task is chosen",
            source: "kernel/sched.c: goodness in 2.4, active and expired arrays in 2.6.0 to 2.6.22; \
                     kernel/sched/fair.c: CFS in 2.6.23 to 6.5; pick_eevdf since 6.6, DELAY_DEQUEUE since 6.12, base slice \
                     0.75 ms until 6.14 and 0.7 ms since 6.15",
            kernels: [
                Scheduler::Goodness, Linux2_6_14 => Scheduler::O1 { extra_run: ExtraRun::Never },
                Linux2_6_14Wu => Scheduler::O1 { extra_run: ExtraRun::InRecvmsg },
                Linux4_18 => Scheduler::Cfs,
                Linux6_6 => Scheduler::Eevdf { base_slice: Duration::from_micros(750), delayed_dequeue: false },
                Linux6_12 => Scheduler::Eevdf { base_slice: Duration::from_micros(750), delayed_dequeue: true },
                Linux6_18 => Scheduler::Eevdf { base_slice: Duration::from_micros(700), delayed_dequeue: true },
            ],
        };
        preemption: Preemption = {
            name: "preemption", subject: Subject::Tasks,
            values: { "none" => None, "voluntary" => Voluntary, "full" => Full },
            meaning: "where a task inside the kernel can be preempted",
            source: "Kconfig.preempt: not in 2.4; PREEMPT since 2.6, on in wu's kernel; PREEMPT_DYNAMIC's default is voluntary",
            kernels: [Preemption::None, Linux2_6_14 => Preemption::Full, Linux4_18 => Preemption::Voluntary],
        };
        big_kernel_lock: bool = {
            name: "big-kernel-lock", subject: Subject::Tasks,
            meaning: "whether only one process at a time can be in a system call on a socket, while others spin",
            source: "fs/read_write.c, net/socket.c: lock_kernel in sys_read, sys_write and the calls on sockets until 2.2; not since 2.4",
            kernels: [true, Linux2_4_17 => false],
        };
    }
    sysctls {}
}

impl KernelProfile {
    /// Ticks per second.
    pub fn hz(&self) -> u32 {
        self.tcp.clock.hz
    }
}

impl HasTicks for KernelProfile {
    fn hz(&self) -> u32 {
        self.hz()
    }
}

/// The place of each part in the profile.
macro_rules! has_part {
    ($($Part:ident at $($path:ident).+;)*) => {
        $(impl HasPart<$Part> for KernelProfile {
            fn part(&self) -> &$Part {
                &self.$($path).+
            }

            fn part_mut(&mut self) -> &mut $Part {
                &mut self.$($path).+
            }
        })*
    };
}

has_part! {
    ReceivePath at receive;
    TransmitPath at transmit;
    Choices at tcp;
    Clock at tcp.clock;
    Sysctls at sysctls;
}

/// Its own fields.
impl HasPart<Self> for KernelProfile {
    fn part(&self) -> &Self {
        self
    }

    fn part_mut(&mut self) -> &mut Self {
        self
    }
}
