//! The path was the limit. No host setting makes it faster.

use crate::arithmetic;
use crate::facts::{Facts, percent, time};
use crate::fix::{DEFAULT_QDISC, NET_RAW, bbr, counters, lower, socket, way_to};
use crate::sending_host::shapers;
use crate::{Advice, Fix, Host};
use slowpath_analyses::report::{FlowReport, Measures};
use slowpath_analyses::{Cause, Evidence};
use slowpath_model::{End, Rate};
use std::time::Duration;

/// 95 % of `rate`: low enough to keep a queue or bucket from filling, high enough to lose little.
fn just_below(rate: Rate) -> Rate {
    Rate::bits_per_second(rate.get() / 100 * 95)
}

/// A rate in tc's format, in whole kilobits per second.
fn tc_rate(rate: Rate) -> String {
    format!("{}kbit", (rate.get() / 1000).max(1))
}

/// Limits all flows that leave an interface to a rate.
fn pace_to(facts: &Facts<'_>, rate: Rate) -> [Fix; 3] {
    [
        way_to(Host::Sender, facts.receiver().address),
        Fix::look(Host::Sender, "tc qdisc show dev IFACE", "shows the queueing discipline to go back to"),
        Fix::change(
            Host::Sender,
            format!("tc qdisc replace dev IFACE root fq maxrate {}", tc_rate(rate)),
            format!("lets no single flow that leaves there exceed {rate}"),
        )
        .undone_by(DEFAULT_QDISC),
    ]
}

/// The share of segments that were lost, if it is more than a full queue of a usual size costs, and worth a word.
pub fn much_lost(sent: &Measures) -> Option<f64> {
    sent.lost_share().filter(|lost| *lost >= 0.02)
}

/// The shortest RTT, and the usual one while the path was full, if the queue was about as long as the path, or longer.
pub fn long_queue(report: &FlowReport, from: End) -> Option<(Duration, Duration)> {
    let rtts = report.directions[from.index()].overview.rtts_under(Cause::BottleneckFull);
    rtts.filter(|(shortest, usual)| *usual > *shortest * 2)
}

pub(crate) fn bottleneck_full(facts: &Facts<'_>) -> Vec<Advice> {
    let rate = facts.reached().map_or_else(String::new, |rate| format!(" This flow got {rate} of it."));
    let unseen = if facts.is_at_sender() {
        ""
    } else {
        " Where this was captured, a shaper on the sending host looks like a slow link: look for one there."
    };
    let good = match (much_lost(facts.sent()), long_queue(facts.report, facts.finding.from)) {
        (Some(lost), _) => format!(
            " No setting of the hosts makes it faster, but {} of the segments were lost: the queue holds few \
             packets, the sender does not slow down when they are lost (as BBR does not), a policer drops what is \
             above its rate, or the link damages them.",
            percent(lost)
        ),
        (None, Some((shortest, usual))) => format!(
            " No setting of the hosts makes it faster, but its queue is about as long as the path itself, or longer: the RTT \
             was {} at its shortest, and usually {} in that time. A queue that is managed (fq_codel, RFC 8290, or \
             CAKE) would keep it short.",
            time(shortest),
            time(usual)
        ),
        (None, None) => " This is the good case, and no setting of the hosts changes it.".to_owned(),
    };
    let advice = Advice::new(format!(
        "The bottleneck was fully used.{good}{rate} More \
         needs a faster link at the bottleneck, less competing traffic, or fewer bytes (compression, or not sending \
         what the other end already has). If this is less than the link should carry, look for what else uses it, \
         and check the NICs' speeds: a lower one than expected is a common reason.{unseen}"
    ))
    .with(way_to(Host::Either, facts.receiver().address))
    .with(Fix::look(Host::Either, "ethtool IFACE", "shows the speed that the NIC agreed on"));
    vec![if facts.is_at_sender() { advice } else { advice.with(shapers()) }]
}

