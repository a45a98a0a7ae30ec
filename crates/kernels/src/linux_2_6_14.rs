//! Linux 2.6.14 (October 2005), as wu measured it: NAPI, the O(1) scheduler, a preemptible kernel, the prequeue.

use crate::profile::KernelProfile;
use crate::receive::{
    BacklogThrottle, BottomHalves, DrainSoftirqs, PacketIntake, ReceivePath, SocketBacklogLimit,
};
use crate::schedule::{Preemption, Scheduler};
use crate::transmit::{QueueDiscipline, TransmitPath};
use slowpath_tcp::choices::Choices;
use slowpath_tcp::sysctl::Sysctls;
use std::time::Duration;

/// With wu's change: a process for which packets wait on the prequeue or the backlog goes on when its slice is over, and
/// yields when it has seen to them (section 5, listings 1 and 2).
pub fn wu() -> KernelProfile {
    KernelProfile {
        name: "linux-2.6.14-wu".to_owned(),
        scheduler: Scheduler::O1 { extra_runs: true },
        ..profile()
    }
}

/// The table.
pub fn profile() -> KernelProfile {
    KernelProfile {
        name: "linux-2.6.14".to_owned(),
        receive: ReceivePath {
            intake: PacketIntake::Napi,
            bottom_halves: BottomHalves::EachCpu,
            throttle: BacklogThrottle::Absent,
            netdev_max_backlog: 1000,
            netdev_budget: 300,
            netdev_budget_time: Duration::from_millis(4),
            dev_weight: 64,
            softirq_restarts: 10,
            softirq_time: None,
            gro: false,
            socket_backlog: SocketBacklogLimit::Unlimited,
            coalesce_backlog: false,
            drain_softirqs: DrainSoftirqs::OffBetweenOffers,
            busy_poll: false,
            busy_read: Duration::ZERO,
        },
        transmit: TransmitPath {
            qdisc: QueueDiscipline::PfifoFast,
            txqueuelen: 1000,
            gso: false,
            local_drop_notified: true,
        },
        scheduler: Scheduler::O1 { extra_runs: false },
        preemption: Preemption::Full,
        big_kernel_lock: false,
        tcp: Choices::LINUX_2_6_14,
        sysctls: Sysctls::LINUX_2_6_14,
    }
}
