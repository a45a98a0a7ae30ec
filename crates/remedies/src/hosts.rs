//! Advice that needs no capture: for causes that the live kernel and `doctor` report on a host.
//!
//! The fixes for a busy receiver are those that restored the rate in the lab's runs of `wu`'s experiment
//! (`docs/src/lab-measurements.md`, "A busy receiver").

use crate::fix::{OWNER, SYS_NICE, counters, sysctl};
use crate::{Advice, Change, Fix, Host};
use slowpath_analyses::{Cause, Evidence, Limit};

/// Advice about `cause` on the host that reported it; `None` for causes that only a capture shows.
pub fn advise_on_host(cause: Cause) -> Option<Advice> {
    Some(match cause {
        Cause::LockHolderOffCpu => lock_holder_off_cpu(),
        Cause::ReaderOffCpu => reader_off_cpu(),
        Cause::SlowReader => slow_reader(),
        Cause::ReceiveBufferTooSmall => buffer_too_small(),
        Cause::AutotuningLag => autotuning_lag(),
        Cause::ReceiverDrops => receiver_drops(),
        Cause::ReceiverBusy => receiver_busy(),
        Cause::LocalQueue => local_queue(),
        Cause::LocalRateLimit => local_rate_limit(),
        Cause::SenderBusy => sender_busy(),
        Cause::FaultyLink => faulty_link(),
        Cause::SmallPackets => small_packets(),
        _ => return None,
    })
}

/// Advice on the sending host about the limit of its sender, by its evidence; `device` is the one by which the packets
/// leave. `None` if the sending host cannot change it.
pub fn advise_sending(cause: Cause, evidence: &[Evidence], device: Option<&str>) -> Option<Advice> {
    let shows = |of: fn(&Evidence) -> bool| evidence.iter().any(of);
    let is_paced = shows(|evidence| matches!(evidence, Evidence::PacingLimit { .. }));
    let is_queued = shows(|evidence| matches!(evidence, Evidence::OwnQueue { .. }));
    let advice = match cause {
        Cause::LocalRateLimit if is_paced && !is_queued => pacing_limit(),
        Cause::LocalRateLimit if is_queued && !is_paced => own_queue(),
        cause if cause.limit() == Limit::SendingHost => advise_on_host(cause)?,
        _ => return None,
    };
    Some(match device {
        Some(device) => advice.on_device(device),
        None => advice,
    })
}

/// Gives a process priority over all others.
fn first_in_line() -> Fix {
    Fix::change(Host::Receiver, "chrt -f -p 1 PID", "runs the process before all that are not real-time")
        .needs(SYS_NICE)
        .undone_by("chrt -o -p 0 PID")
        .changing(Change::first_in_line())
}

/// Lowers the priority of the other processes.
fn others_last() -> Fix {
    Fix::change(
        Host::Receiver,
        "chrt -i -p 0 OTHER_PID",
        "runs another process only when nothing else wants the CPU",
    )
    .needs(SYS_NICE)
    .undone_by("chrt -o -p 0 OTHER_PID")
}

fn gro_on(host: Host) -> Fix {
    Fix::change(host, "ethtool -K IFACE gro on", "merges packets of a flow before TCP handles them")
        .undone_by("ethtool -K IFACE gro off")
}

fn lock_holder_off_cpu() -> Advice {
    Advice::new(
        "The process that had locked the socket was off the CPU, so packets waited in the backlog and nothing \
         was acknowledged. If it was runnable, it needs a larger share of a CPU. If it was not, it waited for \
         memory: let it read into memory that is there already (mlock).",
    )
    .with(first_in_line())
    .with(others_last())
    .with(gro_on(Host::Receiver))
    .caution("A real-time process that never sleeps starves all others on its CPU.")
}

fn reader_off_cpu() -> Advice {
    Advice::new(
        "Unread data closed the window while the reader was runnable and waited for a CPU. Give it a larger \
         share, or move other processes to other CPUs (taskset).",
    )
    .with(first_in_line())
    .with(others_last())
    .with(gro_on(Host::Receiver))
    .caution("A real-time process that never sleeps starves all others on its CPU.")
}

fn slow_reader() -> Advice {
    Advice::new(
        "Unread data closed the window while the reader did something else. Find out what it waits for; let \
         it read in a thread of its own, and more at a time.",
    )
    .with(
        Fix::look(
            Host::Receiver,
            "strace -f -T -e trace=read,recvfrom,recvmsg,write,pwrite64,fsync,fdatasync,futex -p PID",
            "shows which system calls take the time between two reads; slows the process while it runs",
        )
        .needs(OWNER),
    )
}

fn buffer_too_small() -> Advice {
    Advice::new(
        "As much arrived in each RTT as the window allows, and it was read: the receive buffer is the limit. \
         Raise the third number of tcp_rmem. A program that sets SO_RCVBUF turns autotuning off and is \
         limited by net.core.rmem_max instead.",
    )
    .with_all(sysctl(
        Host::Receiver,
        "net.ipv4.tcp_rmem",
        "4096 131072 33554432",
        "lets receive buffers grow to 32 MiB, for new connections",
    ))
}

fn autotuning_lag() -> Advice {
    Advice::new(
        "As much arrived in each RTT as the window allowed, until the window had grown. Start with more: \
         raise the second number of tcp_rmem, the size with which a receive buffer begins.",
    )
    .with_all(sysctl(
        Host::Receiver,
        "net.ipv4.tcp_rmem",
        "4096 1048576 33554432",
        "starts receive buffers with 1 MiB, for new connections",
    ))
    .caution("Every connection of the host may then take this much memory from its start.")
}

