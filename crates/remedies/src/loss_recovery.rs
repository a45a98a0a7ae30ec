//! Loss, real or presumed, and loss recovery.

use crate::arithmetic;
use crate::facts::{Facts, allows, percent, spread, time, times};
use crate::fix::{DEFAULT_QDISC, bbr, counters, route, socket, switch, sysctl, way_to};
use crate::{Advice, Fix, Host};
use slowpath_analyses::Evidence;
use slowpath_model::Bytes;
use slowpath_model::units::{counted, counted_were};
use std::net::IpAddr;
use std::time::Duration;

/// The amount of loss, as a sentence; empty if nothing was retransmitted.
fn lost(facts: &Facts<'_>) -> String {
    let [retransmitted, _] = facts.sent().lost();
    facts.loss().map_or_else(String::new, |loss| {
        format!(
            " {} retransmitted, {} of all segments.",
            counted_were(retransmitted, "segment"),
            percent(loss)
        )
    })
}

/// SACK, if an end did not offer it.
fn sack(facts: &Facts<'_>) -> Option<Advice> {
    let without: Vec<Host> =
        facts.options().filter(|(_, options)| !options.sack_permitted).map(|(host, _)| host).collect();
    (!without.is_empty()).then(|| {
        without.iter().fold(
            Advice::new(
                "SACK was not agreed on, so the sender learns of one loss per RTT and cannot use \
                 RACK or tail loss probes (RFC 2018, RFC 8985). Both ends have to offer it.",
            ),
            |advice, host| {
                advice.with(switch(
                    *host,
                    "net.ipv4.tcp_sack",
                    "1",
                    "0",
                    "offers SACK, which is the default, on connections from now on",
                ))
            },
        )
    })
}

/// How to find where packets are lost.
fn look_for_loss(facts: &Facts<'_>, advice: Advice) -> Advice {
    advice
        .with(way_to(Host::Either, facts.receiver().address))
        .with(Fix::look(
            Host::Sender,
            "tc -s qdisc show dev IFACE",
            "shows whether the sender's own queue drops (dropped)",
        ))
        .with(Fix::look(
            Host::Either,
            "ip -s link show dev IFACE; ethtool -S IFACE",
            "shows errors, drops and overruns of the interface, and the NIC's own counters",
        ))
}

/// Spreads packets over the RTT.
fn pace() -> Advice {
    Advice::new(
        "Bursts of loss come from bursts of packets. A qdisc that paces spreads each window over the RTT; it \
         belongs on the sender's interface.",
    )
    .with(Fix::look(Host::Sender, "tc qdisc show dev IFACE", "shows the queueing discipline to go back to"))
    .with(
        Fix::change(
            Host::Sender,
            "tc qdisc replace dev IFACE root fq",
            "paces every TCP flow that leaves there",
        )
        .undone_by(DEFAULT_QDISC),
    )
    .caution(
        "On an interface with several queues the default is mq: replace the disciplines below it, one per \
         queue.",
    )
}

pub(crate) fn fast_recovery(facts: &Facts<'_>) -> Vec<Advice> {
    let text = format!(
        "TCP repaired the losses as fast as it can, within about an RTT each, in {}.{} Better recovery gains \
         nothing; less loss does. Find where packets are lost.",
        counted(facts.sent().recoveries.max(1), "episode"),
        lost(facts)
    );
    let mut advice = vec![look_for_loss(facts, Advice::new(text)), pace()];
    advice.extend(sack(facts));
    advice
}

pub(crate) fn timeout(facts: &Facts<'_>) -> Vec<Advice> {
    let text = format!(
        "The sender was silent until its retransmission timer expired: {}, for {} in all.{} That happens when too few \
         segments follow a lost one to reveal the loss, when a whole flight is lost, or when loss recovery is \
         turned off.",
        times(facts.sent().timeouts.max(facts.finding.spells)),
        time(facts.finding.lasted),
        lost(facts)
    );
    let mut advice = vec![
        look_for_loss(facts, Advice::new(text)),
        rack_and_probes(
            "RACK and tail loss probes avoid most timeouts. Both are on by default: check that they are.",
        ),
    ];
    advice.extend(sack(facts));
    advice.extend(shorter_timer(facts));
    advice
}

