//! The receive path: from the device to TCP.

use crate::choice::Subject;
use std::time::Duration;

/// What takes packets off the device's ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketIntake {
    /// The interrupt handler takes each packet and puts it on its CPU's backlog, from which the softirq takes it
    /// (`netif_rx`, the only way before 2.4.20).
    CpuBacklog,
    /// The interrupt only schedules a poll; the softirq takes packets off the ring, within a budget (`net_rx_action`,
    /// NAPI).
    Napi,
}

/// How a full CPU backlog drops packets. Only for [`PacketIntake::CpuBacklog`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BacklogThrottle {
    /// From the first packet that does not fit, everything is dropped until the backlog is empty (`netif_rx`, until
    /// 2.6.12; leith 1.2).
    UntilEmpty,
    /// Only what does not fit is dropped (`netif_rx` since 2.6.13; leith's change).
    Absent,
}

/// The limit of a locked socket's backlog, in bytes of truesize.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SocketBacklogLimit {
    /// No limit (`sk_add_backlog`, until 2.6.33).
    Unlimited,
    /// The receive buffer, the send buffer and 64 KiB, less what waits in the receive queue (`tcp_add_backlog`, 4.9 to
    /// 6.0, with `sk_rcvqueues_full`).
    BothBuffers,
    /// As [`BothBuffers`](Self::BothBuffers), with half the send buffer (6.1 to 6.9).
    HalfSendBuffer,
    /// Twice the receive buffer, half the send buffer and 64 KiB (`tcp_add_backlog` since 6.10).
    TwiceReceiveBuffer,
}

/// What the receive softirq does with a packet whose socket a process has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockedSocket {
    /// It puts the packet on the socket's backlog, which the process drains when it releases the lock
    /// (`sk_add_backlog`).
    Backlog,
    /// It processes the packet, and timers do, as no process ever locks a socket: TCP only in interrupt context. No
    /// kernel does this (wu, section 5, the first of two approaches).
    Process,
}

/// Whether softirqs run on the CPU of a process while it processes packets that waited for it: those of its socket's
/// backlog when it releases the lock (`__release_sock`), and those of the prequeue (`tcp_prequeue_process`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DrainSoftirqs {
    /// They do not: packets wait on the NIC's ring until the process is done (until 2.6.10).
    Off,
    /// They do not, but between two packets of the backlog the process may yield the CPU (`cond_resched_softirq`,
    /// 2.6.11 to 4.6).
    OffBetweenOffers,
    /// They do (since 4.7).
    On,
}

/// How many CPUs can run softirqs concurrently, if several CPUs take interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BottomHalves {
    /// One: a CPU that finds another one running them leaves the work to it, and all CPUs share one backlog
    /// (`do_bottom_half`, `softirq_trylock`, `NET_BH`; until 2.2).
    OneAtATime,
    /// Each CPU, with its own backlog and poll list (`softnet_data`, since 2.4).
    EachCpu,
}

/// What a sysctl sets as a time.
pub(crate) trait Time: From<Duration> {
    /// The time, with so many ticks per second.
    fn time(self, hz: u32) -> Duration;
}

impl Time for Duration {
    fn time(self, _hz: u32) -> Duration {
        self
    }
}

/// A time limit that the kernel compares with its tick counter (`jiffies`): it is over at the first tick that finds it
/// so, up to a tick earlier than its time says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TickLimit {
    /// A number of ticks.
    Ticks(u32),
    /// A time, rounded up to ticks (`usecs_to_jiffies`).
    Time(Duration),
}

impl TickLimit {
    /// The limit in ticks, at least one.
    pub fn ticks(self, hz: u32) -> u32 {
        let ticks = match self {
            Self::Ticks(ticks) => ticks,
            Self::Time(time) => {
                let ticks = (time.as_nanos() * u128::from(hz)).div_ceil(1_000_000_000);
                u32::try_from(ticks).unwrap_or(u32::MAX)
            }
        };
        ticks.max(1)
    }
}

impl From<Duration> for TickLimit {
    fn from(time: Duration) -> Self {
        Self::Time(time)
    }
}

impl Time for TickLimit {
    fn time(self, hz: u32) -> Duration {
        match self {
            Self::Ticks(ticks) => {
                Duration::from_nanos(u64::from(ticks) * 1_000_000_000 / u64::from(hz.max(1)))
            }
            Self::Time(time) => time,
        }
    }
}

