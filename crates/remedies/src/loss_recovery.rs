//! Loss, or what was taken for it, and its repair.

use crate::arithmetic;
use crate::congestion_window::bbr;
use crate::facts::{Facts, percent, time, times};
use crate::fix::{NET_ADMIN, counters, route, socket, switch, sysctl, way_to};
use crate::{Advice, Fix, Host};
use std::time::Duration;

/// What the loss comes to, as a sentence; empty where nothing was retransmitted.
fn lost(facts: &Facts<'_>) -> String {
    facts.loss().map_or_else(String::new, |loss| {
        format!(" {} segments were sent again, {} of all.", facts.sent().labels.retransmission, percent(loss))
    })
}

/// SACK, where an end did not offer it.
fn sack(facts: &Facts<'_>) -> Option<Advice> {
    let without: Vec<Host> =
        facts.options().filter(|(_, options)| !options.sack_permitted).map(|(host, _)| host).collect();
    (!without.is_empty()).then(|| {
        without.iter().fold(
            Advice::new(
                "SACK was not agreed on, so the sender learns of one loss per round trip and cannot use \
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

/// Where packets are lost.
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

/// Spreads packets over the round trip.
fn pace() -> Advice {
    Advice::new(
        "Losses in bursts come from bursts: a queueing discipline that paces spreads each window over the \
         round trip. It is the sender's interface that needs it.",
    )
    .with(Fix::look(Host::Sender, "tc qdisc show dev IFACE", "shows the queueing discipline to go back to"))
    .with(
        Fix::look(
            Host::Sender,
            "tc qdisc replace dev IFACE root fq",
            "paces every TCP flow that leaves there",
        )
        .needs(NET_ADMIN)
        .undone_by("tc qdisc del dev IFACE root, which brings back the default one"),
    )
    .caution(
        "On an interface with several queues the default is mq: replace the disciplines below it, one per \
         queue.",
    )
}

pub(crate) fn fast_recovery(facts: &Facts<'_>) -> Vec<Advice> {
    let text = format!(
        "Losses were repaired as fast as TCP can, within about a round trip each, in {} episodes.{} Better \
         recovery gives nothing back; less loss does. Find where packets go missing.",
        facts.sent().recoveries.max(1),
        lost(facts)
    );
    let mut advice = vec![look_for_loss(facts, Advice::new(text)), pace()];
    advice.extend(sack(facts));
    advice
}

pub(crate) fn timeout(facts: &Facts<'_>) -> Vec<Advice> {
    let each = facts.spell().map_or_else(String::new, |spell| format!(", {} each on average", time(spell)));
    let text = format!(
        "The sender fell silent until its retransmission timer ran out: {}{each}.{} That happens where too \
         few segments follow a lost one to tell of it, where a whole flight is lost, or where recovery is \
         switched off.",
        times(facts.sent().timeouts.max(facts.finding.spells)),
        lost(facts)
    );
    let mut advice = vec![
        look_for_loss(facts, Advice::new(text)),
        rack_and_probes(
            "RACK and tail loss probes spare most timeouts. Both are on by default: see that they are.",
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
            "sends a tail loss probe after about two round trips of silence (RFC 8985)",
        ))
        .with(counters(
            Host::Sender,
            "TcpExtTCPTimeouts TcpExtTCPLossProbes TcpExtTCPLossProbeRecovery",
            "shows timeouts, probes sent, and losses that a probe repaired",
        ))
}

/// A smaller smallest timeout: only where the round trip is far below it.
fn shorter_timer(facts: &Facts<'_>) -> Option<Advice> {
    let round_trip = facts.round_trip()?;
    (round_trip < Duration::from_millis(20)).then(|| {
        Advice::new(format!(
            "The round trip is {}, but Linux adds 200 ms at least to it for the timeout (TCP_RTO_MIN). \
             Within one data centre it can be less, if the receivers there delay ACKs no longer: 40 ms and \
             more is usual.",
            time(round_trip)
        ))
        .with_all(route(
            Host::Sender,
            facts.receiver().address,
            "rto_min 50ms",
            "times out after a round trip and 50 ms",
        ))
        .caution(
            "Below what receivers delay ACKs by, timeouts become spurious. tcp_rto_min_us does it for all \
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
    let spread = rtt.min.zip(rtt.max).map_or_else(String::new, |(min, max)| {
        format!(" Round trips were {} to {} long.", time(min), time(max))
    });
    let mut advice =
        vec![
        Advice::new(format!(
            "The retransmission timer ran out though nothing was lost: data or ACKs were late, by more than \
             the timer allows for.{spread} Look for what holds them: a receiver whose CPU does not come to \
             the packets (wu 4: a receiver under load made its sender time out on a network that lost \
             nothing), a wireless link or modem that repeats or sleeps, a route that changes.",
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
            "The sender can undo the harm where it can tell: F-RTO (RFC 5682), timestamps (RFC 4015) and \
             DSACK (RFC 2883) let it put the congestion window back. All are on by default, on both ends.",
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
                    "Where the delays belong to the path, a longer smallest timeout outlasts them: ACKs \
                     here came up to {} later than the mean.",
                    time(late)
                ))
                .with_all(route(
                    Host::Sender,
                    facts.receiver().address,
                    &format!("rto_min {}ms", least.as_millis()),
                    &format!("waits {} longer than a round trip before it times out", time(least)),
                ))
                .caution("Real losses at a tail then wait as long."),
            );
        }
    }
    advice
}

pub(crate) fn tail_loss(facts: &Facts<'_>) -> Vec<Advice> {
    let cost = facts.spell().map_or_else(String::new, |spell| format!(", which cost {} each", time(spell)));
    let probe = facts.round_trip().map_or_else(String::new, |round_trip| {
        format!(
            " A tail loss probe asks after two round trips, {} here (with a single segment outstanding it \
             allows for a delayed ACK, up to 200 ms, too).",
            time(round_trip.saturating_mul(2))
        )
    });
    let mut advice = vec![
        rack_and_probes(&format!(
            "The last segments of a burst were lost, with nothing behind them to tell of it: \
             {}{cost}.{}{probe}",
            times(facts.finding.spells),
            lost(facts)
        )),
        look_for_loss(
            facts,
            Advice::new(
                "Tails are lost where a burst overruns a queue: its end is what no longer fits. Write in \
                 larger pieces and less often, or pace, so that bursts are smaller.",
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
            "Retransmissions were lost again.{} Loss by chance seldom hits the same segment twice: rather \
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
            "RACK finds a lost retransmission by time; without SACK and timestamps it takes a timeout, and \
             each further one takes twice as long.",
        ),
        bbr("BBR sends at the rate it measures and does not drive a queue to overflow for long."),
    ];
    advice.extend(sack(facts));
    advice
}

pub(crate) fn sack_reneging(facts: &Facts<'_>) -> Vec<Advice> {
    let advice = Advice::new(
        "The receiver took back data it had acknowledged selectively: it ran out of room and threw away \
         what it had received out of order (tcp_prune_ofo_queue, 6.18). The sender has to treat all of it \
         as lost. leith 1.3 found it common at high rates, under pressure on the receiver. Give the \
         receiver room.",
    )
    .with(counters(
        Host::Receiver,
        "TcpExtOfoPruned TcpExtRcvPruned TcpExtPruneCalled TcpExtTCPRcvCollapsed TcpExtTCPOFODrop \
         TcpExtTCPMemoryPressures",
        "shows out-of-order data thrown away, and memory pressure",
    ))
    .with(counters(Host::Sender, "TcpExtTCPSACKReneging", "shows how often the sender noticed"))
    .with(Fix::look(
        Host::Receiver,
        "cat /proc/net/sockstat; sysctl net.ipv4.tcp_mem",
        "shows pages that all TCP sockets take (mem), against the limits",
    ));
    let room = facts.outstanding().max(facts.target_window().unwrap_or_default());
    let buffer = arithmetic::receive_buffer_for(room).max(arithmetic::DEFAULT_RECEIVE_LIMIT);
    vec![
        advice
            .with_all(sysctl(
                Host::Receiver,
                "net.ipv4.tcp_rmem",
                &format!("4096 131072 {}", buffer.get()),
                "lets a receive buffer hold a window that has come out of order, and another",
            ))
            .caution(
                "Where the counters at the receiver stand still it did not renege: a middlebox that \
                 rewrites sequence numbers but not SACK blocks looks the same.",
            ),
    ]
}

pub(crate) fn reordering(facts: &Facts<'_>) -> Vec<Advice> {
    let labels = facts.sent().labels;
    let seen = format!(
        " {} segments came out of order, {} were sent again though they had arrived.",
        labels.out_of_order, labels.spurious
    );
    vec![
        Advice::new(format!(
            "Segments overtook each other and the sender took that for loss.{seen} Find what sends one flow \
             over two ways: a bond in mode balance-rr, a link group or ECMP that spreads packet by packet, \
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
             (tcp_check_sack_reordering, 6.18), and RACK waits up to a quarter of the round trip longer, up \
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