fn rack_and_probes(text: &str) -> Advice {
    Advice::new(text)
        .with(Fix::look(
            Host::Sender,
            "sysctl net.ipv4.tcp_early_retrans net.ipv4.tcp_recovery net.ipv4.tcp_sack \
             net.ipv4.tcp_timestamps",
            "should show 3, 1, 1 and 1",
        ))
        .with(switch(
            Host::Sender,
            "net.ipv4.tcp_early_retrans",
            "3",
            "0",
            "sends a tail loss probe after about two RTTs of silence (RFC 8985)",
        ))
        .with(counters(
            Host::Sender,
            "TcpExtTCPTimeouts TcpExtTCPLossProbes TcpExtTCPLossProbeRecovery",
            "shows timeouts, probes sent, and losses that a probe repaired",
        ))
}

/// A lower minimum RTO: only if the RTT is far below it.
fn shorter_timer(facts: &Facts<'_>) -> Option<Advice> {
    let round_trip = facts.round_trip()?;
    (round_trip < Duration::from_millis(20)).then(|| {
        Advice::new(format!(
            "The RTT is {}, but Linux adds at least 200 ms to it for the timeout (TCP_RTO_MIN). Within one \
             data centre that can be less, as long as it is more than the receivers delay their ACKs: usually \
             40 ms or more.",
            time(round_trip)
        ))
        .with_all(route(
            Host::Sender,
            facts.receiver().address,
            "rto_min 50ms",
            "times out 50 ms after an RTT",
        ))
        .caution(
            "Timeouts shorter than the receivers' delayed ACKs are spurious. tcp_rto_min_us sets it for all \
             peers (6.11).",
        )
    })
}

/// The next multiple of 100 ms above `late`; at most the largest timeout Linux has, 120 s (`TCP_RTO_MAX`).
fn up_to_100_ms(late: Duration) -> Duration {
    Duration::from_millis(100 * (late.min(Duration::from_secs(119)).as_millis() as u64 / 100 + 1))
}

pub(crate) fn spurious_timeout(facts: &Facts<'_>) -> Vec<Advice> {
    let rtt = facts.round_trips().unwrap_or_default();
    let spread = spread(&rtt)
        .map_or_else(String::new, |(min, max)| format!(" RTTs were {} to {}.", time(min), time(max)));
    let mut advice =
        vec![
        Advice::new(format!(
            "A retransmission timer expired although nothing was lost: data or ACKs were later than the timer \
             allows for.{spread} Find what delays them: a receiver whose CPU does not get to the packets (wu \
             4: a loaded receiver made its sender time out on a network without loss), a wireless link or \
             modem that repeats frames or sleeps, or a route change.",
        ))
        .with(counters(
            Host::Sender,
            "TcpExtTCPSpuriousRTOs TcpExtTCPLossUndo TcpExtTCPDSACKUndo TcpExtTCPTimeouts",
            "shows timeouts found spurious by F-RTO, undone by timestamps and by DSACK, and all",
        ))
        .with(Fix::look(
            Host::Receiver,
            "cat /proc/net/softnet_stat",
            "shows per CPU, in hexadecimal, in the third column the rounds that ran out of budget",
        )),
        Advice::new(
            "The sender can undo a spurious timeout that it detects: F-RTO (RFC 5682), timestamps (RFC 4015) \
             and DSACK (RFC 2883) let it restore the congestion window. All are on by default, at both ends.",
        )
        .with(switch(Host::Either, "net.ipv4.tcp_timestamps", "1", "0", "offers timestamps on connections \
             from now on"))
        .with(switch(Host::Sender, "net.ipv4.tcp_frto", "2", "0", "uses F-RTO"))
        .with(switch(Host::Receiver, "net.ipv4.tcp_dsack", "1", "0", "reports duplicates to the sender")),
    ];
    if let Some((mean, max)) = rtt.mean.zip(rtt.max) {
        let late = max.saturating_sub(mean);
        let least = up_to_100_ms(late);
        if least > Duration::from_millis(200) {
            advice.push(
                Advice::new(format!(
                    "If the path causes the delays, a longer minimum timeout outlasts them: ACKs here came up \
                     to {} later than the mean.",
                    time(late)
                ))
                .with_all(route(
                    Host::Sender,
                    facts.receiver().address,
                    &format!("rto_min {}ms", least.as_millis()),
                    &format!("waits {} longer than an RTT before it times out", time(least)),
                ))
                .caution("Real tail losses then wait as long."),
            );
        }
    }
    advice
}

