//! The receiver had the data and was late to answer.

use crate::facts::{Facts, spread, time, times};
use crate::fix::{NET_ADMIN, counters, sysctl};
use crate::receive_window::off_cpu;
use crate::{Advice, Fix, Host};

pub(crate) fn acks_held_back(facts: &Facts<'_>) -> Vec<Advice> {
    let late = facts.spell().map_or_else(String::new, |spell| {
        format!(" It happened {}, for {} on average.", times(facts.finding.spells), time(spell))
    });
    let spread = spread(&facts.sent().rtt_by_ack)
        .map_or_else(String::new, |(min, max)| format!(" ACKs took {} to {}.", time(min), time(max)));
    vec![
        Advice::new(format!(
            "ACKs for data that had arrived came far later than a delayed ACK may.{late}{spread} Packets wait \
             where the receiver's CPU does not get to them: in the NIC's ring, for the softirq, or in the \
             socket's backlog while the reader holds the socket lock and is off the CPU (wu 3). Find out \
             which queue it is."
        ))
        .with(Fix::look(
            Host::Receiver,
            "cat /proc/net/softnet_stat",
            "shows per CPU, in hexadecimal: packets, drops because the backlog was full, and softirq rounds \
             that ran out of budget (time_squeeze)",
        ))
        .with(counters(
            Host::Receiver,
            "TcpExtTCPBacklogDrop TcpExtTCPRcvQDrop TcpExtTCPRcvCollapsed TcpExtDelayedACKLocked",
            "shows packets dropped from a socket's backlog or queue, and delayed ACKs postponed because the \
             socket was locked",
        ))
        .with(crate::fix::way_to(Host::Receiver, facts.sender().address))
        .with(Fix::look(
            Host::Receiver,
            "ethtool -S IFACE",
            "shows the NIC's counters; those with miss, drop, no_buf or discard in their name mean a full \
             ring",
        )),
        off_cpu(
            "The reader may share its CPU: next to ten compile jobs, wu's receiver fell from 504 to 72 \
             Mbit/s, and 75 packets waited more than a second (wu, tables III and IV).",
        ),
        Advice::new(
            "If time_squeeze or the NIC's counters grow, let each softirq round take more packets, and give \
             the ring more room.",
        )
        .with_all(sysctl(
            Host::Receiver,
            "net.core.netdev_budget",
            "600",
            "lets one softirq round take 600 packets instead of 300",
        ))
        .with_all(sysctl(
            Host::Receiver,
            "net.core.netdev_budget_usecs",
            "16000",
            "lets one softirq round take 16 ms; the default is two ticks, 8 ms at 250 Hz",
        ))
        .with(Fix::look(
            Host::Receiver,
            "ethtool -g IFACE; ethtool -c IFACE",
            "shows the size and largest size of the ring, and how long the NIC waits for more packets before \
             it interrupts",
        ))
        .with(
            Fix::look(Host::Receiver, "ethtool -G IFACE rx 4096", "gives the ring this many entries")
                .needs(NET_ADMIN)
                .undone_by("ethtool -G IFACE rx N, with the N that ethtool -g showed as current"),
        )
        .caution(
            "Longer rounds delay everything else on that CPU. On some NICs, resizing a ring takes the link \
             down for a moment.",
        ),
    ]
}