pub(crate) fn standing_queue(facts: &Facts<'_>) -> Vec<Advice> {
    let rtts = facts.overview().rtts_under(facts.finding.cause);
    let queue = rtts.filter(|(shortest, usual)| usual > shortest).map_or_else(String::new, |(shortest, usual)| {
        format!(
            " The RTT was {} at its shortest, and usually {} in that time, so packets waited about {} in the queue.",
            time(shortest),
            time(usual),
            time(usual - shortest)
        )
    });
    let managed = Advice::new(format!(
        "The bottleneck was fully used, behind a queue longer than the path itself.{queue} The rate cannot \
         improve, but the delay can, for this flow and for all others in the same queue. Change the device in \
         front of the bottleneck: manage its queue (fq_codel, RFC 8290, or CAKE) and shape to slightly less \
         than the link."
    ));
    let careful =
        bbr("If you cannot change that device, use a congestion control that does not fill the queue: BBR.");
    let Some(rate) = facts.delivered() else { return vec![managed, careful] };
    let limit = just_below(rate);
    let mut advice = vec![shaped(managed, limit), careful, paced(facts, limit)];
    advice.extend(facts.round_trip().map(|round_trip| bounded_by_window(facts, rate, round_trip)));
    advice
}

pub(crate) fn ack_path_queue(facts: &Facts<'_>) -> Vec<Advice> {
    let receiver = facts.receiver().address;
    vec![
        Advice::new(
            "ACKs waited in a queue on their way back, and data can only follow them. Either the link in that direction is \
             full of other traffic, such as an upload or a backup of the receiver's network, or it is so much slower than \
             the other direction that the ACKs alone fill it (RFC 3449). Look in the receiver's network for what else is \
             sent that way, and limit or reschedule it.",
        )
        .with(way_to(Host::Receiver, facts.sender().address))
        .with(Fix::look(Host::Receiver, "ss -tin", "lists the receiver's own transfers, with their rates"))
        .with(Fix::look(
            Host::Receiver,
            "ip -s link show dev IFACE",
            "counts what the receiver sends: run it twice",
        )),
        Advice::new(format!(
            "On the device in front of that link, manage the queue so that ACKs to {} need not wait behind bulk data: \
             CAKE or fq_codel, shaped to slightly less than the link's rate in the direction of the ACKs. Where the ACKs \
             alone fill the link, CAKE's ack-filter drops those that a later one replaces.",
            facts.sender().address
        ))
        .with(
            Fix::change(
                Host::Path,
                "tc qdisc replace dev IFACE root cake ack-filter",
                format!(
                    "lets ACKs from {receiver} pass other traffic, once it has the queue: append bandwidth and 95 % of \
                     the link's rate"
                ),
            )
            .undone_by(DEFAULT_QDISC),
        ),
    ]
}

fn shaped(managed: Advice, limit: Rate) -> Advice {
    managed
        .with(
            Fix::change(
                Host::Path,
                format!("tc qdisc replace dev IFACE root cake bandwidth {}", tc_rate(limit)),
                format!(
                    "shapes to {limit}, 95 % of what was delivered, and manages the queue (where Linux \
                     routes there)"
                ),
            )
            .undone_by(DEFAULT_QDISC),
        )
        .caution(format!(
            "{limit} is computed from this flow alone: with other traffic on the link take 95 % of the \
             link's rate."
        ))
}

fn paced(facts: &Facts<'_>, limit: Rate) -> Advice {
    Advice::new(format!(
        "Or limit the flow itself to just below the bottleneck's rate: setsockopt(SO_MAX_PACING_RATE) in the \
         sending application, in bytes per second ({}), or fq for all flows of the interface.",
        limit.get() / 8
    ))
    .with_all(pace_to(facts, limit))
    .caution(
        "A fixed rate is right only while this flow has the bottleneck to itself and the bottleneck does not \
         change.",
    )
}