pub(crate) fn tail_loss(facts: &Facts<'_>) -> Vec<Advice> {
    let each = if facts.finding.spells == 1 { "" } else { " each" };
    let cost = facts.spell().map_or_else(String::new, |spell| format!(", which cost {}{each}", time(spell)));
    let probe = facts.round_trip().map_or_else(String::new, |round_trip| {
        format!(
            " A tail loss probe is sent after two RTTs, {} here (plus up to 200 ms for a delayed ACK if a \
             single segment is in flight).",
            time(round_trip.saturating_mul(2))
        )
    });
    let mut advice = vec![
        rack_and_probes(&format!(
            "The last segments of a burst were lost, and no later segment revealed it: {}{cost}.{}{probe}",
            times(facts.finding.spells),
            lost(facts)
        )),
        look_for_loss(
            facts,
            Advice::new(
                "Tails are lost where a burst overflows a queue: its end no longer fits. Pace the burst, or \
                 write smaller bursts.",
            ),
        ),
        pace(),
    ];
    advice.extend(sack(facts));
    advice.extend(shorter_timer(facts));
    advice
}

pub(crate) fn lost_retransmission(facts: &Facts<'_>) -> Vec<Advice> {
    let mut advice = vec![
        Advice::new(format!(
            "Retransmissions were lost too.{} Random loss seldom hits the same segment twice. More likely \
             something keeps dropping for a while, such as a policer whose bucket is empty or a queue that \
             stays full.",
            lost(facts)
        ))
        .with(counters(
            Host::Sender,
            "TcpExtTCPLostRetransmit TcpExtTCPRetransFail TcpExtTCPTimeouts",
            "shows retransmissions lost, those that the host itself could not send, and timeouts",
        )),
        pace(),
        rack_and_probes(
            "RACK detects a lost retransmission by time. Without SACK and timestamps that takes a timeout, \
             and each further timeout takes twice as long.",
        ),
        bbr("BBR sends at the rate it measures and does not keep a queue overflowing."),
    ];
    advice.extend(sack(facts));
    advice
}

/// The receiver's window, if it was hardly ever smaller than at its largest: nothing filled its buffer.
fn steady_window(facts: &Facts<'_>) -> Option<Bytes> {
    let window = facts.answered().window;
    let most = window.max?;
    (window.min?.get() >= most.get() / 8 * 7).then_some(most)
}

