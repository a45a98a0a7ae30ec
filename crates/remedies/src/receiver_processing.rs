//! The receiver had the data and acknowledged it late.

use crate::connection::wrong_checksum;
use crate::facts::{Facts, spread, time};
use crate::fix::{counters, firewall, quickack, sysctl};
use crate::receive_window::off_cpu;
use crate::{Advice, Fix, Host};
use slowpath_analyses::Evidence;
use slowpath_model::Vantage;
use slowpath_model::units::counted;
use std::time::Duration;

pub(crate) fn not_accepted(facts: &Facts<'_>) -> Vec<Advice> {
    let packets = facts.evidence(|evidence| match *evidence {
        Evidence::NotAccepted { packets } => Some(packets),
        _ => None,
    });
    let arrived = format!(
        "{} reached the receiving host, and its TCP did not accept them.",
        counted(packets.unwrap_or(1), "segment")
    );
    let sender = facts.finding.from;
    if facts.shows(|evidence| matches!(evidence, Evidence::DamagedOnArrival { .. })) {
        vec![
            wrong_checksum(facts, sender, &arrived),
            dropped_behind_the_tap("If the counter does not grow, look further."),
        ]
    } else if facts.shows(|evidence| matches!(evidence, Evidence::StaleTimestamps {})) {
        vec![older_timestamps(&arrived), dropped_behind_the_tap("Otherwise look further.")]
    } else if facts.shows(|evidence| matches!(evidence, Evidence::AnsweredInVain { .. })) {
        vec![answered_in_vain()]
    } else {
        vec![
            dropped_behind_the_tap(&arrived),
            wrong_checksum(facts, sender, "If TcpInCsumErrors grows, the checksum is wrong."),
        ]
    }
}

/// TCP answers by an ACK what it does not accept (RFC 9293, section 3.10.7.4). A firewall would not, nor what finds a wrong
/// checksum.
fn answered_in_vain() -> Advice {
    Advice::new(
        "The receiving host answers each retransmission by an ACK, and accepts none: its TCP has them. It does so with \
         segments whose timestamps are older than what came before (PAWS; RFC 7323, section 5) and with sequence numbers \
         outside its window, both of which a device that rewrites them makes. Capture at the receiver, too, and compare \
         what arrives with what was sent.",
    )
    .with(counters(
        Host::Receiver,
        "TcpExtPAWSEstab TcpExtBeyondWindow TcpExtTCPACKSkippedPAWS TcpExtTCPACKSkippedSeq",
        "shows segments that PAWS dropped, and segments outside the window",
    ))
}

/// PAWS dropped it.
fn older_timestamps(begin: &str) -> Advice {
    Advice::new(format!(
        "{begin} They carry older timestamps than what came before, and PAWS (RFC 7323, section 5) drops such \
         segments. One connection has one timestamp clock: a load balancer or NAT that mixes two connections or two \
         hosts into one, or a device that rewrites timestamps on a part of the packets, makes them run backwards. \
         Until it is found, timestamps can be turned off on either end."
    ))
    .with(counters(
        Host::Receiver,
        "TcpExtPAWSEstab TcpExtTCPACKSkippedPAWS",
        "shows segments that PAWS dropped",
    ))
    .with_all(sysctl(
        Host::Either,
        "net.ipv4.tcp_timestamps",
        "0",
        "offers no timestamps on connections from now on",
    ))
    .caution("Without timestamps, RTTs are measured less often, and sequence numbers that wrap within 2 minutes are ambiguous.")
}

/// Something between the tap and TCP dropped it.
fn dropped_behind_the_tap(begin: &str) -> Advice {
    Advice::new(format!(
        "{begin} A capture sees packets before the host's firewall does. Behind it, a firewall rule, connection tracking, a \
         full backlog of the socket or a lack of memory drops them without an answer."
    ))
    .with(counters(
        Host::Receiver,
        "TcpInCsumErrors TcpExtPAWSEstab TcpExtTCPBacklogDrop TcpExtTCPRcvQDrop TcpExtRcvPruned TcpExtOfoPruned \
         TcpExtIPReversePathFilter",
        "shows, while the transfer runs, which of them grows: checksum, timestamps, backlog, memory (three), reverse \
         path filter",
    ))
    .with(firewall(Host::Receiver))
    .with(
        Fix::look(
            Host::Receiver,
            "timeout 10 perf trace -e skb:kfree_skb",
            "shows every packet that the kernel drops in 10 s, with the reason and the place",
        )
        .needs("root (CAP_PERFMON)"),
    )
}

/// A timer sends ACKs that come this late or later on average, and in the longest case hardly later than that.
const TIMER: Duration = Duration::from_millis(30);

/// ACKs that all came after nearly the same time: a timer sent them.
fn acknowledged_by_timer(facts: &Facts<'_>) -> Option<Advice> {
    let acks = facts.sent().rtt_by_ack;
    let is_at_receiver = facts.report.vantage.vantage == Vantage::At(!facts.finding.from);
    let (mean, max) = acks.mean.zip(acks.max).filter(|_| is_at_receiver)?;
    (mean >= TIMER && max <= mean * 5 / 4).then(|| {
        Advice::new(format!(
            "ACKs for data that had arrived came {} after it on average, and {} at most: always by nearly the same time, so \
             a timer of the receiver's TCP sent them, and not a busy CPU. A receiver should acknowledge at least every \
             second full segment at once (RFC 9293, section 3.8.6.3). Look for an option of its TCP that delays ACKs or \
             gathers them.",
            time(mean),
            time(max)
        ))
        .with_all(quickack(facts.sender().address))
    })
}

pub(crate) fn acks_held_back(facts: &Facts<'_>) -> Vec<Advice> {
    if let Some(by_timer) = acknowledged_by_timer(facts) {
        return vec![by_timer];
    }
    let late = format!(" That took {} in all.", time(facts.finding.lasted));
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
            Fix::change(Host::Receiver, "ethtool -G IFACE rx 4096", "gives the ring this many entries")
                .undone_by("ethtool -G IFACE rx N, with the N that ethtool -g showed as current"),
        )
        .caution(
            "Longer rounds delay everything else on that CPU. On some NICs, resizing a ring takes the link \
             down for a moment.",
        ),
    ]
}
