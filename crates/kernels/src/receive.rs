//! How packets come from the device to TCP.

use std::time::Duration;

/// Who takes packets off the device's ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketIntake {
    /// The interrupt handler takes each packet and puts it on its CPU's backlog, from which the softirq takes it
    /// (`netif_rx`, the only way before 2.4.20).
    CpuBacklog,
    /// The interrupt only schedules a poll; the softirq takes packets off the ring, within a budget (`net_rx_action`,
    /// NAPI).
    Napi,
}

/// What a CPU's backlog does when it is full. It exists for [`PacketIntake::CpuBacklog`] only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BacklogThrottle {
    /// From the first packet too many on, everything is dropped until the backlog has run empty (`netif_rx`, until
    /// 2.6.12; leith 1.2).
    UntilEmpty,
    /// Only what does not fit is dropped (`netif_rx` since 2.6.13; leith's change).
    Absent,
}

/// How many bytes, by true size, may wait for a socket that a process has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SocketBacklogLimit {
    /// As many as come (`sk_add_backlog`, until 2.6.33).
    Unlimited,
    /// Twice the receive buffer, half the send buffer and 64 KiB (`tcp_add_backlog` of 6.18).
    TwiceReceiveBuffer,
}

/// Whether softirqs run on the CPU of a process that sees to the packets that waited for it: those of its socket's
/// backlog as it gives up the lock (`__release_sock`), and those of the prequeue (`tcp_prequeue_process`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DrainSoftirqs {
    /// They do not: what the card has waits on its ring until the process is through (until 2.6.10).
    Off,
    /// Nor here, but between two packets of the backlog the process lets another have the CPU (`cond_resched_softirq`,
    /// 2.6.11 to 4.6).
    OffBetweenOffers,
    /// They do (since 4.7).
    On,
}

/// On how many CPUs softirqs run at once, where several CPUs take interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BottomHalves {
    /// On one: who finds another at it leaves the work to that one, and the backlog is one for all CPUs (`do_bottom_half`,
    /// `softirq_trylock`, `NET_BH`; until 2.2).
    OneAtATime,
    /// On each, which has a backlog and a list of polls of its own (`softnet_data`, since 2.4).
    EachCpu,
}

/// How packets come from the device to TCP.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivePath {
    /// Who takes packets off the ring.
    pub intake: PacketIntake,
    /// Softirqs on several CPUs.
    pub bottom_halves: BottomHalves,
    /// What a full per-CPU backlog does.
    pub throttle: BacklogThrottle,
    /// Most packets on a CPU's backlog (`net.core.netdev_max_backlog`).
    pub netdev_max_backlog: u32,
    /// Most packets that one run of the receive softirq handles (`net.core.netdev_budget`).
    pub netdev_budget: u32,
    /// Longest time that one run of the receive softirq goes on (`net.core.netdev_budget_usecs`; one tick in kernels
    /// without it).
    pub netdev_budget_time: Duration,
    /// Most packets that one poll of one device handles (`net.core.dev_weight`).
    pub dev_weight: u32,
    /// How often pending softirqs are run again before `ksoftirqd` takes over (`do_softirq`).
    pub softirq_restarts: u32,
    /// Longest time that softirqs are run again, if there is one (`MAX_SOFTIRQ_TIME`).
    pub softirq_time: Option<Duration>,
    /// Whether packets of one flow are merged before IP sees them (`dev_gro_receive`).
    pub gro: bool,
    /// Room for packets whose socket is locked.
    pub socket_backlog: SocketBacklogLimit,
    /// Whether a packet that waits for a locked socket is merged into the one before it (`tcp_add_backlog`, since 5.0).
    pub coalesce_backlog: bool,
    /// Softirqs while a process sees to packets that waited for it.
    pub drain_softirqs: DrainSoftirqs,
    /// Whether a process that reads an empty socket can poll the card itself (`sk_busy_loop`, since 3.11).
    pub busy_poll: bool,
    /// For how long the sockets do that which do not say (`net.core.busy_read`, `sk_ll_usec`); zero: not at all.
    pub busy_read: Duration,
}