pub(crate) fn sack_reneging(facts: &Facts<'_>) -> Vec<Advice> {
    const LOOKS_THE_SAME: &str = "If the receiver's counters do not grow, it did not renege: a middlebox that rewrites sequence \
         numbers but not SACK blocks looks the same.";
    let noticed = counters(Host::Sender, "TcpExtTCPSACKReneging", "shows how often the sender noticed");
    if let Some(window) = steady_window(facts) {
        let text = format!(
            "The receiver discarded data that it had SACKed, though its window stood at {window}: it did not run out of \
             buffer, as a Linux receiver does before it discards. The sender has to treat all of it as lost. Look for a \
             newer version or a setting of the receiver's TCP, or of what answers in its place (a proxy, a NIC that \
             terminates TCP), so that it keeps what arrives out of order."
        );
        return vec![Advice::new(text).with(noticed).caution(LOOKS_THE_SAME)];
    }
    let advice = Advice::new(
        "The receiver discarded data that it had SACKed: it ran out of buffer and dropped what it had \
         received out of order (tcp_prune_ofo_queue, 6.18). The sender has to treat all of it as lost. leith \
         1.3 found it common at high rates, when the receiver was under pressure. Give the receiver a larger \
         buffer.",
    )
    .with(counters(
        Host::Receiver,
        "TcpExtOfoPruned TcpExtRcvPruned TcpExtPruneCalled TcpExtTCPRcvCollapsed TcpExtTCPOFODrop \
         TcpExtTCPMemoryPressures",
        "shows out-of-order data discarded, and memory pressure",
    ))
    .with(noticed)
    .with(Fix::look(
        Host::Receiver,
        "cat /proc/net/sockstat; sysctl net.ipv4.tcp_mem",
        "shows pages that all TCP sockets take (mem), against the limits",
    ));
    let room = facts.outstanding().max(facts.target_window().unwrap_or_default());
    let buffer = arithmetic::buffer_for(room).max(arithmetic::DEFAULT_RECEIVE_LIMIT);
    vec![
        advice
            .with_all(sysctl(
                Host::Receiver,
                "net.ipv4.tcp_rmem",
                &format!("4096 131072 {}", buffer.get()),
                "lets a receive buffer hold a window of out-of-order data, and another window",
            ))
            .caution(LOOKS_THE_SAME),
    ]
}

pub(crate) fn reordering(facts: &Facts<'_>) -> Vec<Advice> {
    let labels = facts.sent().labels;
    let mut seen = String::new();
    if labels.out_of_order > 0 {
        seen += &format!(" {} arrived out of order.", counted(labels.out_of_order, "segment"));
    }
    if labels.spurious > 0 {
        seen += &format!(
            " {} retransmitted although the data had arrived.",
            counted_were(labels.spurious, "segment")
        );
    }
    vec![
        Advice::new(format!(
            "Segments were reordered, and the sender mistook that for loss.{seen} Find what sends one flow \
             over two paths: a bond in mode balance-rr, a link aggregation or ECMP that balances per packet, \
             a router with several engines (leith 1.4), or a sender whose flow moves between NIC queues.",
        ))
        .with(Fix::look(
            Host::Either,
            "cat /proc/net/bonding/bond0",
            "shows the mode and hash policy of a bond; it should be 802.3ad or balance-xor with a layer3+4 \
             policy",
        ))
        .with(counters(
            Host::Sender,
            "TcpExtTCPSACKReorder TcpExtTCPTSReorder TcpExtTCPDSACKRecv TcpExtTCPDSACKUndo \
             TcpExtTCPFullUndo TcpExtTCPPartialUndo",
            "shows reordering noticed, and recoveries undone",
        )),
        Advice::new(
            "Linux learns how far segments are displaced, up to tcp_max_reordering segments \
             (tcp_check_sack_reordering, 6.18), and RACK waits up to a quarter of the RTT longer, up \
             to a whole one. It has to be learned anew by each connection, unless it is told.",
        )
        .with_all(route(
            Host::Sender,
            facts.receiver().address,
            "reordering 30",
            "starts with room for 30 segments of displacement instead of 3",
        ))
        .with_all(sysctl(
            Host::Sender,
            "net.ipv4.tcp_max_reordering",
            "1000",
            "lets it learn up to 1000 segments instead of 300",
        ))
        .with(socket(Host::Sender, facts.receiver(), "shows reordering and reord_seen of this connection"))
        .caution("The more displacement is allowed for, the later real loss is noticed."),
        Advice::new("Undo needs DSACK from the receiver or timestamps from both; both are on by default.")
            .with(switch(Host::Receiver, "net.ipv4.tcp_dsack", "1", "0", "reports duplicates to the sender"))
            .with(switch(
                Host::Either,
                "net.ipv4.tcp_timestamps",
                "1",
                "0",
                "offers timestamps on connections from now on",
            )),
    ]
}

