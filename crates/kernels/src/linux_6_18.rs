//! Linux 6.18 (November 2025): today's kernel.

use crate::profile::KernelProfile;
use crate::receive::{
    BacklogThrottle, BottomHalves, DrainSoftirqs, PacketIntake, ReceivePath, SocketBacklogLimit,
};
use crate::schedule::{Preemption, Scheduler};
use crate::transmit::{QueueDiscipline, TransmitPath};
use slowpath_tcp::choices::Choices;
use slowpath_tcp::sysctl::Sysctls;
use std::time::Duration;

/// The table.
pub fn profile() -> KernelProfile {
    KernelProfile {
        name: "linux-6.18".to_owned(),
        receive: ReceivePath {
            intake: PacketIntake::Napi,
            bottom_halves: BottomHalves::EachCpu,
            throttle: BacklogThrottle::Absent,
            netdev_max_backlog: 1000,
            netdev_budget: 300,
            netdev_budget_time: Duration::from_millis(2),
            dev_weight: 64,
            softirq_restarts: 10,
            softirq_time: Some(Duration::from_millis(2)),
            gro: true,
            socket_backlog: SocketBacklogLimit::TwiceReceiveBuffer,
            coalesce_backlog: true,
            drain_softirqs: DrainSoftirqs::On,
            busy_poll: true,
            busy_read: Duration::ZERO,
        },
        transmit: TransmitPath {
            qdisc: QueueDiscipline::PfifoFast,
            txqueuelen: 1000,
            gso: true,
            local_drop_notified: true,
        },
        scheduler: Scheduler::Eevdf { base_slice: Duration::from_micros(700) },
        preemption: Preemption::Voluntary,
        big_kernel_lock: false,
        tcp: Choices::LINUX_6_18,
        sysctls: Sysctls::LINUX_6_18,
    }
}
