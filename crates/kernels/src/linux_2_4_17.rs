//! Linux 2.4.17 (December 2001), as weigle measured it: before NAPI, the O(1) scheduler and receive-buffer tuning.

use crate::profile::KernelProfile;
use crate::receive::{
    BacklogThrottle, BottomHalves, DrainSoftirqs, PacketIntake, ReceivePath, SocketBacklogLimit,
};
use crate::schedule::{Preemption, Scheduler};
use crate::transmit::{QueueDiscipline, TransmitPath};
use slowpath_tcp::choices::Choices;
use slowpath_tcp::sysctl::Sysctls;
use std::time::Duration;

/// With Dynamic Right-Sizing, LANL's patch.
pub fn drs() -> KernelProfile {
    KernelProfile { name: "linux-2.4.17-drs".to_owned(), tcp: Choices::LINUX_2_4_17_DRS, ..profile() }
}

/// The table.
pub fn profile() -> KernelProfile {
    KernelProfile {
        name: "linux-2.4.17".to_owned(),
        receive: ReceivePath {
            intake: PacketIntake::CpuBacklog,
            bottom_halves: BottomHalves::EachCpu,
            throttle: BacklogThrottle::UntilEmpty,
            netdev_max_backlog: 300,
            netdev_budget: 300,
            netdev_budget_time: Duration::from_millis(10),
            dev_weight: 64,
            softirq_restarts: 1,
            softirq_time: None,
            gro: false,
            socket_backlog: SocketBacklogLimit::Unlimited,
            coalesce_backlog: false,
            drain_softirqs: DrainSoftirqs::Off,
            busy_poll: false,
            busy_read: Duration::ZERO,
        },
        transmit: TransmitPath {
            qdisc: QueueDiscipline::PfifoFast,
            txqueuelen: 100,
            gso: false,
            local_drop_notified: true,
        },
        scheduler: Scheduler::Goodness,
        preemption: Preemption::None,
        big_kernel_lock: false,
        tcp: Choices::LINUX_2_4_17,
        sysctls: Sysctls::LINUX_2_4_17,
    }
}