/// The length before a segment's payload: the headers of IP and TCP, and the timestamps if both ends offered them.
fn headers(facts: &Facts<'_>) -> u64 {
    let ip = if facts.receiver().address.is_ipv4() { 20 } else { 40 };
    let timestamps = facts.options().filter(|(_, options)| options.timestamps).count() == 2;
    ip + 20 + if timestamps { 12 } else { 0 }
}

/// The smallest MTU that IPv6 allows (RFC 8200, section 5); few IPv4 paths have less.
const SAFE_MTU: u64 = 1280;

pub(crate) fn mtu_black_hole(facts: &Facts<'_>) -> Vec<Advice> {
    let headers = headers(facts);
    let packet = |payload: Bytes| payload.get().saturating_add(headers);
    let sizes = facts.evidence(|evidence| match *evidence {
        Evidence::LostAboveSize { smallest, largest_delivered, .. } => {
            Some((packet(smallest), packet(largest_delivered)))
        }
        _ => None,
    });
    let got_through = sizes.filter(|(_, delivered)| *delivered > headers);
    let between = got_through.map_or_else(String::new, |(lost, delivered)| {
        format!(
            " Packets of {delivered} bytes arrived and packets of {lost} bytes did not: the path's MTU is in \
             between."
        )
    });
    let mtu = sizes
        .map_or(SAFE_MTU, |(lost, delivered)| delivered.max(SAFE_MTU).min(lost.saturating_sub(1).max(68)));
    let peer = facts.receiver().address;
    let seen = facts.evidence(|evidence| match *evidence {
        Evidence::IcmpErrors { times, .. } => Some(times),
        _ => None,
    });
    let errors = match seen {
        Some(n) => format!(
            "{} came back, and the sender did not act on them: a firewall on its host drops them, or they \
             reached the tap and not the host.",
            counted(n, "ICMP error")
        ),
        None => "The ICMP errors that would say so did not come: a router does not send them, or a firewall \
                 drops them."
            .to_owned(),
    };
    vec![
        Advice::new(format!(
            "Every packet above some size was lost, each time it was sent (a path MTU black hole, RFC 2923, section \
             2.1).{between} {errors} No retransmission of that size gets through, whatever the congestion \
             control. Find the size and where it ends (a tunnel, VPN or PPPoE link \
             whose headers take room), and have the router in front of it send the errors, and every \
             firewall pass them: ICMP type 3, code 4, and ICMPv6 type 2."
        ))
        .with_all(size_of_the_path(peer))
        .with(
            Fix::change(
                Host::Path,
                "iptables -I FORWARD -p icmp --icmp-type fragmentation-needed -j ACCEPT",
                "passes the errors on a Linux firewall (for IPv6: ip6tables -I FORWARD -p icmpv6 \
                 --icmpv6-type packet-too-big -j ACCEPT)",
            )
            .undone_by("iptables -D FORWARD -p icmp --icmp-type fragmentation-needed -j ACCEPT"),
        ),
        Advice::new(
            "Without the errors, let the router in front of the smaller link lower the MSS in every SYN that \
             passes: then no segment is too large.",
        )
        .with(
            Fix::change(
                Host::Path,
                "iptables -t mangle -A FORWARD -p tcp --tcp-flags SYN,RST SYN -j TCPMSS --clamp-mss-to-pmtu",
                "lowers the MSS of new connections to what the next link of their route takes",
            )
            .undone_by(
                "iptables -t mangle -D FORWARD -p tcp --tcp-flags SYN,RST SYN -j TCPMSS --clamp-mss-to-pmtu",
            ),
        ),
        Advice::new("An end can avoid the black hole by itself, for this peer or for all.")
            .with_all(route(
                Host::Sender,
                peer,
                &format!("mtu {mtu}"),
                &format!("sends packets of at most {mtu} bytes"),
            ))
            .with_all(route(
                Host::Receiver,
                facts.sender().address,
                &format!("advmss {}", mtu.saturating_sub(headers_of_ip_and_tcp(facts))),
                &format!(
                    "asks the sender for packets of at most {mtu} bytes, where only this end can be \
                          changed"
                ),
            ))
            .with(switch(
                Host::Sender,
                "net.ipv4.tcp_mtu_probing",
                "1",
                "0",
                "tries smaller segments when large ones time out again and again (RFC 4821)",
            ))
            .caution(
                "tcp_mtu_probing begins only after several timeouts, so each new connection still stalls for \
                 seconds. The route prevents that.",
            ),
    ]
}