declare! {
    /// How packets come from the device to TCP.
    own ReceivePath of release;
    parts {}
    choices {
        intake: PacketIntake = {
            name: "intake", subject: Subject::ReceivePath,
            values: { "cpu-backlog" => CpuBacklog, "napi" => Napi },
            meaning: "what takes packets off the device's ring",
            source: "net/core/dev.c: netif_rx and its CPU's backlog until 2.4.19; netif_receive_skb from a poll (NAPI) since 2.4.20",
            kernels: [PacketIntake::CpuBacklog, Linux2_6_14 => PacketIntake::Napi],
        };
        bottom_halves: BottomHalves = {
            name: "bottom-halves", subject: Subject::ReceivePath,
            values: { "one-at-a-time" => OneAtATime, "each-cpu" => EachCpu },
            meaning: "on how many CPUs softirqs run at once, if several CPUs take interrupts",
            source: "kernel/softirq.c: do_bottom_half, one at a time (softirq_trylock, NET_BH), in 2.2; do_softirq, each CPU its own, since \
                2.4",
            kernels: [BottomHalves::OneAtATime, Linux2_4_17 => BottomHalves::EachCpu],
        };
        throttle: BacklogThrottle = {
            name: "throttle", subject: Subject::ReceivePath,
            values: { "until-empty" => UntilEmpty, "none" => Absent },
            meaning: "what a CPU's backlog drops when it is full",
            source: "net/core/dev.c: netif_rx, softnet_data.throttle until 2.6.12; drops only what does not fit since 2.6.13",
            kernels: [
                BacklogThrottle::UntilEmpty, Linux2_4_23Leith => BacklogThrottle::Absent,
                Linux2_6_14 => BacklogThrottle::Absent,
            ],
        };
        netdev_max_backlog: u32 = {
            name: "netdev-max-backlog", subject: Subject::ReceivePath,
            range: 1..=10_000_000,
            meaning: "limit of packets on a CPU's backlog",
            source: "net/core/dev.c: netdev_max_backlog, 300 until 2.6.12, 1000 since 2.6.13",
            sysctl: value "net.core.netdev_max_backlog",
            kernels: [300, Linux2_6_14 => 1000],
        };
        netdev_budget: u32 = {
            name: "netdev-budget", subject: Subject::ReceivePath,
            range: 1..=10_000_000,
            meaning: "limit of packets in one run of the receive softirq",
            source: "net/core/dev.c: net_rx_action, netdev_max_backlog until 2.6.12; netdev_budget, 300, since 2.6.13",
            sysctl: value "net.core.netdev_budget",
            kernels: [300],
        };
        netdev_budget_time: TickLimit = {
            name: "netdev-budget-time", subject: Subject::ReceivePath,
            meaning: "time limit of one run of the receive softirq: over at a tick, so 1 to 2 ticks if it is 2",
            source: "net/core/dev.c: net_rx_action, jiffies - start_time > 1 until 4.11; netdev_budget_usecs, 2 ticks, since 4.12",
            sysctl: time "net.core.netdev_budget_usecs" in MICROSECOND,
            kernels: [TickLimit::Ticks(2)],
        };
        dev_weight: u32 = {
            name: "dev-weight", subject: Subject::ReceivePath,
            range: 1..=10_000_000,
            meaning: "limit of packets in one poll of one device",
            source: "net/core/dev.c: weight_p and NAPI_POLL_WEIGHT, 64",
            sysctl: value "net.core.dev_weight",
            kernels: [64],
        };
        softirq_restarts: u32 = {
            name: "softirq-restarts", subject: Subject::ReceivePath,
            range: 0..=1_000,
            meaning: "how often pending softirqs are restarted before ksoftirqd takes over",
            source: "kernel/softirq.c: do_softirq, once more for new ones in 2.4; MAX_SOFTIRQ_RESTART, 10, since 2.5",
            kernels: [1, Linux2_6_14 => 10],
        };
        softirq_time: Option<Duration> = {
            name: "softirq-time", subject: Subject::ReceivePath,
            meaning: "time limit of these restarts",
            source: "kernel/softirq.c: MAX_SOFTIRQ_TIME, 2 ms, since 3.9",
            kernels: [None, Linux4_18 => Some(Duration::from_millis(2))],
        };
        gro: bool = {
            name: "gro", subject: Subject::ReceivePath,
            meaning: "whether packets of a flow are merged before IP",
            source: "net/core/gro.c: dev_gro_receive, since 2.6.29",
            kernels: [false, Linux4_18 => true],
        };
        locked_socket: LockedSocket = {
            name: "locked-socket", subject: Subject::ReceivePath,
            values: { "backlog" => Backlog, "process" => Process },
            meaning: "what happens to a packet whose socket a process has locked",
            source: "net/ipv4/tcp_ipv4.c: tcp_v4_rcv, sk_add_backlog if sock_owned_by_user; \"process\" is in no kernel (wu, section 5)",
            kernels: [LockedSocket::Backlog],
        };
        socket_backlog: SocketBacklogLimit = {
            name: "socket-backlog", subject: Subject::ReceivePath,
            values: {
                "unlimited" => Unlimited, "both-buffers" => BothBuffers, "half-sndbuf" => HalfSendBuffer,
                "twice-rcvbuf" => TwiceReceiveBuffer,
            },
            meaning: "limit of the backlog of a locked socket",
            source: "include/net/sock.h: sk_add_backlog, without a limit until 2.6.33; net/ipv4/tcp_ipv4.c: tcp_add_backlog, \
                both buffers until 6.0, half the send buffer since 6.1, twice the receive buffer since 6.10",
            kernels: [
                SocketBacklogLimit::Unlimited, Linux4_18 => SocketBacklogLimit::BothBuffers,
                Linux6_1 => SocketBacklogLimit::HalfSendBuffer, Linux6_12 => SocketBacklogLimit::TwiceReceiveBuffer,
            ],
        };
        coalesce_backlog: bool = {
            name: "coalesce-backlog", subject: Subject::ReceivePath,
            meaning: "whether packets in that backlog are merged",
            source: "net/ipv4/tcp_ipv4.c: tcp_add_backlog, since 5.0",
            kernels: [false, Linux5_14 => true],
        };
        drain_softirqs: DrainSoftirqs = {
            name: "drain-softirqs", subject: Subject::ReceivePath,
            values: { "off" => Off, "off-between-offers" => OffBetweenOffers, "on" => On },
            meaning: "whether softirqs run while a process drains its socket's backlog or prequeue",
            source: "net/core/sock.c: __release_sock, off until 4.6, with an offer of the CPU between two packets \
                     (cond_resched_softirq) since 2.6.11; on since 4.7",
            kernels: [
                DrainSoftirqs::Off, Linux2_6_14 => DrainSoftirqs::OffBetweenOffers,
                Linux4_18 => DrainSoftirqs::On,
            ],
        };
        busy_poll: bool = {
            name: "busy-poll", subject: Subject::ReceivePath,
            meaning: "whether a reader of an empty socket can poll the NIC (SO_BUSY_POLL)",
            source: "net/core/dev.c: napi_busy_loop, from tcp_recvmsg of net/ipv4/tcp.c; since 3.11",
            kernels: [false, Linux4_18 => true],
        };
    }
    sysctls {
        busy_read: Duration = time "net.core.busy_read" in MICROSECOND, [Duration::ZERO];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tick_limit_in_ticks_rounds_time_up() {
        // HZ, and the ticks of 4 ms and of 8.001 ms.
        for (hz, four, eight) in [(100, 1, 1), (250, 1, 3), (1000, 4, 9)] {
            assert_eq!(TickLimit::Time(Duration::from_millis(4)).ticks(hz), four, "HZ {hz}");
            assert_eq!(TickLimit::Time(Duration::from_micros(8001)).ticks(hz), eight, "HZ {hz}");
            assert_eq!(TickLimit::Ticks(2).ticks(hz), 2, "HZ {hz}");
            // The first tick ends a run that has no time at all.
            assert_eq!(TickLimit::Time(Duration::ZERO).ticks(hz), 1, "HZ {hz}");
        }
    }

    #[test]
    fn tick_limit_as_time_depends_on_hz() {
        for (hz, millis) in [(100, 20), (250, 8), (1000, 2)] {
            assert_eq!(TickLimit::Ticks(2).time(hz), Duration::from_millis(millis), "HZ {hz}");
        }
        let time = Duration::from_micros(1500);
        assert_eq!(TickLimit::Time(time).time(250), time);
    }
}