fn receiver_drops() -> Advice {
    Advice::new(
        "The receiving host dropped packets that had arrived: in the ring of its NIC, in a CPU's backlog, or \
         at the socket. To the sender each is a loss. Find the place that drops, and give it room or CPU \
         time.",
    )
    .with(Fix::look(
        Host::Receiver,
        "ethtool -S IFACE",
        "shows the NIC's counters: those with miss, drop or no_buf in their name mean a full ring",
    ))
    .with(Fix::look(
        Host::Receiver,
        "cat /proc/net/softnet_stat",
        "shows per CPU, in hexadecimal: packets, drops because the backlog was full, and softirqs that ran \
         out of budget",
    ))
    .with(counters(
        Host::Receiver,
        "TcpExtTCPBacklogDrop TcpExtTCPRcvQDrop TcpExtRcvPruned",
        "shows drops at sockets since boot",
    ))
    .with(
        Fix::change(Host::Receiver, "ethtool -G IFACE rx 4096", "gives the ring 4096 entries")
            .undone_by("ethtool -G IFACE rx N, with the N that ethtool -g showed as current"),
    )
}

fn receiver_busy() -> Advice {
    Advice::new(
        "One CPU handles the packets of the receiving host, or handles each by itself. Spread the interrupts \
         over CPUs, and let GRO merge packets.",
    )
    .with(gro_on(Host::Receiver))
    .with(Fix::look(Host::Receiver, "cat /proc/interrupts", "shows which CPU takes which interrupt"))
    .with_all(sysctl(
        Host::Receiver,
        "net.core.netdev_budget",
        "600",
        "lets one softirq handle 600 packets instead of 300",
    ))
}

fn local_queue() -> Advice {
    Advice::new(
        "The queue in front of the sending host's NIC drops packets, or holds fewer than the sockets may put \
         there. TCP takes a drop there for congestion on the path (ubik V).",
    )
    .with(Fix::look(
        Host::Sender,
        "tc -s qdisc show dev IFACE",
        "shows the queueing discipline, its limit and its drops",
    ))
    .with(
        Fix::change(
            Host::Sender,
            "ip link set dev IFACE txqueuelen 1000",
            "lets the queue hold 1000 packets",
        )
        .undone_by("ip link set dev IFACE txqueuelen N, with the qlen that ip link showed"),
    )
}

fn local_rate_limit() -> Advice {
    Advice::new(
        "A shaper, a pacing rate or a limit on queued bytes on the sending host holds the flow below the \
         path's rate. Remove it if it was left behind; if it is meant, the rate is as configured.",
    )
    .with(Fix::look(
        Host::Sender,
        "tc -s -d qdisc show dev IFACE",
        "shows shapers with their rates, and fq's maxrate",
    ))
    .with(Fix::look(Host::Sender, "tc -s class show dev IFACE", "shows the classes of a shaper such as htb"))
    .with(pacing_shown())
}

fn pacing_shown() -> Fix {
    Fix::look(
        Host::Sender,
        "ss -tin",
        "shows pacing_rate of each connection: the number behind a slash is a limit that the application set \
         (SO_MAX_PACING_RATE)",
    )
}

fn pacing_limit() -> Advice {
    Advice::new(
        "The application limits its own rate (SO_MAX_PACING_RATE; --fq-rate of iperf3). If the rate is meant, \
         this is what it gives. Otherwise change it in the program or its settings.",
    )
    .with(pacing_shown())
}

fn own_queue() -> Advice {
    Advice::new(
        "Data waited in the queue of the sender's own device. A shaper there sets the rate, or the device is \
         as fast as its link is. If the rate is meant, this is what it gives. A shaper that was left behind \
         can be removed.",
    )
    .with(Fix::look(
        Host::Sender,
        "tc -s -d qdisc show dev IFACE",
        "shows the queueing discipline: a shaper with its rate, backlog and overlimits",
    ))
    .with(Fix::look(Host::Sender, "tc -s class show dev IFACE", "shows the classes of a shaper such as htb"))
    .with(Fix::look(Host::Sender, "ethtool IFACE", "shows the speed that the NIC agreed on"))
}

fn sender_busy() -> Advice {
    Advice::new(
        "The CPU of the sending host handles each packet by itself, since an offload is off. Turn it on, the \
         first in the order tx, sg, gso, tso: each needs those before it.",
    )
    .with(Fix::look(
        Host::Sender,
        "ethtool -k IFACE",
        "shows which offloads are on, off, or fixed by the driver",
    ))
    .with(
        Fix::change(
            Host::Sender,
            "ethtool -K IFACE tx on sg on gso on tso on",
            "lets the NIC cut super-packets",
        )
        .undone_by("ethtool -K IFACE tso off gso off sg off tx off, as far as ethtool -k showed them off"),
    )
}

fn faulty_link() -> Advice {
    Advice::new(
        "The link is down, runs half duplex, or damages frames. Check cable, optics and the port of the \
         switch; both ends have to agree on speed and duplex.",
    )
    .with(Fix::look(Host::Either, "ethtool IFACE", "shows link, speed and duplex"))
    .with(Fix::look(Host::Either, "ethtool -S IFACE", "shows CRC errors, collisions and lost carriers"))
}

fn small_packets() -> Advice {
    Advice::new(
        "Packets are smaller than the links carry, so that more of them are needed for the same data. Find \
         what limits the size: the interface's MTU, the route's mtu or advmss, or a path MTU that was \
         learned.",
    )
    .with(Fix::look(
        Host::Either,
        "ip route get PEER",
        "shows the route's mtu and advmss, and a learned path MTU",
    ))
    .with(
        Fix::change(Host::Either, "ip link set dev IFACE mtu 1500", "sets the interface's MTU to Ethernet's")
            .undone_by("ip link set dev IFACE mtu N, with the mtu that ip link showed"),
    )
}