/// What finds the largest packet that reaches `peer`.
fn size_of_the_path(peer: IpAddr) -> [Fix; 2] {
    [
        Fix::look(
            Host::Sender,
            format!("tracepath -n {peer}"),
            "shows the path's MTU (pmtu) where the errors come, and the last router before they stop",
        ),
        Fix::look(
            Host::Sender,
            format!("ping -M do -c 3 -s 1472 {peer}"),
            "shows whether a packet of 1500 bytes arrives (28 more than -s, 48 in IPv6); lower -s until it \
             does",
        ),
    ]
}

/// How to tell an end that is gone from a path whose MTU has become smaller; `smallest` is the payload of the smallest
/// segment that got no answer.
pub(crate) fn narrower_path(facts: &Facts<'_>, smallest: Bytes) -> Advice {
    let packet = smallest.get().saturating_add(headers(facts));
    Advice::new(format!(
        "No packet of less than {packet} bytes was tried: if the path's MTU has become smaller meanwhile, as after a \
         failover to a tunnel, nothing gets through either. Try smaller ones."
    ))
    .with_all(size_of_the_path(facts.receiver().address))
}

/// The difference between an MTU and its MSS (RFC 6691): the headers without options.
fn headers_of_ip_and_tcp(facts: &Facts<'_>) -> u64 {
    if facts.receiver().address.is_ipv4() { 40 } else { 60 }
}

pub(crate) fn super_packets_dropped(facts: &Facts<'_>) -> Vec<Advice> {
    let lost = facts
        .evidence(|evidence| match *evidence {
            Evidence::LostAboveSize { lost, largest_delivered, .. } => Some(format!(
                " {} lost, and none of {} bytes or less.",
                counted_were(lost, "longer transmission"),
                largest_delivered.get()
            )),
            _ => None,
        })
        .unwrap_or_default();
    vec![
        Advice::new(format!(
            "Packets of several segments were lost each time, and packets of one segment arrived.{lost} \
             Offload makes them: the sending host (TSO, GSO), or a host that forwards them (GRO, LRO), hands \
             them on whole, and a device or a program behind it takes only what fits its MTU: a virtual \
             switch, a user-space network stack, a tunnel or a driver. Turn offload off where they are made \
             to confirm it.",
        ))
        .with(way_to(Host::Sender, facts.receiver().address))
        .with(Fix::look(Host::Sender, "ethtool -k IFACE", "shows which offloads are on"))
        .with(
            Fix::change(
                Host::Sender,
                "ethtool -K IFACE tso off gso off",
                "sends packets of one segment each",
            )
            .undone_by("ethtool -K IFACE tso on gso on"),
        ),
        Advice::new(
            "If the sender is not the one that makes them, look at each host that forwards: a router, a \
             hypervisor, a container host.",
        )
        .with(Fix::look(Host::Path, "ethtool -k IFACE", "shows which offloads are on"))
        .with(
            Fix::change(Host::Path, "ethtool -K IFACE gro off", "forwards packets as they came")
                .undone_by("ethtool -K IFACE gro on"),
        )
        .with(
            Fix::change(
                Host::Path,
                "ethtool -K IFACE lro off",
                "stops the NIC from merging packets, which must not be done on a host that forwards",
            )
            .undone_by("ethtool -K IFACE lro on"),
        )
        .with(Fix::look(
            Host::Path,
            "ip -s -s link show dev IFACE; ethtool -S IFACE",
            "shows drops and length errors at the interfaces behind it",
        ))
        .caution(
            "Without offload each packet costs CPU time: at many Gbit/s that becomes the limit. Fix or \
             update the forwarder, then turn offload on again.",
        ),
    ]
}