fn bounded_by_window(facts: &Facts<'_>, rate: Rate, round_trip: Duration) -> Advice {
    let window = arithmetic::window_for(rate, round_trip);
    let buffer = arithmetic::buffer_for(window);
    Advice::new(format!(
        "Or limit the flow by the receiver's window: at {rate} the bandwidth-delay product is {window}. ubik \
         V recommends a window only slightly larger: with 8 and 16 MB on a path of 5 MB, the RTT rose from 40 \
         to as much as 120 ms and the rate fell."
    ))
    .with(socket(Host::Receiver, facts.sender(), "shows the buffer as rb in skmem"))
    .with_all(lower(
        Host::Receiver,
        "net.ipv4.tcp_rmem",
        &format!("4096 131072 {}", buffer.get()),
        "lets no connection's window exceed about half of this",
    ))
    .caution("It limits every connection of the receiver, also those over longer paths.")
}

pub(crate) fn delay_spike(facts: &Facts<'_>) -> Vec<Advice> {
    let has_both = facts.shows(|evidence| matches!(evidence, Evidence::QueueingBetween { .. }));
    let which = if has_both {
        "The delay of each direction between the two captures shows which: what was late there was late on the path."
    } else {
        "Two captures, one at each end, show which: slowpath diagnose a.pcap b.pcap prints the delay of each direction."
    };
    vec![
        Advice::new(
            format!(
                "For a while packets took far longer than usual, and then all of them arrived. Either the path \
                 delayed them (a wireless or mobile link that changes its rate or cell, a route change), or a \
                 host did not run (a virtual machine that was not scheduled, a CPU busy with something else). {which}"
            ),
        )
        .with(way_to(Host::Either, facts.receiver().address)),
        Advice::new(
            "On the hosts, look for CPU time taken by the hypervisor (column st) and for softirqs that ran \
             late (third column of softnet_stat, time_squeeze).",
        )
        .with(Fix::look(Host::Either, "vmstat 1 10", "shows the CPU time that a hypervisor took, under st"))
        .with(Fix::look(
            Host::Either,
            "cat /proc/net/softnet_stat",
            "counts softirqs that ran out of time",
        )),
    ]
}

pub(crate) fn policer(facts: &Facts<'_>) -> Vec<Advice> {
    let text = "A policer drops what exceeds its rate instead of queueing it. No setting of a host raises \
     that rate. Ask its operator for a higher rate, a larger burst, or shaping (a queue) instead of policing. \
     A host can avoid it: just below the policer's rate, nothing is lost and nothing is retransmitted.";
    let mut first = Advice::new(text);
    if let Some(rate) = facts.reached() {
        let limit = just_below(rate);
        first = Advice::new(format!(
            "{text} By this flow's goodput the policer passes about {rate} (an estimate: it is more if the \
             flow also lost time to other limits); {limit} is 95 % of it. In an application: \
             setsockopt(SO_MAX_PACING_RATE, {}), in bytes per second.",
            limit.get() / 8
        ))
        .with_all(pace_to(facts, limit))
        .caution("It limits every flow that leaves the interface, also those that pass no policer.");
    }
    vec![
        first,
        bbr(
            "BBR detects a policer and keeps to its rate (lt_bw in tcp_bbr.c). CUBIC takes every drop for a \
             full queue and grows into the next one.",
        ),
    ]
}

pub(crate) fn ecn_cleared(facts: &Facts<'_>) -> Vec<Advice> {
    vec![
        Advice::new(
            "Both ends use ECN, and a device before this tap clears the ECN field, so that no queue can mark the packets: it \
             has to drop them instead. Mostly a router or tunnel does it that sets the whole old TOS byte where it means \
             the DSCP, or a tunnel that does not copy the field (RFC 6040). Have it leave the two lowest bits alone.",
        )
        .with(
            Fix::look(
                Host::Either,
                format!("timeout 20 tcpdump -nvi any host {} and tcp", facts.receiver().address),
                "shows the field (tos 0x2: ECN-capable, 0x0: not) where packets leave and where they arrive",
            )
            .needs(NET_RAW),
        )
        .with(counters(
            Host::Receiver,
            "IpExtInECT0Pkts IpExtInCEPkts",
            "should grow while the transfer runs: packets that arrive ECN-capable, and marked",
        )),
    ]
}