pub(crate) fn beyond_unscaled_window(facts: &Facts<'_>) -> Vec<Advice> {
    let shift = facts.answered().window_scale.shift();
    let field = facts.answered().window.max.map(|window| Bytes::new(window.get() >> shift.min(14)));
    let allowed = field.and_then(|field| allows(facts, field)).map_or_else(String::new, |allowed| {
        format!(" That is what the field says without its scale of {shift}: {allowed}.")
    });
    let stopgap = allows(facts, Bytes::new(arithmetic::LARGEST_FIELD))
        .map_or_else(String::new, |allowed| format!(" {allowed}."));
    vec![
        Advice::new(format!(
            "A firewall on the path checks sequence numbers against the receiver's window, and does not \
             apply the window scale that the SYNs agreed on: it drops every segment beyond the ACK plus the \
             bare field.{allowed} Update the firewall, or turn off its check of TCP windows. A firewall that \
             did not see the SYN (after a restart, or on one of two routes) cannot know the scale either.",
        ))
        .with(Fix::look(
            Host::Path,
            "sysctl net.netfilter.nf_conntrack_tcp_be_liberal; conntrack -S",
            "shows, on a Linux firewall, whether the check is on (0), and packets found invalid",
        ))
        .with(switch(
            Host::Path,
            "net.netfilter.nf_conntrack_tcp_be_liberal",
            "1",
            "0",
            "marks only RSTs outside the window as invalid, on a Linux firewall",
        )),
        Advice::new(format!(
            "Until then, have the receiver offer a window that fits the field without a scale. It is slower \
             than scaling, but not as slow as losing whatever lies beyond.{stopgap}"
        ))
        .with_all(route(
            Host::Receiver,
            facts.sender().address,
            "window 65535",
            "offers this peer at most 65,535 bytes, and so a scale of 0 (tcp_select_initial_window, 6.18)",
        ))
        .with(switch(
            Host::Receiver,
            "net.ipv4.tcp_window_scaling",
            "0",
            "1",
            "does without window scaling, for all new connections of this host",
        ))
        .caution("Undo it once the firewall is fixed: without scaling, every long path is slow."),
    ]
}

pub(crate) fn sack_untranslated(facts: &Facts<'_>) -> Vec<Advice> {
    let lost = facts.sent().lost_share().filter(|share| *share > 0.0);
    let lost = lost.map_or_else(String::new, |share| format!(" {} of segments were lost.", percent(share)));
    vec![
        Advice::new(format!(
            "Something on the path changes sequence numbers and leaves SACK blocks as they are. The sender \
             discards such blocks, so it repairs one loss in each RTT, or waits for its timer.{lost} Look for a firewall \
             that randomises sequence numbers, update it, or turn that off: hosts choose random ones \
             themselves (RFC 6528)."
        ))
        .with(counters(
            Host::Sender,
            "TcpExtTCPSACKDiscard",
            "shows how many SACK blocks this host could not use",
        )),
        Advice::new(
            "Until then, do without SACK to hosts behind it. Duplicate ACKs repair more than blocks that \
             are wrong.",
        )
        .with(switch(
            Host::Sender,
            "net.ipv4.tcp_sack",
            "0",
            "1",
            "offers no SACK, for all new connections of this host",
        ))
        .caution("Undo it once the firewall is fixed: without SACK, one loss in each RTT is repaired."),
    ]
}
